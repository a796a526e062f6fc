"""AnyText: a text on its way through a write: a string or a Text."""

from __future__ import annotations

from typing import TypeAlias

from sidecar.core import narrow
from sidecar.core.chunks import divided
from sidecar.core.narrow import Narrow, takes_more
from sidecar.core.text import Text

AnyText: TypeAlias = str | Text
"""A string, or a Text: of what takes much more memory as a string than it has bytes (`narrowed`), and of large parts of a Text (`part`). Both
have a length, and they are equal if their texts are."""


def narrowed(text: AnyText) -> AnyText:
    """The text in the form in which it is passed on."""
    if isinstance(text, Text) or len(text) < narrow.FROM or not takes_more(text):
        return text
    return Text(Narrow(divided(text)))


def as_text(text: AnyText) -> Text:
    return text if isinstance(text, Text) else Text.of(text)


def part(text: AnyText, start: int, end: int) -> AnyText:
    """The code points from `start` to `end`; see `Text.part`."""
    return text[start:end] if isinstance(text, str) else text.part(start, end)


def ends_line(text: AnyText) -> bool:
    """Whether the text ends with a line end."""
    return len(text) > 0 and begins_line(text, len(text))


def begins_line(text: AnyText, at: int) -> bool:
    """Whether a line begins at this offset (code points), or the text ends there after a line end. \\n, \\r\\n and \\r end lines."""
    if at == 0:
        return True
    before = part(text, at - 1, at)
    return before == "\n" or (before == "\r" and (at == len(text) or part(text, at, at + 1) != "\n"))


def line_start(text: AnyText, at: int) -> int:
    """The offset of the start of the line that contains `at`; code points."""
    start = text.rfind("\n", 0, at) + 1
    is_within_end = start < at < len(text) and part(text, at - 1, at + 1) == "\r\n"
    return max(start, text.rfind("\r", start, at - is_within_end) + 1)


def line_end(text: AnyText, at: int) -> int:
    """The offset where the next line begins or the text ends; code points."""
    end = text.find("\n", at) + 1 or len(text)
    size = part(text, at, end).find("\r", 0) + 1
    return at + size if size and begins_line(text, at + size) else end


def size_of(text: AnyText) -> int:
    """The size of the text in bytes of UTF-8; a lone surrogate counts as three."""
    if isinstance(text, Text):
        return sum(map(len, text.utf_8()))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
