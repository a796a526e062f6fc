"""read_only: a folder in which nothing can be written for a while."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder and all in it. The modes come back at the end: nobody but root could remove it otherwise."""
    modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & ~_WRITABLE)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
