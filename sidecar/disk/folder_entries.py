"""entries: lists a folder beneath a root, with metadata. Names and numbers only; nothing is opened but folders."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sidecar.disk import beneath
from sidecar.disk.beneath import LIST
from sidecar.disk.roots import Root

EntryKind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    name: str
    """Relative to the listed folder, with `/`."""
    kind: EntryKind
    size: int
    """In bytes; 0 if it is not a file."""
    changed_ns: int
    """The mtime, in nanoseconds since 1970."""
    mode: int
    """Permission bits."""


def entries(root: Root, relative: str, depth: int, most: int) -> tuple[list[FolderEntry], bool]:
    """Return the entries down to `depth` levels, each folder before its contents, sorted by name, and whether there are more than `most`. Links are
    listed and never followed. Blocks; any thread. Raises OSError for the folder itself."""
    found: list[FolderEntry] = []
    folders = [(relative, "", 1)]
    while folders:
        path, name, level = folders.pop(0)
        try:
            inner = list(_in(root, path))
        except OSError:
            if not name:
                raise
            continue  # swapped meanwhile, or not readable
        for entry, stat in sorted(inner, key=lambda pair: pair[0]):
            if len(found) >= most:
                return found, True
            below = f"{name}/{entry}" if name else entry
            kind = _kind(stat.st_mode)
            size = stat.st_size if kind == "file" else 0
            found.append(FolderEntry(below, kind, size, stat.st_mtime_ns, modes.S_IMODE(stat.st_mode)))
            if kind == "folder" and level < depth:
                folders.append((f"{path}/{entry}" if path else entry, below, level + 1))
    return found, False


def _in(root: Root, relative: str) -> Iterator[tuple[str, os.stat_result]]:
    if root.descriptor < 0:  # Windows, where nothing is opened relative to a folder
        listed: int | str = os.path.join(root.path, relative)
    else:
        listed = beneath.open_beneath(root.descriptor, relative or ".", LIST)
    try:
        with os.scandir(listed) as found:
            for entry in found:
                try:
                    yield entry.name, entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone meanwhile
    finally:
        if isinstance(listed, int):
            os.close(listed)


def _kind(mode: int) -> EntryKind:
    if modes.S_ISREG(mode):
        return "file"
    if modes.S_ISDIR(mode):
        return "folder"
    return "link" if modes.S_ISLNK(mode) else "other"
