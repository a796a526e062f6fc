"""The five terminal requests (ACP, "Terminals") of one session: answers and errors. terminals.py has the
processes.

A command runs only during its session's turn: afterwards nobody would see it, and nothing could stop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from sidecar.acp import command_line, errors
from sidecar.acp.command_line import CommandLine, Run, merged
from sidecar.acp.errors import Failure
from sidecar.acp.terminals import Terminal, Terminals, output_of, status_of
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal

OUTPUT = "terminal/output"
WAIT = "terminal/wait_for_exit"
KILL = "terminal/kill"
RELEASE = "terminal/release"
CREATE = command_line.CREATE
METHODS = frozenset({CREATE, OUTPUT, WAIT, KILL, RELEASE})

NO_TURN = Failure(
    errors.REFUSED, "commands run only during a turn, and it has ended", {"errorKind": str(Kind.WITHDRAWN)}
)
_TOO_MANY = Failure(
    errors.REFUSED,
    "too many commands are running; wait for one or kill it",
    {"errorKind": str(Kind.DENIED_BY_POLICY)},
)
WAITS_AT_MOST = 8
"""The most requests that wait for the end of one terminal."""
_MUCH = 64 * 1024
"""The bytes of output above which only a few answers are built at once."""
_WAITED_FOR = Failure(
    errors.REFUSED,
    "so many requests wait for the end of this terminal already; its end answers them",
    {"errorKind": str(Kind.DENIED_BY_POLICY)},
)
_NOT_STARTED = Failure(errors.REFUSED, "the command could not be started", {"errorKind": str(Kind.IO_ERROR)})


class Runs(Protocol):
    """How a command line is run."""

    def shown(self, line: CommandLine) -> Sequence[str]:
        """The words that the user is asked about."""
        ...

    def run(self, line: CommandLine, folder: str, env: Mapping[str, str]) -> Run | Refusal:
        """The command to run on this machine. `folder`: the folder in which it was allowed (canonical); `env`: the
        agent's."""
        ...


class RunsHere:
    def shown(self, line: CommandLine) -> Sequence[str]:
        return line.argv

    def run(self, line: CommandLine, folder: str, env: Mapping[str, str]) -> Run | Refusal:
        return Run(merged(line.argv), {**env, **line.env}, folder, line.limit)


class SessionTerminals:
    """`session_id` is the sidecar's own; `env` is the environment with which the agent itself was started."""

    def __init__(
        self,
        service: AnyWorkspace,
        session_id: str,
        env: Mapping[str, str],
        runs: Runs = RunsHere(),  # noqa: B008  # no state
    ) -> None:
        self._service = service
        self._session_id = session_id
        self._env = env
        self._runs = runs
        self._terminals = Terminals()
        self._waits: dict[str, int] = {}
        """The number of requests that wait for the end of a terminal, by its id."""
        self._turn = 0
        self._open = False

    def begin_turn(self) -> None:
        self._turn += 1
        self._open = True

    def end_turn(self) -> None:
        """End the running commands in the background, and start no new ones until the next turn."""
        self._open = False
        self._terminals.kill_all()

    async def quiet(self) -> None:
        """Wait, within a limit, for the commands that `end_turn` ends."""
        await self._terminals.quiet()

    async def close(self) -> None:
        self._open = False
        await self._terminals.close()

    async def create(self, line: CommandLine, earlier: Iterable[asyncio.Future[Any]]) -> Json | Failure:
        """Start a command. `earlier`: the writes that arrived before it; the command must see them."""
        turn = self._turn
        if not self._open:
            return NO_TURN
        if self._terminals.full:
            return _TOO_MANY
        if waited := set(earlier):
            await asyncio.wait(waited)
        shown = self._runs.shown(line)
        folder = await self._service.run(self._session_id, shown, line.cwd, tuple(line.env))
        if isinstance(folder, Refusal):
            return errors.failure(folder, line.cwd or "")
        run = self._runs.run(line, folder, self._env)
        if isinstance(run, Refusal):
            return errors.failure(run, line.cwd or "")
        if not self._open or self._turn != turn:
            return NO_TURN
        if self._terminals.full:
            return _TOO_MANY
        service, session_id = self._service, self._session_id
        try:
            terminal = await self._terminals.start(
                run,
                lambda terminal_id: service.command_started(session_id, terminal_id),
                lambda terminal_id, text: service.terminal_output(session_id, terminal_id, text),
                lambda terminal_id, end: service.command_ended(session_id, terminal_id, end),
            )
        except (OSError, TimeoutError):
            return _NOT_STARTED
        return {"terminalId": terminal.id}

    def stop(self, terminal_id: str) -> None:
        """The user stops one command."""
        terminal = self._terminals.get(terminal_id)
        if terminal is not None:
            terminal.stopped_by_the_user()

    def has_much(self, terminal_id: object) -> bool:
        """Whether the answer with this terminal's output is large."""
        terminal = self._terminals.get(terminal_id)
        return terminal is not None and terminal.output.size > _MUCH

    def answer(self, method: str, params: Mapping[str, object]) -> Json | Failure | Awaitable[Json]:
        """Answer the other four requests. For WAIT, returns an awaitable."""
        terminal = self._terminals.get(params.get("terminalId"))
        if terminal is None:
            return errors.invalid("there is no such terminal", Kind.NOT_FOUND)
        match method:
            case "terminal/output":
                return output_of(terminal)
            case "terminal/wait_for_exit":
                if self._waits.get(terminal.id, 0) >= WAITS_AT_MOST:
                    return _WAITED_FOR
                return self._exit_of(terminal)
            case "terminal/kill":
                terminal.kill()
            case _:
                self._terminals.release(terminal.id)
        return {}

    async def _exit_of(self, terminal: Terminal) -> Json:
        self._waits[terminal.id] = self._waits.get(terminal.id, 0) + 1
        try:
            await asyncio.wait({terminal.ended})
        finally:
            self._waits[terminal.id] -= 1
            if not self._waits[terminal.id]:
                del self._waits[terminal.id]
        return status_of(terminal.ended.result())
