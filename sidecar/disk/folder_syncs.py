"""FolderSyncs: makes new names in folders durable together, with one wait for each folder, however many of its files were saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

Sync = Callable[[int], None]
"""Called with the descriptor of an open folder in which a name has changed. Makes the change survive a crash."""


def sync_folder(folder: int) -> None:
    """Sync at once. Some file systems cannot do this (nor can O_PATH descriptors). The name has changed in any case."""
    with suppress(OSError):
        os.fsync(folder)


class FolderSyncs:
    """Use it as a context manager. What is not synced before its end is never synced."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], int] = {}
        """A descriptor of each folder, by device and inode."""

    def later(self, folder: int) -> None:
        """A `Sync` that defers to `sync`. `folder` may be closed afterwards. Any thread."""
        try:
            stat = os.fstat(folder)
            key = (stat.st_dev, stat.st_ino)
            if key not in self._held:
                held = os.dup(folder)
                if self._held.setdefault(key, held) != held:  # another thread was faster
                    os.close(held)
        except OSError:  # too many files are open
            sync_folder(folder)

    def sync(self) -> None:
        """Make all names that have changed so far durable. Blocks for the disk; any thread."""
        for folder in self._held.values():
            sync_folder(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._held:
            os.close(self._held.popitem()[1])
