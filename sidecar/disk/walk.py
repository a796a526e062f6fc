"""The descriptor walk: replaces `openat2.open_beneath` on systems without openat2 (macOS, old kernels, strict
sandboxes).

It opens one component at a time, relative to the folder opened before, and never through a link. It is free of races
for the same reason as openat2: no lookup covers more than one component.
"""

from __future__ import annotations

import errno
import os
import stat

_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Like `openat2.open_beneath`. `..` raises EXDEV; callers resolve it first."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    here = folder
    try:
        for name in names[:-1]:
            here, before = _open_in(here, name, _FOLDER), here
            if before != folder:
                os.close(before)
        return _open_in(here, names[-1] if names else ".", flags)
    finally:
        if here != folder:
            os.close(here)


def _open_in(folder: int, name: str, flags: int) -> int:
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        # A link gives ELOOP, ENOTDIR (with O_DIRECTORY, Linux) or EMLINK (FreeBSD). Callers must see one of them only.
        if error.errno in (errno.ENOTDIR, errno.EMLINK) and _is_link(folder, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    # O_PATH with O_NOFOLLOW opens the link itself
    if flags & getattr(os, "O_PATH", 0) and stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
