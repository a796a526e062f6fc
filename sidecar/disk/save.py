"""save and create: the only functions that write workspace files.

`save` replaces a file. It writes an exclusive temporary in the same folder, syncs it, checks once more that the file is
the expected one, renames, and syncs the folder. A crash leaves either the old text or the new one. Some files cannot be
replaced without loss: those with hard links, with another owner, or with something that a new file could not have (an
ACL, an attribute, a folder that is not writable). They are written in place, and the old bytes are put back on failure.
`create` makes parent folders one at a time and never replaces anything.

Another program's write in the microseconds between the last check and the rename can be lost.
renameat2(RENAME_EXCHANGE) would reveal it afterwards, but file watchers would then see the name disappear last and
report the file as deleted.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath
from sidecar.disk.beneath import FOLDER, LIST, READ
from sidecar.disk.codec import Encoded
from sidecar.disk.folder_syncs import Sync, sync_folder
from sidecar.disk.metadata import keep
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import Missing, Resolved, Stat, read_all
from sidecar.disk.roots import Root
from sidecar.disk.temporaries import make_temporary

_WRITE = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_MOVED = (errno.ENOENT, errno.ELOOP, errno.EXDEV, errno.ENOTDIR, errno.EISDIR)
"""The errors for a path that was a file a moment ago and has since been moved, or swapped for a link or a folder."""
_NO_PERMISSION = (errno.EACCES, errno.EPERM)
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


class _Changed(Exception):
    """The file is not the one that the plan was made for."""


class _InPlace(Exception):
    """A replacement could not preserve everything that the file has."""


def save(
    target: Resolved,
    content: bytes | Encoded,
    expected: Stat,
    *,
    before: bytes | None = None,
    sync: Sync = sync_folder,
) -> Stat | Refusal:
    """Replace the content of a file. Returns the file's new state.

    `expected`: the state that the plan was made for, usually `target.stat`; CHANGED_ON_DISK if the file now differs from it. `before`: the bytes that
    the plan was made for; if given, they are compared too, because two writes within one tick of the file system's clock look alike. `sync` makes the
    new name durable. READ_ONLY, NO_SPACE, IO_ERROR: nothing was changed. `target` may be closed. Waits for the disk's fsync; any thread.
    """
    root, relative = target.root, target.relative
    if not root.still_there(root.path):
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    folder_path, _, name = relative.rpartition("/")
    folder = -1
    old = -1
    try:
        folder = _open_folder(root.descriptor, folder_path)
        old = beneath.open_beneath(folder, name, READ)
        stat = os.fstat(old)
        if Stat.of(stat) != expected or (before is not None and read_all(old) != before):
            raise _Changed
        if not _is_writable(folder, name, stat):
            return refuse(Kind.READ_ONLY, target.requested)
        if stat.st_nlink == 1 and stat.st_uid == os.geteuid():
            try:
                return _replace(folder, name, old, content, expected, sync)
            except _InPlace:
                pass
        return _write_in_place(folder, name, content, expected)
    except _Changed:
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    except OSError as error:
        if error.errno in _MOVED:
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        return from_os_error(error, target.requested, "write")
    finally:
        _close(old, folder)


def create(target: Missing, content: bytes | Encoded, *, sync: Sync = sync_folder) -> Stat | Refusal:
    """Create a file with its content, and the folders above it. Returns the file's state. `sync` makes its name durable. CHANGED_ON_DISK if something
    exists there by now; READ_ONLY, NO_SPACE, NOT_A_FILE (a parent is not a folder): nothing is left behind.
    """
    root = target.root
    if not root.still_there(root.path):
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    folder_path, _, name = target.relative.rpartition("/")
    folder = -1
    made: list[tuple[int, str]] = []
    done = False
    try:
        folder = _make_folders(root, folder_path, made)
        stat = _create_in(folder, name, content, sync)
        done = True
        return stat
    except _Changed:
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EXDEV):
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        return from_os_error(error, target.requested, "write")
    finally:
        for parent, below in reversed(made):
            with suppress(OSError):
                if not done:
                    os.rmdir(below, dir_fd=parent)
            os.close(parent)
        _close(folder)


def check_writable(target: Resolved | Missing, size: int = 0) -> Refusal | None:
    """Return why a save of `size` bytes would probably fail, or None. Call this before you change a buffer that will then be saved. Promises nothing."""
    root = target.root
    folder = -1
    try:
        if isinstance(target, Resolved):
            folder = beneath.open_beneath(root.descriptor, target.relative.rpartition("/")[0] or ".", FOLDER)
            allowed = target.writable
        else:
            folder = _nearest_folder(root, target.relative)
            # Asks about "." in the folder, because faccessat does not work on an O_PATH descriptor itself before Linux
            # 5.8.
            allowed = _access(".", os.W_OK | os.X_OK, folder)
        if not allowed:
            return refuse(Kind.READ_ONLY, target.requested)
        space = os.fstatvfs(folder)
        if space.f_blocks and space.f_bavail * space.f_frsize < size:
            return refuse(Kind.NO_SPACE, target.requested)
    except OSError as error:
        if error.errno in _MOVED:
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        return from_os_error(error, target.requested, "write")
    finally:
        _close(folder)
    return None


def _replace(folder: int, name: str, old: int, content: bytes | Encoded, expected: Stat, sync: Sync) -> Stat:
    """Replace the file by rename. Raises _InPlace before anything is changed; also _Changed and OSError."""
    try:
        temporary, descriptor = make_temporary(folder, 0o600)
    except OSError as error:
        if error.errno in _NO_PERMISSION:
            raise _InPlace from None
        raise
    try:
        try:
            keep(old, descriptor)
        except OSError:
            raise _InPlace from None
        _write_all(descriptor, content)
        os.fsync(descriptor)
        if Stat.of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != expected:
            raise _Changed
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        temporary = ""
        sync(folder)
        return Stat.of(os.fstat(descriptor))
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
        os.close(descriptor)


def _write_in_place(folder: int, name: str, content: bytes | Encoded, expected: Stat) -> Stat:
    descriptor = beneath.open_beneath(folder, name, _WRITE)
    try:
        if Stat.of(os.fstat(descriptor)) != expected:
            raise _Changed
        old = read_all(descriptor)
        try:
            if len(content) > len(old):
                _reserve(descriptor, len(content))
            _write_all(descriptor, content)
            os.ftruncate(descriptor, len(content))
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.ftruncate(descriptor, len(old))
                _write_all(descriptor, old)
            raise
        return Stat.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _create_in(folder: int, name: str, content: bytes | Encoded, sync: Sync) -> Stat:
    temporary, descriptor = make_temporary(folder, 0o666)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
        # Creating a link never replaces a file. It is exclusive like O_EXCL, but the name appears together with the
        # whole text.
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink(temporary, dir_fd=folder)
        temporary = ""
        sync(folder)
        return Stat.of(os.fstat(descriptor))
    except FileExistsError:
        raise _Changed from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
        os.close(descriptor)
    return _create_directly(folder, name, content)


def _create_directly(folder: int, name: str, content: bytes | Encoded) -> Stat:
    """Create the file under its own name, for file systems without hard links (FAT)."""
    try:
        descriptor = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
        )
    except FileExistsError:
        raise _Changed from None
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
        return Stat.of(os.fstat(descriptor))
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _make_folders(root: Root, path: str, made: list[tuple[int, str]]) -> int:
    """Return a descriptor of the folder `path` beneath the root, creating missing folders. Appends (parent, name) to `made` for each one created; the
    caller closes the parents.
    """
    with suppress(FileNotFoundError):
        return _open_folder(root.descriptor, path)
    here = _open_folder(root.descriptor, "")
    try:
        for name in path.split("/"):
            try:
                below = _open_folder(here, name)
            except FileNotFoundError:
                with suppress(FileExistsError):  # another process created it meanwhile, which is just as good
                    os.mkdir(name, dir_fd=here)
                    made.append((os.dup(here), name))
                    sync_folder(here)
                below = _open_folder(here, name)
            os.close(here)
            here = below
    except OSError:
        os.close(here)
        raise
    return here


def _open_folder(folder: int, path: str) -> int:
    try:
        return beneath.open_beneath(folder, path or ".", LIST)
    except PermissionError:
        return beneath.open_beneath(folder, path or ".", FOLDER)  # the folder can be searched but not listed


def _nearest_folder(root: Root, relative: str) -> int:
    path = relative
    while path:
        path = path.rpartition("/")[0]
        with suppress(FileNotFoundError):
            return beneath.open_beneath(root.descriptor, path or ".", FOLDER)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _is_writable(folder: int, name: str, stat: os.stat_result) -> bool:
    return bool(stat.st_mode & 0o222) and _access(name, os.W_OK, folder)


def _access(name: str, mode: int, folder: int) -> bool:
    return os.access(name, mode, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids)


def _reserve(descriptor: int, size: int) -> None:
    """Reserve space where the system can, so that a full disk is noticed before the first old byte is overwritten."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise


def _write_all(descriptor: int, content: bytes | Encoded) -> None:
    for piece in (content,) if isinstance(content, bytes) else content:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)
