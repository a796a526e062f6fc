"""Resolve, save and create for Windows. Windows cannot open anything relative to a folder, so the final path of the open handle is checked.

The answers are those of resolve.py and save.py. One guarantee is weaker: between the check of a temporary and its rename, somebody with write access
can still swap a folder. Links are examined before anything is opened, because opening a link to `\\\\host` logs in to that host.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import errno
import msvcrt
import ntpath
import os
import secrets
import shutil
import stat as mode_bits
from contextlib import suppress

from sidecar.core.policy import Access, check_request
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import windows
from sidecar.disk.codec import Encoded
from sidecar.disk.folder_syncs import Sync, sync_folder
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import Missing, Resolved, Stat, read_all
from sidecar.disk.roots import Root, Roots

_READ = os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
_WRITE = os.O_RDWR | os.O_BINARY | os.O_NOINHERIT


def resolve(roots: Roots, path: str, *, access: Access) -> Resolved | Missing | Refusal:
    """Like `sidecar.disk.resolve.resolve`. Resolves `..` as text, as Windows itself does."""
    bad = check_request(path, windows=True)
    if bad is not None:
        return bad
    network = any(windows.is_unc(root.path) for root in roots.roots)
    why = windows.refused(path, unc_allowed=network)
    if why is not None:
        return Refusal(Kind.BAD_PATH, f"The path is not usable, {why}: {path}")
    if path.endswith(("/", "\\")):
        return refuse(Kind.NOT_A_FILE, path)
    found = roots.match(windows.plain(path))
    if found is None and roots.is_root(path):
        return refuse(Kind.NOT_A_FILE, path)
    if found is None or not found[0].still_there(found[1]):
        return refuse(Kind.OUTSIDE, path)
    root, _, relative = found
    if not network and _leads_to_network(root, relative):
        return refuse(Kind.SYMLINK_ESCAPE, path)
    full = ntpath.join(root.path, relative)
    try:
        descriptor = os.open(full, _READ)
    except OSError as error:
        return _not_opened(roots, full, path, access, error)
    final = roots.match(windows.plain(_final_path(descriptor)))
    stat = os.fstat(descriptor)
    if final is None or not mode_bits.S_ISREG(stat.st_mode):
        os.close(descriptor)
        return refuse(Kind.SYMLINK_ESCAPE if final is None else Kind.NOT_A_FILE, path)
    root, _, relative = final
    return Resolved(ntpath.join(root.path, relative), path, root, relative, descriptor, stat)


def save(
    target: Resolved,
    content: bytes | Encoded,
    expected: Stat,
    *,
    before: bytes | None = None,
    sync: Sync = sync_folder,
) -> Stat | Refusal:
    """Like `sidecar.disk.save.save`. Closes `target`, because Windows cannot replace an open file. A folder needs no `sync` here."""
    target.close()
    requested = target.requested
    try:
        descriptor = os.open(target.path, _READ)
        try:
            stat = os.fstat(descriptor)
            same = Stat.of(stat) == expected and (before is None or read_all(descriptor) == before)
        finally:
            os.close(descriptor)
        if not same:
            return refuse(Kind.CHANGED_ON_DISK, requested)
        if not stat.st_mode & 0o222:
            return refuse(Kind.READ_ONLY, requested)
        if stat.st_nlink == 1:
            temporary = _write_temporary(target.root, ntpath.dirname(target.path), content)
            # Preserves the file's attributes, access lists and streams. Fails while another program has the file open.
            if ctypes.windll.kernel32.ReplaceFileW(target.path, temporary, None, 0, None, None):
                return _look(target.path)
            with suppress(OSError):
                os.unlink(temporary)
        return _write_in_place(target.path, content, expected, requested)
    except FileNotFoundError:
        return refuse(Kind.CHANGED_ON_DISK, requested)
    except OSError as error:
        return from_os_error(error, requested, "write")


def create(target: Missing, content: bytes | Encoded, *, sync: Sync = sync_folder) -> Stat | Refusal:
    """Like `sidecar.disk.save.create`, but folders created on the way remain if it fails."""
    folder = ntpath.dirname(target.path)
    try:
        if not target.root.still_there(target.root.path):
            return refuse(Kind.CHANGED_ON_DISK, target.requested)
        os.makedirs(folder, exist_ok=True)
        temporary = _write_temporary(target.root, folder, content)
        try:
            os.rename(temporary, target.path)  # never replaces
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return _look(target.path)
    except (FileExistsError, FileNotFoundError):
        return refuse(Kind.CHANGED_ON_DISK, target.requested)
    except OSError as error:
        return from_os_error(error, target.requested, "write")


def check_writable(target: Resolved | Missing, size: int = 0) -> Refusal | None:
    """Like `sidecar.disk.save.check_writable`."""
    folder = ntpath.dirname(target.path)
    while not os.path.isdir(folder) and len(folder) > len(target.root.path):
        folder = ntpath.dirname(folder)
    if not (target.writable if isinstance(target, Resolved) else os.access(folder, os.W_OK)):
        return refuse(Kind.READ_ONLY, target.requested)
    try:
        if shutil.disk_usage(folder).free < size:
            return refuse(Kind.NO_SPACE, target.requested)
    except OSError as error:
        return from_os_error(error, target.requested, "write")
    return None


def _not_opened(roots: Roots, full: str, requested: str, access: Access, error: OSError) -> Missing | Refusal:
    # An agent may only learn whether something exists if the path ends beneath a root.
    final = roots.match(windows.plain(os.path.realpath(full)))
    if final is None:
        return refuse(Kind.SYMLINK_ESCAPE, requested)
    root, _, relative = final
    would_be = ntpath.join(root.path, relative)
    if isinstance(error, FileNotFoundError):
        return Missing(would_be, requested, root, relative, os.path.isdir(ntpath.dirname(would_be)))
    if os.path.isdir(would_be):  # Windows reports a folder as "permission denied" here
        return refuse(Kind.NOT_A_FILE, requested)
    return from_os_error(error, requested, access)


def _leads_to_network(root: Root, relative: str) -> bool:
    here = root.path
    for name in relative.split("\\"):
        here = ntpath.join(here, name)
        try:
            if windows.is_unc(os.readlink(here)):
                return True
        except OSError:
            continue  # not a link, or nothing exists there
    return False


def _final_path(descriptor: int) -> str:
    size = 32_768  # the longest possible path, in characters
    buffer = ctypes.create_unicode_buffer(size)
    function = ctypes.windll.kernel32.GetFinalPathNameByHandleW
    function.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_uint32)
    length = function(msvcrt.get_osfhandle(descriptor), buffer, size, 0)
    return buffer.value if 0 < length < size else ""


def _write_temporary(root: Root, folder: str, content: bytes | Encoded) -> str:
    """Write a temporary and return its path. Raises OSError. Writes nothing unless the new file's handle says that it is beneath the root."""
    path = ntpath.join(folder, f".acp-sidecar-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(path, _WRITE | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            if windows.relative(windows.plain(_final_path(descriptor)), root.path) is None:
                raise FileNotFoundError(errno.ENOENT, "the folder moved")
            _write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        raise
    return path


def _write_in_place(path: str, content: bytes | Encoded, expected: Stat, requested: str) -> Stat | Refusal:
    descriptor = os.open(path, _WRITE)
    try:
        if Stat.of(os.fstat(descriptor)) != expected:
            return refuse(Kind.CHANGED_ON_DISK, requested)
        old = read_all(descriptor)
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
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


def _look(path: str) -> Stat:
    descriptor = os.open(path, _READ)
    try:
        return Stat.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes | Encoded) -> None:
    for piece in (content,) if isinstance(content, bytes) else content:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
