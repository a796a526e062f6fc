"""What git's index knows of files: which object each was when git last saw it, and its stat then. A file that is as it was then need not be read to
be compared with a commit.

The repository may be hostile. An index that says what is not so is not believed: the stats in it have the inode and the time at which the system
noted the last change, and nobody chooses those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from sidecar.disk import git_head
from sidecar.disk.resolve import Stat

_CONVERTING = ("filter", "ident", "working-tree-encoding")
"""Attributes with which git keeps other bytes than the file's, perhaps as many. (Other line ends are not as many.)"""
_PLAIN = frozenset({b"unspecified", b"unset"})
_ENTRY = re.compile(
    rb"[0-9]{6} ([0-9a-f]{40,64}) 0\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: 0\n"
)
"""As `ls-files --stage --debug -z` says it. Where a git says it otherwise, nothing is found, and files are read."""
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


def staged(folder: str, names: Sequence[str]) -> dict[str, Staged]:
    """Those of these files (relative to `folder`, an absolute path) that are in its index, by name; without those of which git may keep other
    bytes, and those that may have changed since without a new time."""
    written = _written(folder)
    output = None if written is None else git_head.ask(folder, "ls-files", "--stage", "--debug", "-z")
    wanted, found = set(names), dict[str, Staged]()
    for entry in _ENTRY.finditer(output or b""):
        name, one = _staged(*entry.groups())
        # Of the time of the index, or later: it may have been written once more in the moment in which git looked
        if name in wanted and written is not None and one.mtime_ns < written:
            found[name] = one
    if not found or _written(folder) != written:
        return {}
    converted = _converted(folder, list(found))
    return {} if converted is None else {name: found[name] for name in found if name not in converted}


def _staged(object_id: bytes, name: bytes, *numbers: bytes) -> tuple[str, Staged]:
    ctime, ctime_ns, mtime, mtime_ns, ino, size = map(int, numbers)
    one = Staged(object_id.decode(), size, ino, mtime * 10**9 + mtime_ns, ctime * 10**9 + ctime_ns)
    return os.fsdecode(name), one


def _written(folder: str) -> int | None:
    """When the index was written, in nanoseconds since the epoch; None: there is none."""
    output = git_head.ask(folder, "rev-parse", "--path-format=absolute", "--git-path", "index")
    try:
        return None if not output else os.stat(os.fsdecode(output.rstrip(b"\n"))).st_mtime_ns
    except OSError:
        return None


def _converted(folder: str, names: Sequence[str]) -> set[str] | None:
    """Those of which git may keep other bytes; None: nobody knows."""
    asked = b"".join(os.fsencode(name) + b"\0" for name in names)
    output = git_head.ask(folder, "check-attr", "-z", "--stdin", *_CONVERTING, data=asked)
    said = (output or b"").split(b"\0")[:-1]
    if len(said) != 3 * len(_CONVERTING) * len(names):
        return None
    rows = zip(said[0::3], said[2::3], strict=True)
    return {os.fsdecode(name) for name, value in rows if value not in _PLAIN}
