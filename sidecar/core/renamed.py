"""renamed: tells where one word became another, in many places at once and without a search for each of them.

If a word was renamed, replacing it in the old text gives the new text, as far as nothing else changed. That the two are equal is compared, so a wrong
guess costs time and is never a wrong answer. Nothing is to be chosen, either: in the text that is looked at, the old word stands only on the one side and
the new word only on the other, so what contains them is equal to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from sidecar.core.align import Budget

_LONGEST = 64
"""Code points of a word that is followed."""
_FULL = 32
"""A text in which the word stands more often than once in so many code points is not looked at."""
_SHARE = 16
"""Wrong guesses may take one step in so many."""
_CREDIT = 60
"""Steps that they may take at first."""
_LOOK = 14
"""Steps that it takes to find the words that differ."""
_TRY = 20
"""Steps that it takes at least to replace one of them by the other and to compare the result."""
_SAVED = 20
"""Steps that it saves at least to find a hunk together with others."""


class Renaming(NamedTuple):
    """The word `was` became `now`."""

    was: str
    now: str

    @property
    def growth(self) -> int:
        return len(self.now) - len(self.was)

    @property
    def around(self) -> tuple[int, int]:
        """The number of code points that the two words have in common at the start, and at the end of what is left of them."""
        most = min(len(self.was), len(self.now))
        n = next((k for k in range(most) if self.was[k] != self.now[k]), most)
        most -= n
        return n, next((k for k in range(most) if self.was[-1 - k] != self.now[-1 - k]), most)

    def places(self, text: str) -> list[int] | None:
        """Where `was` stands in `text` as a word. None if it does too often, or if `now` does, too."""
        found = _places(text, self.was)
        return found if found and (self.now not in text or _places(text, self.now) == []) else None

    def applied(self, text: str, places: list[int]) -> str:
        """`text` with the new word in these places."""
        pieces: list[str] = []
        reached = 0
        for at in places:
            pieces.append(text[reached:at])
            reached = at + len(self.was)
        pieces.append(text[reached:])
        return self.now.join(pieces)


@dataclass(slots=True)
class Guess:
    """Which word may have been renamed, from the differences that were seen.

    Guesses that explain too little to be worth their steps may take only a small share of all steps."""

    budget: Budget
    size: int
    """In how much it is looked for."""
    _least: int = 0
    _all: int = 0
    """The work that could be done at first."""
    _cost: int = 0
    """The steps that this guess took so far."""
    _lost: int = -_CREDIT
    """The steps that guesses took more than they saved."""
    _last: Renaming | None = None

    def __post_init__(self) -> None:
        self._least, self._all = self.size, self.budget.left

    def is_due(self) -> bool:
        """Whether to guess at the next difference."""
        self._lost -= 1
        return self.budget.left > 0 and self._lost * _SHARE <= self._all - self.budget.left

    def at(self, old: str, i: int, new: str, j: int, before: int) -> Renaming | None:
        """What may have been renamed at the first code points that differ, behind `before` equal ones: if the difference before was the same."""
        self._cost = _LOOK
        renaming = _at(old, i, new, j, before)
        if renaming is not None and renaming == self._last:
            return renaming
        self._last = renaming
        self.told(0, 0)
        return None

    def costs(self, text: str, places: Sequence[int] | None) -> None:
        self._cost += _TRY + (len(text) >> 8) + 3 * len(places or ())

    def told(self, hunks: int, most: int) -> None:
        """It explained so many hunks. `most`: in how much may be looked the next time; 0 if more than now is not worth it."""
        lost = self._cost - _SAVED * hunks
        self._lost = max(self._lost + lost, -_CREDIT)
        self.budget.left -= max(lost, 0)
        self.size = min(4 * self.size, most) if most else self._least


def _at(old: str, i: int, new: str, j: int, before: int) -> Renaming | None:
    start = 0
    before = min(before, _LONGEST)
    while start < before and _is_word(old[i - start - 1]):
        start += 1
    was = _WORD.match(old, i - start, i - start + _LONGEST + 1)
    now = _WORD.match(new, j - start, j - start + _LONGEST + 1)
    if was is None or now is None:
        return None
    renaming = Renaming(was[0], now[0])
    return renaming if max(map(len, renaming)) <= _LONGEST and renaming.was != renaming.now else None


def _places(text: str, word: str) -> list[int] | None:
    """Where `word` stands in `text` as a word. None if it does too often, also within other words."""
    most = len(text) // _FULL
    pieces = text.split(word, most + 1)
    if len(pieces) > most + 1:
        return None
    found: list[int] = []
    size = len(word)
    at = -size
    for before, after in pairwise(pieces):
        at += size + len(before)
        if before and after:
            left, right = before[-1], after[0]
        else:
            left, right = text[at - 1 : at], text[at + size : at + size + 1]
        if not (left.isalnum() or right.isalnum() or left == "_" or right == "_"):
            found.append(at)
    return found


def _is_word(text: str) -> bool:
    return text.isalnum() or text == "_"


_WORD = re.compile(r"\w+")
