"""json_size: how much memory a JSON value takes, and how deeply it is nested. Both in one pass: it is part of what a message costs the event loop."""

from __future__ import annotations

from typing import NamedTuple, cast

_VALUE = 32
"""Bytes that a value or a name in an object takes beside its text, roughly."""
_text_size = str.__sizeof__


class Measured(NamedTuple):
    size: int
    """Bytes in memory, roughly. One character beyond Latin-1 makes every character of a text take two or four bytes."""
    depth: int
    """Levels of values: 1 for a value that is no array and no object, 2 for an array or object of such values."""


def measured(value: object, deepest: int | None = None) -> Measured:
    """`deepest`: levels beyond this one are not looked at; the depth is then one more."""
    size, depth, level = 0, 0, [value]
    while level:
        depth += 1
        if deepest is not None and depth > deepest:
            break
        names: list[str] = []
        inner: list[object] = []
        for one in level:
            if isinstance(one, str):
                size += _text_size(one)
            elif isinstance(one, dict):
                names += cast("dict[str, object]", one)
                inner += cast("dict[str, object]", one).values()
            elif isinstance(one, list):
                inner += cast("list[object]", one)
        size += _VALUE * (len(level) + len(names)) + sum(map(_text_size, names))
        level = inner
    return Measured(size, depth)


def size_of(value: object) -> int:
    """See `Measured.size`."""
    return measured(value).size
