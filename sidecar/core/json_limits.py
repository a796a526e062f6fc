"""json_limits: limits of a JSON message beyond its size in bytes: how many values it may have, and how deeply they may be nested.

A line of brackets takes a hundred times its size in memory, and seconds to read; a thousand levels overflow the interpreter's stack.
"""

from __future__ import annotations

import re


class Unusable(str):
    """Replaces the params of an unusable message. Its text says why."""

    __slots__ = ()


class NotJson(Unusable):
    """Replaces the params of something that is not JSON, such as half a message. JSON-RPC has a code of its own for that."""

    __slots__ = ()


VALUES = 20_000
"""The most values in one message. A whole file is one value. Every recipient looks at each value, and all of that must take less
than 20 ms.
"""
DEEPEST = 200
"""The deepest nesting of arrays and objects. The depth that json, msgspec and the recipients can handle depends on the Python version; none can handle a
thousand everywhere."""
_STRINGS = re.compile(rb'"[^"]*"?')


def has_too_many_values(line: bytes) -> bool:
    """Whether the message has too many values, such as `[{},{},…`: it would take a hundred times its size in memory, and seconds to
    read. Punctuation inside texts does not count.
    """
    if separators(line) <= VALUES:
        return False
    # Remove escapes first, each in one pass. A pattern that handles escapes would retry at every quotation mark of an
    # unterminated string, and would remember a position for each of them in a terminated one (minutes, gigabytes).
    bare = _STRINGS.sub(b"", line.replace(b"\\\\", b"").replace(b'\\"', b""))
    return separators(bare) > VALUES


def separators(line: bytes) -> int:
    """The number of `,`, `[` and `{`, counted in one pass; `count` would take one step for each."""
    return len(line) - len(line.translate(None, b",[{"))
