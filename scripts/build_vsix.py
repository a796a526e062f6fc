"""Builds the VS Code extension: one .vsix for each target, with the server and its libraries in it, into dist/.

    build_vsix.py                    for this machine
    build_vsix.py all                for every target (make vsix)
    build_vsix.py linux-x64 …        for these
    build_vsix.py --unsearched       not searched for secrets, else the same file (for tests: the search takes 21 s of processor)

Nothing is compiled and nothing of a target is run: the wheels of other platforms come from the package index, in the versions of
constraints.txt. In the .vsix, `bundled/` holds

    boot.py       starts the server with the Python it is run by
    lib/          the server and the libraries that are the same for every CPython: Python only, or machine code for its stable ABI
    cp311/ …      the libraries with machine code, once for each CPython

Run by a Python of .venv (the level "dev": it needs `packaging`), with npm's packages installed in editor-extension.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "editor-extension"
WHEELS = ROOT / ".cache" / "wheels"
OUT = ROOT / "dist"

EARLIEST_ZIP_TIME = "315532800"
"""1980-01-01, in seconds since the epoch: no zip holds an earlier time. Used where SOURCE_DATE_EPOCH does not name one."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

NOT_SERVED = frozenset({"pywin32", "rich", "shtab"})
"""Needed by commands for a terminal only, which nobody starts from the bundle; pywin32 by MCP's client, which does without if it must."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a .vsix runs: the tags that pip may take wheels of, and what markers of requirements are asked about."""

    wheels: tuple[str, ...]
    platform_system: str
    sys_platform: str
    machine: str


def _linux(machine: str) -> Target:
    # VS Code itself needs glibc 2.28
    tags = (f"manylinux_2_28_{machine}", f"manylinux_2_17_{machine}", f"manylinux2014_{machine}")
    return Target(tags, "Linux", "linux", machine)


def _alpine(machine: str) -> Target:
    return Target((f"musllinux_1_2_{machine}", f"musllinux_1_1_{machine}"), "Linux", "linux", machine)


TARGETS = {
    "linux-x64": _linux("x86_64"),
    "linux-arm64": _linux("aarch64"),
    "alpine-x64": _alpine("x86_64"),
    "alpine-arm64": _alpine("aarch64"),
    # pip takes wheels of older systems too
    "darwin-x64": Target(("macosx_11_0_x86_64",), "Darwin", "darwin", "x86_64"),
    "darwin-arm64": Target(("macosx_11_0_arm64",), "Darwin", "darwin", "arm64"),
    "win32-x64": Target(("win_amd64",), "Windows", "win32", "AMD64"),
    "win32-arm64": Target(("win_arm64",), "Windows", "win32", "ARM64"),
}


class Problem(Exception):
    """A .vsix cannot be built; the message says why and what a person can do."""


def say(message: str) -> None:
    sys.stderr.write(f"vsix: {message}\n")
    sys.stderr.flush()


def here() -> str:
    """This machine's target."""
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}.get(platform.system(), "")
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), ""
    )
    if system == "linux" and Path("/etc/alpine-release").exists():
        system = "alpine"
    if f"{system}-{machine}" not in TARGETS:
        raise Problem(f"there is no target for {platform.system()} on {platform.machine()}; name one")
    return f"{system}-{machine}"


def run(command: Sequence[str | Path], cwd: Path = ROOT) -> None:
    environment = os.environ | {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "NO_UPDATE_NOTIFIER": "1",
        # So that the same sources give the same .vsix: its times and the order of its files
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EARLIEST_ZIP_TIME),
        "TZ": "UTC",
        "LC_ALL": "C",
    }
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        words = " ".join(str(word) for word in command[1:4])
        raise Problem(f"{Path(command[0]).name} {words} … failed:\n{last}")


# --- which libraries --------------------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    """Canonical name → version, from constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    named = (line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): version.strip() for name, version in named}


def needed(target: Target, python: str) -> set[str]:
    """Canonical names of everything the server needs there. Read from what is installed in .venv, whose versions are the pinned ones."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_system": target.platform_system,
        "sys_platform": target.sys_platform,
        "platform_machine": target.machine,
        "os_name": "nt" if target.sys_platform == "win32" else "posix",
        "extra": "",
    }
    with (ROOT / "pyproject.toml").open("rb") as file:
        waiting: list[str] = tomllib.load(file)["project"]["dependencies"]
    found: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name in found or name in NOT_SERVED:
            continue
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        found.add(name)
        try:
            waiting += importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            raise Problem(
                f"{name} is needed for {target.sys_platform} and not in .venv: name it in constraints.txt"
            ) from None
    return found


# --- wheels -----------------------------------------------------------------------------------------------------------


def download(names: Iterable[str], target: Target, python: str) -> list[Path]:
    """The wheels of these libraries for that target and Python, from .cache/wheels or the package index."""
    versions = pins()
    wanted = {name: versions[name] for name in names}
    folder = WHEELS / target.wheels[0] / python
    folder.mkdir(parents=True, exist_ok=True)
    there = {name: path for path in folder.glob("*.whl") for name in [_of(path)]}
    missing = [
        f"{name}=={version}" for name, version in sorted(wanted.items()) if (name, version) not in there
    ]
    if missing:
        platforms = [word for tag in target.wheels for word in ("--platform", tag)]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        tags = ["--python-version", python, "--implementation", "cp", *platforms]
        run([*command, *tags, "--dest", str(folder), *missing])
        there = {name: path for path in folder.glob("*.whl") for name in [_of(path)]}
    wheels = [there[item] for item in sorted(wanted.items())]
    known = hashes()
    for wheel in wheels:
        if hashlib.sha256(wheel.read_bytes()).hexdigest() not in known:
            raise Problem(
                f"{wheel} does not have a hash of locked.txt; delete it, or run `make lock` if the version is new"
            )
    return wheels


def hashes() -> frozenset[str]:
    """SHA-256 of every file that locked.txt allows."""
    return frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", (ROOT / "locked.txt").read_text()))


def _of(wheel: Path) -> tuple[str, str]:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return name, str(version)


def is_for_all(wheel: Path) -> bool:
    """Whether it is the same for every CPython; of a target's wheels, so its platform is right."""
    return all(tag.abi in ("none", "abi3") for tag in parse_wheel_filename(wheel.name)[3])


LEFT_OUT = re.compile(r"[^/]+\.data/|.+/(tests|benchmarks)/|mcp/cli/|.*/(RECORD)?$")
"""Files of wheels that the server does not need: programs, and what libraries are tested with. `mcp/cli` needs typer, which is not there."""


def unpack(wheel: Path, into: Path) -> None:
    """What pip would install into site-packages, without what is LEFT_OUT."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not LEFT_OUT.match(name):
                archive.extract(name, into)


# --- what must be in it -----------------------------------------------------------------------------------------------

NATIVE = (
    "msgspec/_core",
    "pydantic_core/_pydantic_core",
    "rpds/rpds",
    "watchfiles/_rust_notify",
    "websockets/speedups",
)
"""The modules with machine code, without what the names of their files end with."""


def endings(target: str, python: str) -> tuple[str, ...]:
    """What the name of a module's file may end with there, so that this CPython imports it (PEP 3149; on Windows PEP 3147's tag)."""
    system, version = target.split("-")[0], "cp" + python.replace(".", "")
    machine = TARGETS[target].machine
    if system == "win32":
        return f".{version}-{TARGETS[target].wheels[0]}.pyd", ".pyd"
    c_library = {"linux": f"-{machine}-linux-gnu", "alpine": f"-{machine}-linux-musl", "darwin": "-darwin"}[
        system
    ]
    return f".cpython-{version[2:]}{c_library}.so", ".abi3.so"


def made_for(file: bytes) -> tuple[str, str] | None:
    """The system, as sys.platform says it, and the processor of a file with machine code. None: it is none, or for others."""
    processors = {
        0x3E: "x64",
        0xB7: "arm64",
        0x8664: "x64",
        0xAA64: "arm64",
        0x1000007: "x64",
        0x100000C: "arm64",
    }

    def number(at: int, size: int) -> int:
        return int.from_bytes(file[at : at + size], "little")

    if file[:5] == b"\x7fELF\x02":
        system, processor = "linux", number(18, 2)
    elif file[:4] == b"\xcf\xfa\xed\xfe":
        system, processor = "darwin", number(4, 4)
    elif file[:2] == b"MZ" and file[number(0x3C, 4) :][:4] == b"PE\0\0":
        system, processor = "win32", number(number(0x3C, 4) + 4, 2)
    else:
        return None
    return (system, processors[processor]) if processor in processors else None


def wrong(target: str, bundled: Path) -> list[str]:
    """What is missing in a bundle, and what is of another machine; a sentence each."""
    found: list[str] = []
    for python in PYTHONS:
        folders = (bundled / ("cp" + python.replace(".", "")), bundled / "lib")
        for module in NATIVE:
            names = [folder / f"{module}{ending}" for folder in folders for ending in endings(target, python)]
            if not any(name.is_file() for name in names):
                found.append(f"CPython {python} finds no {module}")
    wanted = (TARGETS[target].sys_platform, target.split("-")[1])
    machine_code = [
        path for path in sorted(bundled.rglob("*")) if re.search(r"\.(so|pyd|dll|dylib)(\.|$)", path.name)
    ]
    return found + [
        f"{path.relative_to(bundled).as_posix()} is for {' '.join(is_for or ('something else',))}"
        for path in machine_code
        if (is_for := made_for(path.read_bytes())) != wanted
    ]


# --- the .vsix --------------------------------------------------------------------------------------------------------


def libraries(target: Target, into: Path) -> None:
    """`lib` and `cp3xx` of the bundle."""
    for_all: dict[str, Path] = {}
    with ThreadPoolExecutor(max_workers=len(PYTHONS)) as pool:
        sets = list(pool.map(lambda python: download(needed(target, python), target, python), PYTHONS))
    for python, wheels in zip(PYTHONS, sets, strict=True):
        for wheel in wheels:
            if is_for_all(wheel):
                for_all[wheel.name] = wheel
            else:
                unpack(wheel, into / ("cp" + python.replace(".", "")))
    for wheel in for_all.values():
        unpack(wheel, into / "lib")
    shutil.copytree(
        ROOT / "sidecar", into / "lib" / "sidecar", ignore=shutil.ignore_patterns("__pycache__", "ruff.toml")
    )


LICENCE = re.compile(r"(licen[cs]e|copying|notice)", re.IGNORECASE)


def notices(bundled: Path) -> str:
    """The licences of the libraries in the bundle, each once. Raises Problem for one that comes without its licence's text."""
    texts: dict[str, str] = {}
    for folder in sorted(bundled.rglob("*.dist-info")):
        about = email.message_from_bytes((folder / "METADATA").read_bytes())
        classifiers = [words for words in about.get_all("Classifier", []) if words.startswith("License ::")]
        declared = about["License-Expression"] or ", ".join(words.split(" :: ")[-1] for words in classifiers)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and LICENCE.match(path.name)]
        if not files:
            raise Problem(f"{folder.name} has no file with its licence, which has to go along with it")
        head = f"{about['Name']} {about['Version']}" + (f" ({declared})" if declared else "")
        texts[head] = "\n\n".join([head, *(path.read_text("utf-8").strip() for path in files)])
    return "".join(f"\n----\n\n{text}\n" for _, text in sorted(texts.items()))


def even(folder: Path) -> None:
    """The permissions of all files in `folder`: the same, whoever checked them out or downloaded them, with whatever umask."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def messages() -> dict[str, str]:
    """Every message of `vscode.l10n.t`, as itself: what a translation into `l10n/bundle.l10n.<language>.json` starts from."""
    sources = "".join(path.read_text() for path in sorted((EXTENSION / "src").rglob("*.ts")))
    found = re.findall(r'l10n\.t\(\s*("(?:[^"\\]|\\.)*")', sources)
    return {message: message for message in sorted({json.loads(literal) for literal in found})}


def stage(target: str, into: Path) -> None:
    """The folder that the .vsix is made of."""
    for name in ("package.json", "package.nls.json", ".vscodeignore", "README.md"):
        shutil.copy(EXTENSION / name, into)
    shutil.copytree(EXTENSION / "media", into / "media")
    (into / "l10n").mkdir()
    (into / "l10n" / "bundle.l10n.json").write_text(json.dumps(messages(), indent=2, ensure_ascii=False))
    (into / "dist").mkdir()
    for path in (EXTENSION / "dist").iterdir():
        if path.suffix in (".js", ".css", ".ttf", ".txt"):
            shutil.copy(path, into / "dist")
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, into)
    bundled = into / "bundled"
    bundled.mkdir()
    shutil.copy(EXTENSION / "boot.py", bundled)
    libraries(TARGETS[target], bundled)
    if problems := wrong(target, bundled):
        raise Problem(f"the libraries for {target} are not right: {'; '.join(problems)}")
    with (into / "dist" / "ThirdPartyNotices.txt").open("a", encoding="utf-8") as file:
        file.write(notices(bundled))
    even(into)


UNSEARCHED = ("--allow-package-all-secrets", "--allow-package-env-file")
"""What vsce needs to be told to leave its search for secrets out."""


def build(target: str, *more: str) -> Path:
    """The .vsix for a target. `more` are further options of vsce."""
    manifest = json.loads((EXTENSION / "package.json").read_text())
    OUT.mkdir(exist_ok=True)
    vsix = OUT / f"{manifest['name']}-{target}-{manifest['version']}.vsix"
    node = shutil.which("node")
    assert node is not None  # main asked
    with tempfile.TemporaryDirectory(prefix="acp-vsix-") as folder:
        stage(target, Path(folder))
        vsce = EXTENSION / "node_modules" / "@vscode" / "vsce" / "vsce"
        # The libraries are in the bundles: there is no node_modules to look through
        options = ["--no-dependencies", "--no-rewrite-relative-links", *more]
        run([node, vsce, "package", "--target", target, "--out", vsix, *options], cwd=Path(folder))
    return vsix


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the VS Code extension into dist/.")
    parser.add_argument("target", nargs="*", help=f"{', '.join(TARGETS)}, or all; without: this machine's")
    parser.add_argument("--unsearched", action="store_true", help="leave out vsce's search for secrets")
    arguments = parser.parse_args()
    try:
        wanted = list(TARGETS) if arguments.target == ["all"] else arguments.target or [here()]
        if unknown := sorted(set(wanted) - set(TARGETS)):
            raise Problem(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
        node = shutil.which("node")
        if node is None or not (EXTENSION / "node_modules").exists():
            raise Problem(
                "needs node and npm's packages: install Node 20 or newer, and run `npm ci --ignore-scripts` in editor-extension"
            )
        run([node, "esbuild.mjs", "--production"], cwd=EXTENSION)
        for target in wanted:
            started = time.monotonic()
            vsix = build(target, *(UNSEARCHED if arguments.unsearched else ()))
            say(
                f"{vsix.relative_to(ROOT)}: {vsix.stat().st_size / 1e6:.1f} MB ({time.monotonic() - started:.0f} s)"
            )
    except Problem as problem:
        say(str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
