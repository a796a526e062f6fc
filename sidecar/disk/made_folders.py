"""The folders that are made for a file, and go with it when nothing else is in them."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import suppress


def folders_above(path: str) -> Generator[str]:
    """The folders that an absolute path is in, the innermost first."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def missing_folders(path: str) -> set[str]:
    """The folders above a file that are not there."""
    found: set[str] = set()
    for folder in folders_above(path):
        if os.path.isdir(folder):
            break
        found.add(folder)
    return found


def remove_empty(folders: Iterable[str]) -> list[str]:
    """Removes those of these folders (canonical) in which nothing is, inner ones first. → those that are gone now. Never raises; any
    thread."""
    gone: list[str] = []
    for folder in sorted(folders, key=len, reverse=True):
        if os.path.realpath(os.path.dirname(folder)) != os.path.dirname(folder):
            continue  # one above it is a link by now, and leads elsewhere
        with suppress(OSError):
            os.rmdir(folder)
        if not os.path.lexists(folder):
            gone.append(folder)
    return gone
