"""TextParts: a text that comes in parts, each of which is put behind those before it at once.

Python keeps four bytes for every character of a string with one beyond U+FFFF. Kept until the last one is there, the parts of such a text would
take as much again as the text.
"""

from __future__ import annotations


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


def _warm_up() -> None:
    """From 3.11 on, CPython does so only in code that it has run a few times."""
    text = TextParts()
    for _ in range(100):
        text.add("x")


_warm_up()
