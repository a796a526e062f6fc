"""Left: where a user's edit took hunks out of review. Once that place says the same again, they are under review again. Pure.

An undo brings back what one place said. The rest of the text may differ by then: others have edited elsewhere, the editor has reloaded the file, or
it reports the undo together with later typing. So each place is followed by itself. It moves along with edits elsewhere and grows with those
inside it. An edit that goes beyond a place makes it larger, and has to be undone too before its hunks come back.

Offsets are code points in the raw text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.hunk import Hunk
from sidecar.core.moving import Moving
from sidecar.core.rope import Rope
from sidecar.core.text import Text

MAX_PLACES = 64
"""The newest ones are kept; editors remember about as many steps."""
MAX_SMALLER = 8
"""How many smaller places (`Smaller`) a place remembers."""
MAX_GROWN = 1 << 14
"""Code points of a place that an edit has gone beyond, at most, for its text to be kept. Of a larger one, only the size and its hunks' texts are known."""
MAX_SAID = 1 << 24
"""Code points of all places' texts together. The newest place is kept, however long its text is."""


class Smaller(NamedTuple):
    """A place that an edit went beyond."""

    text: str
    """What the larger place said before that edit."""
    place: Place
    """With offsets in that."""


@dataclass(frozen=True, slots=True)
class Place:
    """Between `start` and `end`, the text once said something else: `said`, of `size` code points. None: only the size is known. All `hunks` lay in
    `said`, from `first` to `last`; their offsets count from its start."""

    start: int
    end: int
    size: int
    said: AnyText | None
    first: int
    last: int
    hunks: tuple[Hunk, ...]
    newest: int
    """The highest number that a hunk of the text had then."""
    smaller: tuple[Smaller, ...] = ()
    """What this place was before edits went beyond it, newest last."""

    def is_in(self, edit: Edit) -> bool:
        """Whether an edit of the current text changes this place or touches its edge."""
        if edit.start == edit.end:
            return self.start <= edit.start <= self.end
        return edit.start <= self.end and self.start <= edit.end

    def after(self, edit: Edit, before: Callable[[], Text | None]) -> Place:
        """The place after an edit. `before` gives the text that the edit changed, if it is known."""
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
        return Place(
            start,
            end + edit.growth,
            more + self.size + behind,
            said,
            self.first + more,
            self.last + more,
            tuple(hunk.moved(more) for hunk in self.hunks),
            self.newest,
            smaller,
        )

    def _moved(self, by: int) -> Place:
        return replace(self, start=self.start + by, end=self.end + by) if by else self

    def shrunk(self, text: Text) -> Place:
        """The place without those of the newest edits beyond it that are undone in `text`."""
        place = self
        while place.smaller:
            was, inner = place.smaller[-1]
            size = place.end - place.start
            if size != len(was) or place.end > len(text) or text.slice(place.start, place.end) != was:
                break
            place = replace(inner._moved(place.start), smaller=place.smaller[:-1])
        return place

    def back(self, text: Text, now: Moving[Hunk]) -> tuple[range, tuple[Hunk, ...]] | None:
        """If `text` says the same again here: the numbers of the current hunks that give way, and the hunks that come back. Otherwise None, also if others
        have worked here."""
        if self.end - self.start != self.size or self.end > len(text) or not self._says(text):
            return None
        first, last = self.start + self.first, self.start + self.last
        ids, writes = {hunk.id for hunk in self.hunks}, _writes(self.hunks)

        def is_rest(hunk: Hunk) -> bool:
            """Whether a hunk is what an edit left of one of these. It may lie at the edge of the place, or go beyond it."""
            return hunk.id in ids or (hunk.id > self.newest and _writes([hunk]) <= writes)

        around = now.some(now.touched(self.start, self.end))
        if any(h.start == h.end and h.id > self.newest and not is_rest(h) for h in around):
            return None  # others have removed some of what is there again
        numbers = now.touched(first, last)
        hunks = now.some(numbers)
        before = sum(h.end <= first and not is_rest(h) for h in hunks)
        rest = hunks[before:]
        behind = sum(h.start >= last and not is_rest(h) for h in rest)
        here = rest[: len(rest) - behind]
        if any((h.start < first or h.end > last) and not is_rest(h) for h in here):
            return None
        if not _writes(here) <= writes:
            return None
        start = numbers.start + before
        give_way = range(start, start + len(here))
        elsewhere = (hunk.id for number, (hunk, _) in enumerate(now.places()) if number not in give_way)
        if not ids.isdisjoint(elsewhere):
            return None
        return give_way, tuple(hunk.moved(self.start) for hunk in self.hunks)

    def _says(self, text: Text) -> bool:
        if self.said is not None:
            return text.part(self.start, self.end) == self.said
        known = [hunk for hunk in self.hunks if hunk.said]
        return bool(known) and all(
            text.part(self.start + hunk.start, self.start + hunk.end) == hunk.said for hunk in known
        )


def _writes(hunks: Iterable[Hunk]) -> set[str]:
    return {version.author.write for hunk in hunks for version in hunk.versions}


@dataclass(frozen=True, slots=True)
class Left:
    """All such places of one text, oldest first."""

    places: tuple[Place, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.places)

    def meets(self, edit: Edit) -> bool:
        return any(place.is_in(edit) for place in self.places)

    def after(self, edit: Edit, before: Callable[[], Text | None]) -> Left:
        """After an edit of the current text, which `before` gives, if it is known."""
        if not self.places:
            return self
        before = cache(before)
        return Left(tuple(place.after(edit, before) for place in self.places))

    def after_all(self, changes: ChangeSet, before: Text) -> Left:
        """After all edits of a change of the text `before`."""
        left, rope = self, Rope.of(before)
        for step in changes_as_steps(changes) if self.places else ():
            left = left.after(step, rope.snapshot)
            rope.splice(step.start, step.end, step.new)
        return left

    def without(self, hunks: Iterable[Hunk]) -> Left:
        """Without the places in which these hunks lie: they were decided about."""
        stretches = [(hunk.start, hunk.end) for hunk in hunks]
        left = (
            p for p in self.places if not any(low <= p.end and p.start <= high for low, high in stretches)
        )
        return Left(tuple(left))

    def took(self, edit: Edit, hunks: Sequence[Hunk], newest: int, before: Callable[[], Text | None]) -> Left:
        """With a place for these hunks, which the edit took out of review, or changed. They are in order, with their offsets from before the edit. `newest`:
        the highest number that a hunk had then."""
        start, end = min(edit.start, hunks[0].start), max(edit.end, hunks[-1].end)
        if (start, end) == (hunks[0].start, hunks[0].end):
            said: AnyText | None = hunks[0].said
        else:
            whole = before()
            said = None if whole is None else whole.part(start, end)
        inner = tuple(hunk.moved(-start) for hunk in hunks)
        size = end - start
        place = Place(start, end + edit.growth, size, said, 0, size, inner, newest)
        return Left(_bounded((*self.places, place)))

    def back(
        self, edit: Edit, text: Text, now: Moving[Hunk], rest_of: Callable[[Hunk], Hunk | None]
    ) -> tuple[Left, bool]:
        """The edit has led to `text`: puts the hunks that come back into `now`. `rest_of` gives the part of such a hunk that is still to be reviewed. Returns
        the places that remain, and whether anything came back."""
        made = Edit(edit.start, edit.start + len(edit.new), "")
        left: list[Place] = []
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


def _bounded(places: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(reversed(list(_newest(reversed(places[-MAX_PLACES:])))))


def _newest(places: Iterator[Place]) -> Iterator[Place]:
    room = MAX_SAID
    for number, place in enumerate(places):
        room -= len(place.said or "")
        if number and room < 0:
            return
        yield place
