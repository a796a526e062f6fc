"""Terminals: commands that we run for an agent (ACP, "Terminals").

Each runs below a reaper of its own (process.py), without input, with its stdout and stderr in one pipe. Nothing of it outlives
the turn in which it was started, its session, the agent or the sidecar. The workspace decides beforehand whether it may run.

A terminal that has ended is kept for the agent's later questions, until the agent releases it or has created many more.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
from collections.abc import Callable
from typing import Any

from sidecar.acp import starting
from sidecar.acp.command_line import Run
from sidecar.acp.limits import Ladder
from sidecar.acp.output import Output
from sidecar.acp.process import AgentProcess, Exit
from sidecar.core.json_types import Json
from sidecar.workspace.ports.session_ports import CommandEnd

log = logging.getLogger(__name__)

RUNNING_AT_MOST = 32
KEPT_AT_MOST = 64
_CHUNK = 64 * 1024
_BREATH = 0.005
"""The seconds after a full chunk in which other tasks run. This slows a command that floods us down to 12 MB a second."""
_LAST_WORDS = 1.0
"""How many seconds the output may stay open after the command ended. Meanwhile, what the command left behind is being ended."""
_STOPPED = b"\n[The user stopped this command.]\n"
"""The protocol has no other way to say this, and an agent that does not know it starts the command again."""
LADDER = Ladder(0.0, 0.5, 1.5)
"""A command has no input to close."""


class Terminal:
    """One command. Created by `Terminals.start`."""

    def __init__(
        self,
        terminal_id: str,
        running: AgentProcess,
        limit: int,
        on_output: Callable[[str], None],
        on_end: Callable[[CommandEnd], None],
    ) -> None:
        self.id = terminal_id
        self.process = running
        self.output = Output(limit)
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        """How the command ended. Set once all of its output is in `output`."""
        self._stopped = False
        """Whether the user stopped it."""
        self._on_output = on_output
        self._on_end = on_end
        self._reading = asyncio.ensure_future(self._read())
        self._following = asyncio.ensure_future(self._follow())

    def kill(self) -> None:
        """End the command in the background; `ended` says when it has ended."""
        if not self.ended.done():
            self.process.hurry("t")
            asyncio.get_running_loop().call_later(LADDER.terminate, self._force)

    def stopped_by_the_user(self) -> None:
        """Like `kill`. The output and the reported end say that the user did it."""
        self._stopped = self._stopped or not self.ended.done()
        self.kill()

    async def stop(self) -> None:
        """End the command within the ladder's bound."""
        if not self.ended.done():
            await self.process.stop(LADDER)
        await self._following

    def _force(self) -> None:
        if not self.ended.done():
            self.process.hurry("k")

    async def _read(self) -> None:
        while data := await self.process.stdout.read(_CHUNK):
            self._say(self.output.add(data))
            await asyncio.sleep(_BREATH if len(data) == _CHUNK else 0)
        self._say(self.output.add(b"", final=True))

    async def _follow(self) -> None:
        exit_ = await asyncio.shield(self.process.exited)
        await asyncio.wait({self._reading}, timeout=_LAST_WORDS)
        self._reading.cancel()
        await self.process.stop(LADDER)
        if self._stopped:
            self._say(self.output.add(_STOPPED))
        if not self.ended.done():
            self.ended.set_result(exit_)
        self._on_end(CommandEnd(exit_.code, _signal(exit_), self._stopped))

    def _say(self, text: str) -> None:
        if text:
            self._on_output(text)


class Terminals:
    """The terminals of one session, by id."""

    def __init__(self) -> None:
        self._terminals: dict[str, Terminal] = {}
        self._under_way: set[asyncio.Future[Any]] = set()
        """The terminals that are being started or ended."""
        self._times_killed = 0
        self._starting = 0

    @property
    def full(self) -> bool:
        """Whether so many commands are running that no more are started."""
        running = sum(not one.ended.done() for one in self._terminals.values())
        return running + self._starting >= RUNNING_AT_MOST

    def get(self, terminal_id: object) -> Terminal | None:
        return self._terminals.get(terminal_id) if isinstance(terminal_id, str) else None

    async def start(
        self,
        run: Run,
        on_start: Callable[[str], None],
        on_output: Callable[[str, str], None],
        on_end: Callable[[str, CommandEnd], None],
    ) -> Terminal:
        """Run the command. Each function gets the terminal's id first, and the last is called even if the command cannot be
        started. Raises OSError, TimeoutError. The start continues even if nobody waits for it: a half-started command could
        never be ended."""
        task = asyncio.ensure_future(self._start(run, on_start, on_output, on_end))
        self._keep(task)
        return await asyncio.shield(task)

    async def _start(
        self,
        run: Run,
        on_start: Callable[[str], None],
        on_output: Callable[[str, str], None],
        on_end: Callable[[str, CommandEnd], None],
    ) -> Terminal:
        terminal_id = f"term-{next(_numbers)}"
        times = self._times_killed
        self._starting += 1
        on_start(terminal_id)
        try:
            running = await starting.start(run.argv, run.env, run.cwd, terminal_id)
        except BaseException:
            on_end(terminal_id, CommandEnd())
            raise
        finally:
            self._starting -= 1
        if not run.held:
            running.stdin.close()
        terminal = Terminal(
            terminal_id,
            running,
            run.limit,
            lambda text: on_output(terminal_id, text),
            lambda end: on_end(terminal_id, end),
        )
        self._terminals[terminal_id] = terminal
        if times != self._times_killed:  # the turn ended meanwhile
            self._end(terminal)
        over = len(self._terminals) - KEPT_AT_MOST
        for old in [one for one in self._terminals.values() if one.ended.done()][: max(over, 0)]:
            del self._terminals[old.id]
        return terminal

    def release(self, terminal_id: str) -> None:
        """End the command if it still runs, and forget it."""
        terminal = self._terminals.pop(terminal_id, None)
        if terminal is not None:
            self._end(terminal)

    def kill_all(self) -> None:
        """End all commands that run or are being started, in the background. The agent can still ask about them."""
        self._times_killed += 1
        for terminal in self._terminals.values():
            self._end(terminal)

    async def quiet(self) -> None:
        """Wait until the commands that are being ended have ended. The ladder bounds this."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def close(self) -> None:
        """End and forget all commands, within the ladder's bound."""
        self.kill_all()
        await self.quiet()
        self._terminals.clear()

    def _end(self, terminal: Terminal) -> None:
        if not terminal.ended.done():
            self._keep(asyncio.ensure_future(terminal.stop()))

    def _keep(self, task: asyncio.Future[Any]) -> None:
        self._under_way.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[Any]) -> None:
        self._under_way.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, (OSError, TimeoutError)):
            log.error("a command could not be looked after", exc_info=error)


_numbers = itertools.count(1)


def output_of(terminal: Terminal) -> Json:
    """The answer to terminal/output."""
    answer: dict[str, object] = {"output": str(terminal.output), "truncated": terminal.output.truncated}
    if terminal.ended.done():
        answer["exitStatus"] = status_of(terminal.ended.result())
    return answer


def status_of(ended: Exit) -> Json:
    """The answer to terminal/wait_for_exit."""
    return {"exitCode": ended.code, "signal": _signal(ended)}


def _signal(ended: Exit) -> str | None:
    if ended.signal is None:
        return None
    try:
        return signal.Signals(ended.signal).name
    except ValueError:
        return str(ended.signal)
