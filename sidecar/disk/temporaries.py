"""Temporaries: the files that a save writes before it renames them, and their removal after a crash.

The writer locks its temporary, and the kernel drops the lock when the process ends. So a sweep removes only files that
nobody has locked. This works for several sidecars in one folder, and without clocks or process ids.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import time

from sidecar.disk.beneath import LIST

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(r"\.acp-sidecar-[0-9a-f]{16}\.tmp\Z")
_WINDOWS_AGE = 60.0
"""Seconds after which a temporary is removed where files are not locked. A save takes milliseconds."""


def is_temporary(name: str) -> bool:
    """Whether a file has the name of one of our temporaries."""
    return _NAME.match(name) is not None


def make_temporary(folder: int, mode: int) -> tuple[str, int]:
    """Create and lock a temporary in the open `folder`. Returns its name there and a descriptor for writing. `mode` is before the umask. Raises OSError."""
    name = f".acp-sidecar-{secrets.token_hex(8)}.tmp"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=folder)
    _lock(descriptor)
    return name, descriptor


def sweep_temporaries(path: str) -> int:
    """Remove the files that crashed saves left in the folder `path`, not in folders below it. Returns how many were removed. Never raises OSError."""
    try:
        if sys.platform == "win32":
            return _sweep_by_age(path)
        folder = os.open(path, LIST | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return sum(_sweep(folder, name) for name in os.listdir(folder) if _NAME.match(name))
    except OSError:
        return 0
    finally:
        os.close(folder)


def _sweep(folder: int, name: str) -> bool:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid() or not _lock(descriptor):
                return False
            os.unlink(name, dir_fd=folder)
            return True
        finally:
            os.close(descriptor)
    except OSError:
        return False


def _sweep_by_age(path: str) -> int:
    removed = 0
    for name in os.listdir(path):
        if _NAME.match(name):
            full = os.path.join(path, name)
            if time.time() - os.stat(full).st_mtime > _WINDOWS_AGE:
                os.unlink(full)
                removed += 1
    return removed


def _lock(descriptor: int) -> bool:
    """True if we now hold the lock, or if the file system (some network ones) has no locks."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
