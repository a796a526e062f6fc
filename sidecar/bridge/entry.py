"""Entry: the file by which the user's other processes find a running sidecar.

Only the user can read it, because it contains the secret. It appears as a whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

VERSION = 1
MAX_BYTES = 256 * 1024
SECRET_BYTES = 32
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SidecarEntry:
    """One running sidecar. Times are wall-clock seconds since the epoch; paths are real paths."""

    id: str
    pid: int
    started: float
    created: float
    """When this file was written. It is written again when the editor's folders change."""
    roots: tuple[str, ...]
    socket: str
    secret: bytes = field(repr=False)


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def path_of(folder: Path, entry_id: str) -> Path:
    return folder / f"{entry_id}.json"


def socket_of(folder: Path, entry_id: str) -> str:
    return str(folder / f"{entry_id}.sock")


def write(folder: Path, entry: SidecarEntry) -> None:
    """Write the entry, replacing an older one. Raises OSError."""
    value = {
        "v": VERSION,
        "pid": entry.pid,
        "started": entry.started,
        "created": entry.created,
        "roots": entry.roots,
        "socket": entry.socket,
        "secret": entry.secret.hex(),
    }
    temporary = folder / f"{entry.id}.tmp"
    with suppress(FileNotFoundError):
        temporary.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
        file.write(json.dumps(value).encode())
    temporary.rename(path_of(folder, entry.id))


def read(folder: Path, entry_id: str) -> SidecarEntry | None:
    """The entry with this id. None if there is none, or none that can be trusted to come from this user's sidecar."""
    try:
        # Non-blocking: a FIFO in its place must not block us.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path_of(folder, entry_id), flags), "rb") as file:
            found = os.fstat(file.fileno())
            private = found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if not stat.S_ISREG(found.st_mode) or not private or found.st_size > MAX_BYTES:
                return None
            value: Any = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    entry = _parsed(entry_id, value)
    # A socket anywhere except beside its entry is not ours.
    return entry if entry is not None and entry.socket == socket_of(folder, entry_id) else None


def _parsed(entry_id: str, value: object) -> SidecarEntry | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    match fields:
        case {
            "v": 1,
            "pid": int(pid),
            "started": int() | float() as started,
            "created": int() | float() as created,
            "socket": str(socket),
        }:
            roots, secret = _roots(fields.get("roots")), _secret(fields.get("secret"))
            if roots is None or secret is None:
                return None
            return SidecarEntry(entry_id, pid, float(started), float(created), roots, socket, secret)
        case _:
            return None


def _roots(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(root for root in cast("list[object]", value) if isinstance(root, str))


def _secret(value: object) -> bytes | None:
    try:
        secret = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        return None
    return secret if len(secret) == SECRET_BYTES else None
