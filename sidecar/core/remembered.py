"""Remembered: the texts that a document had right before and right after agents' edits, with what was under review in them. Pure.

Undo and redo belong to the editor and may lead to any of these texts. What was under review in it then is under review again, also if its line ends or
its byte order mark differ now: editors unify line ends when they open a file, users change them, and an undo before that leads to a text that never
existed in the new line ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

from sidecar.core.hunk import Hunk, effective, writes_of
from sidecar.core.left import Left
from sidecar.core.moving import Moving
from sidecar.core.normal import say_the_same
from sidecar.core.respelled import respelled
from sidecar.core.text import Text

MAX_REMEMBERED = 64
"""The number of texts that are remembered. Editors keep about as many undo steps."""


class Hunks(Moving[Hunk]):
    """The hunks of one text."""

    def __init__(self, hunks: Iterable[Hunk] = (), *, are_effective: bool = False) -> None:
        """`are_effective`: the hunks are known to be in the form that `effective` returns."""
        super().__init__(hunks)
        self.are_effective = are_effective
        self.have_aftermath = any(hunk.is_aftermath for hunk in self.all())

    def put(self, numbers: range, instead: Sequence[Hunk], growth: int) -> None:
        super().put(numbers, instead, growth)
        if any(hunk.is_aftermath for hunk in instead):
            self.have_aftermath, self.are_effective = True, False

    def has_all_of(self, other: Hunks) -> bool:
        """Whether every write with work in `other` also has work here."""
        theirs, ours = map(writes_of, other.apart(self, Hunk.is_same))
        return theirs <= ours or theirs <= writes_of(self.all())


@dataclass(frozen=True)
class SeenText:
    """A text that the document had. When the document has this text again, these hunks are restored."""

    text: Text
    hunks: Hunks
    left: Left
    number: int
    """Increases with time: texts seen earlier have lower numbers."""

    @cached_property
    def lengths(self) -> frozenset[int]:
        """The lengths in code points that this text can have: as it is, and with line ends of one kind, with and without a byte order mark."""
        short = len(self.text.compared())
        long = short + self.text.line_count - 1
        return frozenset({len(self.text), short, short + 1, long, long + 1})

    def spelled(self, text: Text) -> SeenText:
        """The same for `text`, which differs only in line ends or the byte order mark."""
        if self.text == text:
            return self
        hunks = effective(respelled(self.hunks.all(), str(self.text), text))
        return replace(self, text=text, hunks=Hunks(hunks, are_effective=True), left=Left())

    def has_parts_of(self, hunks: Sequence[Hunk]) -> bool:
        """Whether any of `hunks` was part of a larger hunk here, which may have another number."""
        ours = list(self.hunks.unplaced())
        wholes = {hunk.id: hunk for hunk in ours}
        parts = [hunk for hunk in hunks if hunk.id not in wholes or _is_part(hunk, wholes[hunk.id])]
        return not writes_of(parts).isdisjoint(writes_of(ours))


class Remembered:
    """The newest of these texts."""

    def __init__(self) -> None:
        self._texts: list[SeenText] = []
        """Oldest first."""
        self.newest = 0
        """The number of the newest text that was added."""

    def __bool__(self) -> bool:
        return bool(self._texts)

    def copy(self) -> Remembered:
        other = copy(self)
        other._texts = [*self._texts]
        return other

    def add(self, text: Text, hunks: Hunks, left: Left) -> None:
        self.newest += 1
        others = [one for one in self._texts if one.text != text]
        self._texts = [*others[-(MAX_REMEMBERED - 1) :], SeenText(text, hunks, left, self.newest)]

    def may_be(self, length: int) -> bool:
        """Whether a text of `length` code points may be one of these."""
        return any(length in seen.lengths for seen in self._texts)

    def find(self, text: Text) -> SeenText | None:
        """`text` as it was seen before; in other line ends only if it was never seen in these."""
        near = [seen for seen in reversed(self._texts) if len(text) in seen.lengths]
        same = next((seen for seen in near if seen.text == text), None)
        same = same or next((seen for seen in near if say_the_same(seen.text, text)), None)
        return same and same.spelled(text)

    def hunks(self) -> Iterator[Hunk]:
        """Those of all texts; their places do not count."""
        return (hunk for seen in self._texts for hunk in seen.hunks.unplaced())

    def newest_first(self) -> Iterator[SeenText]:
        return reversed(self._texts)

    def only_up_to(self, number: int) -> None:
        """Forget the texts with higher numbers."""
        self._texts = [seen for seen in self._texts if seen.number <= number]

    def forget_parts(self, hunks: Sequence[Hunk]) -> None:
        """Forget the texts in which any of `hunks` was part of a larger hunk."""
        self._texts = [seen for seen in self._texts if not seen.has_parts_of(hunks)]


def _is_part(hunk: Hunk, whole: Hunk) -> bool:
    return hunk.text != whole.text and hunk.text in whole.text and writes_of([hunk]) <= writes_of([whole])
