"""TextParts: a text that comes in parts, each of which is put behind those before it at once.

Python keeps four bytes for every character of a string with one beyond U+FFFF. Kept until the last one is there, the parts of such a text would
take as much again as the text.
"""

from __future__ import annotations

from collections.abc import Sequence


class TextParts:
    __slots__ = ("_text",)

    def __init__(self) -> None:
        self._text = ""

    def add(self, part: str) -> None:
        # Nobody else has the string, and it is a local variable: then CPython makes it longer where it is. Only the first wide part copies it.
        text, self._text = self._text, ""
        text += part
        self._text = text

    def whole(self) -> str:
        return self._text


class TextAgain(TextParts):
    """The same, where the text is most likely one that is there already: then it is that one, and not made again."""

    __slots__ = ("_known", "_reached")

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__()
        self._known = known
        """Those that begin with all parts so far."""
        self._reached = 0
        """How far."""

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


def _warm_up() -> None:
    """From 3.11 on, CPython does so only in code that it has run a few times."""
    text = TextParts()
    for _ in range(100):
        text.add("x")


_warm_up()
