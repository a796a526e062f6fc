"""HostedAgents: `ports.Agents` for the agents the user configured; one process an agent, any number of sessions on it.

The sidecar's session ids are mapped to the agents' here and in client.py, nowhere else. An agent that dies loses its
conversations; the session stays, and its next prompt starts the agent anew.

Importing this module does not import the SDK; the first start does, or `warm_up` before it.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sidecar.acp.command import Command, environment, find, missing
from sidecar.acp.host import Host, load_sdk
from sidecar.acp.limits import Ladder, Limits
from sidecar.acp.service import AnyService
from sidecar.workspace.ports import AgentFailed, AgentInfo, Json, OpenedSession, SessionRequest

log = logging.getLogger(__name__)

CANCELLED = "cancelled"
_PATIENCE = 4
"""An agent that talks on after a cancel is given up after this many times `Limits.cancel`."""


@dataclass(slots=True, eq=False)
class _Agent:
    id: str
    command: Command
    host: Host | None = None
    starting: asyncio.Task[Host] | None = None
    users: int = 0
    """Sessions that are open or being opened; without any the process is ended."""


@dataclass(slots=True, eq=False)
class _Session:
    request: SessionRequest
    agent: _Agent
    host: Host | None = None
    agent_session_id: str = ""
    turn: bool = False
    prompting: bool = False
    """The agent has the prompt (before, it may have to be started)."""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def live(self) -> Host | None:
        return None if self.host is None or self.host.ended.done() else self.host


class HostedAgents:
    """See `ports.Agents` for what the methods promise."""

    def __init__(
        self,
        commands: Mapping[str, Command],
        *,
        demo: Mapping[str, Command] | None = None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        ladder: Ladder = Ladder(),  # noqa: B008  # frozen
    ) -> None:
        """`demo`: agents that come with the sidecar; a configured one of the same name wins."""
        self._demo = {name for name in demo or {} if name not in commands}
        self._agents = {name: _Agent(name, command) for name, command in {**(demo or {}), **commands}.items()}
        self._sessions: dict[str, _Session] = {}
        self._limits = limits
        self._ladder = ladder
        self._service: AnyService | None = None
        self._background: set[asyncio.Task[Any]] = set()

    def serve(self, service: AnyService) -> None:
        """Says who answers the agents' requests; once, before the first session."""
        self._service = service

    async def warm_up(self) -> None:
        """Imports the SDK ahead of need, in a thread."""
        await load_sdk()

    async def aclose(self) -> None:
        """Ends every agent, all at the same time, within the ladder's bound."""
        self._sessions.clear()
        for agent in self._agents.values():
            if agent.starting is not None:
                agent.starting.cancel()
            if agent.host is not None:
                self._stop(agent)
        while self._background:
            await asyncio.wait(self._background)

    # ports.Agents

    def list(self) -> builtins.list[AgentInfo]:
        return [self._info(agent) for agent in self._agents.values()]

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        agent = self._agents.get(request.agent)
        if agent is None:
            known = ", ".join(self._agents) or "none is configured"
            raise AgentFailed(
                "unknown_agent",
                f'There is no agent "{request.agent}" ({known}). Agents are named in the settings.',
            )
        session = _Session(request, agent)
        agent.users += 1
        try:
            opened = await self._connect(session)
        except BaseException:
            self._leave(agent)
            raise
        self._sessions[request.session_id] = session
        return opened

    async def prompt(self, session_id: str, blocks: Sequence[Json]) -> str:
        session = self._sessions.get(session_id)
        if session is None:
            raise AgentFailed("refused", f'There is no session "{session_id}".')
        if session.turn:
            raise AgentFailed("refused", f"{session.agent.id} is still working on the previous prompt.")
        session.turn = True
        session.cancelled.clear()
        turn = asyncio.ensure_future(self._turn(session, blocks))
        stop = asyncio.ensure_future(session.cancelled.wait())
        try:
            await asyncio.wait({turn, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                if not session.prompting:
                    return CANCELLED
                await self._until_stopped(session, turn)
            return turn.result()
        except AgentFailed as failed:
            if session.cancelled.is_set() and failed.kind in ("refused", "exited"):
                return (
                    CANCELLED  # ACP wants `cancelled`; several agents answer with the error their abort threw
                )
            raise
        except asyncio.CancelledError:
            self.cancel(session_id)
            raise
        finally:
            session.turn = session.prompting = False
            stop.cancel()
            turn.cancel()

    def cancel(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is None or not session.turn or session.cancelled.is_set():
            return
        session.cancelled.set()
        if session.prompting and (host := session.live) is not None:
            host.connection.cancel(session.agent_session_id)

    async def close_session(self, session_id: str) -> None:
        self.cancel(session_id)
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        try:
            if (host := session.live) is not None:
                await host.connection.close_session(session.agent_session_id)
        finally:
            self._leave(session.agent)

    def status(self) -> builtins.list[Json]:
        return [
            {
                "agent": agent.id,
                "state": "running" if agent.host else "starting" if agent.starting else "stopped",
                "pid": agent.host.process.pid if agent.host else None,
                "name": self._info(agent).name,
                "version": self._info(agent).version,
                "sessions": [key for key, session in self._sessions.items() if session.agent is agent],
                "turns": sum(session.turn for session in self._sessions.values() if session.agent is agent),
            }
            for agent in self._agents.values()
        ]

    # sessions and turns

    async def _connect(self, session: _Session) -> OpenedSession:
        """Opens the session with its agent, which is started if need be."""
        host = await self._running(session.agent, session.request.cwd)
        from sidecar.acp.client import Gone

        try:
            opened = await host.connection.new_session(session.request)
        except Gone:
            raise AgentFailed("exited", await host.obituary("before it had opened a session")) from None
        session.host, session.agent_session_id = host, opened.agent_session_id
        return OpenedSession(
            session.request.session_id,
            session.agent.id,
            opened.modes,
            opened.config_options,
            host.connection.facts.embedded_context,
        )

    async def _turn(self, session: _Session, blocks: Sequence[Json]) -> str:
        if session.live is None:
            await self._connect(session)
        host = session.host
        assert host is not None
        from sidecar.acp.client import Gone

        if session.cancelled.is_set():
            return CANCELLED  # while this task waited for its first step: nobody could tell the agent then
        session.prompting = True
        try:
            return await host.connection.prompt(session.agent_session_id, blocks)
        except Gone:
            words = await host.obituary("during the turn")
            raise AgentFailed(
                "exited", f"{words}\nThe next prompt starts it again; it will not remember this conversation."
            ) from None

    async def _until_stopped(self, session: _Session, turn: asyncio.Future[str]) -> None:
        """Waits for the end of a turn that was cancelled; an agent that does not end it is given up."""
        host = session.host
        assert host is not None
        loop = asyncio.get_running_loop()
        asked = loop.time()
        while not turn.done():
            waited = loop.time() - asked
            left = min(
                self._limits.cancel - min(host.connection.silent_for(), waited),
                self._limits.cancel * _PATIENCE - waited,
            )
            if left > 0:
                await asyncio.wait({turn}, timeout=left)
                continue
            host.connection.forget(session.agent_session_id)
            session.host = None
            alone = not any(other.host is host for other in self._sessions.values())
            if alone:
                self._stop(session.agent)
            ended = "it was ended" if alone else "its other sessions go on"
            raise AgentFailed(
                "timeout",
                f"{session.agent.id} was asked to stop {waited:.0f} seconds ago and has not; {ended}."
                " The next prompt opens a new conversation with it.",
            )

    # processes

    async def _running(self, agent: _Agent, cwd: str) -> Host:
        if agent.host is not None and not agent.host.ended.done():
            return agent.host
        if agent.starting is None:
            agent.starting = self._in_background(self._start(agent, cwd))
        return await asyncio.shield(agent.starting)

    async def _start(self, agent: _Agent, cwd: str) -> Host:
        assert self._service is not None, "serve() comes first"
        try:
            agent.host = await Host.start(
                agent.id, agent.command, cwd, self._service, self._limits, self._ladder, self._died
            )
            return agent.host
        finally:
            agent.starting = None
            if agent.users == 0 and agent.host is not None:  # nobody waited for it
                self._stop(agent)

    def _died(self, host: Host, words: str) -> None:
        agent = self._agents[host.agent]
        if agent.host is host:
            agent.host = None
        lost = [key for key, session in self._sessions.items() if session.host is host]
        for key in lost:
            self._sessions[key].host = None
        if lost and self._service is not None:
            self._service.agent_died(lost, words)

    def _leave(self, agent: _Agent) -> None:
        agent.users -= 1
        if agent.users == 0 and agent.host is not None:
            self._stop(agent)

    def _stop(self, agent: _Agent) -> None:
        """Ends an agent's process in the background."""
        host, agent.host = agent.host, None
        if host is not None:
            self._in_background(host.stop())

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, AgentFailed):  # that one is told to whoever waits
            log.error("an agent could not be looked after", exc_info=error)

    def _info(self, agent: _Agent) -> AgentInfo:
        facts = agent.host.connection.facts if agent.host is not None else None
        installed = find(agent.command.command, environment(agent.command.env).get("PATH")) is not None
        return AgentInfo(
            agent.id,
            (facts.name if facts else "") or agent.id,
            "demo" if agent.id in self._demo else "configured",
            installed,
            facts.version if facts else "",
            "" if installed else missing(agent.command),
        )
