"""The disk's refusals: a fixed text for each kind, plus the path as it was requested. No other words may leave this
package: a resolved path, or the system's message about a file outside the roots, would tell an agent what exists there.
"""

from __future__ import annotations

import errno

from sidecar.core.policy import Access
from sidecar.core.refusal import Kind, Refusal

_TEXT: dict[Kind, str] = {
    Kind.NOT_FOUND: "Resource not found",
    Kind.OUTSIDE: "The path is outside the session's folders",
    Kind.SYMLINK_ESCAPE: "A symbolic link in the path leads outside the session's folders",
    Kind.BAD_PATH: "The path is not usable",
    Kind.NOT_A_FILE: "Not a regular file",
    Kind.BINARY: "The file is binary (it has NUL bytes and no UTF-16 mark)",
    Kind.TOO_LARGE: "The requested text is larger than the limit",
    Kind.READ_ONLY: "The file or its folder cannot be written to",
    Kind.NO_SPACE: "No space left for the file",
    Kind.CHANGED_ON_DISK: "The file changed on disk since it was looked at",
    Kind.IO_ERROR: "The file could not be read or written",
}

_NO_SPACE = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY}
_NOT_A_FILE = {errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.ENOTDIR}


def refuse(kind: Kind, requested: str, **data: object) -> Refusal:
    """Build a refusal. `data` must not contain anything about a file outside the roots."""
    return Refusal(kind, f"{_TEXT[kind]}: {requested}", data)


def from_os_error(error: OSError, requested: str, access: Access) -> Refusal:
    """Build a refusal from a system error about a path that is known to be beneath a root."""
    code = error.errno
    if code in _NO_SPACE:
        return refuse(Kind.NO_SPACE, requested)
    if code in _PERMISSION:
        return refuse(Kind.READ_ONLY if access == "write" else Kind.IO_ERROR, requested, permission=False)
    if code in _NOT_A_FILE:
        return refuse(Kind.NOT_A_FILE, requested)
    if code == errno.ENOENT:
        return refuse(Kind.NOT_FOUND, requested)
    if code == errno.ENAMETOOLONG:
        return refuse(Kind.BAD_PATH, requested)
    return refuse(Kind.IO_ERROR, requested)
