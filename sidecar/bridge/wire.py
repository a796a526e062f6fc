"""Lines: splits bytes into JSON values, one per line. No line may be longer than `limit` bytes, complete or not."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from typing import Any, cast

Message = dict[str, Any]

_PIECE = 256 * 1024
"""The characters of a text that are encoded before other tasks run: a millisecond."""
_LONG = 16 * 1024
"""The characters, or bytes, from which a faster library is worth its import."""
_LEVELS = 3
"""The levels that are encoded piece by piece: an answer, its result, and a list in that. A row of the list is
encoded as a whole, unless it contains long texts."""


class Malformed(Exception):
    """The other side broke the protocol. The message says how, without quoting it."""


class Lines:
    """Sans-IO: pass received bytes to `feed`, then call `next` until it returns None."""

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

    def part(self) -> tuple[bytes, bool]:
        """Take what has arrived of a line that may be long. Returns it, and whether it is the line's end. After that
        comes its rest, or the next line. The caller must check `limit`."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            return self.rest(), False
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line, True

    @property
    def size(self) -> int:
        """The bytes that arrived and were not taken."""
        return len(self._buffer)

    def rest(self) -> bytes:
        """Take what has arrived of a line that never ended."""
        line = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return line


def encode(message: Message) -> bytes:
    """A value, all of whose names are strings, as one line. Lone surrogates, which file names may contain, are preserved."""
    return b"".join(pieces(message))


def pieces(message: Message) -> Generator[bytes]:
    """The same line, made piece by piece, so that other tasks can run in between: a text of 8 MB takes 40 ms."""
    yield from _pieces(message, 0)
    yield b"\n"


def _pieces(value: object, depth: int) -> Generator[bytes]:
    if isinstance(value, str) and len(value) > _PIECE:
        yield b'"'
        for start in range(0, len(value), _PIECE):
            yield _json(value[start : start + _PIECE])[1:-1]
        yield b'"'
    elif depth < _LEVELS or _has_long_text(value):
        yield from _inside(value, depth)
    else:
        yield _json(value)


def _inside(value: object, depth: int) -> Generator[bytes]:
    if isinstance(value, dict):
        yield b"{"
        for number, (name, one) in enumerate(cast("dict[str, object]", value).items()):
            yield (b"," if number else b"") + _json(name) + b":"
            yield from _pieces(one, depth + 1)
        yield b"}"
    elif isinstance(value, (list, tuple)):
        yield b"["
        for number, one in enumerate(cast("Sequence[object]", value)):
            if number:
                yield b","
            yield from _pieces(one, depth + 1)
        yield b"]"
    else:
        yield _json(value)


def _has_long_text(value: object) -> bool:
    inside: Iterable[object] = (
        cast("dict[str, object]", value).values()
        if isinstance(value, dict)
        else cast("Sequence[object]", value)
        if isinstance(value, (list, tuple))
        else ()
    )
    return any(isinstance(one, str) and len(one) > _PIECE for one in inside)


def _json(value: object) -> bytes:
    if isinstance(value, str) and len(value) > _LONG:
        import msgspec  # takes 30 ms, which a tool's process does not have before its first answer

        try:
            return msgspec.json.encode(value)  # a tenth of json's time
        except UnicodeEncodeError:
            pass  # lone surrogates
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _value(line: bytes) -> object:
    if len(line) > _LONG:
        import msgspec

        try:
            return msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # lone surrogates, and numbers that only json accepts
    return json.loads(line.decode("utf-8", "surrogatepass"))


def decode(line: bytes) -> Message:
    """The value of one line. Raises Malformed."""
    try:
        value = _value(line)
    except (ValueError, RecursionError):
        raise Malformed("a line that is not JSON") from None
    if not isinstance(value, dict):
        raise Malformed("a line that is not a JSON object")
    return cast("Message", value)
