"""Calls: carries out the calls of a journal on one thread, in their order: all that wait when it is free in one go.

Most calls take less time than it takes to hand them to a thread and back; on a busy machine, a small part of that. Of hundreds that come together, each
would wait for the others to be handed over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

_ANSWERED_AT_ONCE = 16
"""How many callers go on before the loop's other tasks have their turn."""


@dataclass(slots=True, eq=False, repr=False)
class _Call:
    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Its caller's; shielded once the call has begun."""
    failed: BaseException | None = None
    done: Any = None

    def carry_out(self) -> None:
        try:
            self.done = self.work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for whoever called
            self.failed = error

    def give(self) -> None:
        if self.answer.done():  # nobody waits for it any more
            return
        if self.failed is None:
            self.answer.set_result(self.done)
        else:
            self.answer.set_exception(self.failed)


class Calls:
    """For one event loop."""

    def __init__(self) -> None:
        self.thread = anyio.CapacityLimiter(1)
        self._waiting: deque[_Call] = deque()
        self._carrying_out: asyncio.Task[None] | None = None

    async def make(self, work: Callable[[], T]) -> T:
        """Returns what `work` returns, or raises what it raises. If the caller is cancelled, a call that has not begun is withdrawn, and one that has
        begun is waited for."""
        call = _Call(work, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._carrying_out is None:
            self._carrying_out = asyncio.ensure_future(self._carry_out())
        with call.scope:
            try:
                return await call.answer
            finally:
                if call in self._waiting:  # it has not begun
                    self._waiting.remove(call)
        raise AssertionError("nobody cancels the scope itself")

    async def _carry_out(self) -> None:
        some: Sequence[_Call] = ()
        try:
            while self._waiting:
                some = [call for call in self._waiting if not call.answer.done()]  # the others are withdrawn
                self._waiting.clear()
                for call in some:
                    call.scope.shield = True
                try:
                    await anyio.to_thread.run_sync(carry_out, some, limiter=self.thread)
                except Exception as error:  # noqa: BLE001 - no thread could be started; that is for whoever called
                    for call in some:
                        call.failed = error
                for number, call in enumerate(some, 1):
                    call.give()
                    if number % _ANSWERED_AT_ONCE == 0:
                        await asyncio.sleep(0)
        finally:
            self._carrying_out = None
            for call in [*some, *self._waiting]:  # the loop ends
                call.answer.cancel()


def carry_out(calls: Sequence[_Call]) -> None:
    """Runs in the journal's thread."""
    for call in calls:
        call.carry_out()
