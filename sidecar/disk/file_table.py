"""FileTable: the stats of many files in a folder, in about 80 bytes a file: their names and one packed row each, folder by folder.

A table is immutable. Two tables of the same tree share the folders in which nothing changed. So a further turn, in any session, costs only as much
memory as has changed.
"""

from __future__ import annotations

import os
import stat as modes
import struct
import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from sidecar.disk.resolve import Stat

_ROW = struct.Struct("=QQQqqH")
"""A Stat, and the permission bits."""
_64_BITS = 0xFFFF_FFFF_FFFF_FFFF

COMPARED, SAME, CRLF, COMMITTED = 1, 2, 4, 8
"""Flags of a file, in this order: it was compared with the last commit; it is the same; it is the same except for the CR before each LF; the commit
has a file of that name."""


class FileEntry(NamedTuple):
    """A regular file."""

    stat: Stat
    mode: int
    """Permission bits."""
    flags: int


class Files:
    """The regular files directly in one folder, in the order of their names' bytes."""

    __slots__ = ("_ends", "_names", "flags", "rows")

    def __init__(self, names: list[bytes], rows: bytes, flags: bytes) -> None:
        self._names = b"\0".join([*names, b""])
        self._ends = array("I", accumulate(len(name) + 1 for name in names))
        self.rows = rows
        self.flags = flags
        """One byte per file."""

    def __len__(self) -> int:
        return len(self._ends)

    def names(self) -> list[bytes]:
        return self._names.split(b"\0")[:-1]

    def index(self, name: bytes) -> int:
        """Return the file's index, or -1 if there is no such file."""
        at = bisect_left(range(len(self._ends)), name, key=self._name)
        return at if at < len(self._ends) and self._name(at) == name else -1

    def entry(self, index: int) -> FileEntry:
        *stat, mode = _ROW.unpack_from(self.rows, index * _ROW.size)
        return FileEntry(Stat(*stat), mode, self.flags[index])

    def row(self, index: int) -> bytes:
        return self.rows[index * _ROW.size : (index + 1) * _ROW.size]

    def flagged(self, flags: bytes) -> Files:
        """Return the same files with other flags."""
        other = Files.__new__(Files)
        other._names, other._ends, other.rows, other.flags = self._names, self._ends, self.rows, flags
        return other

    def has_same_files(self, other: Files) -> bool:
        """Whether the names and stats are equal."""
        return self.rows == other.rows and self._names == other._names

    def _name(self, index: int) -> bytes:
        return self._names[self._ends[index - 1] if index else 0 : self._ends[index] - 1]


class FileTable:
    """Files by name, relative to a folder."""

    __slots__ = ("_size", "folders")

    def __init__(self, folders: Mapping[str, Files]) -> None:
        self.folders = folders
        """By the folder's name; "" has the files at the top."""
        self._size = sum(map(len, folders.values()))

    def __len__(self) -> int:
        return self._size

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        for folder, files in self.folders.items():
            top = os.path.join(folder, "") if folder else ""
            for name in files.names():
                yield top + os.fsdecode(name)

    def get(self, name: str) -> FileEntry | None:
        found = self._find(name)
        return None if found is None else found[0].entry(found[1])

    def entries(self) -> Iterator[tuple[str, FileEntry]]:
        for folder, files in self.folders.items():
            top = os.path.join(folder, "") if folder else ""
            for at, name in enumerate(files.names()):
                yield top + os.fsdecode(name), files.entry(at)

    def unlike(self, is_like: Callable[[int], object]) -> Iterator[str]:
        """Yield the names of the files whose flags do not satisfy `is_like`."""
        like = bytes(flags for flags in range(256) if is_like(flags))
        for folder, files in self.folders.items():
            if not files.flags.translate(None, like):
                continue
            top = os.path.join(folder, "") if folder else ""
            for name, flags in zip(files.names(), files.flags, strict=True):
                if not is_like(flags):
                    yield top + os.fsdecode(name)

    def differing(self, other: FileTable) -> Iterator[str]:
        """Yield the names of the files that are in only one table, or differ in stat or mode."""
        for folder in self.folders.keys() | other.folders.keys():
            mine, others = self.folders.get(folder, _NONE), other.folders.get(folder, _NONE)
            if mine is others or mine.has_same_files(others):
                continue
            top = os.path.join(folder, "") if folder else ""
            rows = dict(zip(mine.names(), _rows(mine), strict=True))
            for name, row in zip(others.names(), _rows(others), strict=True):
                if rows.pop(name, None) != row:
                    yield top + os.fsdecode(name)
            for name in rows:
                yield top + os.fsdecode(name)

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return those of the names that the table does not have."""
        found: list[str] = []
        for folder, wanted in _by_folder(names).items():
            files = self.folders.get(folder)
            known = set(map(os.fsdecode, [] if files is None else files.names()))
            top = os.path.join(folder, "") if folder else ""
            found += [top + name for name in wanted if name not in known]
        return found

    def like(self, other: FileTable, but: Iterable[str]) -> FileTable:
        """Return this table with the flags of `other` for files that are in both with the same stat and mode, and are not among `but`. Equal folders
        are shared."""
        without = {folder: set(map(os.fsencode, names)) for folder, names in _by_folder(but).items()}
        folders: dict[str, Files] = {}
        for folder, files in self.folders.items():
            others, left_out = other.folders.get(folder), without.get(folder, set())
            if others is None:
                folders[folder] = files
            elif not left_out and files.has_same_files(others):
                folders[folder] = others
            else:
                known = dict(zip(others.names(), zip(_rows(others), others.flags, strict=True), strict=True))
                flags = bytes(
                    flags if name not in left_out and was == row else 0
                    for name, row in zip(files.names(), _rows(files), strict=True)
                    for was, flags in [known.get(name, (b"", 0))]
                )
                folders[folder] = files.flagged(flags)
        return FileTable(folders)

    def with_flags(self, flags: Mapping[str, int]) -> FileTable:
        """Return this table with other flags for these files."""
        folders = dict(self.folders)
        for folder, names in _by_folder(flags).items():
            files = folders.get(folder)
            if files is None:
                continue
            top = os.path.join(folder, "") if folder else ""
            changed = bytearray(files.flags)
            for name in names:
                index = files.index(os.fsencode(name))
                if index >= 0:
                    changed[index] = flags[top + name]
            folders[folder] = files.flagged(bytes(changed))
        return FileTable(folders)

    def sharing(self, other: FileTable) -> FileTable:
        """Return this table, sharing those folders of `other` that are equal."""
        folders = {
            folder: was
            if (was := other.folders.get(folder)) is not None
            and was.flags == files.flags
            and was.has_same_files(files)
            else files
            for folder, files in self.folders.items()
        }
        return FileTable(folders)

    def _find(self, name: str) -> tuple[Files, int] | None:
        folder, _, base = name.rpartition(os.sep)
        files = self.folders.get(folder)
        index = -1 if files is None else files.index(os.fsencode(base))
        return None if files is None or index < 0 else (files, index)


class Listed(NamedTuple):
    """What exists under some names in a folder."""

    files: FileTable
    """Without flags."""
    links: dict[str, str]
    """The targets of symbolic links, as stored in them."""
    recent: dict[str, int]
    """Files and links that changed later than `since`, with the time in nanoseconds since the epoch."""
    missing: list[str]
    moved: dict[str, int]
    """Folders that, as far as can be seen, were moved later than `since`, with the time in nanoseconds since the epoch. A move does not change the contents."""


def listed(folder: str, names: Iterable[str], since: int) -> Listed:
    """Return what exists now. `folder`: an absolute path; `names`: relative to it. `since`: nanoseconds since the epoch, see `Listed.recent`. Blocks;
    any thread."""
    folders: dict[str, Files] = {}
    found = Listed(FileTable({}), {}, {}, [], {})
    top = os.path.join(folder, "")
    by_folder = _by_folder(names)
    found.moved.update(_moved(folder, by_folder, since))
    for below, bases in by_folder.items():
        within = os.path.join(below, "") if below else ""
        prefix, there, rows = os.fsencode(top + within), list[bytes](), list[bytes]()
        for name in sorted(set(map(os.fsencode, bases))):
            path = prefix + name
            try:
                stat = os.lstat(path)
                if modes.S_ISREG(stat.st_mode):
                    there.append(name)
                    rows.append(_row(stat))
                elif modes.S_ISLNK(stat.st_mode):
                    found.links[within + os.fsdecode(name)] = os.fsdecode(os.readlink(path))
                else:
                    found.missing.append(within + os.fsdecode(name))
                    continue
            except OSError:
                found.missing.append(within + os.fsdecode(name))
                continue
            changed = changed_ns(stat)
            if changed > since:
                found.recent[within + os.fsdecode(name)] = changed
        if there:
            folders[below] = Files(there, b"".join(rows), bytes(len(there)))
    return found._replace(files=FileTable(folders))


def _moved(folder: str, names: Iterable[str], since: int) -> Iterator[tuple[str, int]]:
    seen = {""}
    for name in names:
        while name not in seen:
            seen.add(name)
            try:
                stat = os.lstat(os.path.join(folder, name))
            except OSError:
                break
            if stat.st_mtime_ns < changed_ns(stat) and changed_ns(stat) > since:
                yield name, changed_ns(stat)
            name = os.path.dirname(name)


def changed_ns(stat: os.stat_result) -> int:
    """Return the time of the last change that the system itself records, in nanoseconds. On Windows, that is the mtime: its ctime is the time of creation."""
    return stat.st_mtime_ns if sys.platform == "win32" else stat.st_ctime_ns


def _row(stat: os.stat_result) -> bytes:
    return _ROW.pack(
        stat.st_dev & _64_BITS,
        stat.st_ino
        & _64_BITS,  # ReFS has longer ones; two that differ only there still differ in their times
        stat.st_size,
        stat.st_mtime_ns,
        stat.st_ctime_ns,
        stat.st_mode & 0o777,
    )


def _rows(files: Files) -> Iterator[bytes]:
    return (files.row(index) for index in range(len(files)))


def _by_folder(names: Iterable[str]) -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for name in names:
        folder, _, base = name.rpartition(os.sep)
        found[folder].append(base)
    return found


_NONE = Files([], b"", b"")
