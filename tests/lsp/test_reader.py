"""The reader: the same bytes in the same order by polling and by thread, with pauses; an end, once."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.lsp import reader as reader_module
from sidecar.lsp.reader import InputReader
from tests.support.raw_lsp import in_process

WAIT = 20.0
WAYS = [True] if sys.platform == "win32" else [True, False]


class Sink:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.ended = asyncio.Event()
        self.arrived = asyncio.Event()

    def __call__(self, data: bytes) -> None:
        assert not self.ended.is_set()
        self.pieces.append(data)
        self.arrived.set()
        if not data:
            self.ended.set()

    async def end(self) -> bytes:
        async with asyncio.timeout(WAIT):
            await self.ended.wait()
        return b"".join(self.pieces)


def write_and_close(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
    os.close(fd)


def socket_pair() -> tuple[int, int]:
    """What Node gives its children on Unix instead of pipes."""
    reading, writing = socket.socketpair()
    return reading.detach(), writing.detach()


@pytest.mark.parametrize("threaded", WAYS)
@pytest.mark.parametrize("connect", [os.pipe] if sys.platform == "win32" else [os.pipe, socket_pair])
async def test_everything_arrives_in_order_and_then_the_end(
    threaded: bool, connect: Callable[[], tuple[int, int]]
) -> None:
    reading, writing = connect()
    data = b"".join(b"%07d\n" % n for n in range(200_000))
    sink = Sink()
    InputReader(reading, sink, threaded=threaded)
    await asyncio.get_running_loop().run_in_executor(None, write_and_close, writing, data)
    assert await sink.end() == data
    os.close(reading)


@pytest.mark.parametrize("threaded", WAYS)
async def test_nothing_arrives_in_a_pause_and_nothing_is_lost_by_it(threaded: bool) -> None:
    reading, writing = os.pipe()
    data = bytes(range(256)) * 20_000
    sink = Sink()
    reader = InputReader(reading, sink, threaded=threaded)
    sending = asyncio.get_running_loop().run_in_executor(None, write_and_close, writing, data)
    for _ in range(5):
        async with asyncio.timeout(WAIT):
            await sink.arrived.wait()
        reader.pause()
        reader.pause()
        before = len(sink.pieces)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(sink.pieces) == before
        sink.arrived.clear()
        reader.resume()
        reader.resume()
        if sink.ended.is_set():
            break
    assert await sink.end() == data
    await sending
    os.close(reading)


@pytest.mark.parametrize("threaded", WAYS)
async def test_nothing_arrives_after_it_was_closed(threaded: bool) -> None:
    reading, writing = os.pipe()
    sink = Sink()
    reader = InputReader(reading, sink, threaded=threaded)
    reader.close()
    reader.close()
    reader.pause()
    reader.resume()
    os.write(writing, b"late")
    os.close(writing)
    for _ in range(20):
        await asyncio.sleep(0)
    assert sink.pieces == []
    if not threaded:
        os.close(reading)


async def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "session"
    file.write_bytes(b"x" * 1_000_000)
    sink = Sink()
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    InputReader(descriptor, sink)
    assert await sink.end() == b"x" * 1_000_000
    os.close(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes there have no such mode")
async def test_a_thread_reads_a_descriptor_that_was_made_non_blocking() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    sink = Sink()
    InputReader(reading, sink, threaded=True)
    os.write(writing, b"a")
    async with asyncio.timeout(WAIT):
        await sink.arrived.wait()
    write_and_close(writing, b"b")
    assert await sink.end() == b"ab"
    os.close(reading)


async def test_a_whole_session_through_a_reading_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_can_poll", lambda fd: False)
    async with in_process() as client:
        await client.initialize()
        client.notify(
            "textDocument/didOpen", {"textDocument": {"uri": "file:///a", "version": 1, "text": "é"}}
        )
        assert await client.text("file:///a") == "é"
        assert (await client.request("shutdown"))["result"] is None
        client.notify("exit")
        assert await client.exit_code() == 0
