/** Fetching uv, from a server on this machine. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, test } from "node:test";
import { strToU8, zipSync } from "fflate";
import { fetchUv, installPython } from "../../../src/server/python/uv";
import { UV_WHEELS } from "../../../src/server/python/uv_wheels";

const wheel = zipSync({ "uv-1.data/scripts/uv": strToU8('#!/bin/sh\necho "$@" > asked\necho "working" >&2\nexit $UV_TEST_EXIT\n'), "uv/__init__.py": strToU8("") });
const empty = zipSync({ "uv/__init__.py": strToU8("") });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "acp-uv-"));
const server = http.createServer((request, response) => {
  const found = { "/uv.whl": wheel, "/empty.whl": empty }[request.url ?? ""];
  response.writeHead(found === undefined ? 404 : 200).end(found);
});
let base = "";
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  fs.rmSync(folder, { recursive: true });
});

const never = new AbortController().signal;

test("uv comes out of its wheel, executable", async () => {
  const program = await fetchUv({ url: `${base}/uv.whl`, sha256: sha256(wheel) }, folder, never);
  assert.equal(program, path.join(folder, "uv"));
  fs.accessSync(program, fs.constants.X_OK);
});

const FAILURES: [string, string, string, RegExp][] = [
  ["other bytes than expected", "/uv.whl", "0".repeat(64), /^the download from 127\.0\.0\.1:\d+ does not have the expected digest$/],
  ["no such file", "/missing.whl", "", /^127\.0\.0\.1:\d+ answered 404$/],
  ["a wheel without a program", "/empty.whl", sha256(empty), /^empty\.whl does not contain the program$/],
];
for (const [name, url, digest, expected] of FAILURES) {
  test(`fetching uv: ${name}`, async () => {
    await assert.rejects(
      () => fetchUv({ url: base + url, sha256: digest }, path.join(folder, "none"), never),
      (error: Error) => expected.test(error.message),
    );
    assert.equal(fs.existsSync(path.join(folder, "none")), false);
  });
}

test("uv is asked for a Python in a folder of ours, and for nothing else", { skip: process.platform === "win32" }, async () => {
  const program = await fetchUv({ url: `${base}/uv.whl`, sha256: sha256(wheel) }, folder, never);
  const said: string[] = [];
  process.env["UV_TEST_EXIT"] = "0";
  await installPython(program, "/storage/python", folder, (line) => said.push(line), never);
  assert.equal(
    fs.readFileSync(path.join(folder, "asked"), "utf8").trim(),
    "python install 3.13 --install-dir /storage/python --no-bin --no-config --no-cache --color never",
  );
  assert.deepEqual(said, ["working"]);
  process.env["UV_TEST_EXIT"] = "2";
  await assert.rejects(() => installPython(program, "/storage/python", folder, () => undefined, never), /^Error: working$/);
});

test("the pinned wheels are files of PyPI, each with its digest", () => {
  for (const { url, sha256: digest } of Object.values(UV_WHEELS)) {
    assert.match(url, /^https:\/\/files\.pythonhosted\.org\/packages\/\w{2}\/\w{2}\/\w{60}\/uv-[\d.]+-py3-none-[\w.]+\.whl$/);
    assert.match(digest, /^[0-9a-f]{64}$/);
  }
});
