"""Node and npm's packages, for tests that run the extension's own: PATH is looked at here because that is where `make` got them from."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support import tools

EXTENSION = tools.ROOT / "editor-extension"


class NoNode(Exception):
    """Why the extension's own cannot be run, and what to do, in words."""


def find_node() -> str:
    """The program, with npm's packages installed; else `NoNode`."""
    found = tools.find("node-24")
    node = found.command if isinstance(found, tools.Tool) else shutil.which("node")
    if node is not None and (EXTENSION / "node_modules" / ".package-lock.json").exists():
        return node
    why = "npm's packages are not in editor-extension" if node else "not installed"
    raise NoNode(f"{why}; install Node 20 or newer, with npm, and run: make npm")


def require_node() -> str:
    """As `find_node`, but the test skips, or with CI=true fails."""
    try:
        return find_node()
    except NoNode as why:
        tools.lacking("node", str(why))


def run(*command: str) -> str:
    """What it prints; a failure fails the test with it."""
    done = subprocess.run(
        command,
        cwd=EXTENSION,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=240,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command[1:])}:\n{done.stdout[-6000:]}", pytrace=False)
    return done.stdout
