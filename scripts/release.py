"""Makes everything that a release publishes, into dist/ (make release): the wheel, the source distribution, a .vsix for each platform, an
SBOM of each, and SHA256SUMS.

    release.py                 all of it
    release.py linux-x64 …     with the .vsix of these platforms only

What is committed is built, not what lies in the work tree: twice, in two folders with other names, times, permissions and locale. The
release fails when a file of one build has not the digest that it has in the other.

Run by a Python of .venv (the level "release"), with npm's packages installed in editor-extension.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
SUMS = "SHA256SUMS"

# What may differ between two machines that build the same commit
FIRST = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}
SECOND = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "2"}


class Problem(Exception):
    """There is no release; the message says why and what a person can do."""


def say(message: str) -> None:
    sys.stderr.write(f"release: {message}\n")
    sys.stderr.flush()


def run(
    command: Sequence[str | Path], cwd: Path, more: Mapping[str, str] | None = None, umask: int = 0o022
) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | dict(more or {}), capture_output=True, umask=umask, check=False
    )
    if done.returncode != 0:
        last = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-12:]
        raise Problem(f"{' '.join(str(word) for word in command[:4])} … failed:\n" + "\n".join(last))


def git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise Problem(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def head() -> str:
    """The commit to build: named once, since it may change while this runs."""
    return git("rev-parse", "HEAD").decode().strip()


def script(name: str) -> ModuleType:
    """The script of that name beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


# --- building ---------------------------------------------------------------------------------------------------------


def check_out(commit: str, folder: Path, umask: int) -> None:
    """What the commit holds, in a new folder."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as archive:
        archive.extractall(folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod((0o755 if path.is_dir() else 0o644) & ~umask)


def lend(folder: Path) -> None:
    """What is too large to have twice: npm's packages and downloaded wheels."""
    (ROOT / ".cache" / "wheels").mkdir(parents=True, exist_ok=True)
    for name in (".cache/wheels", "editor-extension/node_modules"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(ROOT / name)


def build(
    commit: str, folder: Path, targets: Sequence[str], environment: Mapping[str, str], umask: int
) -> Path:
    """Builds the commit in `folder`; returns the folder with the results. `targets` are those of build_vsix.py, or none."""
    check_out(commit, folder, umask)
    out = folder / "dist"
    python = sys.executable
    when = git("log", "-1", "--format=%ct", commit).decode().strip()
    more = {**environment, "SOURCE_DATE_EPOCH": when, "PYTHONDONTWRITEBYTECODE": "1"}
    run([python, "-m", "hatchling", "build", "-d", str(out)], folder, more, umask)
    if targets:
        lend(folder)
        run([python, "scripts/build_vsix.py", *targets], folder, more, umask)
    return out


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def compare(one: Path, other: Path) -> None:
    """Raises Problem unless both folders hold the same files, byte for byte."""
    first, second = digests(one), digests(other)
    if wrong := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        words = "\n".join(f"  {name}: {where(one / name, other / name)}" for name in wrong)
        raise Problem(f"two builds of one commit differ:\n{words}")


def where(one: Path, other: Path) -> str:
    """In what two files differ, for whoever has to find the cause."""
    if not (one.exists() and other.exists()):
        return "only one of the builds has it"
    if not (zipfile.is_zipfile(one) and zipfile.is_zipfile(other)):
        return "the bytes differ"
    with zipfile.ZipFile(one) as a, zipfile.ZipFile(other) as b:
        if a.namelist() != b.namelist():
            return "the names or the order of the files in it differ"
        for x, y in zip(a.infolist(), b.infolist(), strict=True):
            if x.CRC != y.CRC:
                return f"{x.filename} differs"
            if (x.date_time, x.external_attr) != (y.date_time, y.external_attr):
                return f"time or permissions of {x.filename} differ"
    return "the compression differs"


# --- what goes with it ------------------------------------------------------------------------------------------------


def sboms(out: Path, version: str) -> None:
    """CycloneDX: the libraries that are installed with the wheel and bundled in each .vsix, and the npm packages in the latter."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        dependencies: list[str] = tomllib.load(file)["project"]["dependencies"]
    bin_folder = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="acp-sbom-") as folder:
        environment = Path(folder) / "environment"
        uv = bin_folder / "uv"
        run([uv, "venv", "--quiet", "--python", sys.executable, environment], ROOT)
        run(
            [
                uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                environment,
                "--constraints",
                "constraints.txt",
                *dependencies,
            ],
            ROOT,
        )
        python_out = out / f"acp-sidecar-{version}-python.cdx.json"
        tool = [
            bin_folder / "cyclonedx-py",
            "environment",
            "--output-reproducible",
            "--pyproject",
            "pyproject.toml",
        ]
        run([*tool, "--mc-type", "application", "--output-file", python_out, environment], ROOT)
    about = json.loads(python_out.read_text())
    about["metadata"]["component"]["version"] = (
        version  # the tool does not read a version that hatchling finds
    )
    python_out.write_text(json.dumps(about, indent=2, sort_keys=True) + "\n")
    if any(out.glob("*.vsix")):
        extension = ROOT / "editor-extension"
        tool = [
            extension / "node_modules" / ".bin" / "cyclonedx-npm",
            "--output-reproducible",
            "--flatten-components",
        ]
        npm_out = out / f"acp-sidecar-{version}-vscode-npm.cdx.json"
        # The types that a library optionally knows are no part of the bundle
        run([*tool, "--omit", "dev", "optional", "peer", "--output-file", npm_out], extension)


def unlisted(out: Path) -> list[str]:
    """What a .vsix bundles by its third-party notices and no SBOM lists, as `FILE: NAME VERSION`."""
    listed = set[tuple[str, str]]()
    for sbom in out.glob("*.cdx.json"):
        for one in json.loads(sbom.read_text())["components"]:
            name = f"{one['group']}/{one['name']}" if one.get("group") else one["name"]
            listed.add((canonicalize_name(name), one["version"]))
    found: list[str] = []
    for vsix in sorted(out.glob("*.vsix")):
        with zipfile.ZipFile(vsix) as archive:
            notices = archive.read("extension/dist/ThirdPartyNotices.txt").decode()
        heads = re.findall(r"(?:^----|own licence\.)\n\n(\S+) (\d\S*)(?: \(.*\))?$", notices, re.MULTILINE)
        if len(heads) < 20:
            raise Problem(f"{vsix.name}: its ThirdPartyNotices.txt cannot be read any more")
        found += [
            f"{vsix.name}: {name} {version}"
            for name, version in heads
            if (canonicalize_name(name), version) not in listed
        ]
    return found


def write_sums(out: Path) -> None:
    """As `sha256sum --check` reads it."""
    lines = [f"{digest}  {name}\n" for name, digest in digests(out).items() if name != SUMS]
    (out / SUMS).write_text("".join(lines))


def release(targets: Sequence[str]) -> None:
    version_script = script("version")
    version: str = version_script.declared()
    if wrong := version_script.differing():
        raise Problem("\n".join([*wrong, "run: scripts/version.py --follow"]))
    if git("status", "--porcelain"):
        say("what is not committed is not in it")
    commit = head()
    with tempfile.TemporaryDirectory(prefix="acp-release-") as folder:
        say("building")
        first = build(commit, Path(folder) / "one", targets, FIRST, 0o022)
        say("building again, to compare")
        second = build(commit, Path(folder) / "another-place", targets, SECOND, 0o077)
        compare(first, second)
        OUT.mkdir(exist_ok=True)
        for old in OUT.iterdir():
            if old.is_file():
                old.unlink()
        for path in sorted(first.iterdir()):
            shutil.copy(path, OUT / path.name)
            (OUT / path.name).chmod(0o644)
    say("both builds are the same; listing what is in them")
    sboms(OUT, version)
    if missing := unlisted(OUT):
        raise Problem("\n".join(["no SBOM lists what is bundled:", *missing]))
    write_sums(OUT)


def main() -> int:
    targets: dict[str, object] = script("build_vsix").TARGETS
    parser = argparse.ArgumentParser(description="Makes everything that a release publishes, into dist/.")
    parser.add_argument("target", nargs="*", help=f"{', '.join(targets)}; without: all of them")
    arguments = parser.parse_args()
    try:
        if unknown := sorted(set(arguments.target) - set(targets)):
            raise Problem(f"there is no target {', '.join(unknown)}; there are {', '.join(targets)}")
        release(arguments.target or list(targets))
    except Problem as problem:
        say(str(problem))
        return 1
    sys.stdout.write((OUT / SUMS).read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
