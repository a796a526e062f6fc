"""SettingsFile: an agent's settings file, read and replaced as a whole, never through a link, and only if it has not changed
since it was read."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar import disk
from sidecar.core.file_state import FileState
from sidecar.core.refusal import Kind, Refusal

MOST = 64 * 1024 * 1024
"""The most bytes. Claude keeps its history in its settings."""


class SettingsFailed(Exception):
    """The message is for the user."""


class SettingsFile:
    def __init__(self, folder: Path, below: str) -> None:
        """`folder`: the user's own, which is trusted. Below it, no link is followed. Raises SettingsFailed."""
        try:
            self._folder = os.path.realpath(folder, strict=True)
        except OSError:
            raise SettingsFailed(f"there is no folder {folder}; start the agent once to create it") from None
        self.path = os.path.join(self._folder, *below.split("/"))
        self._was: FileState | None = None
        self._mark = ""

    def read(self) -> str | None:
        """The text without a byte order mark. None if there is no file. Raises SettingsFailed."""
        found = disk.found(self._folder, self.path, at_most=MOST)
        if isinstance(found, Refusal):
            raise SettingsFailed(_words(found, self.path))
        if found is not None and found.is_link:
            to = os.fsdecode(found.data)
            raise SettingsFailed(
                f"{self.path} is a link to {to}; it was left alone. Put the lines in there by hand"
            )
        self._was = found
        if found is None:
            return None
        try:
            text = found.data.decode("utf-8")
        except UnicodeDecodeError:
            raise SettingsFailed(f"{self.path} is not UTF-8; it was left alone") from None
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        return text.removeprefix("\ufeff")

    def replace(self, text: str | None) -> None:
        """Replace the text that `read` returned with `text`. None: remove the file, and folders that are empty without it.
        Raises SettingsFailed."""
        mode = 0o600 if self._was is None else self._was.mode
        wanted = None if text is None else FileState((self._mark + text).encode(), mode)
        refusal = disk.restore(self._folder, self.path, self._was, wanted, prune=True)
        if refusal is not None:
            raise SettingsFailed(_words(refusal, self.path))


def _words(refusal: Refusal, path: str) -> str:
    if refusal.kind is Kind.CHANGED_ON_DISK:
        return f"{path} has just been changed by somebody else; nothing was done, try again"
    if refusal.kind in (Kind.SYMLINK_ESCAPE, Kind.NOT_A_FILE, Kind.IO_ERROR):
        return f"{path} is not a regular file, or can only be reached through a link; it was left alone"
    return f"{refusal.message}; it was left alone"
