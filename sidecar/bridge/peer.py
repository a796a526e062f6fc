"""Finds out from the kernel which user's process is at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
import struct
import sys

_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1
"""<sys/un.h> of macOS and FreeBSD; Python defines neither constant."""
_XUCRED = struct.Struct("=II")
"""struct xucred starts with cr_version, which is 0, and cr_uid. The rest differs between systems."""


def is_same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to this user. False if the system cannot tell."""
    return sys.platform != "win32" and uid_of(connection) == os.geteuid()


def uid_of(connection: socket.socket) -> int | None:
    """The number of the user at the other end. None if it is unknown."""
    try:
        if sys.platform == "linux":
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("=iII"))
            _, uid, _ = struct.unpack("=iII", raw)
            return uid
        if sys.platform == "darwin" or sys.platform.startswith("freebsd"):
            raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128)
            version, uid = _XUCRED.unpack_from(raw)
            return uid if version == 0 else None
    except (OSError, struct.error):
        pass
    return None
