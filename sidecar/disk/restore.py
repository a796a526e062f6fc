"""restore: restores the whole state under a name: a file's bytes and mode, a symbolic link, or nothing.

It acts only while the name still has the state on which the decision was based. On request, the folders that a removed file leaves empty are removed
too. Race-free beneath a root like `save`; on Windows by name.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat as mode_bits
import sys
from contextlib import suppress

from sidecar.core.file_state import FileState, link
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath
from sidecar.disk.beneath import LIST, READ
from sidecar.disk.folder_syncs import Sync, sync_folder
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import read_all
from sidecar.disk.roots import Roots
from sidecar.disk.temporaries import make_temporary

_PERMISSIONS = 0o777


def found(folder: str, path: str, *, at_most: int) -> FileState | Refusal | None:
    """Return the state under the canonical `path` beneath `folder`. None: nothing is there. NOT_A_FILE: a folder or a device; TOO_LARGE: more bytes
    than `at_most`. Blocks for the disk; any thread."""
    with Roots([folder]) as roots:
        if roots.unusable:
            return None
        try:
            parent, name = _parent(roots, folder, path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return from_os_error(error, path, "read")
        try:
            return _found(parent, name, path, at_most)
        except FileNotFoundError:
            return None
        except OSError as error:
            return from_os_error(error, path, "read")
        finally:
            os.close(parent)


def restore(
    folder: str,
    path: str,
    expected: FileState | None,
    wanted: FileState | None,
    *,
    prune: bool = False,
    sync: Sync = sync_folder,
) -> Refusal | None:
    """Restore the state `wanted` under the canonical `path` beneath `folder`. Returns None when done.

    `expected`: the state that is there now; for any other state, returns CHANGED_ON_DISK and changes nothing. `prune`: remove the folders beneath
    `folder` that are empty without the file. `sync` makes the name durable. Blocks for the disk; any thread."""
    with Roots([folder]) as roots:
        if roots.unusable:
            return refuse(Kind.CHANGED_ON_DISK, path)
        try:
            parent, name = _parent(roots, folder, path, make=wanted is not None)
        except OSError as error:
            return from_os_error(error, path, "write")
        try:
            most = max(len(state.data) for state in (expected, wanted) if state is not None) + 1
            try:
                now = _found(parent, name, path, most)
            except FileNotFoundError:
                now = None
            if now != expected:
                return refuse(Kind.CHANGED_ON_DISK, path)
            _put(parent, name, now, wanted)
            sync(parent)
        except OSError as error:
            return from_os_error(error, path, "write")
        finally:
            os.close(parent)
    if wanted is None and prune:
        _prune(folder, os.path.dirname(path))
    return None


def _parent(roots: Roots, folder: str, path: str, *, make: bool = False) -> tuple[int, str]:
    """Return the folder that contains `path`, open, and the name in it. Raises OSError."""
    below, name = os.path.split(os.path.relpath(path, folder))
    if below.startswith("..") or not name:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    descriptor = roots.roots[0].descriptor
    here = beneath.open_beneath(descriptor, ".", LIST)
    for part in below.split("/") if below else ():
        try:
            try:
                inner = beneath.open_beneath(here, part, LIST)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                inner = beneath.open_beneath(here, part, LIST)
        finally:
            os.close(here)
        here = inner
    return here, name


def _found(parent: int, name: str, path: str, at_most: int) -> FileState | Refusal:
    stat = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if mode_bits.S_ISLNK(stat.st_mode):
        return link(os.readlink(name, dir_fd=parent))
    if not mode_bits.S_ISREG(stat.st_mode):
        return refuse(Kind.NOT_A_FILE, path)
    descriptor = beneath.open_beneath(parent, name, READ)
    try:
        data = read_all(descriptor, at_most)
    finally:
        os.close(descriptor)
    return FileState(data, stat.st_mode & _PERMISSIONS)


def _put(parent: int, name: str, now: FileState | Refusal | None, wanted: FileState | None) -> None:
    if wanted is None:
        os.unlink(name, dir_fd=parent)
    elif isinstance(now, FileState) and not now.is_link and not wanted.is_link and now.data == wanted.data:
        _set_mode(parent, name, wanted.mode)
    elif wanted.is_link:
        _put_link(parent, name, wanted)
    else:
        temporary, descriptor = make_temporary(parent, 0o600)
        try:
            view = memoryview(wanted.data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, wanted.mode)
            os.fsync(descriptor)
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise
        finally:
            os.close(descriptor)


def _set_mode(parent: int, name: str, mode: int) -> None:
    descriptor = beneath.open_beneath(parent, name, READ) if sys.platform != "win32" else -1
    if descriptor >= 0:
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)


def _put_link(parent: int, name: str, wanted: FileState) -> None:
    temporary = f".{name[:100]}.{secrets.token_hex(6)}"
    os.symlink(wanted.data.decode("utf-8", "surrogateescape"), temporary, dir_fd=parent)
    try:
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


def _prune(top: str, folder: str) -> None:
    """Remove `folder` and the folders above it, up to `top`, while they are empty."""
    while folder.startswith(os.path.join(top, "")):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
