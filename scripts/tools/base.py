"""What every part of the installer uses: running programs, launchers, and what a tool's entry is."""

from __future__ import annotations

import glob
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / ".cache" / "tools"

Entry = dict[str, str]
"""{"command": absolute path of the launcher, "version": what it says of itself} or {"problem": in words}."""


class Problem(Exception):
    """A tool cannot be had; the message says why and what a person can do."""


def say(message: str) -> None:
    sys.stderr.write(f"tools: {message}\n")
    sys.stderr.flush()


def run(command: Sequence[str], *, seconds: float = 600, words: str = "") -> str:
    """Runs to the end with `words` as its whole input; stdout. A failure, or no end in time, is a Problem with its last words."""
    try:
        done = subprocess.run(
            command,
            input=words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise Problem(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Problem(f"{Path(command[0]).name} did not finish within {seconds:.0f} s") from None
    if done.returncode != 0:
        last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise Problem(f"{Path(command[0]).name} failed: {last}")
    return done.stdout


def one(root: Path, pattern: str) -> str:
    """The first path in `root` that matches."""
    found = sorted(glob.glob(str(root / pattern)))
    if not found:
        raise Problem(f"{pattern} is not in the unpacked packages")
    return found[0]


def launcher(
    name: str, command: Sequence[str], environment: dict[str, str], first_on_path: str | None = None
) -> Path:
    path = TOOLS / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items())
    if first_on_path is not None:
        exports += f'export PATH={shlex.quote(first_on_path)}:"$PATH"\n'
    path.write_text(f'#!/bin/sh\n{exports}exec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return path


def checked(path: Path, *arguments: str) -> Entry:
    """The tool's entry, after it was started once: what cannot say its version is not installed."""
    version = run([str(path), *arguments], seconds=60).strip().splitlines()
    return {"command": str(path), "version": version[0] if version else ""}


def pip_install(target: Path, *arguments: str) -> None:
    """Wheels unpacked into `target`, without what they depend on."""
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-compile", "--only-binary=:all:", "--target", str(target)]
    run([*pip, *arguments])
