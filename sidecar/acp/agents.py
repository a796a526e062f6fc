"""HostedAgents: `ports.Agents` for the configured agents; one process per agent, with any number of sessions.

Only this module and client.py map the sidecar's session ids to the agents'. An agent that dies loses its conversations; the
session stays, and its next prompt restarts the agent.

Importing this module does not import the SDK; the first start does, or `warm_up` before it.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sidecar import processes
from sidecar.acp import errors, left_running, listing, logins
from sidecar.acp.agent_processes import Agent, AgentProcesses, Equipment, words
from sidecar.acp.command import Command
from sidecar.acp.elsewhere.reached_tools import NotThere
from sidecar.acp.host import Host, load_sdk
from sidecar.acp.limits import Ladder, Limits
from sidecar.acp.offers import Offers
from sidecar.acp.options import Options
from sidecar.acp.own_tools.plugins import SERVER
from sidecar.acp.ways import reads_disk, way_of
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.config import AgentCommand
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, OpenedSession, SessionRequest
from sidecar.workspace.ports.session_ports import ListedSession

if TYPE_CHECKING:  # importing it imports the SDK
    from sidecar.acp.client import AgentSession

log = logging.getLogger(__name__)

CANCELLED = "cancelled"
_PATIENCE = 4
"""An agent that keeps sending after a cancel is ended after this many times `Limits.cancel`."""


@dataclass(slots=True, eq=False)
class _Session:
    request: SessionRequest
    agent: Agent
    host: Host | None = None
    agent_session_id: str = ""
    options: Options | None = None
    """The options that the user can choose in the session, as reported by the process that runs, or ran last."""
    turn: bool = False
    prompting: bool = False
    """Whether the agent has received the prompt. It may have to be started first."""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    asked: float = 0.0
    """When the agent received its prompt, on the clock of `processes`."""

    @property
    def live(self) -> Host | None:
        return None if self.host is None or self.host.ended.done() else self.host


class HostedAgents:
    """See `ports.Agents` for the contract of the methods."""

    def __init__(
        self,
        commands: Mapping[str, Command],
        *,
        demo: Mapping[str, Command] | None = None,
        found: Callable[[], Mapping[str, AgentCommand]] = dict,
        told: Callable[[AgentCommand], Command] = lambda command: command,
        offers: Offers = Offers(),  # noqa: B008  # frozen
        tool_server: Callable[[str], Json | None] = lambda agent: None,
        own_tools: bool = True,
        beside: bool = False,
        read_only: bool = False,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        longest_text: int = 0,
        open_folders: Callable[[], Sequence[str]] = tuple,
        ladder: Ladder = Ladder(),  # noqa: B008  # frozen
    ) -> None:
        """`demo`: the agents that come with the sidecar. `found` looks for others on this machine; a configured agent of the same name takes precedence.
        `told` turns the command of a found agent into the one to start. `longest_text`: the bytes of the largest file that agents may write. For the other
        parameters see Equipment."""
        agents = {name: Agent(name, command, "demo") for name, command in (demo or {}).items()}
        agents |= {name: Agent(name, command) for name, command in commands.items()}
        texts = max(limits.wire.texts, longest_text)  # the user may have allowed larger files
        self._limits = replace(limits, wire=replace(limits.wire, texts=texts))
        equipment = Equipment(
            self._limits, ladder, offers, tool_server, own_tools, beside, read_only, open_folders
        )
        self._own_tools = own_tools
        self._processes = AgentProcesses(agents, equipment, found, told, self._died, self.cancel)
        self._sessions: dict[str, _Session] = {}
        self._service: AnyWorkspace | None = None

    def serve(self, service: AnyWorkspace) -> None:
        """Set the service that answers the agents' requests. Call this once, before the first session."""
        self._service = self._processes.service = service

    async def warm_up(self) -> None:
        """Import the SDK ahead of need, in a thread."""
        await load_sdk()

    async def aclose(self) -> None:
        """End all agents at the same time, within the time limit of the ladder."""
        self._sessions.clear()
        await self._processes.aclose()

    # ports.Agents

    def list(self) -> builtins.list[AgentInfo]:
        self._processes.look()
        return [info for _, info in self._processes.infos()]

    def found(self, agent: str) -> AgentCommand | None:
        if agent not in self._processes.all:
            self._processes.look()
        known = self._processes.all.get(agent)
        return known.found if known is not None else None

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        agent = self._processes.known(request.agent)
        session = _Session(request, agent)
        agent.users += 1
        try:
            opened = await self._connect(session)
        except BaseException:
            self._processes.leave(agent)
            raise
        self._sessions[request.session_id] = session
        return opened

    async def load_session(self, request: SessionRequest, reference: str, *, replay: bool) -> OpenedSession:
        async with self._earlier(request) as (session, host):
            request = await self._there(session, host)
            async with words(host, "before it had loaded the conversation"):
                opened = await host.connection.load_session(request, reference, replay=replay)
            return self._opened(session, host, opened, replayed=replay and host.connection.facts.load)

    async def fork_session(self, request: SessionRequest, reference: str) -> OpenedSession:
        async with self._earlier(request) as (session, host):
            request = await self._there(session, host)
            async with words(host, "before it had forked the conversation"):
                opened = await host.connection.fork_session(request, reference)
            return self._opened(session, host, opened)

    @asynccontextmanager
    async def _earlier(self, request: SessionRequest) -> AsyncGenerator[tuple[_Session, Host]]:
        """A session that begins with an earlier conversation. It exists only after the block has ended without an error."""
        agent = self._processes.known(request.agent)
        session = _Session(request, agent)
        agent.users += 1
        try:
            yield session, await self._processes.running(agent, request.cwd)
        except BaseException:
            self._processes.leave(agent)
            raise
        self._sessions[request.session_id] = session

    async def list_sessions(self, agent: str, folders: Sequence[str], cwd: str) -> Sequence[ListedSession]:
        async with self._processes.borrowed(agent, cwd) as host:
            return await listing.sessions(host.connection, agent, folders)

    async def delete_session(self, agent: str, reference: str, cwd: str) -> None:
        async with self._processes.borrowed(agent, cwd) as host:
            facts = host.connection.facts
            if facts.delete:
                await host.connection.delete_session(reference)
            elif facts.list or facts.load or facts.resume:
                raise AgentFailed(
                    "unsupported", f"{agent} keeps its own copy: it cannot delete conversations."
                )

    async def set_mode(self, session_id: str, mode_id: str) -> Json:
        session, host = self._live(session_id)
        async with words(host, "before its mode was set"):
            return await host.connection.set_mode(session.agent_session_id, mode_id)

    async def set_config_option(self, session_id: str, config_id: str, value: str | bool) -> Sequence[Json]:
        session, host = self._live(session_id)
        async with words(host, "before its option was set"):
            return await host.connection.set_option(session.agent_session_id, config_id, value)

    async def authenticate(self, agent: str, cwd: str, method_id: str | None, *, finished: bool) -> Json:
        known = self._processes.known(agent)
        if finished and known.host is not None and known.users == known.logged_in:
            self._processes.forget_login(known)  # after a restart, it finds the result of the user's login
        async with self._processes.borrowed(agent, cwd) as host:
            if finished:
                return {"agent": agent, "state": "done"}
            methods = host.connection.facts.auth_methods
            method = logins.choose(agent, methods, method_id)
            if method is None:
                return {"agent": agent, "state": "choose", "methods": logins.shown(methods)}
            answer = logins.by_person(agent, known.command, method)
            if answer is not None:
                return answer
            await host.connection.authenticate(str(method["id"]))
            if not known.logged_in:
                known.logged_in = True
                known.users += 1
            return {"agent": agent, "state": "done"}

    async def logout(self, agent: str, cwd: str) -> None:
        async with self._processes.borrowed(agent, cwd) as host:
            if not host.connection.facts.logout:
                raise AgentFailed(
                    "unsupported",
                    f"{agent} cannot be logged out from here; use its own command in a terminal.",
                )
            await host.connection.logout()
            self._processes.forget_login(self._processes.all[agent])

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
                self._ends_commands(session, turn)
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

    def silent_for(self, session_id: str) -> float:
        session = self._sessions.get(session_id)
        host = None if session is None else session.live
        return 0.0 if host is None else host.connection.silent_for()

    def last_words(self, session_id: str) -> builtins.list[str]:
        session = self._sessions.get(session_id)
        host = None if session is None else session.live
        return [] if host is None else host.process.errors.last_lines()

    def stop_command(self, session_id: str, terminal_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None and (host := session.live) is not None:
            host.connection.stop_command(session.agent_session_id, terminal_id)

    def session_of(self, agent: str, agent_session_id: str) -> str | None:
        """The session that an agent's running process knows by this id."""
        return next(
            (
                key
                for key, session in self._sessions.items()
                if session.agent.id == agent
                and session.live is not None
                and session.agent_session_id == agent_session_id
            ),
            None,
        )

    def working(self, agent: str) -> str | None:
        """The agent's session that has a turn. None if no session has one, or several do."""
        found = [key for key, session in self._sessions.items() if session.agent.id == agent and session.turn]
        return found[0] if len(found) == 1 else None

    def reference(self, session_id: str) -> str:
        session = self._sessions.get(session_id)
        return session.agent_session_id if session is not None else ""

    async def close_session(self, session_id: str) -> None:
        self.cancel(session_id)
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        try:
            if (host := session.live) is not None:
                await host.connection.close_session(session.agent_session_id)
        finally:
            self._processes.leave(session.agent)

    def runs(self, agent: str) -> bool:
        known = self._processes.all.get(agent)
        return known is not None and known.host is not None

    def status(self) -> builtins.list[Json]:
        return [
            {
                "agent": agent.id,
                "state": "running" if agent.host else "starting" if agent.starting else "stopped",
                "pid": agent.host.process.pid if agent.host else None,
                "name": info.name,
                "version": info.version,
                "protocol": agent.speaks or None,
                "files": way_of(
                    agent.id,
                    agent.command,
                    own_tools=self._own_tools,
                    asks_us=agent.host is None or agent.host.connection.can_ask,
                    reached=agent.reached is not None and agent.reached.live,
                ),
                "source": agent.source,
                "needs": info.needs,
                "sessions": [key for key, session in self._sessions.items() if session.agent is agent],
                "turns": sum(session.turn for session in self._sessions.values() if session.agent is agent),
            }
            for agent, info in self._processes.infos()
        ]

    # sessions and turns

    async def _connect(self, session: _Session) -> OpenedSession:
        """Open the session with its agent, which is started if necessary."""
        host = await self._processes.running(session.agent, session.request.cwd)
        if session.agent.own_tools_missing:
            session.request = _without_own_tools(session.request)
        request = await self._there(session, host)
        async with words(host, "before it had opened a session"):
            opened = await host.connection.new_session(request)
            if host.connection.leads_to_ours(request) and not await self._own_tools_ready(session):
                # its Read and Edit would lead nowhere
                await host.connection.close_session(opened.agent_session_id)
                session.request = request = _without_own_tools(session.request)
                opened = await host.connection.new_session(request)
            live = host.connection.leads_to_ours(request)
        return self._opened(session, host, opened, live=live)

    async def _there(self, session: _Session, host: Host) -> SessionRequest:
        """The session's request, with our server in the form in which the agent can start it where it runs. If it cannot, the request has no such server,
        and the user is told once."""
        request, agent = session.request, session.agent
        by = agent.command.transport
        if by is None or not host.connection.is_given_ours(request):
            return request
        if agent.reached is None and not by.url:
            return _without_own_tools(request)  # its process has ended meanwhile
        try:
            if agent.reached is None:
                raise NotThere(_at_an_address(agent.id))
            servers = [
                await agent.reached.server(one, request.cwd) if one.get("name") == request.own_server else one
                for one in request.mcp_servers
            ]
        except NotThere as error:
            log.warning("%s", error)
            if self._service is not None and not agent.told_of_tools:
                agent.told_of_tools = True
                self._service.tools_not_there(str(error))
            return _without_own_tools(request)
        return replace(request, mcp_servers=tuple(servers))

    async def _own_tools_ready(self, session: _Session) -> bool:
        assert self._service is not None, "serve() comes first"
        ready = await self._service.own_tools_ready(session.request.session_id)
        session.agent.own_tools_missing = not ready
        return ready

    async def _reconnect(self, session: _Session) -> bool:
        """After the agent's death: continue the conversation if the agent can, otherwise start a new one. Returns whether it was continued."""
        opened = await self._loaded_again(session)
        self._reopened(opened or await self._connect(session))
        return opened is not None

    async def _loaded_again(self, session: _Session) -> OpenedSession | None:
        before = session.agent_session_id
        if before:
            host = await self._processes.running(session.agent, session.request.cwd)
            request = await self._there(session, host)
            try:
                async with words(host, "before it had opened the session again"):
                    opened = await host.connection.load_session(
                        request, before, replay=False, known=session.options
                    )
            except AgentFailed as failed:
                if failed.kind not in ("unsupported", "refused"):
                    raise
                log.info("%s", failed.message)
            else:
                return self._opened(session, host, opened)
        return None

    def _opened(
        self,
        session: _Session,
        host: Host,
        opened: AgentSession,
        *,
        replayed: bool = False,
        live: bool = False,
    ) -> OpenedSession:
        """`live`: the session was opened with the agent's own tools redirected to our server."""
        session.host, session.agent_session_id = host, opened.agent_session_id
        session.options = options = opened.options
        return OpenedSession(
            session.request.session_id,
            session.agent.id,
            options.modes,
            options.config,
            host.connection.takes_embedded,
            opened.agent_session_id,
            replayed,
            host.connection.facts.images,
            host.connection.facts.load or host.connection.facts.resume,
            host.connection.rereads,
            live or SERVER in session.agent.led,
            reads_disk(session.agent.id, session.agent.command) or not host.connection.can_ask,
            host.connection.facts.fork,
        )

    def _live(self, session_id: str) -> tuple[_Session, Host]:
        session = self._sessions.get(session_id)
        host = session.live if session is not None else None
        if session is None or host is None:
            raise AgentFailed(
                "refused", f'The session "{session_id}" is not open with its agent; its next prompt opens it.'
            )
        return session, host

    async def _turn(self, session: _Session, blocks: Sequence[Json]) -> str:
        if session.live is None:
            await self._reconnect(session)
        try:
            return await self._prompted(session, blocks)
        except AgentFailed as failed:
            if not _has_lost_it(failed):
                raise
            log.warning("%s has lost a session: %s", session.agent.id, failed.message)
        anew = self._let_go(session)
        if await self._reconnect(session):
            # Before the prompt, so that the agent's words appear below it
            self._note(session, _found_again(session.agent.id, anew=anew, remembers=True))
            try:
                return await self._prompted(session, blocks)
            except AgentFailed as failed:
                if not _has_lost_it(failed):
                    raise
            self._let_go(session)
            session.agent_session_id = ""
            await self._reconnect(session)
        self._note(session, _found_again(session.agent.id, anew=anew, remembers=False))
        return await self._prompted(session, blocks)

    def _let_go(self, session: _Session) -> bool:
        """Drop this session, which the agent's process has lost. Also ends the process, unless other sessions use it. Returns whether it was ended."""
        host, session.host = session.host, None
        session.prompting = False
        if host is None:
            return False
        host.connection.forget(session.agent_session_id)
        alone = session.agent.host is host and session.agent.users == 1
        if alone:
            self._processes.stop(session.agent)
        return alone

    def _reopened(self, opened: OpenedSession) -> None:
        assert self._service is not None, "serve() comes first"
        self._service.session_reopened(opened)

    def _note(self, session: _Session, words: str) -> None:
        assert self._service is not None, "serve() comes first"
        self._service.notice(session.request.session_id, words)

    async def _prompted(self, session: _Session, blocks: Sequence[Json]) -> str:
        host = session.host
        assert host is not None
        from sidecar.acp.client import AgentGone

        before = host.process.errors.last_lines()
        try:
            await host.connection.ready(session.agent_session_id)
            if session.cancelled.is_set():
                return CANCELLED  # cancelled before the agent could be told
            session.prompting, session.asked = True, processes.now()
            return await host.connection.prompt(session.agent_session_id, blocks)
        except AgentFailed as failed:
            if failed.kind == "refused" and not session.cancelled.is_set():
                await host.add_last_words(failed, before)
            raise
        except AgentGone:
            words = await host.obituary("during the turn")
            facts = host.connection.facts
            memory = (
                "continues this conversation"
                if facts.load or facts.resume
                else "will not remember this conversation"
            )
            raise AgentFailed("exited", f"{words}\nThe next prompt starts it again; it {memory}.") from None

    async def _until_stopped(self, session: _Session, turn: asyncio.Future[str]) -> None:
        """Wait for the end of a cancelled turn. If the agent does not end it, end the agent."""
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
            session.host, session.agent_session_id = None, ""
            alone = not any(other.host is host for other in self._sessions.values())
            if alone:
                self._processes.stop(session.agent)
            ended = "it was ended" if alone else "its other sessions go on"
            raise AgentFailed(
                "timeout",
                f"{session.agent.id} was asked to stop {waited:.0f} seconds ago and has not; {ended}."
                " The next prompt opens a new conversation with it.",
            )

    def _ends_commands(self, session: _Session, turn: asyncio.Future[str]) -> None:
        """The user has stopped the turn: end the commands that the agent's own tools started in it, unless the agent ends them."""
        host = session.host
        lines = [] if host is None else host.connection.commands(session.agent_session_id)
        if host is not None and lines:
            self._processes.in_background(
                self._ended_commands(session.request.session_id, host, session.asked, lines, turn)
            )

    async def _ended_commands(
        self, session_id: str, host: Host, asked: float, lines: Sequence[str], turn: asyncio.Future[str]
    ) -> None:
        process = host.process
        begun = asyncio.to_thread(left_running.commands_below, process.pid, asked, lines, process.family)
        ended = await left_running.ended_after(begun, turn, host.ended, self._limits.left_running)
        if ended and self._service is not None:
            self._service.notice(session_id, left_running.said(host.agent, ended))

    def _died(self, host: Host) -> list[str]:
        """An agent has ended by itself. Returns the sessions that are lost with it."""
        lost = [key for key, session in self._sessions.items() if session.host is host]
        for key in lost:
            self._sessions[key].host = None
        return lost


def _has_lost_it(failed: AgentFailed) -> bool:
    """Whether the agent refused a prompt because it has no such session (Claude: the process behind it has died), and has done nothing for the prompt."""
    missing = failed.kind == "refused" and failed.data.get("code") == errors.RESOURCE_NOT_FOUND
    return missing and not failed.data.get("heard")


def _found_again(agent: str, *, anew: bool, remembers: bool) -> str:
    how = "was started again" if anew else "opened it again"
    memory = "continues it" if remembers else "does not remember what was said before"
    return f"{agent} had lost this conversation. It {how} and {memory}."


def _at_an_address(agent: str) -> str:
    return (
        f"{agent} runs elsewhere, at an address, and its own tools are not live there: nothing can be started where it runs. Reach it by a command, and install "
        f"acp-sidecar there (settings: agents, {agent}, transport, command). Until then, it uses its own tools on the disk there."
    )


def _without_own_tools(request: SessionRequest) -> SessionRequest:
    kept = tuple(
        s for s in request.mcp_servers if not request.own_server or s.get("name") != request.own_server
    )
    return replace(request, mcp_servers=kept, own_server="")
