"""AgentProcesses: knows the agents and runs one process for each: starts it when it is needed and ends it when nothing needs it any more.

Of conversations, this module knows only how many use a process.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sidecar.acp import negotiation
from sidecar.acp.command import Command, environment, find, managed_folders, missing, path_of, program_of
from sidecar.acp.dialect import Dialect
from sidecar.acp.elsewhere.folders import folders_of
from sidecar.acp.elsewhere.reached_tools import ReachedTools
from sidecar.acp.host import Host
from sidecar.acp.known import NAMES
from sidecar.acp.limits import Ladder, Limits
from sidecar.acp.offers import Offers
from sidecar.acp.own_tools.plugins import SERVER, NamedServer, led_by, started
from sidecar.acp.own_tools.table import own_tools_of
from sidecar.acp.read_only import AS_EVER, DENIED, READ_ONLY, read_only_of
from sidecar.acp.starting_folder import starting_folder
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.config import AgentCommand
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo
from sidecar.workspace.ports.session_ports import AgentState

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Agent:
    id: str
    command: Command
    source: Literal["configured", "found", "demo"] = "configured"
    found: AgentCommand | None = None
    """The command as found, without the sidecar's additions. This is the command that the user approves."""
    host: Host | None = None
    starting: asyncio.Task[Host] | None = None
    users: int = 0
    """The open sessions, the sessions that are being opened, and other work. Without any, the process is ended."""
    name: str = ""
    version: str = ""
    """As the agent last reported them."""
    speaks: int = 0
    """The version of ACP that was agreed on; 0 before that."""
    logged_in: bool = False
    """The user logged in to this process, and perhaps only this process knows, so the login keeps it running."""
    led: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variables of the running process that redirect the agent's own tools to ours."""
    named: NamedServer | None = None
    """Our MCP server, as that process was started with it."""
    reached: ReachedTools | None = None
    """Our tools, for an agent that runs elsewhere and is reached by a command."""
    own_tools_missing: bool = False
    """The agent once failed to start our tools. From then on it keeps its own."""
    told_of_tools: bool = False
    """The user was told why the agent has only its own tools where it runs."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """The things that every agent is started with."""

    limits: Limits
    ladder: Ladder
    offers: Offers
    """What the editor can show for the agents."""
    tool_server: Callable[[str], Json | None]
    """Our MCP server for all sessions of an agent, in ACP's shape. None: the agent's own tools are not redirected."""
    own_tools: bool
    """Whether the user wants the agents' own tools redirected to ours at all."""
    beside: bool
    """Whether all agents get our tools beside their own."""
    read_only: bool
    """Whether the agents may change nothing and run no commands."""
    open_folders: Callable[[], Sequence[str]]
    """The folders that are open in the editor."""


class AgentProcesses:
    service: AnyWorkspace | None = None
    """Answers the agents' requests. Set before the first agent is started."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        equipment: Equipment,
        found: Callable[[], Mapping[str, AgentCommand]],
        told: Callable[[AgentCommand], Command],
        lost: Callable[[Host], Sequence[str]],
        stop_turn: Callable[[str], None],
    ) -> None:
        """`found` looks for agents on this machine; `told` turns such an agent's command into the one to start. `lost` is called when a process
        has ended by itself, and returns the sessions that are lost with it. `stop_turn` stops the turn of a session."""
        self.all = dict(agents)
        self._equipment = equipment
        self._found = found
        self._told = told
        self._lost = lost
        self._stop_turn = stop_turn
        self._background: set[asyncio.Task[Any]] = set()

    async def aclose(self) -> None:
        """End all agents at the same time, within the time limit of the ladder."""
        for agent in self.all.values():
            if agent.starting is not None:
                agent.starting.cancel()
            if agent.host is not None:
                self.stop(agent)
        while self._background:
            await asyncio.wait(self._background)

    def known(self, name: str) -> Agent:
        if name not in self.all:
            self.look()
        agent = self.all.get(name)
        if agent is None:
            known = ", ".join(self.all) or "none is configured"
            raise AgentFailed(
                "unknown_agent",
                f'There is no agent "{name}" ({known}). Agents are named in the settings.',
            )
        return agent

    def look(self) -> None:
        """Add the agents on this machine that are not configured."""
        for name, command in self._found().items():
            if name not in self.all:
                self.all[name] = Agent(name, self._told(command), "found", command)

    @asynccontextmanager
    async def borrowed(self, name: str, cwd: str) -> AsyncGenerator[Host]:
        """The agent's process for work without a session. It is started, and ended afterwards, if necessary."""
        agent = self.known(name)
        agent.users += 1
        try:
            host = await self.running(agent, cwd)
            async with words(host, "before it had answered"):
                yield host
        finally:
            self.leave(agent)

    def forget_login(self, agent: Agent) -> None:
        if agent.logged_in:
            agent.logged_in = False
            self.leave(agent)

    async def running(self, agent: Agent, cwd: str) -> Host:
        if agent.host is not None and not agent.host.ended.done():
            return agent.host
        if agent.starting is None:
            agent.starting = self.in_background(self._start(agent, cwd))
        return await asyncio.shield(agent.starting)

    async def _start(self, agent: Agent, cwd: str) -> Host:
        assert self.service is not None, "serve() comes first"
        self._tell(AgentState(agent.id, "starting"))
        agent.led = self._led(agent)
        try:
            own = {**agent.led, **self._kept_from_writing(agent)}
            more = self._named(agent)

            def start(dialect: Dialect) -> Awaitable[Host]:
                assert self.service is not None
                return Host.start(
                    agent.id,
                    agent.command,
                    cwd,
                    self.service,
                    self._equipment.limits,
                    self._equipment.ladder,
                    self._died,
                    self._equipment.offers,
                    own,
                    self._equipment.open_folders(),
                    read_only_of(agent.id, agent.command) if self._equipment.read_only else AS_EVER,
                    more,
                    dialect,
                )

            first = agent.speaks or agent.command.protocol
            host, agent.speaks = await negotiation.started(first, start)
            agent.host = host
            agent.reached = self._reached(agent, cwd)
            host.connection.kept_mode.stop = self._stop_turn
            facts = host.connection.facts
            agent.name, agent.version = facts.name, facts.version
            self._tell(AgentState(agent.id, "running", facts.name, facts.version))
            return host
        except AgentFailed as failed:
            self._tell(AgentState(agent.id, "failed", message=failed.message))
            raise
        except BaseException:
            self._tell(AgentState(agent.id, "stopped"))
            raise
        finally:
            agent.starting = None
            if agent.host is None:
                _unnamed(agent)
            if agent.users == 0 and agent.host is not None:  # nothing waited for it
                self.stop(agent)

    def _led(self, agent: Agent) -> dict[str, str]:
        """The environment variables that redirect the agent's own tools to ours."""
        row = own_tools_of(agent.id, agent.command)
        connected = row.connected is not None and row.connected({**os.environ, **agent.command.env})
        if agent.command.transport or not (row.plugin or connected):
            return {}
        server = self._equipment.tool_server(agent.id) if self._equipment.own_tools else None
        if row.plugin is not None and (server is not None or self._equipment.read_only):
            return led_by(row.plugin, server, agent.command.env)
        return {} if server is None else {SERVER: started(server)}

    def _reached(self, agent: Agent, cwd: str) -> ReachedTools | None:
        by = agent.command.transport
        if by is None or by.url:
            return None
        folders = folders_of(by.folders, self._equipment.open_folders())
        env = environment(agent.command.env)
        folder = starting_folder(by.command, cwd)
        return ReachedTools(agent.id, by, folders, env, folder, self._equipment.ladder)

    def _named(self, agent: Agent) -> tuple[str, ...]:
        """The arguments that make the agent start our server for all of its sessions, if it accepts no server with a session."""
        option = own_tools_of(agent.id, agent.command).option
        if not option or not self._equipment.beside or agent.command.transport:
            return ()
        server = self._equipment.tool_server(agent.id)
        if server is None:
            return ()
        try:
            agent.named = NamedServer(agent.id, server)
        except OSError as error:
            log.warning("%s is not given our tools: %s: %s", agent.id, error.filename, error.strerror)
            return ()
        return option, f"@{agent.named.path}"

    def _kept_from_writing(self, agent: Agent) -> dict[str, str]:
        """The environment variables that keep the agent from writing, if it may only read. Raises AgentFailed if that cannot be enforced."""
        if not self._equipment.read_only:
            return {}
        row = read_only_of(agent.id, agent.command)
        if row.arguments and agent.command.address:
            why = "this is enforced by arguments of its command, which an agent at an address does not have"
            raise AgentFailed("refused", f"{agent.id} was not started: {DENIED}, and {why}.")
        if not row.plugin:
            return {}
        plugin = own_tools_of(agent.id, agent.command).plugin
        if plugin is not None and plugin.variable in agent.led:
            return {READ_ONLY: "1"}
        why = "this is enforced by a program of the sidecar's, which cannot be installed"
        if agent.command.transport:
            why += " where the agent runs"
        elif plugin is not None and plugin.variable in agent.command.env:
            why += f": {plugin.variable} is set already"
        raise AgentFailed("refused", f"{agent.id} was not started: {DENIED}, and {why}.")

    def _died(self, host: Host, words: str) -> None:
        agent = self.all[host.agent]
        if agent.host is host:
            agent.host = None
            _unnamed(agent)
            self._unreached(agent)
        lost = self._lost(host)
        self._tell(AgentState(agent.id, "failed", agent.name, agent.version, words, tuple(lost)))
        if lost and self.service is not None:
            self.service.agent_died(lost, words)

    def _tell(self, state: AgentState) -> None:
        if self.service is not None:
            self.service.agent_state(state)

    def leave(self, agent: Agent) -> None:
        agent.users -= 1
        if agent.users == 0 and agent.host is not None:
            self.stop(agent)

    def stop(self, agent: Agent) -> None:
        """End an agent's process in the background."""
        host, agent.host = agent.host, None
        _unnamed(agent)
        self._unreached(agent)
        if host is not None:
            self.in_background(host.stop())
            self._tell(AgentState(agent.id, "stopped", agent.name, agent.version))

    def _unreached(self, agent: Agent) -> None:
        """Close the agent's `reached` tools: its process has ended or is being ended."""
        if agent.reached is not None:
            self.in_background(agent.reached.aclose())
            agent.reached = None

    def in_background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, AgentFailed):  # the waiting caller gets that one
            log.error("an agent could not be looked after", exc_info=error)

    def infos(self) -> builtins.list[tuple[Agent, AgentInfo]]:
        managed = managed_folders(os.environ)
        return [(agent, self._info(agent, managed)) for agent in self.all.values()]

    def _info(self, agent: Agent, managed: Sequence[Path]) -> AgentInfo:
        installed = find(program_of(agent.command), path_of(agent.command.env)) is not None
        known = NAMES.get(agent.id, "") if agent.source == "found" else ""  # before it reported its name
        return AgentInfo(
            agent.id,
            agent.name or known or agent.id,
            agent.source,
            installed,
            agent.version,
            "" if installed else missing(agent.command, managed),
        )


def _unnamed(agent: Agent) -> None:
    """Close the agent's `named` server: its process has ended or is being ended."""
    if agent.named is not None:
        agent.named.close()
        agent.named = None


@asynccontextmanager
async def words(host: Host, when: str) -> AsyncGenerator[None]:
    """If the agent ends during the block, raise AgentFailed with the reason of its end."""
    from sidecar.acp.client import AgentGone

    try:
        yield
    except AgentGone:
        raise AgentFailed("exited", await host.obituary(when)) from None
