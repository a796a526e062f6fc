"""KeptOpen: something that is opened when it is first needed and closed at the end, in whichever task it is
needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import anyio
import anyio.abc

T = TypeVar("T")


class KeptOpen(Generic[T]):
    def __init__(
        self, tasks: anyio.abc.TaskGroup, make: Callable[[], AbstractAsyncContextManager[T]]
    ) -> None:
        """`tasks`: must not end before `close`."""
        self._tasks = tasks
        self._make = make
        self._over = anyio.Event()
        self._opened: list[T] = []

    async def __call__(self) -> T:
        """Open it, if it is not open. Must not be called by two tasks at a time."""
        if not self._opened:
            self._opened.append(await self._tasks.start(self._keep))
        return self._opened[0]

    def close(self) -> None:
        self._over.set()

    async def _keep(self, *, task_status: anyio.abc.TaskStatus[T]) -> None:
        async with self._make() as made:
            task_status.started(made)
            await self._over.wait()
