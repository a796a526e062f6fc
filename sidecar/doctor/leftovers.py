"""Leftovers of interrupted saves below the current folder. The search is bounded: only part of a large tree is
searched.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from sidecar.core.escape import plain
from sidecar.disk.temporaries import is_temporary
from sidecar.doctor.finding import Finding

ENTRIES_AT_MOST = 50_000
"""A second or two on a slow disk."""
_LISTED = 3
_NOT_WORKED_IN = {".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"}


def look(folder: str | None = None, at_most: int = ENTRIES_AT_MOST) -> Iterator[Finding]:
    area = "state"
    folder = os.getcwd() if folder is None else folder
    found, looked, complete = _search(folder, at_most)
    if found:
        names = ", ".join(plain(path) for path in found[:_LISTED]) + (" …" if len(found) > _LISTED else "")
        words = f"{len(found)} temporary files of saves below {plain(folder)}: {names}"
        todo = "delete them if no sidecar is running; the next sidecar removes those in folders where agents wrote recently"
        yield Finding(area, "note", words, todo)
    elif complete:
        yield Finding(area, "ok", f"no interrupted save left files below {plain(folder)}")
    else:
        words = f"no interrupted save left files among the first {looked:,} files below {plain(folder)}; the others were not checked"
        yield Finding(area, "ok", words)


def _search(top: str, at_most: int) -> tuple[list[str], int, bool]:
    """Returns (paths found, entries examined, whether everything was searched). Searches near folders first and follows
    no links.
    """
    found: list[str] = []
    looked = 0
    folders = deque([top])
    while folders:
        try:
            with os.scandir(folders.popleft()) as entries:
                for entry in entries:
                    looked += 1
                    if looked > at_most:
                        return found, at_most, False
                    if is_temporary(entry.name):
                        found.append(entry.path)
                    elif entry.name not in _NOT_WORKED_IN and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:  # a folder that we may not read
            continue
    return found, looked, True
