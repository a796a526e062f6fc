"""The writer of an agent's pipe: everything in order, nothing copied, and an end in any state."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes are asyncio's own on Windows")

if sys.platform != "win32":
    from sidecar.acp.pipes import PipeWriter, reader

HANGS = 20.0


async def test_large_and_small_parts_arrive_in_order() -> None:
    reading, writing = os.pipe()
    stream, transport = await reader(reading)
    writer = PipeWriter(writing)
    parts = [b"%06d|" % number * (number % 50) for number in range(2000)] + [b"x" * 3_000_000, b"", b"end"]
    writer.write(b"")
    for part in parts[:100]:
        writer.write(part)
    writer.write(*parts[100:])
    assert writer.full
    async with asyncio.timeout(HANGS):
        found = await stream.readexactly(sum(map(len, parts)))
        await writer.drain()
    assert found == b"".join(parts)
    assert not writer.full
    writer.close()
    async with asyncio.timeout(HANGS):
        assert await stream.read() == b""
    transport.close()


async def test_what_was_not_taken_is_dropped_at_the_end() -> None:
    reading, writing = os.pipe()
    writer = PipeWriter(writing)
    writer.write(b"x" * 5_000_000)
    writer.close()
    writer.close()
    writer.write(b"nothing")
    assert not writer.full
    with pytest.raises(ConnectionError):
        await writer.drain()
    size = 0
    while data := os.read(reading, 1 << 20):
        size += len(data)
    assert 0 < size < 5_000_000
    os.close(reading)


async def test_who_waits_for_a_reader_that_goes_away_is_told() -> None:
    reading, writing = os.pipe()
    writer = PipeWriter(writing)
    writer.write(b"x" * 5_000_000)
    waiting = asyncio.ensure_future(writer.drain())
    await asyncio.sleep(0)
    os.close(reading)
    async with asyncio.timeout(HANGS):
        with pytest.raises(ConnectionError):
            await waiting
    writer.write(b"nothing")
    writer.close()
