"""What git's index knows about files: each file's object and stat when git last saw it. A file that has not changed since then need not be read to be
compared with a commit.

The repository may be hostile. A forged index is not believed: its stats must match the inode and the ctime, and nobody can choose those.
"""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sidecar.disk import git_head
from sidecar.disk.resolve import Stat

_CONVERTING = ("filter", "ident", "working-tree-encoding")
"""Attributes with which git stores bytes other than the file's, perhaps just as many. (With other line ends, the number differs.)"""
_PLAIN = frozenset({b"unspecified", b"unset"})
_MAY_CONVERT = re.compile("|".join(_CONVERTING).encode())
_MAX_ATTRIBUTES = 1024 * 1024
"""Bytes of one attributes file that are read."""
_ENTRY = re.compile(
    rb"[0-9]{6} ([0-9a-f]{40,64}) 0\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: 0\n"
)
"""One entry in the output of `ls-files --stage --debug -z`. If a version of git writes it differently, nothing is found, and files are read."""
_LONGEST = 64 * 1024
"""The limit for one entry, in bytes."""
_32_BITS = 0xFFFF_FFFF


class Staged(NamedTuple):
    """A file as git last saw it."""

    object_id: str
    size: int
    """In bytes."""
    ino: int
    """The lowest 32 bits of the inode. 0: git does not record it here."""
    mtime_ns: int
    ctime_ns: int

    def is_still(self, stat: Stat) -> bool:
        """Whether a file with that stat has not changed since then."""
        noted = (self.size, self.ino, self.mtime_ns, self.ctime_ns)
        return self.ino != 0 and noted == (stat.size, stat.ino & _32_BITS, stat.mtime_ns, stat.ctime_ns)


class _Places(NamedTuple):
    index_file: str
    attributes: str
    """The repository's own attributes file."""
    top: str
    """The folder that contains all of its files."""


def entries(folder: str) -> Iterator[tuple[bytes, Staged]]:
    """Yield the files of the index beneath `folder` (an absolute path), relative to it, in the order of the names' bytes, without those that may have
    changed since then without a new mtime. Raises OSError if git fails midway."""
    places = _places(folder)
    written = None if places is None else _written(places)
    if written is None:
        return
    rest = b""
    for part in git_head.ask_in_parts(folder, "ls-files", "--stage", "--debug", "-z"):
        rest, end = rest + part, 0
        for entry in _ENTRY.finditer(rest):
            end = entry.end()
            name, one = _staged(*entry.groups())
            # If it is not older than the index, it may have been written again just when git looked
            if one.mtime_ns < written:
                yield name, one
        rest = rest[max(end, len(rest) - _LONGEST) :]


def size(folder: str) -> int:
    """Return how many files the index of the repository that contains `folder` (an absolute path) claims to have; 0: there is no index."""
    places = _places(folder)
    head = b"" if places is None else _beginning(places.index_file, 12) or b""
    return int.from_bytes(head[8:12], "big") if head[:4] == b"DIRC" else 0


def converted(folder: str, names: Sequence[str]) -> set[str] | None:
    """Return those of these files (relative to `folder`) for which git may store other bytes. None: unknown."""
    told = _attributes(folder, names) if names else ()
    if told is None or not any(map(_MAY_CONVERT.search, told)):
        return None if told is None else set()
    asked = b"".join(os.fsencode(name) + b"\0" for name in names)
    output = git_head.ask(folder, "check-attr", "-z", "--stdin", *_CONVERTING, data=asked)
    said = (output or b"").split(b"\0")[:-1]
    if len(said) != 3 * len(_CONVERTING) * len(names):
        return None
    rows = zip(said[0::3], said[2::3], strict=True)
    return {os.fsdecode(name) for name, value in rows if value not in _PLAIN}


def _attributes(folder: str, names: Iterable[str]) -> list[bytes] | None:
    """Return the contents of all attributes files that apply to these files. None: unknown, and git might block on one of them."""
    places = _places(folder)
    if places is None:
        return None
    folders: set[str] = set()
    for below in {os.path.dirname(name) for name in names}:
        at = os.path.join(folder, below) if below else folder
        while at not in folders and len(at) >= len(places.top):
            folders.add(at)
            at = os.path.dirname(at)
    files = [places.attributes, *(os.path.join(at, ".gitattributes") for at in folders)]
    found: list[bytes] = []
    for path in files:
        data = _beginning(path, _MAX_ATTRIBUTES + 1)
        if data is None or len(data) > _MAX_ATTRIBUTES:
            return None
        found.append(data)
    return list(filter(None, found))


def _beginning(path: str, most: int) -> bytes | None:
    """Return the first bytes of a regular file; empty if there is none, None if it cannot be read. Follows no link, as git does for these files."""
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
    try:
        descriptor = os.open(path, os.O_RDONLY | sum(flags))
    except FileNotFoundError:
        return b""
    except OSError:
        return None
    try:
        return os.read(descriptor, most) if modes.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _staged(object_id: bytes, name: bytes, *numbers: bytes) -> tuple[bytes, Staged]:
    ctime, ctime_ns, mtime, mtime_ns, ino, size = map(int, numbers)
    return name, Staged(object_id.decode(), size, ino, mtime * 10**9 + mtime_ns, ctime * 10**9 + ctime_ns)


def _places(folder: str) -> _Places | None:
    output = git_head.ask(
        folder,
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "index",
        "--git-path",
        "info/attributes",
        "--show-toplevel",
    )
    lines = (output or b"").split(b"\n")
    return _Places(*map(os.fsdecode, lines[:3])) if len(lines) == 4 else None


def _written(places: _Places) -> int | None:
    """Return the mtime of the index, in nanoseconds since the epoch. None: there is no index."""
    try:
        return os.stat(places.index_file).st_mtime_ns
    except OSError:
        return None
