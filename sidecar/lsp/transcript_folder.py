"""The transcripts' files, in the user's state folder, readable only by the user (0700/0600).

Workspace files do not belong here (`disk/` opens those): this module opens only files that the sidecar created itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from datetime import datetime
from pathlib import Path

from sidecar.state_folder import make_private, state_folder

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_NAME = re.compile(r"chat-\d{8}-\d{6}(-\d+)?\.md")


def default_folder() -> Path:
    """Return the folder below the state folder of this user and machine. It may not exist yet."""
    return state_folder("chats")


class TranscriptFolder:
    """Creates the folder when it is first needed. All methods raise OSError."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path if path is not None else default_folder()

    def path(self) -> Path:
        """Return the folder, created if necessary, with symbolic links resolved, so that the editor's URIs and ours are the same."""
        return Path(os.path.realpath(make_private(self._path)))

    def create(self, text: str, now: datetime) -> Path:
        """Create a file with this text. Its name contains the time."""
        stem = self.path() / f"chat-{now:%Y%m%d-%H%M%S}"
        for number in range(100):
            path = Path(f"{stem}{f'-{number}' if number else ''}.md")
            try:
                descriptor = os.open(path, _CREATE, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
            return path
        raise FileExistsError(f"no free name beside {stem}.md")

    def owns(self, path: str) -> bool:
        """Whether a path names a transcript, of this run or an earlier one."""
        return _NAME.fullmatch(os.path.basename(path)) is not None and Path(path).parent == self.path()

    def read(self, path: Path) -> str:
        return path.read_bytes().decode("utf-8", "replace")

    def write(self, path: Path, text: str) -> None:
        """Replace the file's text atomically: a reader sees the old text or the new one."""
        descriptor, temporary = tempfile.mkstemp(prefix=".chat-", dir=path.parent)  # 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "replace"))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
