"""HunksThen: which hunks were under review in a text that a document's file says, or may say.

The editor may take an agent's change from the disk long before anybody looks there. Where that change belongs is then worked out in the text
that the document had before, with the hunks of that moment.
"""

from __future__ import annotations

from sidecar.core.ledger import Hunk

MOST = 3
"""Texts that are remembered: nobody may have looked at the disk while the editor took one change after the other from there."""


class HunksThen:
    """Of one open document. Texts are raw, lengths in code points."""

    def __init__(self) -> None:
        self._noted: list[tuple[tuple[Hunk, ...], int]] = []
        self._saves = 0

    def is_due(self, saves: int, *, is_clean: bool) -> bool:
        """Whether a text that is about to be changed is to be noted: it is what the disk said when they were last compared (`is_clean`), or a
        save was told of it, which nobody has found there yet. `saves`: how many were told."""
        return is_clean or saves != self._saves

    def note(self, hunks: tuple[Hunk, ...], length: int, saves: int) -> None:
        """The text of that length, with these hunks in it, is about to be changed."""
        self._noted = [*self._noted[1 - MOST :], (hunks, length)]
        self._saves = saves

    def only(self, hunks: tuple[Hunk, ...], length: int) -> None:
        """The disk says a text of that length, with these hunks in it."""
        self._noted = [(hunks, length)]

    def forget(self) -> None:
        self._noted = []

    def of(self, raw: str) -> tuple[Hunk, ...] | None:
        """The hunks in `raw`; None: that is not known."""
        for hunks, length in reversed(self._noted):
            if len(raw) == length and all(raw[h.start : h.end] == h.text for h in hunks):
                return hunks
        return None

    def __bool__(self) -> bool:
        return bool(self._noted)
