"""The folders that are created for a file, and removed with it if they are otherwise empty."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import suppress


def folders_above(path: str) -> Generator[str]:
    """Yield the folders that contain an absolute path, the innermost first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def missing_folders(path: str) -> set[str]:
    """Return the folders above a file that do not exist."""
    found: set[str] = set()
    for folder in folders_above(path):
        if os.path.isdir(folder):
            break
        found.add(folder)
    return found


def remove_empty(folders: Iterable[str]) -> list[str]:
    """Remove those of these folders (canonical) that are empty, inner ones first. Returns those that are gone now. Never raises; any thread."""
    gone: list[str] = []
    for folder in sorted(folders, key=len, reverse=True):
        if os.path.realpath(os.path.dirname(folder)) != os.path.dirname(folder):
            continue  # a folder above it is a link by now, and leads elsewhere
        with suppress(OSError):
            os.rmdir(folder)
        if not os.path.lexists(folder):
            gone.append(folder)
    return gone
