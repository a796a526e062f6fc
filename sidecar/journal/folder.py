"""The journal's folder: made for the user alone, checked to be that, and one lock in it for what only one process may do.

Everything that agents changed is in there, secrets too. A folder or file that is somebody else's, or a link, is refused,
not repaired: it was put there to be written through.
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
"""Seconds between two tries at the lock."""


def default_folder() -> Path:
    """Where the journal lies unless told otherwise."""
    return state_folder("journal")


def make(folder: Path) -> None:
    """Makes the folder where it is missing, readable by the user alone, whatever the umask; checks it where it is not.

    Raises OSError, or JournalFailed when it is not the user's own."""
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
    """Whether there is such a file; raises JournalFailed when it is not a plain file of the user's own."""
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
        return  # a user's state folder is the user's by its access list
    if found.st_uid != os.geteuid():
        raise JournalFailed(
            "the journal's folder, or a file in it, belongs to another user; move it out of the way"
        )
    if found.st_mode & 0o077:
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


@contextmanager
def locked(folder: Path, seconds: float) -> Generator[None]:
    """One process at a time in here: opening, making and moving the database. Raises JournalFailed after `seconds`."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise JournalLocked
            time.sleep(_LOOK_AGAIN)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def try_lock(descriptor: int) -> bool:
    """Takes the file's lock; False when another open file has it. Gone with the descriptor, and with the process.

    Raises OSError where the file system has no locks."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
