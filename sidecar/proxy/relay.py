"""relay: passes lines from one end to the other. What the reader does not take stays with the writer: neither end is ahead of the other by
more than a line and what a sink holds.

Nothing here knows what the lines mean.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sidecar.acp.byte_streams import Sink, Source
from sidecar.acp.limits import WireLimits
from sidecar.bridge.wire import Lines, Malformed

READ = 64 * 1024
LONGEST = WireLimits().line
"""The most bytes of a line."""

Pass = Callable[[bytes], Awaitable[bytes | None]]
"""A line without its end → the line to pass on in its place. None: pass on nothing. The same object: it passes unchanged."""


class LineTooLong(Exception):
    """A line has more than LONGEST bytes."""


async def relay(source: Source, sink: Sink, passes: Pass, longest: int = LONGEST) -> None:
    """Pass on lines until `source` ends. A last line without an end is passed on without one. Raises LineTooLong, and ConnectionError if nobody
    reads `sink` any more."""
    lines = Lines(longest)
    try:
        while data := await _read(source):
            lines.feed(data)
            while (line := lines.next()) is not None:
                passed = await passes(line)
                if passed is not None:
                    sink.write(passed, b"\n")
                    await sink.drain()
    except Malformed as error:
        raise LineTooLong from error
    if lines.begun and (passed := await passes(lines.rest())) is not None:
        sink.write(passed)


async def _read(source: Source) -> bytes:
    try:
        return await source.read(READ)
    except ConnectionError:
        return b""
