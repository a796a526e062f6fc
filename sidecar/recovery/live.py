"""Live: a running sidecar that has the files open. A revert then goes through its editor, as one undo step.

This is a port, implemented by whoever connects to running sidecars. Without it, files are changed on the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sidecar.journal.entry import Recorded, Texts


class Live(Protocol):
    """Running sidecars, as the revert command uses them."""

    def has_open(self, path: str) -> bool:
        """Whether an editor with a running sidecar has the file at this canonical path open."""
        ...

    def revert(
        self, path: str, writes: Sequence[Recorded], texts: Sequence[Texts], session: str
    ) -> str | None:
        """Reverts the writes (newest first, all of this one file; `texts`: what of each is to be taken back) in the editor. Returns None on
        success.

        The running sidecar journals it as `session`, with `takes_back`. On failure returns why, as a clause for the
        user; nothing was changed.
        """
        ...

    def look(self, path: str) -> None:
        """The file at this path, which was open when that was asked, was reverted on the disk: its document is brought up to it."""
        ...
