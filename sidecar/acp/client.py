"""AgentConnection: the client's half of ACP with one agent, in version 1 (for other versions see `dialect.py`), over streams that the caller manages.

The SDK (`acp.Connection`) matches answers to requests and runs handlers. Its routers are not used, because they let `_meta` override arguments.
incoming.py handles what the agent sends by itself.

Importing this module imports the SDK (0.1 s). host.py does that when the first agent is started.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from sidecar import __version__
from sidecar.acp import errors, logins, negotiation
from sidecar.acp.byte_streams import Sink, Source
from sidecar.acp.dialect import FIRST, OWNED, Dialect
from sidecar.acp.elsewhere.border import HERE, Border
from sidecar.acp.facts import Facts, at, facts_of
from sidecar.acp.incoming import Incoming, OpenSession
from sidecar.acp.kept_mode import KeptMode
from sidecar.acp.limits import Limits
from sidecar.acp.offers import Offers
from sidecar.acp.options import Options
from sidecar.acp.own_tools.row import OwnTools
from sidecar.acp.own_tools.table import NONE as WITHOUT
from sidecar.acp.quirks import NONE, Quirks
from sidecar.acp.read_only import AS_EVER, ReadOnly
from sidecar.acp.sdk import AGENT_METHODS, PROTOCOL_VERSION, Connection, RequestError
from sidecar.acp.terminal_requests import SessionTerminals
from sidecar.acp.transport import LineTransport
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.core.escape import plain
from sidecar.core.json_objects import joined
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest

log = logging.getLogger(__name__)


class AgentGone(Exception):
    """The connection ended before an answer came. The owner of the process knows why."""


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The answer to `session/new` and similar requests. `agent_session_id` is the agent's own id."""

    agent_session_id: str
    options: Options
    """The options that the user can choose in the session, kept up to date."""


class AgentConnection:
    """Speaks with one agent. `agent` is the id under which the user configured it, `env` the environment of its commands.

    Methods raise AgentFailed with a message for the user, and AgentGone if the connection ends during the call.
    """

    def __init__(
        self,
        agent: str,
        reader: Source,
        sink: Sink,
        service: AnyWorkspace,
        *,
        fs: bool = True,
        offers: Offers = Offers(),  # noqa: B008  # frozen
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        quirks: Quirks = NONE,
        own_tools: OwnTools = WITHOUT,
        read_only: ReadOnly = AS_EVER,
        border: Border = HERE,
        dialect: Dialect = FIRST,
    ) -> None:
        self.agent = agent
        self.facts = Facts()
        self._service = service
        self._dialect = dialect
        self._fs = fs = fs and dialect.has_files
        self._offers = offers
        self._env = env or {}
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._quirks = quirks
        self._own_tools = own_tools
        self._read_only = read_only
        self._border = border
        self._incoming = Incoming(
            agent,
            service,
            fs=fs,
            offers=offers,
            env=self._env,
            quirks=quirks,
            limits=limits.wire,
            border=border,
        )
        self._sessions = self._incoming.sessions
        self.transport = LineTransport(
            reader, sink, self._incoming.admit, name=agent, limits=limits.wire, dialect=dialect
        )
        self._incoming.transport = self.transport
        self.kept_mode = KeptMode(agent, read_only, service, self._choose_mode)
        self._incoming.heard = self.kept_mode.heard
        self.transport.on_answer = self._incoming.answered
        self._rpc = Connection(self._incoming.handle, self.transport)
        self._stopping: set[asyncio.Task[None]] = set()

    # to the agent

    async def initialize(self) -> None:
        """Perform the handshake. `facts` are known afterwards. Raises AgentFailed("protocol_version") if the agent speaks another version, with that
        version in `data["theirs"]`."""
        answer = await self._hands_shaken()
        version = at(answer, "protocolVersion")
        if not isinstance(version, int) or isinstance(version, bool):
            raise AgentFailed(
                "protocol_version",
                f"{self.agent} answered `initialize` with something that is not ACP. Check that it is an ACP agent,"
                " and that it is started with its ACP option.",
            )
        if version != self._dialect.number:
            raise negotiation.other_version(self.agent, version)
        self.facts = facts_of(answer)

    async def _hands_shaken(self) -> object:
        params: dict[str, object] = {
            "protocolVersion": PROTOCOL_VERSION,
            # Offer both or neither: with only one of them, several agents write to the disk themselves. This
            # holds for `"writes": "deny"`, too, unless something else keeps the agent from writing: a write
            # that comes here can be refused, a write that the agent makes itself cannot.
            "clientCapabilities": {
                "fs": {
                    "readTextFile": self._fs,
                    "writeTextFile": self._fs and self._read_only.is_offered_writing,
                },
                "terminal": self._incoming.runs_commands,
                **self._offers.capabilities(),
            },
            "clientInfo": {"name": "acp-sidecar", "title": "acp-sidecar", "version": __version__},
        }
        try:
            return await self._request(AGENT_METHODS["initialize"], params, self._limits.initialize)
        except AgentFailed as failed:
            if (theirs := negotiation.spoken(failed.data.get("data"))) is not None:
                raise negotiation.other_version(self.agent, theirs) from None
            raise

    @property
    def takes_embedded(self) -> bool:
        """Whether texts that are embedded in a prompt reach the agent's model."""
        return self.facts.embedded_context and not self._quirks.drops_embedded

    @property
    def can_ask(self) -> bool:
        """Whether the agent's version of ACP has requests for files."""
        return self._dialect.has_files

    @property
    def rereads(self) -> bool:
        """Whether the agent's program is known to read a file just before it writes it."""
        return self._quirks.rereads

    def leads_to_ours(self, request: SessionRequest) -> bool:
        """Whether a session that is opened with this request redirects the agent's own tools to our server. The agent then has to start the server."""
        return self._own_tools.by_server and bool(request.own_server)

    def is_given_ours(self, request: SessionRequest) -> bool:
        """Whether the agent is told of our server in a session that is opened with this request."""
        given = self._own_tools.by_server or request.own_beside or not self._dialect.has_files
        return bool(request.own_server) and given and not self._own_tools.option

    async def new_session(self, request: SessionRequest) -> AgentSession:
        """Open a session. Updates that arrived for it before the answer are handed over before this returns."""
        with self._incoming.opening():
            fields = await self._open("session_new", self._place(request) | self._meta(request))
            return await self._kept_from_writing(self._began(request, "session/new", fields))

    async def fork_session(self, request: SessionRequest, agent_session_id: str) -> AgentSession:
        """Open a session that begins with the content of another one and continues independently. The other session may be open here or not.

        ACP calls this unstable. Raises AgentFailed("unsupported") if the agent cannot do it.
        """
        if not self.facts.fork:
            raise AgentFailed("unsupported", f"{self.agent} cannot fork conversations.")
        with self._incoming.opening():
            params = {
                "sessionId": agent_session_id,
                **self._place(request),
                **self._meta(request, earlier=True),
            }
            fields = await self._open("session_fork", params)
            return await self._kept_from_writing(self._began(request, "session/fork", fields))

    def _began(self, request: SessionRequest, method: str, fields: dict[str, object]) -> AgentSession:
        session_id = fields.get("sessionId")
        if not isinstance(session_id, str) or session_id in self._sessions:
            what = "no session id" if not isinstance(session_id, str) else "the id of a session that is open"
            raise AgentFailed("refused", f"{self.agent} answered `{method}` with {what}.")
        session = self._sessions[session_id] = self._session(request)
        session.options.answered(fields)
        self._incoming.opened(session_id, session)
        return AgentSession(session_id, session.options)

    async def load_session(
        self,
        request: SessionRequest,
        agent_session_id: str,
        *,
        replay: bool = True,
        known: Options | None = None,
    ) -> AgentSession:
        """Continue a session of an earlier time. Its history is handed over as updates before this returns or, without `replay`, dropped. If the agent
        can resume and no replay is wanted, this asks it to resume instead. `known`: the options of the session before; they stay as far as the agent
        says nothing about them (crow answers `session/resume` with null).

        Raises AgentFailed("unsupported") if the agent can do neither.
        """
        facts = self.facts
        if not facts.load and not facts.resume:
            raise AgentFailed("unsupported", f"{self.agent} cannot continue earlier conversations.")
        if agent_session_id in self._sessions:
            raise AgentFailed("refused", f"{self.agent} has this conversation open already.")
        resume = facts.resume and not (facts.load and replay)
        session = self._sessions[agent_session_id] = self._session(request)
        session.options = known or session.options
        session.silent = not replay and not resume
        try:
            fields = await self._open(
                "session_resume" if resume else "session_load",
                {"sessionId": agent_session_id, **self._place(request), **self._meta(request, earlier=True)},
            )
        except BaseException:
            self.forget(agent_session_id)
            raise
        finally:
            session.silent = False
        session.options.answered(fields)
        return await self._kept_from_writing(AgentSession(agent_session_id, session.options))

    async def _kept_from_writing(self, opened: AgentSession) -> AgentSession:
        """Put the session in the mode that keeps the agent from writing, if a mode is to do that. If this raises AgentFailed, the session has been
        closed."""
        try:
            await self.kept_mode.begin(opened.agent_session_id, self._open_one(opened.agent_session_id))
        except AgentFailed:
            await self.close_session(opened.agent_session_id)
            raise
        return opened

    async def _choose_mode(self, agent_session_id: str, mode_id: str) -> None:
        """Set the mode of a session. Raises AgentFailed, also if the session has no such mode."""
        options = self._open_one(agent_session_id).options
        method, params = options.mode_request(self.agent, mode_id)
        answer = await self._request(method, {"sessionId": agent_session_id, **params}, self._limits.choice)
        if "modeId" in params:
            options.mode_set(mode_id)
        else:
            options.option_set(str(params["configId"]), mode_id, answer)

    async def list_sessions(self, cwd: str | None, cursor: str | None) -> object:
        """One page of the agent's `session/list`, as the agent answered it."""
        params: dict[str, object] = {"cwd": cwd} if cwd is not None else {}
        if cursor is not None:
            params["cursor"] = cursor
        return await self._request(AGENT_METHODS["session_list"], params, self._limits.listing)

    async def delete_session(self, agent_session_id: str) -> None:
        """Delete a session that is not open here."""
        params: dict[str, object] = {"sessionId": agent_session_id}
        await self._request(AGENT_METHODS["session_delete"], params, self._limits.listing)

    async def set_mode(self, agent_session_id: str, mode_id: str) -> Json:
        """Set the mode. Returns ACP's `modes` with the new one."""
        session = self._open_one(agent_session_id)
        session.options.check_mode(self.agent, mode_id)
        self.kept_mode.check(session, mode_id)
        params: dict[str, object] = {"sessionId": agent_session_id, "modeId": mode_id}
        await self._request(AGENT_METHODS["session_set_mode"], params, self._limits.choice)
        return session.options.mode_set(mode_id)

    async def set_option(self, agent_session_id: str, config_id: str, value: str | bool) -> Sequence[Json]:
        """Set an option. Returns ACP's `configOptions` with the new value."""
        session = self._open_one(agent_session_id)
        method, params = session.options.request(self.agent, config_id, value)
        if session.options.is_mode(config_id):
            self.kept_mode.check(session, value)
        answer = await self._request(method, {"sessionId": agent_session_id, **params}, self._limits.choice)
        return session.options.option_set(config_id, value, answer)

    async def authenticate(self, method_id: str) -> None:
        """Log in. Takes as long as the user needs, up to `Limits.login`."""
        params: dict[str, object] = {"methodId": method_id}
        with self._incoming.expecting_questions():
            await self._request(AGENT_METHODS["authenticate"], params, self._limits.login)

    async def logout(self) -> None:
        await self._request(AGENT_METHODS["logout"], {}, self._limits.choice)

    async def ready(self, agent_session_id: str) -> None:
        """Call this before a prompt: it puts the session in the mode in which it has to stay. Raises AgentFailed."""
        await self.kept_mode.prompted(agent_session_id, self._open_one(agent_session_id))

    async def prompt(self, agent_session_id: str, blocks: Sequence[Json]) -> str:
        """Run a turn to its end and return the stop reason. Every update that came before the answer has been handed over by then.

        This has no time limit: turns last as long as they last, and the user can cancel.
        """
        session = self._open_one(agent_session_id)
        session.acting, session.heard = True, False
        session.calls.begin_turn()
        session.terminals.begin_turn()
        try:
            answer = await self._request(
                AGENT_METHODS["session_prompt"], {"sessionId": agent_session_id, "prompt": list(blocks)}, None
            )
        except AgentFailed as failed:
            failed.data = {**failed.data, "heard": session.heard}
            raise
        finally:
            session.acting = False
            session.terminals.end_turn()
        await session.terminals.quiet()  # writes of a command belong to the turn
        reason = cast("dict[str, object]", answer).get("stopReason") if isinstance(answer, dict) else None
        if not isinstance(reason, str):
            raise AgentFailed("refused", f"{self.agent} ended the turn without saying why.")
        return reason

    def cancel(self, agent_session_id: str) -> None:
        """Ask the agent to end the turn. Its open questions are withdrawn and answered `cancelled`, as ACP demands."""
        session = self._sessions.get(agent_session_id)
        if session is not None:
            session.acting = False
            session.terminals.end_turn()
            self._notify(AGENT_METHODS["session_cancel"], {"sessionId": agent_session_id})
            session.asks.withdraw()

    def commands(self, agent_session_id: str) -> list[str]:
        """The command lines that the agent reported since it received its prompt."""
        session = self._sessions.get(agent_session_id)
        return [] if session is None else session.calls.commands()

    def stop_command(self, agent_session_id: str, terminal_id: str) -> None:
        """The user stops one command of the turn."""
        session = self._sessions.get(agent_session_id)
        if session is None:
            return
        if not terminal_id.startswith(OWNED):
            session.terminals.stop(terminal_id)
        elif (request := self._dialect.stops(agent_session_id, terminal_id)) is not None:
            stopping = asyncio.ensure_future(self._stopped(session.id, *request))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
        else:
            words = (
                f"{self.agent} runs this command itself and cannot stop it alone. To end it, stop the turn."
            )
            self._service.notice(session.id, words)

    async def _stopped(self, session_id: str, method: str, params: Json) -> None:
        try:
            await self._request(method, dict(params), self._limits.choice)
        except AgentFailed as failed:
            self._service.notice(session_id, failed.message)
        except AgentGone:
            pass  # its commands have ended with it

    async def close_session(self, agent_session_id: str) -> None:
        """End a session; ask the agent to close it, if the agent can do that. Afterwards, nothing of the session is served."""
        session = self._sessions.get(agent_session_id)
        if session is None:
            return
        session.asks.withdraw()
        session.terminals.end_turn()
        try:
            if self.facts.close:
                await self._request(
                    AGENT_METHODS["session_close"], {"sessionId": agent_session_id}, self._limits.close
                )
        except (AgentFailed, AgentGone) as failed:
            log.info("%s: session/close: %s", self.agent, failed)
        finally:
            self._sessions.pop(agent_session_id, None)
            await session.terminals.close()

    def forget(self, agent_session_id: str) -> None:
        """End a session on this side only."""
        session = self._sessions.pop(agent_session_id, None)
        if session is not None:
            session.asks.withdraw()
            session.terminals.end_turn()

    def silent_for(self) -> float:
        """The seconds since the agent's last byte."""
        return self._loop.time() - self.transport.heard_at

    async def close(self) -> None:
        """End the connection: our requests raise AgentGone, questions are withdrawn, and writes that are under way run to their end."""
        ended = list(self._sessions.values())
        self._sessions.clear()
        self._incoming.asks.withdraw()
        for session in ended:
            session.asks.withdraw()
        terminals = asyncio.gather(*(session.terminals.close() for session in ended))
        try:
            async with asyncio.timeout(1.0):
                await self._rpc.close()
        except TimeoutError:
            log.warning("%s: a handler does not end", self.agent)
        except Exception:
            log.exception("%s: the connection did not close well", self.agent)
        await terminals

    def _session(self, request: SessionRequest) -> OpenSession:
        return OpenSession(
            request.session_id,
            SessionTerminals(self._service, request.session_id, self._env, self._border.runs),
        )

    def _open_one(self, agent_session_id: str) -> OpenSession:
        session = self._sessions.get(agent_session_id)
        if session is None:
            raise AgentGone
        return session

    def _place(self, request: SessionRequest) -> dict[str, object]:
        """The folders in which a session works, and its MCP servers."""
        params: dict[str, object] = {"cwd": request.cwd, "mcpServers": self._servers(request)}
        if request.additional_directories and self.facts.additional_directories:
            params["additionalDirectories"] = list(request.additional_directories)
        return params

    def _meta(self, request: SessionRequest, *, earlier: bool = False) -> dict[str, object]:
        """The `_meta` that redirects the agent's own tools to ours and keeps it from writing. The former is left out for earlier conversations, because
        only afterwards it is known whether our server runs."""
        led: Json = self._own_tools.meta(request.own_server) if request.own_server and not earlier else {}
        meta = joined(led, self._read_only.meta(request.own_server))
        return {"_meta": meta} if meta else {}

    async def _open(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Send a request that opens a session. Returns the fields of the answer; crow answers `session/resume` with null."""
        with self._incoming.expecting_questions():
            answer = await self._request(AGENT_METHODS[method], params, self._limits.silence, alive=True)
        return cast("dict[str, object]", answer) if isinstance(answer, dict) else {}

    async def _request(
        self, method: str, params: dict[str, object], limit: float | None, *, alive: bool = False
    ) -> object:
        """Send a request and wait for the answer. `limit` is in seconds, counted from now, or with `alive` from the agent's last sign of life."""
        answer = asyncio.ensure_future(self._rpc.send_request(method, self._border.sent(method, params)))
        started = self._loop.time()
        try:
            while limit is not None and not answer.done():
                since = max(started, self.transport.heard_at) if alive else started
                left = since + limit - self._loop.time()
                if left <= 0:
                    raise AgentFailed(
                        "timeout", f"{self.agent} has not answered `{method}` within {limit:.0f} seconds."
                    )
                await asyncio.wait({answer}, timeout=left)
            return self._border.answered(method, await answer)
        except RequestError as error:
            self._failed(method, error)
        except ConnectionError:
            raise AgentGone from None
        finally:
            answer.cancel()

    def _failed(self, method: str, error: RequestError) -> NoReturn:
        data: object = error.data
        more = errors.own_words(data)
        if error.code == errors.AUTH_REQUIRED and logins.is_meant(f"{error} {more}", self.facts.auth_methods):
            raise logins.required(self.agent, self.facts.auth_methods) from None
        words = plain(str(error), 300) + (f" ({plain(more, 500)})" if more and more not in str(error) else "")
        raise AgentFailed(
            "refused", f"{self.agent} refused `{method}`: {words}", {"code": error.code, "data": data}
        ) from None

    def _notify(self, method: str, params: dict[str, object]) -> None:
        # Not at once: a request whose task was only just created must not be overtaken by the message that
        # cancels it
        self._loop.call_soon(self.transport.post, {"jsonrpc": "2.0", "method": method, "params": params})

    def _servers(self, request: SessionRequest) -> list[Json]:
        """The MCP servers that the agent can use (ACP, "session/new": stdio always, http and sse if it says so)."""
        taken = {"http": self.facts.mcp_http, "sse": self.facts.mcp_sse}
        kept = [server for server in request.mcp_servers if taken.get(str(server.get("type", "stdio")), True)]
        if len(kept) < len(request.mcp_servers):
            log.warning("%s does not accept MCP servers over http or sse; they are left out", self.agent)
        if not self.is_given_ours(request):
            kept = [
                server
                for server in kept
                if not request.own_server or server.get("name") != request.own_server
            ]
        more = list(self._own_tools.arguments)
        return [
            {**server, "args": [*cast("list[str]", server["args"]), *more]}
            if more and request.own_server and server.get("name") == request.own_server
            else server
            for server in kept
        ]
