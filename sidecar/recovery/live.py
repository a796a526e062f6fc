"""Live: a running sidecar that has the files open. A revert then goes through its editor, as one undo step.

This is a port; the code that connects to running sidecars implements it. Without it, files are changed on the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sidecar.journal.entry import Recorded, Texts


class Live(Protocol):
    """The running sidecars, as the revert command uses them."""

    def has_open(self, path: str) -> bool:
        """Whether an editor with a running sidecar has the file at this canonical path open."""
        ...

    def revert(
        self, path: str, writes: Sequence[Recorded], texts: Sequence[Texts], session: str
    ) -> str | None:
        """Revert the writes (newest first, all of this one file) in the editor. `texts`: the part of each write to take back. Returns None on
        success.

        The running sidecar journals the revert as `session`, with `takes_back`. On failure, this returns why, as a clause for the user; then nothing
        was changed.
        """
        ...

    def look(self, path: str) -> None:
        """Bring the document at this path up to date: its file, which an editor had open (`has_open`), was reverted on the disk."""
        ...
