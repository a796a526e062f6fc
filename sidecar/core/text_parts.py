"""TextParts: joins a text that arrives in parts, each part at once.

Python stores four bytes per character for a string with one character beyond U+FFFF. If the parts of such a text were kept until the last one
arrived, they would take as much memory again as the text.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

from sidecar.core.any_text import AnyText
from sidecar.core.chunks import divided, terminators
from sidecar.core.narrow import FROM, Narrow, joined
from sidecar.core.text import Text


class Parts(Protocol):
    def add(self, part: str) -> None: ...

    def in_one_piece(self, part: str) -> int:
        """The bytes that Python stores in one piece after this part is appended: the most that `add` may have to copy in one step."""
        ...

    def whole(self) -> AnyText: ...


class TextParts:
    __slots__ = ("_text",)

    def __init__(self) -> None:
        self._text = ""

    def add(self, part: str) -> None:
        # Nobody else has the string, and it is a local variable, so CPython extends it in place. Only the
        # first wide part copies it.
        text, self._text = self._text, ""
        text += part
        self._text = text

    def in_one_piece(self, part: str) -> int:
        width = max(_width(self._text), _width(part))
        return (len(self._text) + len(part)) * width

    def __len__(self) -> int:
        """Code points."""
        return len(self._text)

    def whole(self) -> str:
        return self._text


class NarrowParts:
    """Like TextParts, but the whole may be a Text (any_text.py). A text that would take much more memory as a string is never a long string."""

    __slots__ = ("_chunks", "_is_wide", "_lines", "_parts")

    def __init__(self) -> None:
        self._parts = TextParts()
        """The text that is not in `_chunks` yet."""
        self._chunks = Narrow()
        self._lines: list[int] = []
        self._is_wide = False

    def add(self, part: str) -> None:
        self._is_wide = self._is_wide or _width(part) > 1
        self._parts.add(part)
        if self._chunks or len(self._parts) >= FROM:
            self._divide()

    def _divide(self) -> None:
        """Divide the text so far at the places where the whole text will be divided: texts divided in the same way are compared many times
        as fast. The last piece waits for the next part."""
        text, self._parts = self._parts.whole(), TextParts()
        *pieces, rest = divided(text)
        self._chunks[len(self._chunks) :] = pieces
        self._lines += map(terminators, pieces)
        self._parts.add(rest)

    def in_one_piece(self, part: str) -> int:
        return 0

    def whole(self) -> AnyText:
        if not self._chunks:
            return self._parts.whole()
        if rest := self._parts.whole():
            self._chunks[len(self._chunks) :] = [rest]
            self._lines.append(terminators(rest))
            self._parts = TextParts()
        return Text(self._chunks, self._lines) if self._is_wide else joined(self._chunks)


class TextAgain(TextParts):
    """Like TextParts, for a text that most likely exists already. If it does, the existing one is returned, and no new one is made."""

    __slots__ = ("_known", "_reached")

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__()
        self._known = known
        """The known texts that begin with all parts so far."""
        self._reached = 0
        """The length of all parts so far, in code points."""

    def add(self, part: str) -> None:
        known = [text for text in self._known if text.startswith(part, self._reached)]
        if known:
            self._known = known
            self._reached += len(part)
            return
        if self._known:
            super().add(self._known[0][: self._reached])
            self._known = ()
        super().add(part)

    def whole(self) -> str:
        if not self._known:
            return super().whole()
        found = next((text for text in self._known if len(text) == self._reached), self._known[0])
        return found[: self._reached]


def _width(text: str) -> int:
    """The bytes per character."""
    if not text or text.isascii():
        return 1
    if len(text) >= _LONG:  # in one step; the overhead of the string does not matter here
        return sys.getsizeof(text) // len(text)
    most = max(text)
    return 1 if most <= "\xff" else 2 if most <= "\uffff" else 4


_LONG = 128


def _warm_up() -> None:
    """Run the code often enough: since 3.11, CPython extends strings in place only in code that it has run a few times."""
    text = TextParts()
    for _ in range(100):
        text.add("x")


_warm_up()
