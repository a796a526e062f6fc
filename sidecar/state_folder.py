"""The user's state folder, which contains approvals, the audit log, the journal and chats, and which nobody else may read.

`ACP_SIDECAR_STATE` names another one (tests, several installations side by side).

What is done in every turn joins names as strings: pathlib puts each part of a path into CPython's table of interned strings, and rebuilding the table,
after some ten thousand parts, takes a megabyte or two more, at once.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

import platformdirs


def state_folder(*names: str) -> Path:
    """Return the folder, or one below it. It may not exist yet."""
    own = os.environ.get("ACP_SIDECAR_STATE")
    base = Path(own) if own else platformdirs.user_state_path("acp-sidecar", appauthor=False)
    return base.joinpath(*names)


def make_private(folder: Path) -> Path:
    """Create the folder for the user alone, whatever the umask. Raises OSError, also if it is a link or belongs to another user."""
    for missing in reversed([parent for parent in folder.parents if not parent.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would apply the umask
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.name == "posix":
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is a link or not yours; move it out of the way")
        if stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    return folder


def replace_private(folder: Path, name: str, data: bytes) -> None:
    """Replace a whole file in the folder, readable only by the user. Raises OSError; the file is then unchanged."""
    make_private(folder)
    descriptor, temporary = tempfile.mkstemp(prefix=name, dir=folder)  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def open_private(path: str | Path, flags: int) -> int:
    """Return a descriptor of a file that only the user may read; never through a link. Raises OSError."""
    no_follow = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags | os.O_CREAT | no_follow, 0o600)
