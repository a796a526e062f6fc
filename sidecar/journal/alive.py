"""Alive: which of the processes that write to the journal are still running.

Each process holds a lock on a file of its own. The system drops the lock when the process ends, however it ends. A process id proves nothing, because
the system reuses ids.

The lock is a record lock, which belongs to the process. The other kind (flock) belongs to the open file, and a program that a dying process was just
starting would keep it for a moment. Record locks have two peculiarities: a process never sees its own, and loses them when it closes the file
anywhere. So a process recognises its own marks by their names.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from contextlib import suppress
from pathlib import Path

from sidecar import processes
from sidecar.journal import folder as folders

if sys.platform != "win32":
    import fcntl

FOLDER = "alive"
UNNAMED = ".new"
SETTLED_SECONDS = 60.0
"""Seconds after which an unnamed mark belongs to a dead process: naming a mark takes microseconds."""
_ours = set[str]()
"""The names of the marks that this process holds."""


class Alive:
    """The mark of this process, from creation until `close`. `owner` is its name."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError, JournalFailed."""
        marks = folder / FOLDER
        folders.make(marks)
        self.owner = secrets.token_hex(8)
        self._path = marks / self.owner
        # Locked before it gets its name, so nobody can find it unlocked. (Windows cannot rename an open
        # file.)
        first = self._path if sys.platform == "win32" else marks / f"{self.owner}{UNNAMED}"
        self._descriptor = os.open(first, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with suppress(OSError):  # on a file system without locks, the process id decides
                _try_lock(self._descriptor)
            os.write(self._descriptor, str(os.getpid()).encode())
            if first != self._path:
                first.rename(self._path)
            _ours.add(self.owner)
        except OSError:
            os.close(self._descriptor)
            raise

    def close(self) -> None:
        with suppress(OSError):
            self._path.unlink()
        _ours.discard(self.owner)
        os.close(self._descriptor)


def is_alive(folder: Path, owner: str) -> bool:
    """Whether the process with this mark is still running. Removes the mark of a dead process."""
    if not owner.isalnum():
        return False
    if owner in _ours:
        return True
    path = folder / FOLDER / owner
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # unknown, so nothing that may be in use is settled or deleted
    try:
        if not _try_lock(descriptor):
            return True
    except OSError:
        return _has_process(os.read(descriptor, 32))
    finally:
        os.close(descriptor)
    with suppress(OSError):
        path.unlink()
    return False


def sweep(folder: Path) -> None:
    """Remove the marks of dead processes."""
    with suppress(OSError):
        for path in (folder / FOLDER).iterdir():
            if path.suffix != UNNAMED:
                is_alive(folder, path.name)
            elif time.time() - path.lstat().st_mtime > SETTLED_SECONDS:
                path.unlink()


def _try_lock(descriptor: int) -> bool:
    """Take the file's lock for this process. Returns False if another process holds it. Raises OSError if the file system has no locks."""
    if sys.platform == "win32":
        return folders.try_lock(descriptor)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _has_process(written: bytes) -> bool:
    try:
        return processes.runs(int(written)) is not False
    except (ValueError, OverflowError):
        return True
