"""Our ends of an agent's pipes as asyncio knows them: readers are StreamReaders, writers are PipeWriters.

asyncio's own subprocess pipes are socket pairs on some systems and cannot be enlarged; these are pipes, made as large as
Linux allows without privilege, because a file of a megabyte then crosses in one switch of processes instead of sixteen.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast

_ROOM = 1024 * 1024
"""Bytes in a pipe on Linux (the limit for the unprivileged), and bytes waiting before a writer counts as full."""


class PipeWriter(asyncio.BaseProtocol):
    """A `transport.Sink` over a pipe. Writing to one that is gone does nothing; only `drain` tells."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._full = False
        self._gone = False
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def full(self) -> bool:
        return self._full and not self._gone

    def write(self, data: bytes | bytearray) -> None:
        if self._transport is not None and not self._gone:
            self._transport.write(data)

    async def drain(self) -> None:
        if self._full and not self._gone:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        if self._gone:
            raise ConnectionResetError("the other end of the pipe is gone")

    def close(self) -> None:
        if self._transport is None or self._gone:
            return
        if self._transport.get_write_buffer_size():
            self._transport.abort()  # an agent that does not read must not keep its input open
        else:
            self._transport.close()
        self._lost()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.set_write_buffer_limits(high=_ROOM)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    def _lost(self) -> None:
        self._gone = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


async def reader(fd: int, *, limit: int = _ROOM) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """Takes over the read end `fd` of a pipe. Close the transport when it is no longer wanted."""
    stream = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(fd, "rb", 0)
    )
    return stream, transport


async def writer(fd: int) -> PipeWriter:
    """Takes over the write end `fd` of a pipe."""
    _, protocol = await asyncio.get_running_loop().connect_write_pipe(PipeWriter, os.fdopen(fd, "wb", 0))
    return protocol


def enlarge(fd: int) -> None:
    """Makes a pipe as large as the unprivileged may on Linux; elsewhere, and where refused, it stays as it is."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _ROOM)
        except OSError:  # this user has enough of them (fs.pipe-user-pages-soft)
            pass
