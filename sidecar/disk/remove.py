"""remove: removes one name of a file, but only while it is still the file that was examined.

As with `save`, another program's write in the microseconds between the last check and the removal can be lost.
"""

from __future__ import annotations

import errno
import os
import sys

from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath
from sidecar.disk.beneath import LIST, READ
from sidecar.disk.folder_syncs import Sync, sync_folder
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import Resolved, Stat, read_all

_MOVED = (errno.ENOENT, errno.ELOOP, errno.EXDEV, errno.ENOTDIR)


def remove(
    target: Resolved, expected: Stat, *, before: bytes | None = None, sync: Sync = sync_folder
) -> Refusal | None:
    """Remove the file and return None, also if it is already gone. Leaves empty folders in place.

    `expected` and `before` are the state and bytes that the decision was based on; CHANGED_ON_DISK if the file differs from them now. READ_ONLY,
    IO_ERROR: nothing was changed. `target` may be closed, and always is on Windows. `sync` makes the removal durable. Blocks for the disk; any
    thread.
    """
    if not target.root.still_there(target.root.path):
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    try:
        if sys.platform == "win32":
            return _remove_by_name(target, expected, before)
        return _remove_beneath(target, expected, before, sync)
    except OSError as error:
        if error.errno in _MOVED:
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        return from_os_error(error, target.requested, "write")


def _remove_beneath(target: Resolved, expected: Stat, before: bytes | None, sync: Sync) -> Refusal | None:
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
        sync(folder)
    finally:
        os.close(folder)
    return None


def _remove_by_name(target: Resolved, expected: Stat, before: bytes | None) -> Refusal | None:
    target.close()  # Windows cannot remove an open file
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
