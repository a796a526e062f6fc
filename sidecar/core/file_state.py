"""FileState: what is under one name on the disk beyond a text: bytes, mode, or a symbolic link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FileState:
    """A regular file or a symbolic link."""

    data: bytes
    """What the file holds, or where the link leads."""
    mode: int = 0o644
    """Permission bits, without set-id bits. 0 for a link: it has none of its own."""
    kind: Literal["file", "link"] = "file"

    @property
    def is_link(self) -> bool:
        return self.kind == "link"


States = tuple[FileState | None, FileState | None]
"""What was under a name before a change of it, and what is after it."""


def link(target: str) -> FileState:
    """A symbolic link that leads to `target`, as it is written there."""
    return FileState(target.encode("utf-8", "surrogateescape"), 0, "link")
