"""LongLine: a line of an agent's wire that is too long to be read at once, taken in while it arrives.

Reading 64 MiB of JSON takes the event loop a second. Here every piece is dealt with as it comes, and others run between two pieces: the texts
of the message are cut out and decoded piece by piece, and what is left, its skeleton, is small. A text stands in it as a mark that nobody can
guess. What is too much is noticed on the way and dropped at once.

    {"method":"fs/write_text_file","params":{"path":"/a","content":"<mark 0>"}}    and texts: ["…"]
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Generator
from typing import Any

import msgspec

from sidecar.acp.messages import VALUES, Message, NotJson, Unusable, by_head, decode, separators, stand_in
from sidecar.acp.noise import Noise

_SLICE = 256 * 1024
"""Bytes that are dealt with before others run: a few milliseconds."""
_PARTS = 1000
"""Strings, likewise."""
SKELETON = 2 * 1024 * 1024
"""Bytes of a message beside its texts."""
_TEXT = 1024
"""Bytes of a string that is cut out, at least."""
_HEAD = 1000


class LongLine:
    """`feed` it until its end, then take its `messages`."""

    def __init__(self, texts: int) -> None:
        """`texts`: characters of all of its long strings together."""
        self._most = texts
        self._mark = secrets.token_hex(16)
        self._skeleton: list[bytes] = []
        self._size = 0
        self._values = 0
        self._strings = 0
        self._texts: list[str] = []
        self._characters = 0
        self._open: list[str] | None = None
        """Of the string that is being read: what was decoded of it."""
        self._rest = b""
        """The end of the last piece: a part of something that must not be cut."""
        self._wrong: Unusable | None = None
        self._started = False

    def feed(self, data: bytes) -> Generator[None]:
        """Takes in the next piece, without the line's end. Others should run whenever it yields."""
        for start in range(0, len(data), _SLICE):
            if self._wrong is None:
                yield from self._take(self._rest + data[start : start + _SLICE])
            yield

    def messages(self, noise: Noise) -> list[Message]:
        """What the line says, as `messages.decode`."""
        skeleton = b"".join(self._skeleton)
        if self._wrong is not None and not isinstance(self._wrong, NotJson):
            noise.say(f"sent a message that has {self._wrong}", skeleton[:_HEAD])
            told = by_head(skeleton, self._wrong)
            return [] if told is None else [told]
        if self._open is not None or self._rest:
            skeleton += b'"'  # it ends in a text: not JSON, whatever stands in it
        found = decode(skeleton, noise)
        if self._wrong is not None:
            return [stand_in(message, self._wrong) for message in found if "id" in message]
        for message in found:
            self._put_back(message)
        return found

    # pieces

    def _take(self, data: bytes) -> Generator[None]:
        at = 0
        if not self._started:
            self._started = True
            at = max(0, data.find(b'{"jsonrpc"')) if not data.lstrip().startswith(b"{") else 0
        self._rest = b""
        parts = 0
        while at < len(data) and self._wrong is None:
            at = self._bare(data, at) if self._open is None else self._string(data, at)
            parts += 1
            if parts % _PARTS == 0:
                yield

    def _bare(self, data: bytes, at: int) -> int:
        """What is outside of strings, up to the next one; then that string, when it is a short one."""
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
        short = _SHORT.match(data, quote)
        if short is not None:
            self._keep(short[0])
            return short.end()
        self._open = []
        return quote + 1

    def _string(self, data: bytes, at: int) -> int:
        """The rest of a string, or as much of it as there is."""
        assert self._open is not None
        found = _INSIDE.match(data, at)
        end = at if found is None else found.end()
        closed = data.startswith(b'"', end)
        if not closed:
            if len(data) - end >= _LONGEST_UNIT:
                self._wrong = NotJson("not JSON")
                return end
            whole = _whole(data, at, end)
            self._rest, end = data[whole:], whole
        text = _decoded(data[at:end])
        if text is None:
            self._wrong = NotJson("not JSON")
            return end
        self._characters += len(text)
        if self._characters > self._most:
            self._wrong = Unusable(f"texts of more than {self._most} characters")
            return end
        self._open.append(text)
        if not closed:
            return len(data)
        self._keep(b'"%s%d"' % (self._mark.encode(), len(self._texts)))
        self._texts.append("".join(self._open))
        self._open = None
        return end + 1

    def _keep(self, data: bytes) -> None:
        self._skeleton.append(data)
        self._size += len(data)
        if self._size > SKELETON:
            self._wrong = Unusable(f"more than {SKELETON} bytes beside its texts")

    # the whole

    def _put_back(self, message: Message) -> None:
        waiting: list[dict[str, Any] | list[Any]] = [message]
        while waiting:
            inside = waiting.pop()
            if isinstance(inside, dict):
                rows = [(self._meant(key), self._meant(value)) for key, value in inside.items()]
                inside.clear()  # names may be marks too: any string that two pieces share is one
                inside.update(rows)
                values = [value for _, value in rows]
            else:
                inside[:] = values = [self._meant(value) for value in inside]
            waiting += [value for value in values if isinstance(value, (dict, list))]

    def _meant(self, value: Any) -> Any:
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
    """`end`, or where the UTF-8 sequence begins that it cuts."""
    for at in range(end - 1, max(start, end - 4) - 1, -1):
        byte = data[at]
        if byte < 0x80:
            return end
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return at if at + length > end else end
    return end


_HEX = rb"[0-9a-fA-F]"
_INSIDE = re.compile(
    rb'(?:[^"\\]+'
    rb"|\\[^u]"
    rb"|\\u(?![dD][89abAB])%b{4}"
    # the first half of a pair, with the second one or with something that is none
    rb"|\\u[dD][89abAB]%b{2}(?:\\u[dD][c-fC-F]%b{2}|(?=[^\\]|\\[^u]|\\u[^dD]|\\u[dD][^c-fC-F]))"
    rb")*" % (_HEX, _HEX, _HEX),
    re.DOTALL,
)
"""What is inside of a string, in whole units, as far as they are there. Not possessive, though it never has to go back: Python before
3.11.5 matches possessive groups wrongly (Debian 12 has 3.11.2)."""
_LONGEST_UNIT = 12
_SHORT = re.compile(rb'"(?:[^"\\]|\\.){0,%d}"' % _TEXT, re.DOTALL)
