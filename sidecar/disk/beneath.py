"""`open_beneath`: the only way into a root. It uses openat2 where available, otherwise the descriptor walk. Both refuse every symbolic link."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from sidecar.disk import openat2, walk

open_beneath = openat2.open_beneath if openat2.available() else walk.open_beneath

# O_NONBLOCK: opening a FIFO without a writer must not block. O_NOCTTY: a terminal must not become our controlling
# terminal.
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags to read a file."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""Flags to look things up in a folder."""
LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
"""Flags to list a folder, or to fsync it (not possible through O_PATH)."""

_MAX_LINKS = 40  # Linux's own limit (path_resolution(7))


class LinkLoop(Exception):
    """The path passes through more than 40 symbolic links."""


class DotsAfterMissing(Exception):
    """The path has `..` after a component that does not exist, so it has no physical meaning."""


class LeftKnownFolders(Exception):
    """The path leads through a folder whose existence the caller must not reveal."""


def physical(path: str, is_known: Callable[[str], bool] = lambda _: True) -> str:
    """Return the absolute path with links followed and `..` resolved physically. Components that do not exist are kept as given.

    A link in /proc keeps its name: only the kernel knows its target, and its text may name another file (another process's root reads as "/").

    The result is advisory; open it beneath a root again. Raises LinkLoop and DotsAfterMissing. Raises LeftKnownFolders instead if either error, or a
    successful `..`, would depend on what exists in a folder for which `is_known` is false. (`os.path.realpath` is no replacement: before Python 3.14
    it recurses without limit on chains of links, and it resolves `..` after a missing component as text.)
    """
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
