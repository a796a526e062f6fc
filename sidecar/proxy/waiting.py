"""Waiting for the first of: a signal, the end of something, a time."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if sys.platform != "win32" else ()


def signals() -> asyncio.Future[int]:
    """The first signal that comes."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    return stopped


async def first(
    work: Coroutine[Any, Any, None], *others: asyncio.Future[Any], seconds: float | None = None
) -> None:
    """Wait until one of them is done. `work` is cancelled then."""
    task = asyncio.ensure_future(work)
    await any_of(task, *others, seconds=seconds)
    task.cancel()


async def any_of(*futures: asyncio.Future[Any], seconds: float | None = None) -> None:
    await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
