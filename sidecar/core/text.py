"""Text: an immutable text with lines and positions; Rope: the text that is being edited, from which Texts are taken.

Offsets are code points from 0. Positions are LSP's: line from 0, character from 0 in units of an `Encoding`. A line ends
at `\\n`, `\\r\\n` or `\\r` and at nothing else (LSP 3.17, "Text Documents"): form feed, NEL, U+2028 are ordinary
characters. A lone surrogate is one code point, one UTF-16 unit and three UTF-8 units.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import NamedTuple

from sidecar.core.change import Edit

_TERMINATOR = re.compile(r"\r\n|\n|\r")


class Encoding(StrEnum):
    """The unit in which `Position.character` counts; the values are LSP's PositionEncodingKind."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"


class Position(NamedTuple):
    """Line from 0, character from 0 in units of an Encoding that the context gives."""

    line: int
    character: int


class Range(NamedTuple):
    """From start to end, end exclusive."""

    start: Position
    end: Position


def _width(character: str, encoding: Encoding) -> int:
    code = ord(character)
    if encoding is Encoding.UTF_32 or code < 0x80:
        return 1
    if encoding is Encoding.UTF_16:
        return 1 if code < 0x10000 else 2
    return 2 if code < 0x800 else 3 if code < 0x10000 else 4


class Text:
    """An immutable text. Equal to another Text with the same characters."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = [0, *(m.end() for m in _TERMINATOR.finditer(text))]

    @staticmethod
    def of(text: str) -> Text:
        return Text(text)

    def __len__(self) -> int:
        """Code points."""
        return len(self._text)

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Text.of({self._text[:40]!r}{'…' if len(self) > 40 else ''})"

    @property
    def line_count(self) -> int:
        """Number of terminators + 1: the empty text has one line, "a\\n" has two."""
        return len(self._starts)

    def line(self, line: int) -> str:
        """One line with its terminator. Raises IndexError when there is no such line."""
        if not 0 <= line < len(self._starts):
            raise IndexError(f"line {line} of {len(self._starts)}")
        return self.lines(line, 1)

    def lines(self, first: int, count: int) -> str:
        """`count` whole lines from line `first` on, terminators included; fewer, or "", where the text ends."""
        if first < 0 or count < 0:
            raise ValueError("negative line or count")
        end = first + count
        starts = [*self._starts, len(self._text)]
        return self._text[starts[min(first, len(starts) - 1)] : starts[min(end, len(starts) - 1)]]

    def offset_at(self, position: Position, encoding: Encoding) -> int:
        """The offset of a position.

        A character past the line's end means the line's end, before its terminator; a line past the last means the end
        of the text; a place inside a surrogate pair or a UTF-8 sequence means that character's start. Raises ValueError
        for negative numbers.
        """
        line, units = position
        if line < 0 or units < 0:
            raise ValueError(f"negative position {line}:{units}")
        if line >= len(self._starts):
            return len(self._text)
        offset = self._starts[line]
        for character in self.line(line).rstrip("\r\n"):
            units -= _width(character, encoding)
            if units < 0:
                break
            offset += 1
        return offset

    def position_at(self, offset: int, encoding: Encoding) -> Position:
        """The position of an offset; between `\\r` and `\\n` it is the place before both. ValueError outside the text."""
        if not 0 <= offset <= len(self._text):
            raise ValueError(f"offset {offset} outside 0..{len(self._text)}")
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= offset else (low, middle)
        before = self._text[self._starts[low] : offset].rstrip("\r\n")
        return Position(low, sum(_width(character, encoding) for character in before))

    def slice(self, start: int, end: int) -> str:
        """The characters from offset `start` to `end`. Raises ValueError unless 0 <= start <= end <= len."""
        if not 0 <= start <= end <= len(self._text):
            raise ValueError(f"slice {start}..{end} of {len(self._text)}")
        return self._text[start:end]

    def json_escaped(self) -> bytes:
        """The text as the inside of a JSON string, in UTF-8, without the quotes."""
        try:
            return json.dumps(self._text, ensure_ascii=False)[1:-1].encode()
        except UnicodeEncodeError:  # lone surrogates have no UTF-8, but JSON can escape them
            return json.dumps(self._text)[1:-1].encode()


class Rope:
    """A text that is edited. Not a Text: it changes; take a `snapshot` to keep what it says now."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = Text.of(text)

    def __len__(self) -> int:
        """Code points."""
        return len(self._text)

    def __str__(self) -> str:
        return str(self._text)

    def snapshot(self) -> Text:
        """What the rope says now; the same object until the next change."""
        return self._text

    def apply(self, range: Range | None, new: str, encoding: Encoding) -> Edit:
        """Replaces a range (None: everything) as a content change of LSP does; positions are read as by `Text.offset_at`.

        Returns the edit with its offsets in the text before. Raises ValueError for negative positions and where start
        is behind end; the text is then untouched.
        """
        if range is None:
            return self.splice(0, len(self._text), new)
        if range.start > range.end:
            raise ValueError(f"range ends before it starts: {range}")
        start = self._text.offset_at(range.start, encoding)
        return self.splice(start, self._text.offset_at(range.end, encoding), new)

    def splice(self, start: int, end: int, new: str) -> Edit:
        """Replaces the code points start..end. Raises ValueError unless 0 <= start <= end <= len."""
        if not 0 <= start <= end <= len(self._text):
            raise ValueError(f"splice {start}..{end} of {len(self._text)}")
        whole = str(self._text)
        self._text = Text.of(whole[:start] + new + whole[end:])
        return Edit(start, end, new)
