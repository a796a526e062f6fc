"""Lines: JSON values, one a line, from bytes as they come. No line may be longer than `limit`, finished or not."""

from __future__ import annotations

import json
from typing import Any, cast

Message = dict[str, Any]


class Malformed(Exception):
    """The other side sent what it must not. The message says what, not what it said."""


class Lines:
    """Sans-IO: `feed` what was received, take lines with `next` until there is none."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Bytes without the line end; may be changed at any time."""
        self._buffer = bytearray()
        self._searched = 0

    @property
    def begun(self) -> bool:
        """There is a part of a line."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> bytes | None:
        """The next whole line, without its end. Raises Malformed as soon as it is too long."""
        end = self._buffer.find(b"\n", self._searched)
        if (len(self._buffer) if end < 0 else end) > self.limit:
            raise Malformed(f"a line of more than {self.limit} bytes")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line


def encode(message: Message) -> bytes:
    """One line. Lone surrogates, which names of files may have, go through."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def decode(line: bytes) -> Message:
    """Raises Malformed."""
    try:
        value: object = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise Malformed("a line that is not JSON") from None
    if not isinstance(value, dict):
        raise Malformed("a line that is not a JSON object")
    return cast("Message", value)
