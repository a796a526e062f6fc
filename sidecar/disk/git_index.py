"""What git's index knows of files: which object each was when git last saw it, and its stat then. A file that is as it was then need not be read to
be compared with a commit.

The repository may be hostile. An index that says what is not so is not believed: the stats in it have the inode and the time at which the system
noted the last change, and nobody chooses those.
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
"""Attributes with which git keeps other bytes than the file's, perhaps as many. (Other line ends are not as many.)"""
_PLAIN = frozenset({b"unspecified", b"unset"})
_MAY_CONVERT = re.compile("|".join(_CONVERTING).encode())
_MAX_ATTRIBUTES = 1024 * 1024
"""Bytes of one file of attributes that is read."""
_ENTRY = re.compile(
    rb"[0-9]{6} ([0-9a-f]{40,64}) 0\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: 0\n"
)
"""As `ls-files --stage --debug -z` says it. Where a git says it otherwise, nothing is found, and files are read."""
_LONGEST = 64 * 1024
"""Bytes of one entry."""
_32_BITS = 0xFFFF_FFFF


class Staged(NamedTuple):
    """A file as git saw it last."""

    object_id: str
    size: int
    """In bytes."""
    ino: int
    """Its lowest 32 bits; 0: git does not note it here."""
    mtime_ns: int
    ctime_ns: int

    def is_still(self, stat: Stat) -> bool:
        """Whether a file with that stat is as it was then."""
        noted = (self.size, self.ino, self.mtime_ns, self.ctime_ns)
        return self.ino != 0 and noted == (stat.size, stat.ino & _32_BITS, stat.mtime_ns, stat.ctime_ns)


class _Places(NamedTuple):
    index_file: str
    attributes: str
    """The repository's own."""
    top: str
    """The folder that all of its files are in."""


def entries(folder: str) -> Iterator[tuple[bytes, Staged]]:
    """The files of the index beneath `folder` (an absolute path), relative to it, in the order of the names' bytes; without those that may have changed
    since without a new time. Raises OSError when git fails on the way."""
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
            # Of the time of the index, or later: it may have been written once more in the moment in which git looked
            if one.mtime_ns < written:
                yield name, one
        rest = rest[max(end, len(rest) - _LONGEST) :]


def size(folder: str) -> int:
    """How many files the index of the repository has that `folder` (an absolute path) is in, as it says; 0: there is none."""
    places = _places(folder)
    head = b"" if places is None else _beginning(places.index_file, 12) or b""
    return int.from_bytes(head[8:12], "big") if head[:4] == b"DIRC" else 0


def converted(folder: str, names: Sequence[str]) -> set[str] | None:
    """Those of these files (relative to `folder`) of which git may keep other bytes; None: nobody knows."""
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
    """What is in all files of attributes that count for these files; None: nobody knows, and git might wait for it."""
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
    """The first bytes of a regular file; empty if there is none, None if it cannot be read. Git follows no link there either."""
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
    """When the index was written, in nanoseconds since the epoch; None: there is none."""
    try:
        return os.stat(places.index_file).st_mtime_ns
    except OSError:
        return None
