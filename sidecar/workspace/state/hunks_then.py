"""HunksThen: which hunks were under review in a text that a document's file has, or may have.

The editor may take an agent's change over from the disk long before anybody looks at the file. Where the change belongs is then worked out in the
text that the document had before it, with the hunks of that moment. Also, a document with unsaved work may be closed: then the review is that of the
file's text, not of the document's.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.kept import Kept
from sidecar.core.ledger import Hunk
from sidecar.core.text import Text

MOST = 3
"""The number of texts remembered: the editor may take over several changes from the disk before anybody looks at the file."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A text (raw) and the hunks in it."""

    text: Text
    hunks: tuple[Hunk, ...]
    number: int
    """The text's number in SaveHistory; -1 if the document never had it."""

    @property
    def fits(self) -> bool:
        size = len(self.text)
        return all(
            hunk.end <= size and self.text.part(hunk.start, hunk.end) == hunk.said for hunk in self.hunks
        )


class HunksThen:
    """The noted texts of one open document."""

    def __init__(self) -> None:
        self._noted: list[Noted] = []
        """The texts in which a change from the disk may belong, oldest first."""
        self._saveable: list[Noted] = []
        """The texts that the file may have, oldest first."""
        self._saves = 0
        self.file: Noted | None = None
        """The text of the file, including what others changed there since. None if it is not known, or is the document's text."""

    def is_due(self, saves: int, *, is_clean: bool) -> bool:
        """Whether to note a text that is about to be changed. It is noted if it was the disk's text when they were last compared (`is_clean`), or
        if a save of it was reported that nobody has found on the disk yet. `saves`: how many saves were reported."""
        return is_clean or saves != self._saves

    def note(self, noted: Noted, saves: int, *, is_clean: bool) -> None:
        """Note a text that is about to be changed, but not by an agent. `is_clean`: it is the file's text."""
        self._noted = [*self._noted[1 - MOST :], noted]
        self.leaves(noted, saves, is_clean=is_clean)

    def leaves(self, noted: Noted, saves: int, *, is_clean: bool) -> None:
        """Note a text that is about to be changed by anybody."""
        self._saves = saves
        self._saveable = [*self._saveable[1 - MOST :], noted]
        if is_clean:
            self.file = noted if noted.fits else None

    def found_out(self, noted: Noted) -> None:
        """Correct the hunks of a text that was noted, now that they are known."""
        self._noted.append(noted)
        self._saveable = [noted if one.number == noted.number else one for one in self._saveable]
        if self.file is not None and self.file.number == noted.number:
            self.file = noted

    def only(self, noted: Noted) -> None:
        """Note that the disk has this text, and forget all others."""
        self._noted, self._saveable, self.file = [noted], [noted], noted

    def restored(self, noted: Noted) -> None:
        """The file has this text, as it had before the document was opened."""
        self._saveable = [noted, *self._saveable[1 - MOST :]]
        self.file = noted

    def found(self, saved: Kept | None) -> None:
        """The disk was read: set `file` to the noted text that equals `saved`, if any."""
        noted = (one for one in reversed(self._saveable) if saved is not None and saved.is_said_by(one.text))
        self.file = next((one for one in noted if one.fits), None)

    def forget(self, *, before: int | None = None) -> None:
        """Forget all texts, or those with lower numbers than `before`: no change from the disk can belong in them, because an agent has edited
        the document since, or it was saved."""
        self._noted = [] if before is None else [one for one in self._noted if one.number >= before]

    def numbers(self) -> list[int]:
        """The numbers of the texts in which a change may belong, oldest first."""
        return [one.number for one in self._noted]

    def of(self, raw: str) -> tuple[Hunk, ...] | None:
        """The hunks in `raw`; None if not known."""
        for noted in reversed(self._noted):
            if len(raw) == len(noted.text) and all(raw[h.start : h.end] == h.said for h in noted.hunks):
                return noted.hunks
        return None

    @property
    def newest(self) -> Noted | None:
        """The newest text in which a change may belong."""
        return self._noted[-1] if self._noted else None

    def __bool__(self) -> bool:
        return bool(self._noted)
