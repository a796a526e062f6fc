"""LongJson: a line of JSON that is too long to be parsed at once, parsed while it arrives.

Parsing 64 MiB of JSON takes the event loop a second. Here every piece is handled as it comes, and other tasks run between two pieces. The texts of
the message are cut out and decoded piece by piece; the rest, its skeleton, is small. In the skeleton, an unguessable mark stands for each text. Limits
are checked on the way, and what exceeds them is dropped at once.

    {"method":"fs/write_text_file","params":{"path":"/a","content":"<mark 0>"}}    and texts: ["…"]
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Callable, Collection, Generator, Iterable
from typing import Any

import msgspec

from sidecar.core.any_text import AnyText
from sidecar.core.json_limits import VALUES, NotJson, Unusable, separators
from sidecar.core.text import Text
from sidecar.core.text_parts import NarrowParts, Parts, TextParts
from sidecar.core.units import Encoding, units_of

_SLICE = 256 * 1024
"""Bytes that are handled before other tasks run: a few milliseconds."""
_PARTS = 1000
"""Strings, or values, that are handled before other tasks run."""
SKELETON = 2 * 1024 * 1024
"""The limit for a message without its texts, in bytes."""
_TEXT = 1024
"""Strings longer than this are cut out. In bytes."""
_FIRST = 40
"""The number of the skeleton's first pieces that are searched for the sign of a write."""


class LongJson:
    """`feed` it the whole line, then read the `skeleton` and `put_back` the texts."""

    def __init__(
        self,
        texts: int,
        longest: int | None = None,
        parts: Callable[[], Parts] = TextParts,
        *,
        piece: int = sys.maxsize,
        writes: Collection[bytes] = (),
    ) -> None:
        """`texts`: the limit for all long strings together, in bytes of UTF-8. `longest`: the limit for each of them. `parts`: what assembles the
        parts of a string. `piece`: the limit, in bytes, for a string that Python keeps in one piece, because that is copied in one step; a single
        emoji makes every character of it take four bytes. `writes`: strings near the beginning of a line that show that one of its texts is put
        into a file. That text may be a Text, which is never in one piece."""
        self._most = texts
        self._longest = longest or texts
        self._piece = piece
        self._parts = parts
        self._writes = writes
        self._mark = secrets.token_hex(16)
        self._skeleton: list[bytes] = []
        self._size = 0
        self._values = 0
        self._strings = 0
        self._texts: list[AnyText] = []
        self._bytes = 0
        self._began = 0
        """`_bytes` at the start of the string that is being read."""
        self._open: Parts | None = None
        """The decoded parts of the string that is being read."""
        self._rest = b""
        """The end of the last piece: a part of something that must not be cut."""
        self._wrong: Unusable | None = None
        self._started = False

    def feed(self, data: bytes) -> Generator[None]:
        """Take the next piece, without the line's end. Other tasks should run whenever it yields."""
        for start in range(0, len(data), _SLICE):
            if self._wrong is None:
                yield from self._take(self._rest + data[start : start + _SLICE])
            yield

    @property
    def wrong(self) -> Unusable | None:
        """Why the rest is not parsed any more, or None."""
        return self._wrong

    @property
    def skeleton(self) -> bytes:
        """The line with marks for its long texts. Not JSON if the line is not."""
        ended = self._open is None and not self._rest
        return b"".join(self._skeleton) + (b"" if ended else b'"')

    def put_back(self, value: dict[str, Any]) -> Generator[None]:
        """Replace the marks in a value that was read from the skeleton with their texts. Other tasks should run whenever it yields."""
        waiting: list[dict[str, Any] | list[Any]] = [value]
        looked_at = 0
        while waiting:
            inside = waiting.pop()
            if isinstance(inside, dict):
                rows = [(self.meant(key), self.meant(value)) for key, value in inside.items()]
                inside.clear()  # names may be marks too: any string that two pieces share is one
                inside.update(rows)
                values = [value for _, value in rows]
            else:
                inside[:] = values = [self.meant(value) for value in inside]
            waiting += [value for value in values if isinstance(value, (dict, list))]
            looked_at += 1 + len(values)
            if looked_at > _PARTS:
                looked_at = 0
                yield

    def not_only(self, written: Iterable[object]) -> Unusable | None:
        """Return an error if a text other than these is a Text: its receiver expects strings. Otherwise None."""
        known = {id(text) for text in written}
        if any(isinstance(text, Text) and id(text) not in known for text in self._texts):
            return Unusable("a long text that is not what a write puts into a file")
        return None

    def beginning(self, data: bytes) -> int:
        """Return where in its first piece the line's value begins, if not at once."""
        return 0

    # pieces

    def _take(self, data: bytes) -> Generator[None]:
        at = 0
        if not self._started:
            self._started = True
            at = self.beginning(data)
        self._rest = b""
        masked = _masked(data)
        parts = 0
        while at < len(data) and self._wrong is None:
            at = self._bare(data, masked, at) if self._open is None else self._string(data, masked, at)
            parts += 1
            if parts % _PARTS == 0:
                yield

    def _bare(self, data: bytes, masked: bytes, at: int) -> int:
        """Take everything outside of strings up to the next string, and then that string if it is short."""
        quote = data.find(b'"', at)
        end = len(data) if quote < 0 else quote
        bare = data[at:end]
        self._keep(bare)
        self._values += separators(bare)
        self._strings += 1
        if self._values > VALUES or self._strings > 2 * VALUES:  # each value may have a name
            self._wrong = Unusable("too many values")
            return end
        if quote < 0:
            return end
        closed = masked.find(b'"', quote + 1, quote + 2 + _TEXT)
        if closed >= 0:
            self._keep(data[quote : closed + 1])
            return closed + 1
        self._open = NarrowParts() if self._is_write() else self._parts()
        self._began = self._bytes
        return quote + 1

    def _is_write(self) -> bool:
        return any(name in self._skeleton[:_FIRST] for name in self._writes)

    def _string(self, data: bytes, masked: bytes, at: int) -> int:
        """Take the rest of a string, or as much of it as there is."""
        assert self._open is not None
        end = masked.find(b'"', at)
        closed = end >= 0
        if not closed:
            end = _whole_units(data, masked, at)
            self._rest = data[end:]
        text = _decoded(data[at:end])
        if text is None:
            self._wrong = NotJson("not JSON")
            return end
        self._bytes += units_of(text, Encoding.UTF_8)
        if self._bytes > self._most or self._bytes - self._began > self._longest:
            most = self._most if self._bytes > self._most else self._longest
            self._wrong = Unusable(f"texts of more than {most} bytes")
            return end
        if self._open.in_one_piece(text) > self._piece:
            self._wrong = Unusable(f"a text that takes more than {self._piece} bytes in memory")
            return end
        self._open.add(text)
        if not closed:
            return len(data)
        self._keep(b'"%s%d"' % (self._mark.encode(), len(self._texts)))
        self._texts.append(self._open.whole())
        self._open = None
        return end + 1

    def _keep(self, data: bytes) -> None:
        self._skeleton.append(data)
        self._size += len(data)
        if self._size > SKELETON:
            self._wrong = Unusable(f"more than {SKELETON} bytes beside its texts")

    def meant(self, value: Any) -> Any:
        """Return the text for which the value stands, if it is a mark; otherwise the value."""
        if isinstance(value, str) and value.startswith(self._mark):
            return self._texts[int(value[len(self._mark) :])]
        return value


def _decoded(raw: bytes) -> str | None:
    quoted = b'"%b"' % raw
    try:
        return msgspec.json.decode(quoted, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        try:
            return str(json.loads(quoted))  # lone surrogates
        except ValueError:
            return None


def _whole(data: bytes, start: int, end: int) -> int:
    """Return `end`, or the start of the UTF-8 sequence that it cuts."""
    for at in range(end - 1, max(start, end - 4) - 1, -1):
        byte = data[at]
        if byte < 0x80:
            return end
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return at if at + length > end else end
    return end


def _masked(data: bytes) -> bytes:
    """Return `data` at equal length, changed so that every quotation mark begins or ends a string, and every backslash begins another kind of escape.
    `data` does not begin inside an escape. Two passes, because a pattern takes a step for each escape: 25 ms for a slice that is full of them.
    """
    return data.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _whole_units(data: bytes, masked: bytes, start: int) -> int:
    """Return how far a string that continues in the next piece can be read: not into an escape, a pair of them or a UTF-8 sequence."""
    end = len(data)
    last = masked.rfind(b"\\", max(start, end - _ESCAPE + 1))
    if last >= 0 and last + (_ESCAPE if data[last + 1 : last + 2] == b"u" else 2) > end:
        end = last
    else:
        end = _whole(data, start, end)
    first = max(start, end - _ESCAPE)
    if _FIRST_HALF.match(data, first) and masked[first] == _BACKSLASH:
        end = first  # the second half may follow
    return end


_ESCAPE = 6
"""Bytes of the longest escape, `\\u0000`."""
_BACKSLASH = ord("\\")
_FIRST_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
