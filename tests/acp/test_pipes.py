"""Our ends of an agent's pipes: everything in order, nothing more than was asked for, and an end in any state."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes are asyncio's own on Windows")

if sys.platform != "win32":
    from sidecar.acp.pipes import PipeReader, PipeWriter, reader

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


async def test_what_is_there_is_read_in_order_and_no_more_than_is_wanted() -> None:
    reading, writing = os.pipe()
    stream, writer = PipeReader(reading), PipeWriter(writing)
    sent = b"".join(b"%07d\n" % number for number in range(300_000))
    writer.write(sent)
    found: list[bytes] = []
    async with asyncio.timeout(HANGS):
        while sum(map(len, found)) < len(sent):
            most = 1 + 997 * len(found) % 100_000
            data = await stream.read(most)
            assert 0 < len(data) <= most
            found.append(data)
        assert b"".join(found) == sent
        writer.close()
        assert await stream.read(10) == b""
        assert await stream.read(10) == b""
    stream.close()
    stream.close()
    assert await stream.read(10) == b""


async def test_what_nobody_wants_yet_stays_in_the_pipe() -> None:
    reading, writing = os.pipe()
    stream = PipeReader(reading)
    waiting = asyncio.ensure_future(stream.read(10))
    await asyncio.sleep(0)
    os.write(writing, b"one")
    async with asyncio.timeout(HANGS):
        assert await waiting == b"one"
    waiting = asyncio.ensure_future(stream.read(10))
    await asyncio.sleep(0)
    waiting.cancel()
    os.write(writing, b"two")
    for _ in range(10):  # the loop looks at the pipe each time
        await asyncio.sleep(0)
    async with asyncio.timeout(HANGS):
        assert await stream.read(2) == b"tw"
        assert await stream.read(2) == b"o"
    stream.close()
    os.close(writing)


async def test_others_run_between_reads_of_a_pipe_that_is_always_full() -> None:
    reading, writing = os.pipe()
    stream, writer = PipeReader(reading), PipeWriter(writing)
    writer.write(b"x" * 1_000_000)
    ran = 0

    def run() -> None:
        nonlocal ran
        ran += 1
        loop.call_soon(run)

    loop = asyncio.get_running_loop()
    loop.call_soon(run)
    async with asyncio.timeout(HANGS):
        for reads in range(1, 50):
            assert await stream.read(10) == b"x" * 10
            assert ran >= reads
    stream.close()
    writer.close()


async def test_who_waits_is_told_when_it_is_closed() -> None:
    reading, writing = os.pipe()
    stream = PipeReader(reading)
    waiting = asyncio.ensure_future(stream.read(10))
    await asyncio.sleep(0)
    stream.close()
    async with asyncio.timeout(HANGS):
        assert await waiting == b""
    os.close(writing)


async def test_last_words_that_nobody_reads_hold_nobody_up() -> None:
    reading, writing = os.pipe()
    stream, writer = PipeReader(reading), PipeWriter(writing)
    writer.write(b"x" * 2_000_000)  # more than any pipe holds
    stream.ignore()
    async with asyncio.timeout(HANGS):
        await writer.drain()
    writer.write(b"x" * 5_000_000)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert writer.waiting, "one without an end is not read for ever"
    stream.close()
    writer.close()
