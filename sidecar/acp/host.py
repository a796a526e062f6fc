"""Host: one running agent: its process, the connection over its pipes, and a message that says why it ended."""

from __future__ import annotations

import asyncio
import errno
import functools
import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sidecar.acp import starting
from sidecar.acp.command import Command, environment, headers_for, resolve
from sidecar.acp.dialect import Dialect
from sidecar.acp.elsewhere.folders import folders_of
from sidecar.acp.limits import Ladder, Limits
from sidecar.acp.offers import Offers
from sidecar.acp.own_tools.table import own_tools_of
from sidecar.acp.process import AgentProcess
from sidecar.acp.quirks import quirks_of
from sidecar.acp.read_only import AS_EVER, ReadOnly
from sidecar.acp.starting_folder import starting_folder
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.core.escape import plain
from sidecar.lasting import lasting
from sidecar.workspace.ports.ports import AgentFailed

if TYPE_CHECKING:  # importing it imports the SDK
    from sidecar.acp.client import AgentConnection

log = logging.getLogger(__name__)

CLOSED = "closed its output"


async def load_sdk() -> None:
    """Import the ACP modules (0.1 s) in a thread, so that the loop keeps running."""
    await asyncio.to_thread(_import_sdk)


@functools.cache
def _import_sdk() -> None:
    with lasting():
        importlib.import_module("sidecar.acp.client")


class Ending(NamedTuple):
    """How an agent ended."""

    how: str
    """Words that follow the agent's name: `exited with code 3`."""
    said: Sequence[str] = ()
    """The last lines of its stderr, escaped."""

    def sentence(self, agent: str, when: str = "") -> str:
        """A sentence for the user; `when` says what we were doing: `during the turn`."""
        return f"{agent} {self.how}{f' {when}' if when else ''}.{_quoted(self.said)}"


class Host:
    """Created by `start`, ended by `stop` or by the agent itself."""

    def __init__(
        self,
        agent: str,
        running: AgentProcess,
        connection: AgentConnection,
        limits: Limits,
        ladder: Ladder,
        on_death: Callable[[Host, str], None],
        by: str = "",
    ) -> None:
        """`by`: the command or address by which the agent is reached, if it runs elsewhere."""
        self.agent = agent
        self._called = f"{agent} (elsewhere, by {plain(by, 200)})" if by else agent
        self.process = running
        self.connection = connection
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._limits = limits
        self._ladder = ladder
        self._on_death = on_death
        self._ready = False
        self._watching = asyncio.ensure_future(self._watch())
        self._stopping: asyncio.Task[None] | None = None

    @staticmethod
    async def start(
        agent: str,
        command: Command,
        cwd: str,
        service: AnyWorkspace,
        limits: Limits,
        ladder: Ladder,
        on_death: Callable[[Host, str], None],
        offers: Offers = Offers(),  # noqa: B008  # frozen
        own: Mapping[str, str] | None = None,
        open_folders: Sequence[str] = (),
        read_only: ReadOnly = AS_EVER,
        more: Sequence[str] = (),
        dialect: Dialect | None = None,
    ) -> Host:
        """Start an agent and perform the handshake. `on_death` is called once if the agent ends by itself afterwards. `own`: environment
        variables for the agent itself, which its commands do not get. `open_folders`: the editor's. `more`: further arguments of its
        command.

        Raises AgentFailed: not_installed, start_failed, exited, protocol_version, auth_required, refused, timeout.
        """
        env = environment(command.env)
        argv = resolve(agent, command, env, (*more, *read_only.arguments))
        loading = asyncio.ensure_future(load_sdk())  # while the agent loads
        own = {**(own or {}), **headers_for(agent, command)}
        running = await _started(agent, argv, {**env, **own}, starting_folder(argv, cwd), ladder)
        host = None
        try:
            await asyncio.shield(loading)
            from sidecar.acp.client import AgentConnection, AgentGone
            from sidecar.acp.elsewhere.border import HERE, Mapped

            by = command.transport
            border = HERE if by is None else Mapped(agent, by, folders_of(by.folders, open_folders))
            connection = AgentConnection(
                agent,
                running.stdout,
                running.stdin,
                service,
                fs=command.fs,
                offers=offers,
                env=env,
                limits=limits,
                quirks=quirks_of(agent, command),
                own_tools=own_tools_of(agent, command),
                read_only=read_only,
                border=border,
                dialect=dialect or Dialect(),
            )
            words = "" if by is None else " ".join(by.words)
            host = Host(agent, running, connection, limits, ladder, on_death, words)
            try:
                await connection.initialize()
                if host.ended.done():
                    raise AgentGone
            except AgentGone:
                raise AgentFailed("exited", await host.obituary("before it was ready")) from None
            except AgentFailed as failed:
                await host.add_last_words(failed)
                raise
        except BaseException:
            await asyncio.shield(host.stop() if host is not None else running.stop(ladder))
            raise
        host._ready = True
        return host

    async def obituary(self, when: str) -> str:
        """A sentence that says how the agent ended, as soon as that is known; see `Ending.sentence`."""
        await asyncio.wait({self.ended}, timeout=3 * self._limits.last_words)
        ending = self.ended.result() if self.ended.done() else Ending("ended")
        return ending.sentence(self._called, when)

    async def add_last_words(self, failed: AgentFailed, before: Sequence[str] = ()) -> None:
        """Add the last lines of the agent's stderr to a failure's message, unless they were there `before`."""
        lines = await self.process.last_lines()
        if lines != list(before):
            failed.message += _quoted(lines)
            failed.args = (failed.message,)

    async def stop(self) -> None:
        """End the agent and everything it started, within the ladder's bound."""
        self._watching.cancel()
        if not self.ended.done():
            self.ended.set_result(Ending("was stopped"))
        await self._stop()

    async def _stop(self) -> None:
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._close())
        await asyncio.shield(self._stopping)

    async def _close(self) -> None:
        await asyncio.gather(self.connection.close(), self.process.stop(self._ladder))

    async def _watch(self) -> None:
        exited, silent = self.process.exited, self.connection.transport.ended
        await asyncio.wait({exited, silent}, return_when=asyncio.FIRST_COMPLETED)
        if not silent.done() or silent.result() == CLOSED:
            # the rest is still arriving: what it wrote before it ended, or how it ended
            await asyncio.wait({exited, silent}, timeout=self._limits.last_words)
        broken = silent.result() if silent.done() else CLOSED
        how = str(exited.result()) if exited.done() and broken == CLOSED else broken
        ending = Ending(how, await self.process.last_lines())
        self.ended.set_result(ending)
        log.warning("%s", ending.sentence(self._called))
        if self._ready:
            self._on_death(self, ending.sentence(self._called))
        await self._stop()


async def _started(
    agent: str, argv: Sequence[str], env: Mapping[str, str], cwd: str, ladder: Ladder
) -> AgentProcess:
    begun = asyncio.ensure_future(starting.start(argv, env, cwd, agent))
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:  # a half-started agent could never be ended
        await (await begun).stop(ladder)
        raise
    except (OSError, TimeoutError) as error:
        raise AgentFailed(
            "start_failed", f"{agent} cannot be started: {_words(error, argv[0], cwd)}."
        ) from error


def _quoted(lines: Sequence[str]) -> str:
    return "".join(["\nIts error output ends:", *(f"\n  {line}" for line in lines)]) if lines else ""


def _words(error: Exception, program: str, cwd: str) -> str:
    match error:
        case OSError(filename=str() as name) if name == cwd:
            return f"{plain(cwd)} is not a folder it could be started in"
        case TimeoutError():
            return "its start took too long"
        case OSError(errno=errno.ENOENT):
            return f"{plain(program)} names an interpreter that does not exist"
        case OSError(errno=errno.ENOEXEC):
            return f"{plain(program)} is not a program for this machine, or a script without a first line that says of what"
        case OSError(strerror=str() as words):
            return f"{plain(program)}: {words}"
        case _:
            return plain(program)
