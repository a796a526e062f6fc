"""Background: tasks whose failure is logged and does not end the editor's connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.abc

log = logging.getLogger(__name__)


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

    async def to_its_end(self, func: Callable[..., Awaitable[None]], /, *args: Any) -> None:
        """Runs `func` and waits for it, as an await does; but it goes on to its end if who waits is cancelled. Then its failure is logged.
        Raises RuntimeError if `func` is cancelled itself, because the connection ends."""
        over, is_done, is_waited_for, failures = anyio.Event(), False, True, list[Exception]()

        async def run() -> None:
            nonlocal is_done
            try:
                await func(*args)
                is_done = True
            except Exception as problem:
                if not is_waited_for:
                    raise
                failures.append(problem)
            finally:
                over.set()

        self.start_soon(run)
        try:
            await over.wait()
        except BaseException:
            is_waited_for = False
            for problem in failures:  # it failed in the same moment
                log.error("a background task failed: %r", func, exc_info=problem)
            raise
        for problem in failures:
            raise problem
        if not is_done:
            raise RuntimeError("the connection is ending")
