"""The folder that sockets and entries lie in: the user's own, closed to everybody else, on a short path.

`$XDG_RUNTIME_DIR` where it is set and as private as it should be, else the system's folder for it, else one below the
temporary folder, whose name holds the user's number. A candidate that is somebody else's, a link, or open to others is
passed over, never repaired: it was put there to be listened in. Nothing is kept here that outlives a sidecar.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

NAME = "acp-sidecar"
ID_LENGTH = 16
SYSTEM = "/run/user"
"""Where systemd makes a folder for every user who is logged in (pam_systemd(8))."""
SHORT = "/tmp"
"""For when `TMPDIR` is too long for a socket, or differs between the editor and a terminal."""

MAX_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""Bytes: `sun_path` has 108 on Linux and 104 on macOS and the BSDs, its end included (unix(7), unix(4))."""


class NoFolder(Exception):
    """There is no place for a socket. The message is for a person."""


def candidates(env: Mapping[str, str]) -> list[Path]:
    """Where the folder may lie, best first; whether it does is for `made` and `existing` to see."""
    if sys.platform == "win32":
        return []
    user = os.geteuid()
    private = (env.get("XDG_RUNTIME_DIR", ""), f"{SYSTEM}/{user}" if sys.platform == "linux" else "")
    shared = (tempfile.gettempdir(), SHORT)
    found = [
        *(Path(base) / NAME for base in private if os.path.isabs(base) and not why_not(Path(base))),
        *(Path(base) / f"{NAME}-{user}" for base in shared),
    ]
    return list(dict.fromkeys(path for path in found if _fits(path)))


def made(env: Mapping[str, str]) -> Path:
    """The folder, made if need be. Raises NoFolder."""
    reasons: list[str] = []
    for path in candidates(env):
        try:
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            wrong = why_not(path) or ("" if os.access(path, os.W_OK | os.X_OK) else "cannot be written")
        except OSError as error:
            wrong = error.strerror or "cannot be made"
        if not wrong:
            return path
        reasons.append(f"{path}: {wrong}")
    raise NoFolder("there is no private folder for a socket (" + "; ".join(reasons) + ")")


def existing(env: Mapping[str, str]) -> Path | None:
    """The folder in which sidecars with such an environment are found; None when there is none."""
    return next((path for path in candidates(env) if not why_not(path)), None)


def why_not(path: Path) -> str:
    """What is wrong with `path` as a folder of the user's own; "" when nothing is."""
    try:
        found = path.lstat()
    except OSError as error:
        return error.strerror or "cannot be looked at"
    if not stat.S_ISDIR(found.st_mode):
        return "not a folder, or a link"
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    if found.st_mode & 0o077:
        return "open to other users"
    return ""


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) + len("/.sock") + ID_LENGTH <= MAX_SOCKET_PATH
