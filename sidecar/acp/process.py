"""AgentProcess: one agent's process, its streams, the end of its stderr, and a guarantee that it ends.

On POSIX, the agent runs below a reaper (posix.py, reaper.py), so that nothing it starts outlives it or us. On Windows, it runs in a job
object (windows.py); starting.py chooses. The steps of `stop` (end of input, request, force) do not depend on the agent reading anything.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sidecar.acp.byte_streams import Sink, Source
from sidecar.acp.limits import Ladder
from sidecar.acp.noise import Noise
from sidecar.core.escape import plain

log = logging.getLogger(__name__)

TAIL = 64 * 1024
"""The bytes of stderr that are kept."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: with a code, or by a signal."""

    code: int | None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            try:
                name = signal.Signals(self.signal).name
            except ValueError:
                name = f"signal {self.signal}"
            return f"was ended by {name}"
        return "ended" if self.code is None else f"exited with code {self.code}"


class Tail:
    """The last 64 KiB of what an agent wrote to stderr. Also logs every line of it, at a limited rate."""

    def __init__(self, name: str) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._unfinished = b""
        self._noise = Noise(log, name)

    def add(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= TAIL:
            self._size -= len(self._chunks.popleft())
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        self._unfinished = self._unfinished[-TAIL:]
        for line in lines:
            if line.strip():
                self._noise.say("says on stderr", line, level=logging.INFO)

    def __bytes__(self) -> bytes:
        return b"".join(self._chunks)[-TAIL:]

    def last_lines(self, count: int = 5, width: int = 200) -> list[str]:
        """The last lines that are not blank, escaped, each shortened to about `width` characters."""
        lines = bytes(self).decode("utf-8", "backslashreplace").splitlines()
        return [plain(line.strip(), width) for line in lines if line.strip()][-count:]


class AgentProcess:
    """Created by `starting.start`. `stdin` and `stdout` are for the transport; stderr is always read here."""

    def __init__(self, pid: int, stdin: Sink, stdout: Source, errors: Tail) -> None:
        self.pid = pid
        """The agent's own process id, not the reaper's."""
        self.stdin = stdin
        self.stdout = stdout
        self.errors = errors
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        """Done when the agent itself has ended. Processes that it left may still be running."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the agent and everything it started have ended."""
        self.family: Callable[[], Collection[int]] | None = None
        """The ids of the agent and of everything it started that still runs, if the system keeps track of them. Callable from any thread."""
        self.on_stop(_ignore, _ignore)
        self._readers: set[asyncio.Task[None]] = set()
        self._stopping: asyncio.Task[None] | None = None

    async def stop(self, ladder: Ladder = Ladder()) -> None:  # noqa: B008  # frozen
        """End the agent and everything it started. Returns within the ladder's bound; several calls share one end."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._descend(ladder))
        await asyncio.shield(self._stopping)

    def hurry(self, how: str) -> None:
        """Ask the agent to end ("t") or end it ("k"), with everything it started. `exited` and `gone` say when it has ended."""
        self._hurry(how)

    async def last_lines(self) -> list[str]:
        """The last lines of its stderr, once stderr has ended or after a moment."""
        if self._readers:
            await asyncio.wait(self._readers, timeout=0.3)
        return self.errors.last_lines()

    async def _descend(self, ladder: Ladder) -> None:
        try:
            self.stdin.close()
            for how, patience in (("", ladder.close_input), ("t", ladder.terminate), ("k", ladder.kill)):
                self._hurry(how)
                await asyncio.wait({self.gone}, timeout=patience)
                if self.gone.done():
                    return
            log.error("process %d could not be ended", self.pid)
        finally:
            cleanup = self._cleanup
            self.on_stop(_ignore, _ignore)  # the number of a closed descriptor may have been reused
            cleanup()
            for task in self._readers:
                task.cancel()
            if not self.exited.done():
                self.exited.set_result(Exit(None))

    def follow(self, stderr: asyncio.StreamReader) -> None:
        """Read stderr until its end: an agent whose stderr nobody reads blocks at 64 KiB."""

        async def drain() -> None:
            while data := await stderr.read(TAIL):
                self.errors.add(data)

        self.keep(asyncio.ensure_future(drain()))

    def keep(self, task: asyncio.Task[None]) -> None:
        self._readers.add(task)
        task.add_done_callback(self._readers.discard)

    def on_stop(self, hurry: Callable[[str], None], cleanup: Callable[[], None]) -> None:
        """Set the callbacks: `hurry` is called with "", "t" (ask to end) and "k" (end), `cleanup` once at the very end. Both are then released, as they
        may refer to this process."""
        self._hurry, self._cleanup = hurry, cleanup


def _ignore(_how: str = "") -> None:
    pass


_starting: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def one_at_a_time() -> asyncio.Lock:
    """The lock to hold while the system starts a process: many starts at once would leave no processor time for anything else."""
    return _starting.setdefault(asyncio.get_running_loop(), asyncio.Lock())
