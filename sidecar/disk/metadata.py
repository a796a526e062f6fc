"""Metadata: copies mode, group, extended attributes and ACLs to the file that will replace another.

`keep` raises OSError if it cannot copy something. The caller then writes in place, which preserves everything.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

# The kernel drops capabilities when a file is written to, and integrity hashes describe the old bytes.
_NOT_KEPT = frozenset(("security.capability", "security.ima", "security.evm"))
_NO_ATTRIBUTES = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def keep(source: int, target: int) -> None:
    """Copy the metadata of the open file `source` to the open file `target`, which we own. Drops the set-id bits, as the kernel does on every write.
    Raises OSError.
    """
    stat = os.fstat(source)
    mine = os.fstat(target)
    if (stat.st_uid, stat.st_gid) != (mine.st_uid, mine.st_gid):
        os.fchown(target, stat.st_uid, stat.st_gid)
    if sys.platform == "linux":
        _keep_attributes(source, target)
    elif sys.platform == "darwin":
        _copyfile(source, target)
    # Last: an ACL's mask is the group's bits.
    os.fchmod(target, stat.st_mode & 0o777)


def _keep_attributes(source: int, target: int) -> None:
    if sys.platform != "linux":
        return
    try:
        wanted = {name: os.getxattr(source, name) for name in os.listxattr(source) if name not in _NOT_KEPT}
        there = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return
        raise
    for name, value in wanted.items():
        if there.get(name) != value:
            os.setxattr(target, name, value)
    for name in there.keys() - wanted.keys():
        os.removexattr(target, name)  # an ACL inherited from the folder; the old file did not have it


def _copyfile(source: int, target: int) -> None:
    # copyfile(3): COPYFILE_ACL 1, COPYFILE_XATTR 4. Python has no xattr functions on macOS.
    function = ctypes.CDLL(None, use_errno=True).fcopyfile
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
    if function(source, target, None, 1 | 4) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
