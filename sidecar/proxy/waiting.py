"""Waiting for the first of: a signal, the end of something, a time."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
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


async def ended(process: asyncio.subprocess.Process, seconds: float, *hurries: Callable[[], None]) -> None:
    """End a process with pipes: close its input, and call the `hurries` one after the other, each if the process has not ended `seconds` after
    the step before. Its remaining output is thrown away: asyncio does not see the end of a process whose output nobody reads."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    rest = asyncio.ensure_future(_thrown_away(process.stdout))
    try:
        for hurry in (None, *hurries):
            if hurry is not None:
                with suppress(ProcessLookupError):
                    hurry()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await process.wait()
                    return
    finally:
        # a process that it left behind may hold its output open; asyncio has no other way to release it
        process._transport.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        await rest


async def _thrown_away(stdout: asyncio.StreamReader) -> None:
    with suppress(OSError, RuntimeError):  # RuntimeError: it has another reader
        while await stdout.read(65536):
            pass
