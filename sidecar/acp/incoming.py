"""Incoming: the messages that an agent sends by itself: updates, and requests for files, for answers of the user, and for commands.

`admit` records them synchronously, in the order of their arrival; `handle` only carries them out. Requests from us to agents are in client.py.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sidecar.acp import (
    command_line,
    elicitation,
    errors,
    files,
    habits,
    owned_output,
    permission,
    terminal_requests,
)
from sidecar.acp.asks import TAKEN_BACK, Asks
from sidecar.acp.elsewhere.border import HERE, Border
from sidecar.acp.errors import Failure
from sidecar.acp.flow import Params
from sidecar.acp.limits import WireLimits
from sidecar.acp.noise import Noise
from sidecar.acp.offers import Offers
from sidecar.acp.options import Options
from sidecar.acp.quirks import NONE, Quirks
from sidecar.acp.sdk import AGENT_METHODS, CLIENT_METHODS, RequestError
from sidecar.acp.terminal_requests import SessionTerminals
from sidecar.acp.transport import LineTransport
from sidecar.acp.workspace_port import AnyWorkspace, ReadsNow, Ticket, Written
from sidecar.core.any_text import AnyText, narrowed
from sidecar.core.escape import plain
from sidecar.core.held import Held
from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal
from sidecar.workspace.ports.aside import ESCAPING, aside
from sidecar.workspace.ports.session_ports import Elicitation, Elicited

log = logging.getLogger(__name__)

UPDATE = CLIENT_METHODS["session_update"]
PROMPT = AGENT_METHODS["session_prompt"]
CLOSE = AGENT_METHODS["session_close"]
ASK = CLIENT_METHODS["session_request_permission"]
CANCEL_REQUEST = "$/cancel_request"

_LONG = 3.0
"""The seconds after which a read is assumed to wait for the user, and no longer keeps other messages from being read."""
_LONGEST_ID = 4096
"""The most characters of a tool call's id: ids are kept in many places."""
_EARLY = 4096
"""The most updates that are kept for sessions whose `session/new` is not answered yet. A large one counts as several."""
_EARLY_SIZE = 8192


@dataclass(slots=True, eq=False)
class OpenSession:
    """A session that is open with the agent."""

    id: str
    """The sidecar's own id of the session."""
    terminals: SessionTerminals
    options: Options = field(default_factory=lambda: Options({}))
    silent: bool = False
    """Whether its updates are history that must not be shown again."""
    calls: permission.ToolCalls = field(default_factory=permission.ToolCalls)
    asks: Asks = field(default_factory=Asks)
    """The requests that wait for the user."""
    writes: set[asyncio.Future[Written | Refusal]] = field(
        default_factory=set["asyncio.Future[Written | Refusal]"]
    )
    acting: bool = False
    """Whether the agent has a prompt that it has not answered and that was not cancelled. Only then may it ask."""
    heard: bool = False
    """Whether the agent has reported or asked for something since it received that prompt."""
    kept: str = ""
    """The mode in which the session stays (kept_mode.py). "" if it may have any mode."""
    left: int = 0
    """How often the session left that mode since its prompt or, without one, since it was opened."""


@dataclass(slots=True)
class _File:
    """A well-formed fs request with its place in the queue."""

    params: files.FileParams
    ticket: Ticket
    held: Held
    size: int
    """The bytes of its text as kept; 0 once they were given back."""

    async def content(self) -> AnyText:
        """The text of a write. Call this once: from then on only the caller has the text."""
        assert self.params.content is not None, "checked on arrival"
        taken = [self.params.content]
        self.params = replace(self.params, content=None)
        return await aside(len(taken[0]), lambda: narrowed(taken.pop()))

    def release(self) -> None:
        self.ticket.release()
        self.held.give_back(self.size)
        self.size = 0


@dataclass(slots=True)
class _Room:
    """The memory that the params of a request take."""

    held: Held
    size: int

    def release(self) -> None:
        self.held.give_back(self.size)
        self.size = 0


@dataclass(slots=True)
class _Refused:
    failure: Failure

    def release(self) -> None:
        pass


class Incoming:
    """The messages of one agent. `sessions`: its open sessions, by the agent's own ids. `transport` is set before the first message arrives."""

    transport: LineTransport

    def __init__(
        self,
        agent: str,
        service: AnyWorkspace,
        *,
        fs: bool,
        offers: Offers,
        env: Mapping[str, str],
        quirks: Quirks = NONE,
        limits: WireLimits = WireLimits(),  # noqa: B008  # frozen
        border: Border = HERE,
    ) -> None:
        self.agent = agent
        self.quirks = quirks
        self.sessions: dict[str, OpenSession] = {}
        self.asks = Asks()
        """The open questions that belong to no session."""
        self._service = service
        self._reads_now = cast("ReadsNow[Any]", service) if hasattr(service, "read_now") else None
        self._fs = fs
        self._offers = offers
        self._border = border
        self._env = env
        # Terminals go together with fs: an agent that runs commands without us also reads and writes files
        # without us. Windows has no sh.
        self.runs_commands = fs and sys.platform != "win32" and border.runs_commands
        self._loop = asyncio.get_running_loop()
        self.heard: Callable[[str, OpenSession, Json], None] = lambda agent_session_id, session, update: None
        """Called for each update of an open session."""
        self._noise = Noise(log, agent)
        self._early: dict[str, list[Json]] = {}
        self._early_count = 0
        self._opening = 0
        self._expecting = 0
        self._serial = itertools.count(1)
        self._held = Held(limits.held)
        self._writes: set[asyncio.Future[Written | Refusal]] = set()

    @contextmanager
    def expecting_questions(self) -> Generator[None]:
        """A request to the agent is under way during which it may ask questions that belong to no session: a login, or a new session."""
        self._expecting += 1
        try:
            yield
        finally:
            self._expecting -= 1

    def _may_ask(self) -> bool:
        return self._expecting > 0 or any(session.acting for session in self.sessions.values())

    @contextmanager
    def opening(self) -> Generator[None]:
        """`session/new` is unanswered: updates for an unknown session may belong to the new one."""
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1
            if not self._opening:
                self._early.clear()
                self._early_count = 0

    def opened(self, agent_session_id: str, session: OpenSession) -> None:
        """`session/new` was answered. Hands over the updates that arrived before."""
        for update in self._early.pop(agent_session_id, ()):
            self._early_count -= 1
            self._deliver(agent_session_id, session, update)

    # recorded in order

    def answered(self, method: str, session_id: object) -> None:
        """An answer to a request of ours has arrived. The answer to a prompt ends the turn, and the answer to `session/close` ends the session:
        later messages on the wire no longer belong to it."""
        session = self.sessions.get(str(session_id))
        if session is not None and method == PROMPT:
            session.acting = False
            self._service.prompt_answered(session.id)
        elif session is not None and method == CLOSE:
            del self.sessions[str(session_id)]

    def admit(self, method: str, params: Params, request: bool) -> bool:
        refused = self._border.arrived(method, params)
        if refused is not None and request:
            params.decided = _Refused(refused)
            return False
        if method == UPDATE and not request:
            self._update(params)
            return True
        if method in (files.READ, files.WRITE) and request:
            params.decided = decided = self._file(method, params)
            params.large = method == files.READ
            return isinstance(decided, _File) and self._read_now(decided, params)
        if request:
            # as for a text to be written, in `_file`: what is held while a person or a process is waited for
            params.decided = self._room(params)
            session = self.sessions.get(str(params.get("sessionId")))
            params.large = (
                method == terminal_requests.OUTPUT
                and session is not None
                and session.terminals.has_much(params.get("terminalId"))
            )
            return False
        if method == elicitation.COMPLETE and not request:
            self._complete(params.get("elicitationId"))
            return True
        if method == CANCEL_REQUEST and not request:
            self._withdrawn(params.get("requestId"))
            return True
        return True  # unknown notifications are ignored (JSON-RPC 2.0, section 4.1)

    def _room(self, params: Params) -> _Room | _Refused:
        size = self._held.take_size(size_of(params) if params.size is None else params.size)
        return _Refused(errors.failure(size, "")) if isinstance(size, Refusal) else _Room(self._held, size)

    def _update(self, params: Params) -> None:
        session_id, update = params.get("sessionId"), params.get("update")
        if not isinstance(session_id, str) or not isinstance(update, dict):
            self._noise.say("sent a session/update without a session or an update")
            return
        session = self.sessions.get(session_id)
        if session is not None:
            self._deliver(session_id, session, cast("Json", update))
        elif self._opening and self._early_count < _EARLY:
            # several agents (copilot, crow, vibe) send updates before they answer `session/new`
            self._early.setdefault(session_id, []).append(cast("Json", update))
            self._early_count += 1 + size_of(cast("object", update)) // _EARLY_SIZE
        else:
            self._noise.say("sent a session/update for a session it does not have", session_id)

    def _deliver(self, agent_session_id: str, session: OpenSession, update: Json) -> None:
        if session.silent:
            return
        session.heard = True
        call = update.get("toolCallId")
        if isinstance(call, str) and len(call) > _LONGEST_ID:
            self._noise.say("sent a session/update for a tool call whose id is too long", call)
            return
        if owned_output.is_one(update):
            owned_output.hand_over(self._service, session.id, update)
            return
        update = habits.told(session.options.heard(update))
        session.calls.heard(update)
        self.heard(agent_session_id, session, update)
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
        for name in params.keys() - _OF_FILES:  # `parsed` has the content; nobody needs the rest
            del params[name]
        if isinstance(parsed, Failure):
            return _Refused(parsed)
        session = self.sessions.get(parsed.session_id)
        if session is None:
            return _Refused(errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION))
        # Takes the room now, not in its turn: a request before it may wait for the user, and the text is held
        # meanwhile
        size = 0 if parsed.content is None else self._held.take(parsed.content)
        if isinstance(size, Refusal):
            return _Refused(errors.failure(size, parsed.path))
        return _File(parsed, self._service.ticket(session.id, parsed.path, parsed.access), self._held, size)

    def _read_now(self, file: _File, params: Params) -> bool:
        """Answer a read that need not wait for anything, without a task: agents send hundreds of reads."""
        if self._reads_now is None or file.params.access != "read" or self.transport.full:
            return False
        answer = self._reads_now.read_now(file.ticket, file.params.line, file.params.limit)
        if answer is None:
            return False
        params.take_back()
        if self._is_empty(answer):
            answer = ""
        if isinstance(answer, Refusal):
            error = self._border.failed(errors.failure(answer, file.params.path), params)
            self.transport.post({"jsonrpc": "2.0", "id": params.request_id, "error": error._asdict()})
        else:
            self.transport.answer_content(params.request_id, answer)
        return True

    def _withdrawn(self, request_id: object) -> None:
        """The agent withdraws a request of its own (`$/cancel_request`). Only questions can still be withdrawn."""
        for asks in (self.asks, *(session.asks for session in self.sessions.values())):
            for key, params in list(self.transport.handed_out.items()):
                if params.request_id == request_id:
                    asks.take_back(key)

    # carried out

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        assert isinstance(params, Params)
        refused = params.decided
        try:
            match method:
                case _ if isinstance(refused, _Refused):
                    answer = refused.failure
                case files.READ:
                    answer = await self._read(params)
                case files.WRITE:
                    answer = await self._write(params)
                case _ if method == ASK:
                    answer = await self._ask(params)
                case elicitation.CREATE:
                    answer = await self._elicit(params)
                case _ if method in terminal_requests.METHODS and self.runs_commands:
                    answer = await self._terminal(method, params)
                case _:
                    answer = _unknown(method)
        except Exception:
            log.exception("%s: %s failed", self.agent, method)
            answer = errors.INTERNAL
        finally:
            params.finish()
        if isinstance(answer, Failure) and not isinstance(refused, _Refused):
            answer = self._border.failed(answer, params)
        params.clear()  # whoever sends the answer keeps them until the agent reads
        if isinstance(answer, Failure):
            raise RequestError(answer.code, answer.message, answer.data)
        return answer

    async def _read(self, params: Params) -> Json | Failure:
        match params.take():
            case _File() as file:
                pass
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
        """Whether the answer is a missing file that this agent takes for an empty one."""
        missing = isinstance(answer, Refusal) and answer.kind is errors.Kind.NOT_FOUND
        return missing and self.quirks.missing_reads_empty

    async def _write(self, params: Params) -> Json | Failure:
        match params.take():
            case _File(files.FileParams(access="write")) as file:
                pass
            case _:
                return errors.INTERNAL

        async def write() -> Written | Refusal:
            try:
                return await self._service.write(file.ticket, await file.content())
            finally:
                file.release()

        # The end of the connection cancels handlers, but half a write is worse than one whose answer nobody
        # gets
        running = asyncio.ensure_future(write())
        self._writes.add(running)
        running.add_done_callback(self._writes.discard)
        if (session := self.sessions.get(file.params.session_id)) is not None:
            session.writes.add(running)
            running.add_done_callback(session.writes.discard)
        answer = await asyncio.shield(running)
        if isinstance(answer, Refusal):
            return errors.failure(answer, file.params.path)
        return files.written(answer.saved, answer.note)

    async def _ask(self, params: Params) -> Json | Failure:
        session = self.sessions.get(str(params.get("sessionId")))
        call = params.get("toolCall")
        if session is None:
            return errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION)
        if not isinstance(call, dict):
            return errors.invalid("toolCall must be an object", errors.Kind.BAD_PARAMS)
        options = permission.options_of(params)
        if not options:
            return errors.invalid("there is no option that could be chosen", errors.Kind.BAD_PARAMS)
        if not session.acting:  # openhands asks again after a cancel
            return _TOO_LATE
        known = session.calls.merged(cast("Json", call))
        number = f"{self.agent}:{next(self._serial)}"
        ours = self._asked_for_ours()

        async def ask() -> str | None:
            question = await aside(
                ESCAPING * session.calls.size(known),
                lambda: permission.question(number, self.agent, session.id, known, options, ours=ours),
            )
            return await self._service.ask(question)

        chosen = await session.asks.wait(params, ask(), _WITHDRAWN)
        if isinstance(chosen, Failure):
            return chosen if chosen is TAKEN_BACK else _CANCELLED
        if chosen is None or chosen not in {option.id for option in options}:
            return _CANCELLED
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _asked_for_ours(self) -> frozenset[str]:
        """The actions for which the agent asks permission before it asks us to carry them out. Actions that it is not offered, it carries out
        itself."""
        if not self._fs:
            return frozenset()
        return self.quirks.asks_for_ours - (frozenset() if self.runs_commands else {"execute"})

    async def _terminal(self, method: str, params: Params) -> Json | Failure:
        session = self.sessions.get(str(params.get("sessionId")))
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
        session = self.sessions.get(agents_id) if isinstance(agents_id, str) else None
        if session is None and agents_id is not None:
            return errors.invalid("there is no such session", errors.Kind.UNKNOWN_SESSION)
        number = f"{self.agent}:{next(self._serial)}"
        if not (session.acting if session is not None else self._may_ask()):
            return elicitation.CANCELLED
        about = dict(params)
        parsed: list[Elicitation] = []

        async def ask() -> Elicited | Failure:
            asked = await aside(
                ESCAPING * size_of(cast("object", about)),
                lambda: elicitation.parse(about, number, self.agent, session.id if session else None),
            )
            if isinstance(asked, Failure):
                return asked
            parsed.append(asked)
            return await self._service.elicit(asked)

        asks = session.asks if session is not None else self.asks
        answer = await asks.wait(params, ask(), _WITHDRAWN)
        if isinstance(answer, Failure):
            return elicitation.CANCELLED if answer is _WITHDRAWN else answer
        return elicitation.result(parsed[0], answer)


_CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}
_TOO_LATE: Json = {**_CANCELLED, "_meta": {"errorKind": str(errors.Kind.WITHDRAWN)}}
"""ACP has no error for a withdrawn question: it is answered `cancelled`."""
_WITHDRAWN = Failure(errors.REQUEST_CANCELLED, "Request withdrawn", {})


_OF_FILES = frozenset({"sessionId", "path"})
"""The params of a request for a file that are looked at after its arrival."""


def _unknown(method: str) -> Failure:
    return Failure(errors.METHOD_NOT_FOUND, "Method not found", {"method": method})
