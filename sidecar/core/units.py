"""units: converts numbers of UTF-8, UTF-16 or UTF-32 units of a string to code points, and back.

A lone surrogate is one UTF-16 unit and, as in WTF-8, three UTF-8 units.
"""

from __future__ import annotations

import re
from enum import StrEnum

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Encoding(StrEnum):
    """The unit in which `Position.character` counts. The values are LSP's PositionEncodingKind."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"


def units_of(text: str, encoding: Encoding) -> int:
    """The number of units of a string."""
    if encoding is Encoding.UTF_32 or text.isascii():
        return len(text)
    if encoding is Encoding.UTF_16:
        return len(text.encode("utf-16-le", "surrogatepass")) >> 1
    return len(text.encode("utf-8", "surrogatepass"))


def points_of(text: str, units: int, encoding: Encoding) -> int:
    """The number of whole code points in the first `units` units; all of them if the text has fewer units."""
    head = text[:units]  # a code point is at least one unit
    if encoding is Encoding.UTF_32 or head.isascii():
        return len(head)
    if encoding is Encoding.UTF_8:
        data = head.encode("utf-8", "surrogatepass")
        while 0 < units < len(data) and data[units] & 0xC0 == 0x80:
            units -= 1
        return len(data[:units].decode("utf-8", "surrogatepass"))
    try:
        data = head.encode("utf-16-le")
    except UnicodeEncodeError:
        return _points_among_lone_surrogates(head, units)
    if 2 * units < len(data) and data[2 * units + 1] & 0xFC == 0xDC:
        units -= 1
    return len(data[: 2 * units].decode("utf-16-le"))


def join_surrogates(text: str) -> str:
    """The string with every pair of a high surrogate and a following low one joined into the character that it is in
    UTF-16."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _points_among_lone_surrogates(text: str, units: int) -> int:
    # Decoding would join lone surrogates that happen to be neighbours, so the pairs are counted instead.
    pairs, limit = 0, len(text)
    for match in _ASTRAL.finditer(text):
        if match.start() + pairs + 2 > units:
            limit = match.start()
            break
        pairs += 1
    return min(limit, units - pairs)


def is_high(character: str) -> bool:
    """Whether it is a high surrogate, the first half of a pair."""
    return "\ud800" <= character <= "\udbff"


def is_low(character: str) -> bool:
    """Whether it is a low surrogate, the second half of a pair."""
    return "\udc00" <= character <= "\udfff"


def halves(character: str) -> tuple[str, str]:
    """The surrogates of a character beyond the BMP."""
    code = ord(character) - 0x10000
    return chr(0xD800 + (code >> 10)), chr(0xDC00 + (code & 0x3FF))
