"""Reader: delivers the editor's bytes on the event loop in the order they came, in large pieces.

If the loop can poll the descriptor (pipes and sockets on Unix), it reads when there is something to read; otherwise (Windows, regular files) a daemon
thread reads. Both use `os.read` on the bare descriptor: a thread that hangs in `sys.stdin.buffer` aborts the interpreter at exit, and one in
`os.read` does not.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import threading
from collections.abc import Callable

READ = 256 * 1024
"""Bytes requested per read. A pipe returns at most its capacity, 64 KiB unless enlarged."""

_AHEAD = 4
"""The number of pieces that a reading thread may be ahead of the loop."""

_PIPE_SIZE = 1024 * 1024
_F_SETPIPE_SZ = 1031
"""A constant of fcntl on Linux; Python defines it only there."""


class InputReader:
    """Calls `on_data(bytes)` on the loop for every piece, and `on_data(b"")` once, at the end of input."""

    def __init__(self, fd: int, on_data: Callable[[bytes], None], *, threaded: bool | None = None) -> None:
        self._fd = fd
        self._on_data = on_data
        self._loop = asyncio.get_running_loop()
        self._paused = False
        self._ended = False
        self._slots = threading.Semaphore(_AHEAD)
        self._held: list[bytes] = []
        enlarge_pipe(fd)
        self._threaded = not _can_poll(fd) if threaded is None else threaded
        if self._threaded:
            threading.Thread(target=self._pump, name="lsp-reader", daemon=True).start()
        else:
            self._loop.add_reader(fd, self._readable)

    def pause(self) -> None:
        """Deliver nothing until `resume`. The editor's writes wait in the pipe."""
        if self._paused or self._ended:
            return
        self._paused = True
        if not self._threaded:
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if not self._paused or self._ended:
            return
        self._paused = False
        if not self._threaded:
            self._loop.add_reader(self._fd, self._readable)
        while self._held and not self._paused and not self._ended:
            self._deliver(self._held.pop(0))

    def close(self) -> None:
        """Stop delivering. A reading thread ends with the process or at its next piece."""
        if self._ended:
            return
        self._ended = True
        if not self._threaded and not self._paused:
            self._loop.remove_reader(self._fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self._finish_or(data)

    def _pump(self) -> None:
        data = b"?"
        while data and not self._ended:
            try:
                data = os.read(self._fd, READ)
            except BlockingIOError:  # a process that shares the pipe made it non-blocking
                select.select([self._fd], [], [])
                continue
            except OSError:
                data = b""
            self._slots.acquire()
            try:
                self._loop.call_soon_threadsafe(self._arrived, data)
            except RuntimeError:  # the loop is closed
                return

    def _arrived(self, data: bytes) -> None:
        if self._paused:
            self._held.append(data)
        else:
            self._deliver(data)

    def _deliver(self, data: bytes) -> None:
        self._slots.release()
        self._finish_or(data)

    def _finish_or(self, data: bytes) -> None:
        if self._ended:
            return
        if not data:
            self.close()
        self._on_data(data)


def enlarge_pipe(fd: int) -> None:
    """Enlarge the pipe, so that a burst of changes arrives in few reads and does not block the editor. Linux only."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        fcntl.fcntl(fd, _F_SETPIPE_SZ, _PIPE_SIZE)
    except OSError:
        pass  # a socket, or the user's pipe quota is used up


def _can_poll(fd: int) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
