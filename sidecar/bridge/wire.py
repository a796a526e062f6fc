"""Lines: splits bytes into JSON values, one per line. No line may be longer than `limit` bytes, complete or not."""

from __future__ import annotations

import json
from typing import Any, cast

Message = dict[str, Any]


class Malformed(Exception):
    """The other side broke the protocol. The message says how, without quoting it."""


class Lines:
    """Sans-IO: pass received bytes to `feed`, then call `next` until it returns nothing."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """In bytes, without the line end. May be changed at any time."""
        self._buffer = bytearray()
        self._searched = 0

    @property
    def begun(self) -> bool:
        """Whether part of a line has arrived."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> bytes | None:
        """The next complete line, without its end. Raises Malformed as soon as a line is too long."""
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

    def rest(self) -> bytes:
        """What has arrived of a line that never ended; takes it."""
        line = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return line


def encode(message: Message) -> bytes:
    """A value as one line. Lone surrogates, which file names may contain, are preserved."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def decode(line: bytes) -> Message:
    """The value of one line. Raises Malformed."""
    try:
        value: object = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise Malformed("a line that is not JSON") from None
    if not isinstance(value, dict):
        raise Malformed("a line that is not a JSON object")
    return cast("Message", value)
