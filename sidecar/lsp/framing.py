"""Framing: bytes in, message bodies out (LSP base protocol, "Header Part"). No I/O, no JSON.

Feed whatever was read, then take messages until there are none:

    framing.feed(data)
    while (item := framing.next()) is not None: ...

An item is the body of a message (`bytes`, or a `LongBody` if it is large) or a `Fault`: a stretch of input that is no message. After a fault, the
parser looks for the next `Content-Length` line. That is safe because a body is JSON, and JSON text cannot contain a raw line end inside a string: bytes
that look like a header line are one. For the same reason, an incomplete body ends where the next message begins, however long it was announced to be:
one wrong number must not make the server deaf for megabytes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_BODY = 256 * 1024 * 1024
"""In bytes. A `didOpen` of a 100 MB file escapes to less. A larger length (such as 99999999999) comes from a broken peer."""

MAX_HEADER = 8 * 1024
"""Bytes of one header block; a limit common among HTTP servers."""

_USUAL = re.compile(rb"Content-Length: ([0-9]{1,9})\r\n\r\n")
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,32})[ \t]*\r?\n", re.IGNORECASE)
_BLOCK_END = re.compile(rb"\r?\n\r?\n")
_LARGE = 1024 * 1024
"""Bytes of a body above which the rest of the buffer is copied, so that it does not keep the body in memory."""
_TAIL = 64
"""Bytes of skipped input that are kept: the read may have cut a `Content-Length` line."""


class Fault(NamedTuple):
    """Input that was skipped, and why (for the log and for the error that answers it)."""

    reason: str


class LongBody(NamedTuple):
    """A large body in the pieces in which it arrived. Joining them copies it, which takes up to a millisecond for each MB: that is for a thread."""

    pieces: list[bytes]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(map(len, self.pieces))


def joined(body: bytes | LongBody) -> bytes:
    return b"".join(body.pieces) if isinstance(body, LongBody) else body


class Framing:
    """One direction of one connection."""

    __slots__ = (
        "_buffer",
        "_head",
        "_last",
        "_lost",
        "_max_body",
        "_need",
        "_parts",
        "_position",
        "_size",
        "_skipping",
    )

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = b""
        self._position = 0
        self._parts: list[bytes] = []
        self._size = 0
        """The number of bytes not yet consumed, in `_buffer` from `_position` and in `_parts`."""
        self._need = 0
        """Nothing can be decided before this many bytes are there. This avoids joining a large body at every read."""
        self._head = 0
        """The number of bytes before a large body that is not complete. 0: there is none, or it is small."""
        self._last = b""
        """The last received bytes of an incomplete body."""
        self._skipping = False
        self._lost = 0

    def feed(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size < self._need and not self._skipping:
            window = self._last + data
            if _USUAL.search(window):  # the next message has begun, so the length of this one was wrong
                self._need = 0
            self._last = window[-_TAIL:]

    def unread(self, data: bytes) -> None:
        """Put back the end of the last body, which was not part of that message because its length was wrong."""
        self._parts[:0] = [data, self._buffer[self._position :]]
        self._buffer, self._position = b"", 0
        self._size += len(data)
        self._need = self._head = 0

    @property
    def pending(self) -> int:
        """The number of bytes of an unfinished message. At end of input, more than 0 means that it was cut."""
        return self._size

    def next(self) -> bytes | LongBody | Fault | None:
        """Return the next item, or None if more input is needed."""
        if self._size < self._need or not self._size:
            return None
        if self._need and self._head:
            return self._awaited()
        if self._parts:
            self._join()
        if self._skipping:
            return self._resume()
        buffer, position = self._buffer, self._position
        usual = _USUAL.match(buffer, position)
        if usual is None:
            return self._header()
        start, length = usual.end(), int(usual[1])
        end = start + length
        if end > len(buffer) or length > self._max_body:
            return self._body(start, length)
        self._consume(end - position)
        return buffer[start:end]

    def _join(self) -> None:
        self._buffer = b"".join((self._buffer[self._position :], *self._parts))
        self._position = 0
        self._parts.clear()

    def _awaited(self) -> LongBody:
        """Return the large body, now complete. Only the pieces at its ends are copied."""
        left, body, rest = self._need - self._head, list[bytes](), list[bytes]()
        for part in (self._buffer[self._position + self._head :], *self._parts):
            body.append(part[:left])
            if left < len(part):
                rest.append(part[left:])
            left -= len(body[-1])
        self._size -= self._need
        self._buffer, self._position, self._parts = b"", 0, rest
        self._need = self._head = 0
        return LongBody(body)

    def _body(self, start: int, length: int) -> bytes | Fault | None:
        end = start + length
        if length > self._max_body:
            self._consume(start - self._position)
            return self._skip(f"a message of {length} bytes is larger than the limit of {self._max_body}")
        if end > len(self._buffer):
            following = _USUAL.search(self._buffer, start)
            if following is None:
                self._need = end - self._position
                self._head = start - self._position if length > _LARGE else 0
                self._last = self._buffer[max(start, len(self._buffer) - _TAIL) :]
                return None
            end = following.start()
        body = self._buffer[start:end]
        self._consume(end - self._position)
        return body

    def _consume(self, count: int) -> None:
        self._position += count
        self._size -= count
        self._need = self._head = 0
        if self._position == len(self._buffer) or count > _LARGE:
            self._buffer, self._position = self._buffer[self._position :], 0

    def _header(self) -> bytes | Fault | None:
        """Parse the unusual forms (other letter case, more headers, bare line feeds) and input that is no header at all."""
        buffer, position = self._buffer, self._position
        block = _BLOCK_END.search(buffer, position, position + MAX_HEADER)
        if block is None:
            if self._size >= MAX_HEADER:
                return self._skip(f"no end of headers within {MAX_HEADER} bytes")
            return None
        lengths = list(_LENGTH.finditer(buffer, position, block.end()))
        if not lengths:
            self._consume(block.end() - position)
            return self._skip("headers without a valid Content-Length")
        # The last one counts: the text before it may be the rest of a message whose own length was too short.
        return self._body(block.end(), int(lengths[-1][1]))

    def _skip(self, reason: str) -> Fault:
        self._skipping = True
        return Fault(reason)

    def _resume(self) -> bytes | LongBody | Fault | None:
        found = _LENGTH.search(self._buffer, self._position)
        if found is None:
            self._consume(max(0, self._size - _TAIL))
            self._need = self._size + 1
            return None
        self._consume(found.start() - self._position)
        self._skipping = False
        return self.next()
