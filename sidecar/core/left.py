"""Left: the places where an edit took hunks out of review or changed them: a user's edit, or an agent's. When a place has its old text again,
its hunks are under review again. Pure.

An undo restores the text of one place. The rest of the document may differ by then: others edited elsewhere, the editor reloaded the file, or it reports the
undo together with later typing. So each place is tracked by itself. It moves with edits elsewhere and grows with edits inside it. An edit that reaches beyond
a place makes it larger, and must be undone too before the hunks come back.

Offsets are code points in the raw text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import NamedTuple

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.hunk import Hunk, writes_of
from sidecar.core.moving import Moving
from sidecar.core.rope import Rope
from sidecar.core.text import Text

MAX_PLACES = 64
"""At most this many places are kept, the newest. Editors keep about as many undo steps."""
MAX_SMALLER = 8
"""The number of smaller places (`Smaller`) that a place remembers."""
MAX_GROWN = 1 << 14
"""The size in code points up to which the text of a place is kept after an edit reached beyond it. Of a larger place, only its size and the texts of its
hunks are known."""
MAX_SAID = 1 << 24
"""Code points of the texts of all places together. The newest place is kept however long its text is."""


_id = attrgetter("id")


class Smaller(NamedTuple):
    """A place as it was before an edit reached beyond it."""

    text: str
    """The text of the larger place before that edit."""
    place: LeftPlace
    """Its offsets are in `text`."""


@dataclass(frozen=True, slots=True)
class LeftPlace:
    """The stretch from `start` to `end` once had another text: `said`, of `size` code points. `said` is None if only the size is known. All `hunks` were
    in `said`, between `first` and `last`. Their offsets count from its start."""

    start: int
    end: int
    size: int
    said: AnyText | None
    first: int
    last: int
    hunks: tuple[Hunk, ...]
    newest: int
    """The highest hunk number at that time."""
    smaller: tuple[Smaller, ...] = ()
    """The forms of this place before edits reached beyond it, newest last."""
    write: str = ""
    """The journal's id of the write that changed this place, if it was an agent's."""

    def is_in(self, edit: Edit) -> bool:
        """Whether an edit of the current text changes this place or touches its edge."""
        if edit.start == edit.end:
            return self.start <= edit.start <= self.end
        return edit.start <= self.end and self.start <= edit.end

    def after(self, edit: Edit, before: Callable[[], Text | None]) -> LeftPlace:
        """The place after an edit. `before` returns the text that the edit changed, or None if it is not known."""
        if not self.is_in(edit):
            return self._moved(edit.growth if edit.end < self.start else 0)
        start, end = min(self.start, edit.start), max(self.end, edit.end)
        more, behind = self.start - start, end - self.end
        if not more and not behind:
            return replace(self, end=end + edit.growth)
        said, smaller = None, ()
        whole = before() if max(end - start, self.size) <= MAX_GROWN else None
        if whole is not None:
            text = whole.slice(start, end)
            smaller = (
                *self.smaller[1 - MAX_SMALLER :],
                Smaller(text, replace(self._moved(-start), smaller=())),
            )
            if self.said is not None:
                said = f"{text[:more]}{self.said}{text[len(text) - behind :]}"
        return LeftPlace(
            start,
            end + edit.growth,
            more + self.size + behind,
            said,
            self.first + more,
            self.last + more,
            tuple(hunk.moved(more) for hunk in self.hunks),
            self.newest,
            smaller,
            self.write,
        )

    def _moved(self, by: int) -> LeftPlace:
        return replace(self, start=self.start + by, end=self.end + by) if by else self

    def shrunk(self, text: Text) -> LeftPlace:
        """The place as it was before the newest edits that reached beyond it, as far as `text` undoes them."""
        place = self
        while place.smaller:
            was, inner = place.smaller[-1]
            size = place.end - place.start
            if size != len(was) or place.end > len(text) or text.slice(place.start, place.end) != was:
                break
            place = replace(inner._moved(place.start), smaller=place.smaller[:-1])
        return place

    def back(self, text: Text, now: Moving[Hunk]) -> tuple[range, tuple[Hunk, ...]] | None:
        """If `text` has the old text here again: the positions in `now` of the hunks that give way, and the hunks that come back. None otherwise, or if
        others have worked here."""
        if self.end - self.start != self.size or self.end > len(text) or not self._says(text):
            return None
        first, last = self.start + self.first, self.start + self.last
        ids, writes = {hunk.id for hunk in self.hunks}, {*writes_of(self.hunks), self.write}

        def is_rest(hunk: Hunk) -> bool:
            """Whether an edit made this hunk out of one of the place's hunks. It may lie at the edge of the place or reach beyond it. What the write that
            changed the place did beside it is no part of it."""
            is_beside = hunk.end <= first or last <= hunk.start
            if is_beside and self.write in writes_of([hunk]):
                return hunk.id in ids
            return hunk.id in ids or (hunk.id > self.newest and writes_of([hunk]) <= writes)

        around = now.some(now.touched(self.start, self.end))
        if any(h.start == h.end and h.id > self.newest and not is_rest(h) for h in around):
            return None  # others removed part of the text that is back
        numbers = now.touched(first, last)
        hunks = now.some(numbers)
        before = sum(h.end <= first and not is_rest(h) for h in hunks)
        rest = hunks[before:]
        behind = sum(h.start >= last and not is_rest(h) for h in rest)
        here = rest[: len(rest) - behind]
        # An agent's edit divides larger hunks: one that reaches beyond is under review as a whole again
        if any((h.start < first or h.end > last) and (self.write or not is_rest(h)) for h in here):
            return None
        if not writes_of(here) <= writes:
            return None
        start = numbers.start + before
        give_way = range(start, start + len(here))
        if not ids.isdisjoint(map(_id, now.unplaced(give_way))):
            return None
        return give_way, tuple(hunk.moved(self.start) for hunk in self.hunks)

    def _says(self, text: Text) -> bool:
        if self.said is not None:
            return text.part(self.start, self.end) == self.said
        known = [hunk for hunk in self.hunks if hunk.said]
        return bool(known) and all(
            text.part(self.start + hunk.start, self.start + hunk.end) == hunk.said for hunk in known
        )


@dataclass(frozen=True, slots=True)
class Left:
    """All places of one text, oldest first."""

    places: tuple[LeftPlace, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.places)

    def hunks(self) -> Iterator[Hunk]:
        """Those of all places; where they lie does not count."""
        return (hunk for place in self.places for hunk in place.hunks)

    def meets(self, edit: Edit) -> bool:
        return any(place.is_in(edit) for place in self.places)

    def after(self, edit: Edit, before: Callable[[], Text | None]) -> Left:
        """The places after an edit of the current text. `before` returns that text, or None if it is not known."""
        if not self.places:
            return self
        before = cache(before)
        return Left(tuple(place.after(edit, before) for place in self.places))

    def after_all(self, changes: ChangeSet, before: Text) -> Left:
        """The places after all edits of a change of the text `before`."""
        left, rope = self, Rope.of(before)
        for step in changes_as_steps(changes) if self.places else ():
            left = left.after(step, rope.snapshot)
            rope.splice(step.start, step.end, step.new)
        return left

    def without(self, hunks: Iterable[Hunk]) -> Left:
        """The places without those in which these hunks lie, because they were decided."""
        stretches = [(hunk.start, hunk.end) for hunk in hunks]
        left = (
            p for p in self.places if not any(low <= p.end and p.start <= high for low, high in stretches)
        )
        return Left(tuple(left))

    def took(
        self,
        edit: Edit,
        hunks: Sequence[Hunk],
        newest: int,
        before: Callable[[], Text | None],
        write: str = "",
    ) -> Left:
        """The places with a new one for `hunks`, which the edit changed or took out of review. `hunks` are in order, with offsets from before the edit.
        `newest` is the highest hunk number before the edit, `write` as in `LeftPlace`."""
        start, end = min(edit.start, hunks[0].start), max(edit.end, hunks[-1].end)
        if (start, end) == (hunks[0].start, hunks[0].end):
            said: AnyText | None = hunks[0].said
        else:
            whole = before()
            said = None if whole is None else whole.part(start, end)
        inner = tuple(hunk.moved(-start) for hunk in hunks)
        size = end - start
        place = LeftPlace(start, end + edit.growth, size, said, 0, size, inner, newest, write=write)
        return Left(_bounded((*self.places, place)))

    def back(
        self, edit: Edit, text: Text, now: Moving[Hunk], rest_of: Callable[[Hunk], Hunk | None]
    ) -> tuple[Left, bool]:
        """After an edit that led to `text`, put the hunks that come back into `now`. `rest_of` returns the part of such a hunk that is still to be
        reviewed. Returns the places that remain, and whether any hunks came back."""
        made = Edit(edit.start, edit.start + len(edit.new), "")
        left: list[LeftPlace] = []
        for place in reversed(self.places):
            is_met = place.is_in(made)
            place = place.shrunk(text) if is_met else place
            found = place.back(text, now) if is_met else None
            if found is None:
                left.append(place)
            else:
                numbers, hunks = found
                now.put(numbers, [rest for hunk in hunks if (rest := rest_of(hunk)) is not None], 0)
        return Left(tuple(reversed(left))), len(left) < len(self.places)


def _bounded(places: Sequence[LeftPlace]) -> tuple[LeftPlace, ...]:
    return tuple(reversed(list(_newest(reversed(places[-MAX_PLACES:])))))


def _newest(places: Iterator[LeftPlace]) -> Iterator[LeftPlace]:
    room = MAX_SAID
    for number, place in enumerate(places):
        room -= len(place.said or "")
        if number and room < 0:
            return
        yield place
