"""The journal's folder: created private, checked to be private, with a lock for work that only one process may do at a time.

It contains everything that agents changed, including secrets. A folder or file that belongs to another user, or is a link, is refused and not
repaired: somebody may have put it there to capture what is written.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from sidecar.journal.entry import JournalFailed, JournalLocked
from sidecar.state_folder import state_folder

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOOK_AGAIN = 0.01
"""Seconds between attempts to take the lock."""


def default_folder() -> Path:
    """Return the default location of the journal."""
    return state_folder("journal")


def make(folder: Path) -> None:
    """Create the folder if it is missing, readable only by the user whatever the umask. Check it if it exists. Raises OSError, or JournalFailed if it
    does not belong to the user or is not private.
    """
    missing: list[Path] = []
    for path in (folder, *folder.parents):
        if path.is_symlink() or path.exists():
            break
        missing.append(path)
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise JournalFailed(
            "the journal's folder is not a folder but a link or a file; move it out of the way"
        )
    _ours(folder, found)


def check_file(path: Path) -> bool:
    """Whether the file exists. Raises JournalFailed if it is not a regular file of the user's."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode):
        raise JournalFailed(
            "a file of the journal is not a regular file, perhaps a link; move it out of the way"
        )
    _ours(path, found)
    return True


def _ours(path: Path, found: os.stat_result) -> None:
    if sys.platform == "win32":
        return  # on Windows, the access control list makes the state folder private
    if found.st_uid != os.geteuid():
        raise JournalFailed(
            "the journal's folder, or a file in it, belongs to another user; move it out of the way"
        )
    if found.st_mode & 0o077:
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


@contextmanager
def locked(folder: Path, seconds: float) -> Generator[None]:
    """Let one process at a time open, create or move the database. Raises JournalFailed after `seconds`."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise JournalLocked
            time.sleep(_LOOK_AGAIN)
        yield
    finally:
        os.close(descriptor)  # this also drops the lock


def try_lock(descriptor: int) -> bool:
    """Take the file's lock. Returns False if another open file holds it. The lock ends with the descriptor and with the process. Raises OSError if
    the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
