"""`open_beneath`: the one way into a root. openat2 where there is one, else the descriptor walk; both refuse every symbolic link."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from sidecar.disk import openat2, walk

open_beneath = openat2.open_beneath if openat2.available() else walk.open_beneath

# O_NONBLOCK: a FIFO without a writer must not hang us; O_NOCTTY: a terminal must not become ours.
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""To read a file."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""To look things up in a folder."""
LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
"""To list a folder, or to fsync it (not possible through O_PATH)."""

_MAX_LINKS = 40  # Linux's own limit (path_resolution(7))


class LinkLoop(Exception):
    """More than 40 symbolic links on the way."""


class DotsAfterMissing(Exception):
    """`..` after a component that does not exist: there is no physical answer."""


class LeftKnownFolders(Exception):
    """The way leads through a folder whose very existence the caller may not tell about."""


def physical(path: str, is_known: Callable[[str], bool] = lambda _: True) -> str:
    """The absolute path with links followed and `..` taken physically, as far as it exists; the rest is kept as the would-be name.

    A link in /proc stays as it is named: the kernel alone knows where it leads, and its text may name another file (another process's
    root reads as "/").

    Advisory: what it returns must be opened beneath a root again. Raises LinkLoop and DotsAfterMissing, or LeftKnownFolders where either
    of them, or a successful `..`, would depend on what exists in a folder that is not `is_known`. (`os.path.realpath` recurses
    without a limit on chains of links before Python 3.14 and takes `..` after a missing component lexically.)"""
    rest = path.split("/")[::-1]
    done = ""
    links = 0
    missing = False
    while rest:
        name = rest.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not is_known(done):
                raise LeftKnownFolders
            if missing:
                raise DotsAfterMissing
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{name}"
        try:
            target = "" if missing or here.startswith("/proc/") else os.readlink(here)
        except OSError as error:
            missing = error.errno == errno.ENOENT
            target = ""
        if not target:
            done = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise LinkLoop if is_known(done) else LeftKnownFolders
        if target.startswith("/"):
            done = ""
        rest.extend(target.split("/")[::-1])
    return done or "/"
