"""HunksThen: which hunks were under review in a text that a document's file says, or may say.

The editor may take an agent's change from the disk long before anybody looks there. Where that change belongs is then worked out in the text
that the document had before, with the hunks of that moment. And a document with unsaved work may be closed: then what its file says of agents
is under review, and not what the document said.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.kept import Kept
from sidecar.core.ledger import Hunk
from sidecar.core.text import Text

MOST = 3
"""Texts that are remembered: nobody may have looked at the disk while the editor took one change after the other from there."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A text (raw), and the hunks in it."""

    text: Text
    hunks: tuple[Hunk, ...]
    number: int
    """The text's; see SaveHistory. -1: it was none of the document's."""

    @property
    def fits(self) -> bool:
        size = len(self.text)
        return all(
            hunk.end <= size and self.text.part(hunk.start, hunk.end) == hunk.said for hunk in self.hunks
        )


class HunksThen:
    """Of one open document."""

    def __init__(self) -> None:
        self._noted: list[Noted] = []
        """In which a change from the disk may belong, oldest first."""
        self._saveable: list[Noted] = []
        """Which may be what the file says, oldest first."""
        self._saves = 0
        self.file: Noted | None = None
        """What the file says, or what others changed since; None: that is not known, or it is what the document says."""

    def is_due(self, saves: int, *, is_clean: bool) -> bool:
        """Whether a text that is about to be changed is to be noted: it is what the disk said when they were last compared (`is_clean`), or a
        save was told of it, which nobody has found there yet. `saves`: how many were told."""
        return is_clean or saves != self._saves

    def note(self, noted: Noted, saves: int, *, is_clean: bool) -> None:
        """That text is about to be changed, and not by an agent. `is_clean`: it is what the file says."""
        self._noted = [*self._noted[1 - MOST :], noted]
        self.leaves(noted, saves, is_clean=is_clean)

    def leaves(self, noted: Noted, saves: int, *, is_clean: bool) -> None:
        """The same, by whomever."""
        self._saves = saves
        self._saveable = [*self._saveable[1 - MOST :], noted]
        if is_clean:
            self.file = noted if noted.fits else None

    def found_out(self, noted: Noted) -> None:
        """A text that was noted had these hunks in it, as is known by now."""
        self._noted.append(noted)
        self._saveable = [noted if one.number == noted.number else one for one in self._saveable]
        if self.file is not None and self.file.number == noted.number:
            self.file = noted

    def only(self, noted: Noted) -> None:
        """That is what the disk says."""
        self._noted, self._saveable, self.file = [noted], [noted], noted

    def found(self, saved: Kept | None) -> None:
        """The disk was read, and says one of the document's texts."""
        noted = (one for one in reversed(self._saveable) if saved is not None and saved.is_said_by(one.text))
        self.file = next((one for one in noted if one.fits), None)

    def forget(self, *, before: int | None = None) -> None:
        """A change from the disk belongs to none of them, or to none with lower numbers than that: an agent has edited the document since, or it was
        saved."""
        self._noted = [] if before is None else [one for one in self._noted if one.number >= before]

    def numbers(self) -> list[int]:
        """Of the texts in which a change may belong, oldest first."""
        return [one.number for one in self._noted]

    def of(self, raw: str) -> tuple[Hunk, ...] | None:
        """The hunks in `raw`; None: that is not known."""
        for noted in reversed(self._noted):
            if len(raw) == len(noted.text) and all(raw[h.start : h.end] == h.said for h in noted.hunks):
                return noted.hunks
        return None

    @property
    def newest(self) -> Noted | None:
        """In which a change may belong."""
        return self._noted[-1] if self._noted else None

    def __bool__(self) -> bool:
        return bool(self._noted)
