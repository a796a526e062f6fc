"""Virtual time: an event loop on which waiting costs nothing, so that "answers after 61 seconds" is a quick and exact
test.

`run(main())` runs a coroutine on it. When nothing is ready and no worker thread of anyio's is busy, the clock jumps to
the next timer. Do not use real pipes and processes on it, because they take real time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

T = TypeVar("T")
PATIENCE = 10.0
"""Real seconds to wait for a thread or anything else outside."""

FOR_EVER = 24 * 3600.0
"""In seconds: asyncio never waits longer, so a timer this far away means "never" (`sleep_forever` is a timer at
infinity).
"""


class Stuck(AssertionError):
    """Nothing is scheduled and nothing arrives from outside, so the test would wait for ever; or a thread works for longer than anything may take."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        self.threads: list[CapacityLimiter] = []
        """The clock stands still while a thread of one of them works."""
        self.lent = 0
        """Threads of these that wait for this loop."""
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now

    @property
    def busy(self) -> bool:
        return sum(threads.borrowed_tokens for threads in self.threads) > self.lent


class _Jumping(selectors.BaseSelector):
    """Polls the real files. Instead of waiting, makes the loop's clock jump."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or timeout >= FOR_EVER or self._loop.busy:
            ready = self._real.select(PATIENCE)
            if ready:
                return ready
            if self._loop.busy:
                raise Stuck(f"a thread has worked for {PATIENCE:.0f} s and is not done")
            raise Stuck("nothing is scheduled, and nothing comes from outside")
        self._loop.now += timeout
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Returns the result of `main`, run in virtual time from 0."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.threads.append(anyio.to_thread.current_default_thread_limiter())
        return await main

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(watched())
