"""AgentConnection: the client's half of ACP version 1 with one agent, over bytes that somebody else looks after.

The SDK (`acp.Connection`) matches answers to requests and runs handlers; its routers are not used, because they let `_meta`
override arguments. What arrives is recorded in `_admit`, synchronously and in order; handlers only carry it out.

Importing this module imports the SDK (0.4 s): agents.py does that when the first agent is started.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from acp.schema import InitializeResponse
from pydantic import ValidationError

from sidecar import __version__
from sidecar.acp import command_line, elicitation, errors, files, logins, permission, terminal_requests
from sidecar.acp.asks import TAKEN_BACK, Asks
from sidecar.acp.errors import Failure
from sidecar.acp.facts import Facts, at, facts_of
from sidecar.acp.limits import Limits
from sidecar.acp.noise import Noise
from sidecar.acp.offers import Offers
from sidecar.acp.options import Options
from sidecar.acp.quirks import NONE, quirks_of
from sidecar.acp.service import AnyService, ReadsNow, Ticket, Written
from sidecar.acp.terminal_requests import SessionTerminals
from sidecar.acp.transport import LineTransport, Params, Sink
from sidecar.core.escape import plain
from sidecar.core.refusal import Refusal
from sidecar.workspace.ports import AgentFailed, Json, SessionRequest

log = logging.getLogger(__name__)
T = TypeVar("T")

UPDATE = CLIENT_METHODS["session_update"]
ASK = CLIENT_METHODS["session_request_permission"]
CANCEL_REQUEST = "$/cancel_request"

_LONG = 3.0
"""Seconds after which a read is taken to wait for a person, and no longer keeps others from being heard."""
_LONGEST_ID = 4096
"""Characters of a tool call's id: they are kept in many places."""
_EARLY = 4096
"""Updates kept for sessions whose `session/new` is not answered yet; a large one counts as several."""
_EARLY_SIZE = 8192


class Gone(Exception):
    """The connection ended before an answer came. Whoever looks after the process knows why."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer to `session/new` and its kin; `agent_session_id` is the agent's own."""

    agent_session_id: str
    modes: Json | None
    config_options: Sequence[Json] | None


@dataclass(slots=True, eq=False)
class _Session:
    id: str
    """The sidecar's."""
    terminals: SessionTerminals
    options: Options = field(default_factory=lambda: Options({}))
    silent: bool = False
    """What it says now is history that nobody is to see again."""
    calls: permission.ToolCalls = field(default_factory=permission.ToolCalls)
    asks: Asks = field(default_factory=Asks)
    """Requests that wait for a person."""
    writes: set[asyncio.Future[Written | Refusal]] = field(
        default_factory=set["asyncio.Future[Written | Refusal]"]
    )
    cancelled: bool = False
    """The running turn was cancelled: no more questions in it."""


@dataclass(slots=True)
class _File:
    """A well formed fs request with its place in the queue."""

    params: files.FileParams
    ticket: Ticket

    def release(self) -> None:
        self.ticket.release()


@dataclass(slots=True)
class _Refused:
    failure: Failure

    def release(self) -> None:
        pass


class AgentConnection:
    """Speaks with one agent. `agent` is the id under which the user configured it, `env` what its commands are run with.

    Methods raise AgentFailed in words, and Gone when the connection ends under them."""

    def __init__(
        self,
        agent: str,
        reader: asyncio.StreamReader,
        sink: Sink,
        service: AnyService,
        *,
        fs: bool = True,
        offers: Offers = Offers(),  # noqa: B008  # frozen
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        self.agent = agent
        self.facts = Facts()
        self.quirks = NONE
        self.transport = LineTransport(reader, sink, self._admit, name=agent, limits=limits.wire)
        self._service = service
        self._reads_now = cast("ReadsNow[Any]", service) if hasattr(service, "read_now") else None
        self._fs = fs
        self._offers = offers
        self._env = env or {}
        # as one with fs: an agent that runs commands behind us reads and writes behind us too. There is no sh on Windows.
        self._runs_commands = fs and sys.platform != "win32"
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._noise = Noise(log, agent)
        self._sessions: dict[str, _Session] = {}
        self._asks = Asks()
        """Those that belong to no session."""
        self._early: dict[str, list[Json]] = {}
        self._early_count = 0
        self._opening = 0
        self._serial = itertools.count(1)
        self._writes: set[asyncio.Future[Written | Refusal]] = set()
        self._rpc = Connection(self._handle, self.transport)

    # to the agent

    async def initialize(self) -> None:
        """Shakes hands; `facts` are known afterwards."""
        answer = await self._request(
            AGENT_METHODS["initialize"],
            {
                "protocolVersion": PROTOCOL_VERSION,
                # both or neither: with one of them several agents write the disk
                "clientCapabilities": {
                    "fs": {"readTextFile": self._fs, "writeTextFile": self._fs},
                    "terminal": self._runs_commands,
                    **self._offers.capabilities(),
                },
                "clientInfo": {"name": "acp-sidecar", "title": "acp-sidecar", "version": __version__},
            },
            self._limits.initialize,
        )
        try:
            said = InitializeResponse.model_validate(answer)
        except ValidationError:
            raise AgentFailed(
                "protocol_version",
                f"{self.agent} answered `initialize` with something that is not ACP. Is it an ACP agent, and started"
                " with the option that makes it one?",
            ) from None
        if said.protocol_version != PROTOCOL_VERSION:
            raise AgentFailed(
                "protocol_version",
                f"{self.agent} speaks version {said.protocol_version} of ACP, acp-sidecar speaks version"
                f" {PROTOCOL_VERSION}. Use a version of {self.agent} that speaks it too.",
                {"theirs": said.protocol_version, "ours": PROTOCOL_VERSION},
            )
        self.facts = facts_of(answer)
        self.quirks = quirks_of(answer)

    async def new_session(self, request: SessionRequest) -> Opened:
        """Opens a session; updates that came for it before the answer are handed over before this returns."""
        self._opening += 1
        try:
            fields = await self._open("session_new", self._place(request))
            session_id = fields.get("sessionId")
            if not isinstance(session_id, str) or session_id in self._sessions:
                what = (
                    "no session id" if not isinstance(session_id, str) else "the id of a session that is open"
                )
                raise AgentFailed("refused", f"{self.agent} answered `session/new` with {what}.")
            session = self._sessions[session_id] = self._session(request)
            session.options.answered(fields)
            for update in self._early.pop(session_id, ()):
                self._early_count -= 1
                self._deliver(session, update)
        finally:
            self._opening -= 1
            if not self._opening:
                self._early.clear()
                self._early_count = 0
        return Opened(session_id, session.options.modes, session.options.config)

    async def load_session(
        self, request: SessionRequest, agent_session_id: str, *, replay: bool = True
    ) -> Opened:
        """Takes up a session of an earlier time; its history is handed over as updates before this returns, or, without `replay`,
        to nobody. Asks to resume instead where the agent can do that and no replay is wanted.

        Raises AgentFailed("unsupported") when the agent can do neither."""
        facts = self.facts
        if not facts.load and not facts.resume:
            raise AgentFailed("unsupported", f"{self.agent} cannot take up earlier conversations.")
        if agent_session_id in self._sessions:
            raise AgentFailed("refused", f"{self.agent} has this conversation open already.")
        resume = facts.resume and not (facts.load and replay)
        session = self._sessions[agent_session_id] = self._session(request)
        session.silent = not replay and not resume
        try:
            fields = await self._open(
                "session_resume" if resume else "session_load",
                {"sessionId": agent_session_id, **self._place(request)},
            )
        except BaseException:
            self.forget(agent_session_id)
            raise
        finally:
            session.silent = False
        session.options.answered(fields)
        return Opened(agent_session_id, session.options.modes, session.options.config)

    async def list_sessions(self, cwd: str | None, cursor: str | None) -> object:
        """One page of the agent's `session/list`, as it answered."""
        params: dict[str, object] = {"cwd": cwd} if cwd is not None else {}
        if cursor is not None:
            params["cursor"] = cursor
        return await self._request(AGENT_METHODS["session_list"], params, self._limits.listing)

    async def delete_session(self, agent_session_id: str) -> None:
        """Deletes a session that is not open here."""
        params: dict[str, object] = {"sessionId": agent_session_id}
        await self._request(AGENT_METHODS["session_delete"], params, self._limits.listing)

    async def set_mode(self, agent_session_id: str, mode_id: str) -> Json:
        """ACP's `modes` with the new one."""
        session = self._open_one(agent_session_id)
        session.options.check_mode(self.agent, mode_id)
        params: dict[str, object] = {"sessionId": agent_session_id, "modeId": mode_id}
        await self._request(AGENT_METHODS["session_set_mode"], params, self._limits.choice)
        return session.options.mode_set(mode_id)

    async def set_option(self, agent_session_id: str, config_id: str, value: str | bool) -> Sequence[Json]:
        """ACP's `configOptions` with the new value."""
        session = self._open_one(agent_session_id)
        method, params = session.options.request(self.agent, config_id, value)
        answer = await self._request(method, {"sessionId": agent_session_id, **params}, self._limits.choice)
        return session.options.option_set(config_id, value, answer)

    async def authenticate(self, method_id: str) -> None:
        """Lasts as long as a person needs to log in, with a bound."""
        params: dict[str, object] = {"methodId": method_id}
        await self._request(AGENT_METHODS["authenticate"], params, self._limits.login)

    async def logout(self) -> None:
        await self._request(AGENT_METHODS["logout"], {}, self._limits.choice)

    async def prompt(self, agent_session_id: str, blocks: Sequence[Json]) -> str:
        """Runs a turn to its end and returns the stop reason. Every update before the answer has been handed over then.

        Has no limit of its own: turns last as long as they last, and the user can cancel."""
        session = self._open_one(agent_session_id)
        session.cancelled = False
        session.terminals.begin_turn()
        try:
            answer = await self._request(
                AGENT_METHODS["session_prompt"], {"sessionId": agent_session_id, "prompt": list(blocks)}, None
            )
        finally:
            session.terminals.end_turn()
        await session.terminals.quiet()  # what a command writes belongs to the turn
        reason = cast("dict[str, object]", answer).get("stopReason") if isinstance(answer, dict) else None
        if not isinstance(reason, str):
            raise AgentFailed("refused", f"{self.agent} ended the turn without saying why.")
        return reason

    def cancel(self, agent_session_id: str) -> None:
        """Asks the agent to end the turn; its open questions are withdrawn and answered `cancelled`, as ACP demands."""
        session = self._sessions.get(agent_session_id)
        if session is not None:
            session.cancelled = True
            session.terminals.end_turn()
            self._notify(AGENT_METHODS["session_cancel"], {"sessionId": agent_session_id})
            session.asks.withdraw()

    async def close_session(self, agent_session_id: str) -> None:
        """Ends a session, politely where the agent knows how; afterwards nothing of it is served."""
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
        except (AgentFailed, Gone) as failed:
            log.info("%s: session/close: %s", self.agent, failed)
        finally:
            self._sessions.pop(agent_session_id, None)
            await session.terminals.close()

    def forget(self, agent_session_id: str) -> None:
        """Ends a session on this side only."""
        session = self._sessions.pop(agent_session_id, None)
        if session is not None:
            session.asks.withdraw()
            session.terminals.end_turn()

    def silent_for(self) -> float:
        """Seconds since the agent's last byte."""
        return self._loop.time() - self.transport.heard_at

    async def close(self) -> None:
        """Ends the connection: requests of ours raise Gone, questions are withdrawn, writes that run go on to their end."""
        ended = list(self._sessions.values())
        self._sessions.clear()
        self._asks.withdraw()
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

    def _session(self, request: SessionRequest) -> _Session:
        return _Session(request.session_id, SessionTerminals(self._service, request.session_id, self._env))

    def _open_one(self, agent_session_id: str) -> _Session:
        session = self._sessions.get(agent_session_id)
        if session is None:
            raise Gone
        return session

    def _place(self, request: SessionRequest) -> dict[str, object]:
        """Where a session works, and with which MCP servers."""
        params: dict[str, object] = {"cwd": request.cwd, "mcpServers": self._servers(request)}
        if request.additional_directories and self.facts.additional_directories:
            params["additionalDirectories"] = list(request.additional_directories)
        return params

    async def _open(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """The fields of the answer; crow answers `session/resume` with null."""
        answer = await self._request(AGENT_METHODS[method], params, self._limits.silence, alive=True)
        return cast("dict[str, object]", answer) if isinstance(answer, dict) else {}

    async def _request(
        self, method: str, params: dict[str, object], limit: float | None, *, alive: bool = False
    ) -> object:
        """Asks; `limit` in seconds, with `alive` from the agent's last sign of life instead of from now."""
        answer = asyncio.ensure_future(self._rpc.send_request(method, params))
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
            return await answer
        except RequestError as error:
            self._failed(method, error)
        except ConnectionError:
            raise Gone from None
        finally:
            answer.cancel()

    def _failed(self, method: str, error: RequestError) -> NoReturn:
        data: object = error.data
        if error.code == errors.AUTH_REQUIRED:
            raise logins.required(self.agent, self.facts.auth_methods) from None
        told = (data, at(data, "details"), at(data, "message"))  # agents put the real reason there
        more = next((value for value in told if isinstance(value, str)), "")
        words = plain(str(error), 300) + (f" ({plain(more, 500)})" if more else "")
        raise AgentFailed(
            "refused", f"{self.agent} refused `{method}`: {words}", {"code": error.code, "data": data}
        ) from None

    def _notify(self, method: str, params: dict[str, object]) -> None:
        # not at once: a request whose task has only been made is not to be overtaken by what cancels it
        self._loop.call_soon(self.transport.post, {"jsonrpc": "2.0", "method": method, "params": params})

    def _servers(self, request: SessionRequest) -> list[Json]:
        """The MCP servers the agent can take (ACP, "session/new": stdio always, http and sse where it says so)."""
        taken = {"http": self.facts.mcp_http, "sse": self.facts.mcp_sse}
        kept = [server for server in request.mcp_servers if taken.get(str(server.get("type", "stdio")), True)]
        if len(kept) < len(request.mcp_servers):
            log.warning("%s takes no MCP servers over http or sse; they are left out", self.agent)
        return kept

    # from the agent: recorded in order

    def _admit(self, method: str, params: Params, request: bool) -> bool:
        if method == UPDATE and not request:
            self._update(params)
            return True
        if method in (files.READ, files.WRITE) and request:
            params.decided = decided = self._file(method, params)
            params.large = method == files.READ
            return isinstance(decided, _File) and self._read_now(decided, params)
        if method == elicitation.COMPLETE and not request:
            self._complete(params.get("elicitationId"))
            return True
        if method == CANCEL_REQUEST and not request:
            self._withdrawn(params.get("requestId"))
            return True
        return (
            not request
        )  # notifications we do not know are none of our business (JSON-RPC 2.0, section 4.1)

    def _update(self, params: Params) -> None:
        session_id, update = params.get("sessionId"), params.get("update")
        if not isinstance(session_id, str) or not isinstance(update, dict):
            self._noise.say("sent a session/update without a session or an update")
            return
        session = self._sessions.get(session_id)
        if session is not None:
            self._deliver(session, cast("Json", update))
        elif self._opening and self._early_count < _EARLY:
            # several agents (copilot, crow, vibe) send updates before they answer `session/new`
            self._early.setdefault(session_id, []).append(cast("Json", update))
            self._early_count += 1 + permission.size_of(cast("object", update)) // _EARLY_SIZE
        else:
            self._noise.say("sent a session/update for a session it does not have", session_id)

    def _deliver(self, session: _Session, update: Json) -> None:
        if session.silent:
            return
        call = update.get("toolCallId")
        if isinstance(call, str) and len(call) > _LONGEST_ID:
            self._noise.say("sent a session/update for a tool call whose id is too long", call)
            return
        update = session.options.heard(update)
        session.calls.heard(update)
        try:
            self._service.session_update(session.id, update)
        except Exception as error:
            self._noise.say(
                "sent a session/update that could not be handed on", repr(error), level=logging.ERROR
            )
            log.debug("the update that could not be handed on", exc_info=True)

    def _complete(self, elicitation_id: object) -> None:
        if self._offers.elicitation and isinstance(elicitation_id, str):
            self._service.elicitation_complete(self.agent, plain(elicitation_id, 200))

    def _file(self, method: str, params: Params) -> _File | _Refused:
        if not self._fs:
            return _Refused(_unknown(method))
        parsed = files.parse(method, params)
        if isinstance(parsed, Failure):
            return _Refused(parsed)
        session = self._sessions.get(parsed.session_id)
        if session is None:
            return _Refused(errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION))
        return _File(parsed, self._service.ticket(session.id, parsed.path, parsed.access))

    def _read_now(self, file: _File, params: Params) -> bool:
        """Answers a read that need not wait for anything without a task (the reads of an agent come in hundreds)."""
        if self._reads_now is None or file.params.access != "read" or self.transport.full:
            return False
        answer = self._reads_now.read_now(file.ticket, file.params.line, file.params.limit)
        if answer is None:
            return False
        params.take_back()
        if self._is_empty(answer):
            answer = ""
        if isinstance(answer, Refusal):
            error = errors.failure(answer, file.params.path)
            self.transport.post({"jsonrpc": "2.0", "id": params.request_id, "error": error._asdict()})
        else:
            self.transport.answer_content(params.request_id, answer)
        return True

    def _withdrawn(self, request_id: object) -> None:
        """The agent takes back a request of its own (`$/cancel_request`); only questions can still be taken back."""
        for asks in (self._asks, *(session.asks for session in self._sessions.values())):
            for key, params in list(self.transport.handed_out.items()):
                if params.request_id == request_id:
                    asks.take_back(key)

    # from the agent: carried out

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        assert isinstance(params, Params)
        try:
            match method:
                case files.READ:
                    answer = await self._read(params)
                case files.WRITE:
                    answer = await self._write(params)
                case _ if method == ASK:
                    answer = await self._ask(params)
                case elicitation.CREATE:
                    answer = await self._elicit(params)
                case _ if method in terminal_requests.METHODS and self._runs_commands:
                    answer = await self._terminal(method, params)
                case _:
                    answer = _unknown(method)
        except Exception:
            log.exception("%s: %s failed", self.agent, method)
            answer = errors.INTERNAL
        finally:
            params.finish()
        if isinstance(answer, Failure):
            raise RequestError(answer.code, answer.message, answer.data)
        return answer

    async def _read(self, params: Params) -> Json | Failure:
        match params.take():
            case _File() as file:
                pass
            case _Refused(failure):
                return failure
            case _:
                return errors.INTERNAL
        wanted = file.params
        waiting = self._loop.call_later(_LONG, params.park)
        try:
            answer = await self._service.read(file.ticket, wanted.line, wanted.limit)
        finally:
            waiting.cancel()
            file.release()
        if self._is_empty(answer):
            return {"content": ""}
        if isinstance(answer, Refusal):
            return errors.failure(answer, wanted.path)
        return {"content": answer}

    def _is_empty(self, answer: object) -> bool:
        """A file that is not there, for an agent that takes it for an empty one."""
        missing = isinstance(answer, Refusal) and answer.kind is errors.Kind.NOT_FOUND
        return missing and self.quirks.missing_reads_empty

    async def _write(self, params: Params) -> Json | Failure:
        match params.take():
            case _File(files.FileParams(content=str() as content)) as file:
                pass
            case _Refused(failure):
                return failure
            case _:
                return errors.INTERNAL

        async def write() -> Written | Refusal:
            try:
                return await self._service.write(file.ticket, content)
            finally:
                file.release()

        # The end of the connection cancels handlers; half a write is worse than one nobody hears about
        running = asyncio.ensure_future(write())
        self._writes.add(running)
        running.add_done_callback(self._writes.discard)
        if (session := self._sessions.get(file.params.session_id)) is not None:
            session.writes.add(running)
            running.add_done_callback(session.writes.discard)
        answer = await asyncio.shield(running)
        if isinstance(answer, Refusal):
            return errors.failure(answer, file.params.path)
        if answer.saved is None and not answer.note:
            return {}
        return {"_meta": {"saved": answer.saved, **({"note": answer.note} if answer.note else {})}}

    async def _ask(self, params: Params) -> Json | Failure:
        session = self._sessions.get(str(params.get("sessionId")))
        call = params.get("toolCall")
        if session is None:
            return errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION)
        if not isinstance(call, dict):
            return errors.invalid("toolCall must be an object", errors.Kind.BAD_RANGE)
        options = permission.options_of(params)
        if not options:
            return errors.invalid("there is no option that could be chosen", errors.Kind.BAD_RANGE)
        if session.cancelled:  # openhands asks again after a cancel
            return _CANCELLED
        question = permission.question(
            f"{self.agent}:{next(self._serial)}",
            self.agent,
            session.id,
            session.calls.merged(cast("Json", call)),
            options,
            behind=not self.quirks.asks_for_ours,
        )
        chosen = await session.asks.wait(params, self._service.ask(question), _WITHDRAWN)
        if isinstance(chosen, Failure):
            return chosen if chosen is TAKEN_BACK else _CANCELLED
        if chosen is None or chosen not in {option.id for option in options}:
            return _CANCELLED
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def _terminal(self, method: str, params: Params) -> Json | Failure:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            return errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION)
        if method != terminal_requests.CREATE:
            answer = session.terminals.answer(method, params)
            if not isinstance(answer, Awaitable):
                return answer
            params.park()
            return await answer  # the turn's end ends the command, and that is the answer
        line = command_line.parse(params, self._env.get("PATH"))
        if isinstance(line, Failure):
            return line
        create = session.terminals.create(line, list(session.writes))
        return await session.asks.wait(params, create, terminal_requests.NO_TURN)

    async def _elicit(self, params: Params) -> Json | Failure:
        if not self._offers.elicitation:
            return _unknown(elicitation.CREATE)
        agents_id = params.get("sessionId")
        session = self._sessions.get(agents_id) if isinstance(agents_id, str) else None
        if session is None and agents_id is not None:
            return errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION)
        number = f"{self.agent}:{next(self._serial)}"
        asked = elicitation.parse(params, number, self.agent, session.id if session else None)
        if isinstance(asked, Failure):
            return asked
        if session is not None and session.cancelled:
            return elicitation.CANCELLED
        asks = session.asks if session is not None else self._asks
        answer = await asks.wait(params, self._service.elicit(asked), _WITHDRAWN)
        if isinstance(answer, Failure):
            return answer if answer is TAKEN_BACK else elicitation.CANCELLED
        return elicitation.result(asked, answer)


_CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}
_WITHDRAWN = Failure(errors.REQUEST_CANCELLED, "Request withdrawn", {})


def _unknown(method: str) -> Failure:
    return Failure(errors.METHOD_NOT_FOUND, "Method not found", {"method": method})
