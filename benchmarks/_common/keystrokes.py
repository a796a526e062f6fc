"""Keystrokes whose outcome is known without a text store: words typed into the lines of a text.

Every side of a comparison types the same words in the same order; one that is slower may stop earlier. What its text has to
be then is made from the lines, so no store is checked by itself or by another one.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass

from sidecar.core.text import Position, Range


@dataclass(frozen=True, slots=True)
class Key:
    """One character (or a whole word) inserted. Lines and UTF-16 units from 0."""

    line: int
    character: int
    text: str

    @property
    def range(self) -> Range:
        place = Position(self.line, self.character)
        return Range(place, place)

    def as_change(self) -> dict[str, object]:
        """A content change as VS Code sends it."""
        place = {"line": self.line, "character": self.character}
        return {"range": {"start": place, "end": place}, "rangeLength": 0, "text": self.text}


class Keystrokes:
    """Words for lines of `text`, in no order; every line once before one comes again. `length` is that of a word."""

    def __init__(self, text: str, length: int, seed: int = 4) -> None:
        pick = random.Random(seed)
        self._lines = text.splitlines(keepends=True)
        self._length = length
        self._places = [
            (line, _units(self._lines[line], pick.randrange(len(self._lines[line]))))
            for line in pick.sample(range(len(self._lines)), min(len(self._lines), 30_000))
        ]

    def typist(self) -> Typist:
        return Typist(self)

    def word(self, number: int) -> str:
        return "".join(chr(ord("a") + (number + at) % 26) for at in range(self._length))

    def place(self, number: int) -> tuple[int, int]:
        return self._places[number % len(self._places)]

    def after(self, words: int) -> str:
        """The text once so many words were typed."""
        lines = list(self._lines)
        for number in range(words):
            line, units = self.place(number)
            old = lines[line].encode("utf-16-le")
            word = self.word(number).encode("utf-16-le")
            lines[line] = (old[: 2 * units] + word + old[2 * units :]).decode("utf-16-le")
        return "".join(lines)


class Typist:
    """One side's way through the keystrokes."""

    def __init__(self, keystrokes: Keystrokes) -> None:
        self._keystrokes = keystrokes
        self.words = 0

    def keys(self, words: int) -> list[Key]:
        """The next so many words, character by character."""
        keys: list[Key] = []
        for number in range(self.words, self.words + words):
            line, character = self._keystrokes.place(number)
            keys += [Key(line, character + at, key) for at, key in enumerate(self._keystrokes.word(number))]
        self.words += words
        return keys

    def expected(self) -> str:
        return self._keystrokes.after(self.words)

    def check(self, who: str, found: str | dict[str, object]) -> None:
        """`found`: the text, or its length in UTF-16 units and the hash of its UTF-8."""
        expected = self.expected()
        told = summary(found) if isinstance(found, str) else found
        if told != summary(expected):
            raise AssertionError(f"{who} did not do the work: {told} instead of {summary(expected)}")


def summary(text: str) -> dict[str, object]:
    units = len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
    return {"length": units, "hash": hash_of([text])}


def hash_of(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def _units(line: str, points: int) -> int:
    """A place in a line, not behind its terminator, in UTF-16 units."""
    return len(line[:points].encode("utf-16-le")) // 2
