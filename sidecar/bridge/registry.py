"""Claim: one sidecar's place in the folder, from `take` to `release`: a lock, a socket and an entry under one random
name.

Only the living process holds the lock, so only the lock distinguishes a living sidecar's socket from a dead one's:
process ids are reused, and the existence of a socket's file proves nothing. The lock file gets its final name only when
it is locked, and is removed last.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sidecar.bridge import entry as entries
from sidecar.bridge.entry import SECRET_BYTES, SidecarEntry, is_id, path_of, socket_of

if sys.platform != "win32":
    import fcntl

BACKLOG = 16
_TRIES = 20
_KINDS = ("json", "tmp", "sock", "new", "lock")
"""In the order of removal."""


def new_id() -> str:
    return secrets.token_hex(8)


class Claim:
    """A sidecar's place in the folder. Its methods block, but only for the file system."""

    def __init__(self, folder: Path, entry_id: str, lock: int) -> None:
        self.folder = folder
        self.id = entry_id
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self.socket_path = socket_of(folder, entry_id)
        self._started = time.time()
        self._lock = lock

    @classmethod
    def take(cls, folder: Path, entry_id: str) -> Claim:
        """Take a place in `folder`, which `folder.made` returned. Raises OSError."""
        new, final = folder / f"{entry_id}.new", folder / f"{entry_id}.lock"
        for _ in range(_TRIES):
            lock = os.open(new, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            try:
                if _locked(lock) and _is_at(lock, new):
                    new.rename(final)
                    return cls(folder, entry_id, lock)
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)  # a sweep was removing it at this moment
        raise OSError(f"the lock of {entry_id} cannot be taken")

    def listen(self) -> socket.socket:
        """Create the listening socket. Raises OSError, also if something exists at its path: nothing is ever replaced."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self.socket_path)
            os.chmod(self.socket_path, 0o600)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener

    def publish(self, roots: Sequence[str]) -> None:
        """Write the entry, replacing an older one. Raises OSError."""
        real = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        entry = SidecarEntry(
            self.id, os.getpid(), self._started, time.time(), real, self.socket_path, self.secret
        )
        entries.write(self.folder, entry)

    def release(self) -> None:
        """Remove everything. Closes the lock's descriptor last, so that nobody mistakes the rest for leftovers
        meanwhile."""
        _remove(self.folder, self.id)
        os.close(self._lock)


def listed(folder: Path) -> list[SidecarEntry]:
    """Every readable entry, including those of dead sidecars."""
    found = (entries.read(folder, entry_id) for entry_id in _ids(folder))
    return [entry for entry in found if entry is not None]


def sweep(folder: Path) -> None:
    """Remove the leftovers of dead sidecars. Never raises."""
    for entry_id in _ids(folder):
        sweep_one(folder, entry_id)


def sweep_one(folder: Path, entry_id: str) -> bool:
    """Remove everything of this sidecar if it is dead. Returns whether it was."""
    # Check "new" before "lock": the lock file is renamed from one to the other, and must not be missed under both
    # names.
    locks = [path for kind in ("new", "lock") if (path := folder / f"{entry_id}.{kind}").exists()]
    if not locks:
        _remove(folder, entry_id)  # a living sidecar always has a lock
        return True
    try:
        lock = os.open(locks[-1], os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        # Only the holder of the lock of the file at this path may remove it.
        if not _locked(lock) or not _is_at(lock, locks[-1]):
            return False
        _remove(folder, entry_id)
        return True
    except OSError:
        return False  # a file system without locks: unknown
    finally:
        os.close(lock)


def _remove(folder: Path, entry_id: str) -> None:
    for kind in _KINDS:
        with suppress(OSError):
            (path_of(folder, entry_id) if kind == "json" else folder / f"{entry_id}.{kind}").unlink()


def _ids(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    parts = (name.partition(".") for name in names)
    return sorted({entry_id for entry_id, _, kind in parts if is_id(entry_id) and kind in _KINDS})


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
