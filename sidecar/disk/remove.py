"""remove: takes one name of a file away, and only while the file is the one that was looked at.

Between the last look and the removal another program's write can still be lost (microseconds), as with `save`.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath
from sidecar.disk.beneath import LIST, READ
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import Resolved, Stat, read_all

_MOVED = (errno.ENOENT, errno.ELOOP, errno.EXDEV, errno.ENOTDIR)


def remove(target: Resolved, expected: Stat, *, before: bytes | None = None) -> Refusal | None:
    """Removes the file; None when it is gone. Folders that are empty then stay.

    `expected`, `before`: the state and the bytes it was decided on; anything else there now is CHANGED_ON_DISK. READ_ONLY, IO_ERROR:
    nothing changed. `target` may be closed, and is on Windows. Blocks for the disk; any thread."""
    if not target.root.still_there(target.root.path):
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    try:
        if sys.platform == "win32":
            return _remove_by_name(target, expected, before)
        return _remove_beneath(target, expected, before)
    except OSError as error:
        if error.errno in _MOVED:
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        return from_os_error(error, target.requested, "write")


def _remove_beneath(target: Resolved, expected: Stat, before: bytes | None) -> Refusal | None:
    folder_path, _, name = target.relative.rpartition("/")
    folder = beneath.open_beneath(target.root.descriptor, folder_path or ".", LIST)
    try:
        descriptor = beneath.open_beneath(folder, name, READ)
        try:
            kind = _objection(descriptor, expected, before)
            if kind is not None:
                return refuse(kind, target.requested)
            os.unlink(name, dir_fd=folder)
        finally:
            os.close(descriptor)
        with suppress(OSError):  # not every file system can; the removal itself has happened
            os.fsync(folder)
    finally:
        os.close(folder)
    return None


def _remove_by_name(target: Resolved, expected: Stat, before: bytes | None) -> Refusal | None:
    target.close()  # an open file cannot be removed
    descriptor = os.open(target.path, READ | getattr(os, "O_BINARY", 0))
    try:
        kind = _objection(descriptor, expected, before)
    finally:
        os.close(descriptor)
    if kind is not None:
        return refuse(kind, target.requested)
    os.unlink(target.path)
    return None


def _objection(descriptor: int, expected: Stat, before: bytes | None) -> Kind | None:
    stat = os.fstat(descriptor)
    if Stat.of(stat) != expected or (before is not None and read_all(descriptor) != before):
        return Kind.CHANGED_ON_DISK
    return None if stat.st_mode & 0o222 else Kind.READ_ONLY
