"""The stream between a relay and us: lines of several connections, each with its connection's number before it.

    12 {"id": 1, "method": "tool", …}     a line of connection 12, in either direction
    12                                    connection 12 has ended, or must end

The relay begins with a line of its own, `Hello`. A login shell may have written something before it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple, cast

VERSION = 1
LONGEST = 64 * 1024 * 1024
"""The most bytes of a line without its number, as on the bridge."""
NUMBER = 12
"""The most characters of a connection's number, with the blank."""
MOST = 32
"""The most connections at a time, as on the bridge."""
_NAME = "acp-sidecar relay"


class Hello(NamedTuple):
    """A relay's first line."""

    version: int
    """The version of this stream."""
    program: str
    """The version of the acp-sidecar there."""
    socket: str
    command: Sequence[str]
    """The command that starts the acp-sidecar there."""

    def line(self) -> bytes:
        return json.dumps({_NAME: self.version, **self._asdict()}).encode() + b"\n"


def hello_of(line: bytes) -> Hello | None:
    """The Hello in a line. None for any other line."""
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    version, program, command = fields.get(_NAME), fields.get("program"), fields.get("command")
    if not isinstance(version, int):
        return None
    words = (
        [word for word in cast("list[object]", command) if isinstance(word, str)]
        if isinstance(command, list)
        else []
    )
    return Hello(version, str(program), str(fields.get("socket")), words or ["acp-sidecar"])


def joined(number: int, line: bytes) -> bytes:
    """A line of the stream. `line`: without its end; empty: the end of the connection."""
    return b"%d %s\n" % (number, line) if line else b"%d\n" % number


def parted(line: bytes) -> tuple[int, bytes] | None:
    """The connection's number and the rest of a line, with or without its end. None if the line does not belong to
    this stream."""
    number, _, rest = line.rstrip(b"\n").partition(b" ")
    return (int(number), rest) if number.isdigit() and len(number) < NUMBER else None
