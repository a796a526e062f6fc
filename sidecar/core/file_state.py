"""FileState: what a name on the disk stands for, beyond text: bytes, mode, or a symbolic link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class FileState:
    """A regular file or a symbolic link."""

    data: bytes
    """The content of the file, or the target of the link."""
    mode: int = 0o644
    """Permission bits without set-id bits. 0 for a link, which has none of its own."""
    kind: Literal["file", "link"] = "file"

    @property
    def is_link(self) -> bool:
        return self.kind == "link"

    def differs_in_mode(self, other: FileState | None) -> bool:
        """Whether `other` is the same but for its mode."""
        return other is not None and self != other and replace(self, mode=other.mode) == other


States = tuple[FileState | None, FileState | None]
"""What a name stood for before and after a change."""


def link(target: str) -> FileState:
    """A symbolic link to `target`, in the link's own spelling."""
    return FileState(target.encode("utf-8", "surrogateescape"), 0, "link")
