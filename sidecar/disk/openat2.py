"""openat2(2) through ctypes: one system call opens a path beneath a folder and refuses every way out of it, without a
race.

CPython has no binding (declined upstream), and glibc has no wrapper before 2.43. It needs Linux 5.6. `available()`
tries the call, because seccomp filters of older container runtimes answer EPERM instead of ENOSYS.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

_SYS_OPENAT2 = 437  # the same number on every architecture that Linux still supports except alpha
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
# Since no link is followed, the path that was opened *is* its canonical name: the checked path and the open file cannot
# differ. The caller resolves paths that contain links and tries again.
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS
_TRIES = 64


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_how_by_flags: dict[int, _OpenHow] = {}

if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)
    _syscall = _libc.syscall
    _syscall.restype = ctypes.c_long
    _syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    _fstatfs = _libc.fstatfs
    _fstatfs.argtypes = (ctypes.c_int, ctypes.c_void_p)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Return a descriptor for `path`, relative to the open `folder`. Never creates a file. Raises OSError: ELOOP if any component is a symbolic link,
    EXDEV if the path leads out of the folder, otherwise as open(2) does.
    """
    how = _how_by_flags.get(flags)
    if how is None:
        how = _how_by_flags[flags] = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE)
    name = os.fsencode(path)
    code = errno.EAGAIN
    for _ in range(_TRIES):
        descriptor: int = _syscall(_SYS_OPENAT2, folder, name, ctypes.byref(how), 24)
        if descriptor >= 0:
            return descriptor
        code = ctypes.get_errno()
        # EAGAIN: a rename raced with `..` resolution (openat2(2)); EINTR: no PEP 475 for raw calls.
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code))


def available() -> bool:
    """Whether openat2 works in this kernel and this sandbox."""
    if sys.platform != "linux":
        return False
    try:
        folder = os.open("/", os.O_PATH | os.O_CLOEXEC)
        try:
            os.close(open_beneath(folder, ".", os.O_PATH))
        finally:
            os.close(folder)
    except OSError:
        return False
    return True


# statfs(2): proc, sysfs, devpts, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf, configfs, fusectl
# fmt: off
_SPECIAL = frozenset((
    0x9FA0, 0x62656572, 0x1CD1, 0x27E0EB, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0xCAFE4A11, 0x62656570, 0x65735543,
))
# fmt: on


def on_special_filesystem(descriptor: int) -> bool:
    """Whether the open file belongs to a file system that the kernel generates, wherever it is mounted (/proc, for
    instance). Such files look regular but may be endless or reveal secrets.
    """
    if sys.platform != "linux":
        return False
    # struct statfs begins with f_type, a long; it fits into 256 bytes on every architecture.
    buffer = (ctypes.c_ulong * 32)()
    return _fstatfs(descriptor, buffer) == 0 and (buffer[0] & 0xFFFFFFFF) in _SPECIAL
