"""ended: ends a process with pipes, whatever it does with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


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
