"""Watchdog: ends a connection whose agent does not read its input.

An agent that reads slowly is not dead: any byte that the system accepts begins the time anew.
"""

from __future__ import annotations

import asyncio

from sidecar.acp.byte_streams import Sink

_LOOKS = 4
"""How many times we check whether an agent reads, within the time for which it may read nothing."""


class Watchdog:
    """Looks only while something waits to be written, so that an idle connection costs nothing."""

    def __init__(self, sink: Sink, seconds: float, ended: asyncio.Future[str]) -> None:
        """`seconds`: how long an agent may leave its input unread. `ended` then gets the reason, unless it has one."""
        self._sink = sink
        self._seconds = seconds
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._look: asyncio.TimerHandle | None = None
        self._closed = False

    def watch(self) -> None:
        """Call this after each write."""
        if self._look is None and self._sink.waiting:
            self._look_later(self._sink.taken, self._loop.time())

    def close(self) -> None:
        self._closed = True
        if self._look is not None:
            self._look.cancel()

    def _look_later(self, taken: int, since: float) -> None:
        self._look = self._loop.call_later(self._seconds / _LOOKS, self._look_at_input, taken, since)

    def _look_at_input(self, taken: int, since: float) -> None:
        """Check whether the agent has read anything: something has waited to be written. `taken`: `Sink.taken` at `since`."""
        self._look = None
        if self._closed or not self._sink.waiting:
            return
        now = self._loop.time()
        if self._sink.taken != taken:
            taken, since = self._sink.taken, now
        if now - since < self._seconds:
            self._look_later(taken, since)
        elif not self._ended.done():
            self._ended.set_result(f"has not read its input for {self._seconds:.0f} s")
