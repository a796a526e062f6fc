"""Our ends of an agent's pipes: a PipeReader reads its output, asyncio reads the other pipes, and PipeWriters write. Unix
only.

asyncio's own subprocess pipes are socket pairs on some systems and cannot be enlarged. These are pipes, as large as Linux
allows without privilege: a file of a megabyte then needs one process switch instead of sixteen.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from itertools import islice

_ROOM = 1024 * 1024
"""The bytes in a pipe on Linux (the limit for unprivileged users), and the waiting bytes above which a writer counts as
full."""
_LAST_WORDS = 2 * 1024 * 1024
"""The most bytes that a process may still write while it is being ended, before it has to wait. Mostly, this is enough
until its end."""
_AT_ONCE = 512
"""The most pieces in one system call. The least that systems allow is 16; Linux, macOS and the BSDs allow 1024."""


class PipeWriter:
    """A `byte_streams.Sink` over the write end `fd` of a pipe. Writing to a pipe whose other end is gone does nothing; only
    `drain` reports it.

    asyncio's own transport copies what the pipe does not accept at once. This class keeps it in the pieces in which it
    came and passes many at a time to the system: a file of ten megabytes is never copied.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[bytes | memoryview] = deque()
        self._size = 0
        self._taken = 0
        self._full = False
        self._gone = False
        self._waiting: list[asyncio.Future[None]] = []
        self._empty = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._full and not self._gone

    @property
    def waiting(self) -> int:
        return 0 if self._gone else self._size

    @property
    def taken(self) -> int:
        return self._taken

    def write(self, *parts: bytes) -> None:
        if self._gone:
            return
        idle = not self._pieces
        self._pieces.extend(filter(None, parts))
        self._size += sum(map(len, parts))
        if idle:
            self._write()
            if self._pieces:
                self._loop.add_writer(self._fd, self._writable)
            self._full = self._size > _ROOM
        elif self._size > _ROOM:
            self._full = True

    async def drain(self) -> None:
        if self._full and not self._gone:
            waiting = self._loop.create_future()
            self._waiting.append(waiting)
            await waiting
        if self._gone:
            raise ConnectionResetError("the other end of the pipe is gone")

    async def flush(self) -> None:
        """Wait until the system has accepted everything, or the other end is gone."""
        while self.waiting:
            self._empty.clear()
            await self._empty.wait()

    def close(self) -> None:
        """Close the pipe and drop waiting data: an agent that does not read must not keep its input open."""
        if self._gone:
            return
        self._gone = True
        if self._pieces:
            self._loop.remove_writer(self._fd)
            self._pieces.clear()
        self._empty.set()
        os.close(self._fd)
        self._wake()

    def _writable(self) -> None:
        self._write()
        if not self._pieces and not self._gone:
            self._loop.remove_writer(self._fd)
            self._empty.set()
        if self._full and self._size <= _ROOM // 4:
            self._full = False
            self._wake()

    def _write(self) -> None:
        """Write as much as there is room for."""
        pieces = self._pieces
        while pieces:
            try:
                written = os.writev(self._fd, list(islice(pieces, _AT_ONCE)))
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.close()
                return
            self._size -= written
            self._taken += written
            while written:
                piece = pieces.popleft()
                if written < len(piece):
                    pieces.appendleft(memoryview(piece)[written:])
                    break
                written -= len(piece)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class PipeReader:
    """A `byte_streams.Source` over the read end `fd` of a pipe, for one reader at a time.

    asyncio's own reader appends what it reads to a buffer and takes it out again. This class reads when data is wanted
    and returns the bytes as the system gave them; the rest stays in the pipe.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._wanted = 0
        self._ignored = 0
        self._waiting: asyncio.Future[bytes] | None = None
        self._watched = False
        self._closed = False

    async def read(self, most: int) -> bytes:
        """Wait for data. Returns what there is, up to `most` bytes, or b"" at the end. Other tasks always run before this
        returns."""
        if self._closed:
            return b""
        self._wanted, self._waiting = most, self._loop.create_future()
        self._watch()
        return await self._waiting

    def ignore(self) -> None:
        """Stop delivering. Further data is dropped, so that the writer can finish."""
        if not self._closed:
            self._ignored = _LAST_WORDS
            self._watch()

    def close(self) -> None:
        if self._closed:
            return
        self._unwatch()
        self._closed = True
        os.close(self._fd)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(b"")

    def _readable(self) -> None:
        waiting = None if self._waiting is None or self._waiting.done() else self._waiting
        if waiting is None and self._ignored <= 0:  # no reader yet; rare, as most read and answer in turns
            self._unwatch()
            return
        try:
            data = os.read(self._fd, self._ignored if waiting is None else self._wanted)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # as good as the end
            data = b""
        if waiting is None:
            self._ignored = self._ignored - len(data) if data else 0
        else:
            waiting.set_result(data)

    def _watch(self) -> None:
        if not self._watched:
            self._loop.add_reader(self._fd, self._readable)
            self._watched = True

    def _unwatch(self) -> None:
        if self._watched:
            self._loop.remove_reader(self._fd)
            self._watched = False


async def reader(fd: int, *, limit: int = _ROOM) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """Take over the read end `fd` of a pipe. The caller closes the transport."""
    stream = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(fd, "rb", 0)
    )
    return stream, transport


async def writer(fd: int) -> PipeWriter:
    """Take over the write end `fd` of a pipe."""
    return PipeWriter(fd)


def enlarge(fd: int) -> None:
    """Make a pipe as large as Linux allows unprivileged users. Elsewhere, and if Linux refuses, the pipe stays as it is."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _ROOM)
        except OSError:  # this user has too many of them (fs.pipe-user-pages-soft)
            pass
