"""LineParser: bytes in, messages out (newline-delimited JSON). No I/O, no event loop.

Feed whatever was read, then take events until there are none:

    parser.feed(data)
    while (event := parser.next()) is not None: ...

An event is a message (any JSON object that stood in a line; json_rpc.py checks it) or a `Signal`. A line that holds no message is logged and yields
no event, so the worst line costs only that line. A line beyond the limit ends the stream: what follows cannot be told from the rest of it.

A line longer than 1 MiB is decoded while it arrives (long_lines.py). Between the steps of that, `next` returns PAUSE.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from enum import Enum
from typing import TypeAlias

from sidecar.acp.limits import WireLimits
from sidecar.acp.long_lines import LongLine
from sidecar.acp.messages import Message, decode
from sidecar.acp.noise import Noise

_CHUNK = 1024 * 1024
"""The bytes that are read at once of a line longer than _SMALL: as many as a pipe holds."""
_SMALL = 64 * 1024
_LONG = 1024 * 1024
"""The bytes beyond which a line is decoded while it arrives."""


class Signal(Enum):
    PAUSE = "pause"
    """Other tasks should run before `next` is called again."""
    TOO_LONG = "too long"
    """A line is longer than the limit. Nothing comes after this but the same again."""


Event: TypeAlias = Message | Signal


class LineParser:
    """One direction of one connection. Any pieces of the same bytes give the same messages."""

    def __init__(self, limits: WireLimits, noise: Noise) -> None:
        """`limits`: `line` in bytes, without the line's end, and `texts`. `noise`: logs what is no message."""
        self._limits = limits
        self._noise = noise
        self._input: deque[bytes] = deque()
        """What was fed and not looked at yet."""
        self._partial: list[bytes] = []
        """The pieces of the line that has no end yet."""
        self._size = 0
        """The bytes of that line, also of those that `_long` has taken in."""
        self._long: LongLine | None = None
        """Takes in the rest of a line beyond _LONG, in place of `_partial`."""
        self._steps: Generator[None] | None = None
        """The work on the long line that is under way. Its messages come before those of `_lines`."""
        self._lines: deque[bytes] = deque()
        self._messages: deque[Message] = deque()
        self._too_long = False

    def feed(self, data: bytes) -> None:
        self._input.append(data)

    def end(self) -> None:
        """The input has ended: the last line needs no newline."""
        if self._size:
            self._input.append(b"\n")

    @property
    def pending(self) -> int:
        """The bytes of the line that has no end yet."""
        return self._size

    @property
    def wanted(self) -> int:
        """The most bytes to read at once: few, so that other tasks run between them, but many of a line that is long already."""
        return _CHUNK if self._size >= _SMALL else _SMALL

    def next(self) -> Event | None:
        """Return the next event, or None if more input is needed."""
        while True:
            if self._messages:
                return self._messages.popleft()
            if self._steps is not None:
                self._step(self._steps)
                return Signal.PAUSE
            if self._lines:
                found = decode(self._lines.popleft(), self._noise)
                if len(found) == 1:
                    return found[0]
                self._messages.extend(found)
            elif self._too_long:
                return Signal.TOO_LONG
            elif self._input:
                self._split(self._input.popleft())
            else:
                return None

    def _split(self, data: bytes) -> None:
        end = data.find(b"\n")  # finds the end of a long line ten times as fast as `split` does
        first = data if end < 0 else data[:end]
        self._size += len(first)
        if self._size > self._limits.line:
            self._too_long = True
            return
        self._partial.append(first)
        if self._size > _LONG:
            self._long = self._long or LongLine(self._limits.texts)
            piece, self._partial = b"".join(self._partial), []
            self._steps = self._take_in(self._long, piece, whole=end >= 0)
        elif end >= 0:
            self._lines.append(b"".join(self._partial))
        if end < 0:
            return
        self._long = None
        *lines, last = data[end + 1 :].split(b"\n")
        self._lines.extend(lines)
        self._partial, self._size = [last], len(last)
        if len(data) > self._limits.line:
            self._stop_at_too_long()

    def _stop_at_too_long(self) -> None:
        """Drop the first line beyond the limit, and what follows it. Only a piece longer than the limit can hold one."""
        for number, line in enumerate((*self._lines, *self._partial)):
            if len(line) > self._limits.line:
                while len(self._lines) > number:
                    self._lines.pop()
                self._too_long = True
                return

    def _take_in(self, long: LongLine, piece: bytes, *, whole: bool) -> Generator[None]:
        yield from long.feed(piece)
        if whole:
            self._messages.extend((yield from long.messages(self._noise)))

    def _step(self, steps: Generator[None]) -> None:
        try:
            next(steps)
        except StopIteration:
            self._steps = None
