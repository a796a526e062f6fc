"""Changes to a text as values: `Edit` (one replacement) and `ChangeSet` (all replacements between two texts).

A ChangeSet knows the length of the text it was made for and refuses any other. It can be applied, undone (`invert`), joined
with a later change (`compose`) and moved over a concurrent one (`map`), and it tells where an offset goes (`map_offset`).
It does not find changes (diff.py) and does not decide between them (merge.py).

Offsets and lengths are code points of the text *before* the change, everywhere in this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

Assoc = Literal[-1, 1]


class Sliceable(Protocol):
    """What `ChangeSet` needs of a text that is not a `str`; `core.text.Text` has it."""

    def __len__(self) -> int: ...
    def slice(self, start: int, end: int, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the code points start..end by `new`. start == end inserts, an empty `new` deletes."""

    start: int
    end: int
    new: str

    @property
    def growth(self) -> int:
        """By how many code points the text grows; negative if it shrinks."""
        return len(self.new) - (self.end - self.start)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All edits that lead from one text, `length` code points long, to the next.

    Edits are sorted and do not overlap, but may touch. `of` checks this; the constructor does not.
    """

    length: int
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, length: int, edits: Iterable[Edit]) -> ChangeSet:
        """A checked ChangeSet without edits that do nothing. ValueError if edits overlap, are unsorted or lie outside
        the text."""
        kept = tuple(edit for edit in edits if edit.new or edit.start != edit.end)
        reached = 0
        for edit in kept:
            if not reached <= edit.start <= edit.end <= length:
                raise ValueError(f"edit {edit.start}..{edit.end} is out of order or outside 0..{length}")
            reached = edit.end
        return cls(length, kept)

    @property
    def is_empty(self) -> bool:
        return not self.edits

    @property
    def new_length(self) -> int:
        """Length of the text after the change."""
        return self.length + sum(edit.growth for edit in self.edits)

    def apply(self, text: str | Sliceable) -> str:
        """The text after the change. ValueError if `text` does not have the length that this change was made for."""
        self._expect(len(text))
        pieces: list[str] = []
        reached = 0
        for edit in self.edits:
            pieces.append(_slice(text, reached, edit.start))
            pieces.append(edit.new)
            reached = edit.end
        pieces.append(_slice(text, reached, self.length))
        return "".join(filter(None, pieces))  # a single piece is not copied

    def invert(self, base: str | Sliceable) -> ChangeSet:
        """The change that leads from `self.apply(base)` back to `base`. ValueError if `base` has another length."""
        self._expect(len(base))
        back: list[Edit] = []
        shift = 0
        for edit in self.edits:
            start = edit.start + shift
            back.append(Edit(start, start + len(edit.new), _slice(base, edit.start, edit.end)))
            shift += edit.growth
        return ChangeSet(self.length + shift, tuple(back))

    def compose(self, other: ChangeSet) -> ChangeSet:
        """This change followed by `other`, as one. ValueError if `other` was not made for the length of the text after
        this change."""
        if other.length != self.new_length:
            raise ValueError(
                f"change for {other.length} code points composed onto one that leaves {self.new_length}"
            )
        if not self.edits:
            return other
        if not other.edits:
            return self
        return ChangeSet(self.length, tuple(_composed(self.edits, other.edits)))

    def map(self, other: ChangeSet, *, before: bool = False) -> ChangeSet:
        """This change as it must be applied after `other`, where both were made for the same text.

        Text that both delete is deleted once; text that either inserts stays. `before` decides whose insertion comes first
        if both insert at one point, so that for all A and B of one length

            A.compose(B.map(A))  and  B.compose(A.map(B, before=True))

        give the same text. It never reports a conflict: merge.py decides whether two changes *may* be combined.
        """
        if other.length != self.length:
            raise ValueError(f"change for {self.length} code points mapped over one for {other.length}")
        if not self.edits or not other.edits:
            return ChangeSet(other.new_length, self.edits)
        return ChangeSet(other.new_length, tuple(_mapped(self.edits, other.edits, before)))

    def map_offset(self, offset: int, assoc: Assoc = -1) -> int:
        """Where `offset` is after the change.

        `assoc` is the side it sticks to where the answer is open: at an insertion (-1: stays in front of it) and inside a
        replaced stretch (-1: start of the new text, 1: its end). ValueError if the offset is outside 0..length.
        """
        if not 0 <= offset <= self.length:
            raise ValueError(f"offset {offset} is outside 0..{self.length}")
        shift = 0
        for edit in self.edits:
            if offset < edit.start:
                break
            if edit.start == edit.end == offset and assoc < 0:
                break
            if edit.start == offset < edit.end:
                break
            if offset < edit.end:
                return edit.start + shift + (len(edit.new) if assoc > 0 else 0)
            shift += edit.growth
        return offset + shift

    def _expect(self, length: int) -> None:
        if length != self.length:
            raise ValueError(f"change for a text of {self.length} code points applied to one of {length}")


def _slice(text: str | Sliceable, start: int, end: int) -> str:
    return text[start:end] if isinstance(text, str) else text.slice(start, end)


def _composed(first: tuple[Edit, ...], second: tuple[Edit, ...]) -> Iterable[Edit]:
    """Compose two lists of edits. Edits that touch in the text between the two changes become one; that text itself is
    never built."""
    i = j = 0
    shift = 0  # middle = base + shift, for everything before first[i]
    while i < len(first) or j < len(second):
        starts = [first[i].start + shift] if i < len(first) else []
        if j < len(second):
            starts.append(second[j].start)
        low = high = min(starts)
        base_start = low - shift
        inserted: list[tuple[int, str]] = []
        edits: list[Edit] = []
        while True:
            if i < len(first) and first[i].start + shift <= high:
                inserted.append((first[i].start + shift, first[i].new))
                high = max(high, first[i].start + shift + len(first[i].new))
                shift += first[i].growth
                i += 1
            elif j < len(second) and second[j].start <= high:
                edits.append(second[j])
                high = max(high, second[j].end)
                j += 1
            else:
                break
        new: list[str] = []
        reached = low
        for edit in edits:
            new.extend(_between(inserted, reached, edit.start))
            new.append(edit.new)
            reached = edit.end
        new.extend(_between(inserted, reached, high))
        text = "".join(new)
        if text or high - shift != base_start:
            yield Edit(base_start, high - shift, text)


def _between(inserted: list[tuple[int, str]], low: int, high: int) -> Iterable[str]:
    """The inserted text inside low..high. Any other text there was the base's, and the second change deleted it."""
    for start, text in inserted:
        if start < high and low < start + len(text):
            yield text[max(low - start, 0) : high - start]


def _mapped(edits: tuple[Edit, ...], other: tuple[Edit, ...], before: bool) -> Iterable[Edit]:
    """Map `edits` over `other`. An edit counts as an insertion at its start plus a deletion; insertions of both sides
    are ordered by that point."""
    i = 0
    shift = 0  # by other[:i], which lie wholly in front of the edit at hand
    for edit in edits:
        while i < len(other) and other[i].start < edit.start and other[i].end <= edit.start:
            shift += other[i].growth
            i += 1
        point = edit.start + shift
        if i < len(other) and other[i].start < edit.start:
            point = other[i].start + shift + len(other[i].new)
        left: list[tuple[int, int]] = []  # what `other` leaves of the deletion
        reached = edit.start
        j, here = i, shift
        while j < len(other) and (other[j].start < edit.end or other[j].start == edit.start):
            beside = other[j]
            if reached < beside.start:
                _extend(left, reached + here, beside.start + here)
            if beside.start == edit.start and not before:
                point = beside.start + here + len(beside.new)
            reached = max(reached, beside.end)
            here += beside.growth
            j += 1
        if reached < edit.end:
            _extend(left, reached + here, edit.end + here)
        if left and left[0][0] == point:
            yield Edit(point, left.pop(0)[1], edit.new)
        elif edit.new:
            yield Edit(point, point, edit.new)
        for start, end in left:
            yield Edit(start, end, "")


def _extend(stretches: list[tuple[int, int]], start: int, end: int) -> None:
    if stretches and stretches[-1][1] == start:
        start = stretches.pop()[0]
    stretches.append((start, end))


def changes_as_steps(changes: ChangeSet) -> list[Edit]:
    """The edits of one change as consecutive edits, each on the text that the one before left."""
    steps: list[Edit] = []
    shift = 0
    for edit in changes.edits:
        steps.append(Edit(edit.start + shift, edit.end + shift, edit.new))
        shift += edit.growth
    return steps
