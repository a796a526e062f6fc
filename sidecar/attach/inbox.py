"""Inbox: the events for one attached client, in order, until the client asks for them. Adding an event never
waits, and their number and size have a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json

MOST_BYTES = 16 * 1024 * 1024
"""The approximate bytes in memory of waiting events. One more event may wait, however large."""
MOST_EVENTS = 10_000
AT_ONCE = 1024 * 1024
"""The approximate bytes of one answer. One more event may be in it."""


class Gate:
    """A place in the order for events that are not known yet. No later event is delivered before them."""

    def __init__(self, opened: Callable[[], None]) -> None:
        self.events: Sequence[Json] | None = None
        self._opened = opened

    def open(self, events: Sequence[Json]) -> None:
        """Put events in this place. They do not count towards the bound: there is one gate for each request, and
        requests have a bound."""
        self.events = events
        self._opened()


class Inbox:
    def __init__(self, overflows: Callable[[], None]) -> None:
        """`overflows`: called at the first event for which there is no room. That event and all later ones are
        dropped."""
        self._overflows = overflows
        self._waiting: deque[tuple[Json, int] | Gate] = deque()
        self._size = 0
        self._count = 0
        self._full = False
        self._came = asyncio.Event()

    def put(self, event: Json) -> None:
        if self._full:
            return
        size = size_of(event)
        if self._count and (self._size + size > MOST_BYTES or self._count >= MOST_EVENTS):
            self.clear()
            self._full = True
            self._overflows()
            return
        self._size += size
        self._count += 1
        self._waiting.append((event, size))
        self._came.set()

    def gate(self) -> Gate:
        gate = Gate(self._came.set)
        self._waiting.append(gate)
        return gate

    async def take(self, patience: float) -> list[Json]:
        """The next events, once there are some. Empty after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                while not (events := self._take()):
                    self._came.clear()
                    await self._came.wait()
                return events
        except TimeoutError:
            return []

    def wake(self) -> None:
        """Make the caller that waits in `take` look again."""
        self._came.set()

    def clear(self) -> None:
        """Drop all waiting events."""
        self._waiting.clear()
        self._size = self._count = 0
        self._came.set()

    def _take(self) -> list[Json]:
        taken: list[Json] = []
        size = 0
        while self._waiting and size < AT_ONCE:
            first = self._waiting[0]
            if isinstance(first, Gate):
                if first.events is None:
                    break
                self._waiting.popleft()
                self._waiting.extendleft((event, 0) for event in reversed(first.events))
                self._count += len(first.events)
                continue
            event, counted = first
            self._waiting.popleft()
            self._size -= counted
            self._count -= 1
            size += counted or size_of(event)
            taken.append(event)
        return taken
