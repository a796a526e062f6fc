"""The folder for sockets and entries: owned by the user, closed to everybody else, with a short path.

`$XDG_RUNTIME_DIR` if it is set and private; otherwise the system's runtime folder for the user; otherwise a folder
in the temporary folder with the user's number in its name. A candidate that belongs to another user, is a link or is
open to others is skipped and never repaired: somebody may have put it there to listen. Nothing in this folder
outlives a sidecar.
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
"""Where systemd creates a folder for each logged-in user (pam_systemd(8))."""
SHORT = "/tmp"
"""Used if `TMPDIR` is too long for a socket's path, or differs between the editor and a terminal."""

MAX_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""In bytes, with the final NUL: `sun_path` has 108 on Linux and 104 on macOS and the BSDs (unix(7), unix(4))."""


class NoFolder(Exception):
    """No folder is suitable for a socket. The message is for the user."""


def candidates(env: Mapping[str, str]) -> list[Path]:
    """Possible locations, best first. `made` and `existing` check them."""
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
    """The folder, created if needed. Raises NoFolder."""
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
    """The folder in which sidecars with this environment are found. None if there is none."""
    return next((path for path in candidates(env) if not why_not(path)), None)


def why_not(path: Path) -> str:
    """Why `path` cannot be used as a private folder of the user, in words. "" if it can."""
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
