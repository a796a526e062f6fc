/**
 * uv as published on PyPI, pinned: one wheel for each platform with a .vsix, with its SHA-256. For another version, run
 * `pip download uv==…` for each platform. A file's folder on PyPI is its BLAKE2b-256 (2, 2 and 60 hexadecimal digits).
 */

export interface Wheel {
  readonly url: string;
  readonly sha256: string;
}

export const UV_VERSION = "0.13.8";

const FILES = "https://files.pythonhosted.org/packages";

/** By `process.platform`-`process.arch`; on Alpine `alpine-…`. */
export const UV_WHEELS: Readonly<Record<string, Wheel>> = {
  "linux-x64": wheel(
    "c5/32/52ee34636aea1ab3f8baeeae1c3599461b8cddfb379862cc72ac61b8d91c",
    "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
  ),
  "linux-arm64": wheel(
    "9e/f0/d989ac5fcebf83f1c8c5d78974f27788e8364945969eb646f5d0db35d924",
    "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d",
  ),
  "alpine-x64": wheel(
    "4d/a3/1ac9cd75985371da0d29c9c12132e6d5b5627b9d0de87c5ad97ab9ad69b0",
    "musllinux_1_1_x86_64",
    "29451c60f5e8b07403e0a175d5229efc36b0289b34143ff4aaa499a5dd52553a",
  ),
  "alpine-arm64": wheel(
    "9e/f0/d989ac5fcebf83f1c8c5d78974f27788e8364945969eb646f5d0db35d924",
    "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d",
  ),
  "darwin-x64": wheel(
    "be/7a/fd8a719c0198f8f8341847fc33b377f25ac79f7c4a56dbce5ceb086f239c",
    "macosx_10_12_x86_64",
    "b7124ca1956ec2e476a1003ea5715a15f0266afaec37f4dc9c6972ba8183e6d1",
  ),
  "darwin-arm64": wheel(
    "84/46/deb3a1eb3020575e41d1f9840c07185761d8d4c25cd6f58e813afb017476",
    "macosx_11_0_arm64",
    "62b6943c7fd64fac6854f780bea6e0359e5a5bc3241f83ee357bb38276afac49",
  ),
  "win32-x64": wheel(
    "6a/1d/d813afac1a7cbe3eeeca8709b47bdcd5e5189d08364b8d7a9f693082f0f1",
    "win_amd64",
    "cfbc13020a64cdf2f116d2936824c38edbf41e5c07f1ea291baf02e31ebf3ed0",
  ),
  "win32-arm64": wheel(
    "98/fd/9cc888863d2326e6e5c6ae2a66d4b3ff248f9cd6bb50cb8be36a941c3e26",
    "win_arm64",
    "b4184029b1b7c54409b9cd4372c73a36ef9c2d1d7cf3b0aca59c8b1932f041dc",
  ),
};

function wheel(folder: string, tag: string, sha256: string): Wheel {
  return { url: `${FILES}/${folder}/uv-${UV_VERSION}-py3-none-${tag}.whl`, sha256 };
}
