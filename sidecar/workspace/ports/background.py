"""Background: tasks whose failure is logged and does not end the editor's connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel

log = logging.getLogger(__name__)
T = TypeVar("T")


async def side_by_side(items: Collection[T], work: Callable[[T], Awaitable[object]], at_once: int) -> None:
    """Does `work` for each item, at most `at_once` at the same time. For work that mostly waits for a disk, which
    serves many requests as fast as one. When it is cancelled, work that has begun is finished, and no more is begun."""
    left = iter(items)

    async def some() -> None:
        for item in left:
            with anyio.CancelScope(shield=True):
                await work(item)
            await anyio.lowlevel.checkpoint_if_cancelled()

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(items))):
            group.start_soon(some)


class Background:
    """Starts tasks in a task group that outlives them. A bug in one task must not end the others, which may be handling a user's
    unsaved work. In tests (`strict`), a bug is raised instead."""

    def __init__(self, group: anyio.abc.TaskGroup, *, strict: bool = False) -> None:
        self._group = group
        self._strict = strict

    def start_soon(self, func: Callable[..., Awaitable[Any]], /, *args: Any) -> None:
        async def run() -> None:
            try:
                await func(*args)
            except Exception:
                if self._strict:
                    raise
                log.exception("a background task failed: %r", func)

        self._group.start_soon(run)
