"""Live: a running sidecar, where one has the files open: taking back goes through its editor, as one undo step.

A port: whoever connects to running sidecars implements it. Without one, files are changed on the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sidecar.journal.entry import Recorded


class Live(Protocol):
    """Running sidecars, as the revert command sees them."""

    def has_open(self, path: str) -> bool:
        """Whether an editor with a sidecar has the file at this canonical path open."""
        ...

    def revert(self, path: str, writes: Sequence[Recorded], session: str) -> str | None:
        """Takes the writes (newest first, all of that file) back in the editor; None when it is done.

        Journalled there, as `session` and with `takes_back`. Else why not, as a clause for a person; then nothing was changed."""
        ...
