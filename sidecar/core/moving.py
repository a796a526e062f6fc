"""Moving: stretches of a text, in order, which move with the edits between them.

An edit moves everything behind it. The move is noted, and carried out only when somebody looks. So a keystroke costs a search for its place
and a few copies of references, however many stretches there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain, compress, count
from operator import is_not
from typing import Generic, Protocol, Self, TypeVar

from sidecar.core.any_text import AnyText
from sidecar.core.change import Edit

MAX_MOVES = 1024
"""The number of moves that are noted before they are carried out."""


class ReplacedStretch(Protocol):
    """The code points from `start` to `end`; they replaced the text `was`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def was(self) -> AnyText: ...
    def moved(self, by: int) -> Self: ...


S = TypeVar("S", bound=ReplacedStretch)


class Moving(Generic[S]):
    """An ordered sequence of stretches that do not overlap. Its methods name a stretch by its number, its position in the sequence."""

    def __init__(self, stretches: Iterable[S] = ()) -> None:
        self._stretches = tuple(stretches)
        self._moved_from: list[int] = []
        """The numbers of stretches at which the distance changes, in order."""
        self._moved_by: list[int] = []
        """For each number in `_moved_from`: how far that stretch and all up to the next number have moved, in code points."""
        self._reach = _reach(self._stretches)

    def __len__(self) -> int:
        return len(self._stretches)

    def copy(self) -> Self:
        """An independent copy of the current state."""
        other = copy(self)
        other._moved_from, other._moved_by = self._moved_from[:], self._moved_by[:]
        return other

    def apart(
        self, other: Moving[S], same: Callable[[S, S], bool], within: range | None = None
    ) -> tuple[Sequence[S], Sequence[S]]:
        """The stretches of each side without those at the start and the end that both have in common. Their offsets may be out of date. `within`: the
        numbers, on this side, outside of which both are known to be the same."""
        ours, theirs = self._stretches, other._stretches
        if ours is theirs:
            return (), ()
        if within is not None:
            end = len(theirs) - (len(ours) - within.stop)
            ours, theirs = ours[within.start : within.stop], theirs[within.start : end]
        first = _alike(ours, theirs, same)
        ours, theirs = ours[first:], theirs[first:]
        last = _alike(ours[::-1], theirs[::-1], same)
        return ours[: len(ours) - last], theirs[: len(theirs) - last]

    def all(self) -> tuple[S, ...]:
        """All stretches with their current offsets."""
        if self._moved_from:
            self._stretches = self.some(range(len(self)))
            self._moved_from, self._moved_by = [], []
        return self._stretches

    def unplaced(self, but: range = range(0)) -> Iterator[S]:
        """All stretches except those with these numbers. Their offsets may be out of date. Carries out no moves."""
        return chain(self._stretches[: but.start], self._stretches[but.stop :])

    def some(self, numbers: range) -> tuple[S, ...]:
        """The stretches with these numbers, with their current offsets."""
        return tuple(self._stretches[number].moved(self._moved(number)) for number in numbers)

    def met(self, edit: Edit) -> range:
        """The numbers of the stretches that the edit lies on. An empty range if it lies between two, or before or behind all."""
        first = self._behind(edit.start)
        end = bisect_left(range(len(self)), edit.end, lo=first, key=self._start)
        return range(first, max(first, end))

    def touched(self, start: int, end: int) -> range:
        """The numbers of the stretches that touch `start` to `end`, including those that end at `start` or begin at `end`."""
        numbers = range(len(self))
        first = bisect_left(numbers, start, key=self._end)
        return range(first, max(first, bisect_right(numbers, end, key=self._start)))

    def deletions_near(self, edit: Edit) -> Sequence[S]:
        """The empty stretches so near to the edit that it may have restored what they replaced."""
        if not self._reach or not edit.new:
            return ()
        return self._empty(edit.start - self._reach, edit.end + self._reach)

    def deletions_in(self, edit: Edit) -> Sequence[S]:
        """The empty stretches inside or at the edge of what the edit removes: they all end up at one place."""
        return self._empty(edit.start, edit.end) if self._reach and edit.start < edit.end else ()

    def _empty(self, start: int, stop: int) -> Sequence[S]:
        numbers = range(len(self))
        first = bisect_left(numbers, start, key=self._start)
        end = bisect_right(numbers, stop, key=self._start)
        near = [n for n in range(first, end) if self._stretches[n].start == self._stretches[n].end]
        return [self._stretches[n].moved(self._moved(n)) for n in near]

    def move(self, edit: Edit) -> None:
        """Move all stretches behind an edit that lies on none."""
        number, growth = self._behind(edit.start), edit.growth
        if number == len(self):
            return
        place = bisect_left(self._moved_from, number)
        if place == len(self._moved_from) or self._moved_from[place] != number:
            self._moved_from.insert(place, number)
            self._moved_by.insert(place, self._moved_by[place - 1] if place else 0)
        for behind in range(place, len(self._moved_by)):
            self._moved_by[behind] += growth
        self._bound()

    def put(self, numbers: range, instead: Sequence[S], growth: int) -> None:
        """Replace the stretches with these numbers by `instead`, whose offsets are already the new ones. The stretches behind them move by
        `growth`."""
        low, high = numbers.start, numbers.stop
        before = self._moved(low - 1)
        behind = self._moved(high) + growth
        first = bisect_left(self._moved_from, low)
        after = bisect_right(self._moved_from, high)
        more = len(instead) - len(numbers)
        if numbers or instead:
            placed = [stretch.moved(-before) for stretch in instead]
            self._stretches = (*self._stretches[:low], *placed, *self._stretches[high:])
            self._reach = max(self._reach, _reach(instead))
        at = high + more
        if at >= len(self):
            self._moved_from[first:], self._moved_by[first:] = [], []
            return
        self._moved_from[first:] = [at, *(number + more for number in self._moved_from[after:])]
        self._moved_by[first:] = [behind, *(by + growth for by in self._moved_by[after:])]
        self._bound()

    def _bound(self) -> None:
        if len(self._moved_from) > MAX_MOVES:
            self.all()

    def _behind(self, offset: int) -> int:
        """The number of the first stretch that ends after `offset`."""
        return bisect_left(range(len(self._stretches)), offset + 1, key=self._end)

    def _moved(self, number: int) -> int:
        place = bisect_right(self._moved_from, number)
        return self._moved_by[place - 1] if place else 0

    def _start(self, number: int) -> int:
        return self._stretches[number].start + self._moved(number)

    def _end(self, number: int) -> int:
        return self._stretches[number].end + self._moved(number)


def _reach(stretches: Iterable[ReplacedStretch]) -> int:
    """The length of the longest text that an empty stretch replaced, in code points."""
    return max((len(s.was) for s in stretches if s.start == s.end), default=0)


def _alike(ours: Sequence[S], theirs: Sequence[S], same: Callable[[S, S], bool]) -> int:
    """How many stretches are the same at the start of both."""
    most = min(len(ours), len(theirs))
    alike = next(compress(count(), map(is_not, ours, theirs)), most)
    while alike < most and same(ours[alike], theirs[alike]):
        alike += 1
    return alike
