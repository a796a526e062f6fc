"""git repositories for tests, as a user would have made them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import tools

with_git = pytest.mark.skipif(
    shutil.which("git") is None and tools.may_skip("git"), reason=f"{tools.MISSING}git: not installed"
)
_SETTINGS = ("user.name=n", "user.email=n@localhost", "commit.gpgsign=false", "protocol.file.allow=always")


def git(folder: Path, *words: str) -> str:
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    done = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, files: Mapping[str, bytes] | None = None) -> None:
    """Makes the folder a repository unless it is one, puts these files there, and commits all there is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "m")


def submodule(folder: Path, name: str, source: Path, files: Mapping[str, bytes]) -> None:
    """Puts a submodule with these files, which has a `.git` file, into a repository. `source`: a folder outside for the repository it is of."""
    commit(source, files)
    git(folder, "submodule", "--quiet", "add", str(source), name)
    git(folder, "commit", "-q", "-m", "a submodule")
