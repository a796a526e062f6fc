"""Moving: stretches of a text in their order, which edits between them move along.

An edit moves everything behind it, and people type in one place many times: what has moved is noted, and carried out only when
somebody looks. So a keystroke costs the search for its place, however many stretches there are.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, Self, TypeVar

from sidecar.core.change import Edit

MAX_MOVES = 16
"""Places of edits that are noted before the moves are carried out."""


class Stretch(Protocol):
    """From `start` to `end`; it replaced `old`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def old(self) -> str: ...
    def moved(self, by: int) -> Self: ...


S = TypeVar("S", bound=Stretch)


class Moving(Generic[S]):
    """`stretches` are in order and do not overlap."""

    def __init__(self, stretches: Iterable[S] = ()) -> None:
        self._stretches = tuple(stretches)
        self._moves: list[tuple[int, int]] = []
        """(number of a stretch, how far it and all behind it have moved), by number."""
        self._reach = max((len(s.old) for s in self._stretches if s.start == s.end), default=0)

    def __len__(self) -> int:
        return len(self._stretches)

    def all(self) -> tuple[S, ...]:
        """Where they are now."""
        if self._moves:
            moves, by = dict(self._moves), 0
            found: list[S] = []
            for number, stretch in enumerate(self._stretches):
                by += moves.get(number, 0)
                found.append(stretch.moved(by))
            self._stretches, self._moves = tuple(found), []
        return self._stretches

    def meets(self, edit: Edit) -> bool:
        """Whether the edit lies on a stretch, and not between two, behind or before all."""
        number = self._behind(edit.start)
        return number < len(self._stretches) and self._start(number) < edit.end

    def move(self, edit: Edit) -> None:
        """Moves what is behind an edit that meets none."""
        number = self._behind(edit.start)
        if number < len(self._stretches):
            self._note(number, edit.growth)

    def deletions_near(self, edit: Edit) -> Sequence[S]:
        """Those that hold nothing, and are so near that the edit may have put back what they replaced."""
        if not self._reach or not edit.new:
            return ()
        found: list[S] = []
        numbers = range(len(self._stretches))
        for number in numbers[bisect_left(numbers, edit.start - self._reach, key=self._start) :]:
            if self._start(number) > edit.end + self._reach:
                break
            stretch = self._stretches[number]
            if stretch.start == stretch.end:
                found.append(stretch.moved(self._moved(number)))
        return found

    def _behind(self, offset: int) -> int:
        """The number of the first one that does not end before `offset` or there."""
        return bisect_left(range(len(self._stretches)), offset + 1, key=self._end)

    def _note(self, number: int, by: int) -> None:
        for i, (other, moved) in enumerate(self._moves):
            if other == number:
                self._moves[i] = number, moved + by
                return
        if len(self._moves) == MAX_MOVES:
            self.all()
        insort(self._moves, (number, by))

    def _moved(self, number: int) -> int:
        return sum(by for other, by in self._moves if other <= number)

    def _start(self, number: int) -> int:
        return self._stretches[number].start + self._moved(number)

    def _end(self, number: int) -> int:
        return self._stretches[number].end + self._moved(number)
