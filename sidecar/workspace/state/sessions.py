"""Sessions: the agents' conversations as the workspace knows them: roots, turn, and tools that bypass the sidecar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import anyio

from sidecar.core.json_types import Json
from sidecar.core.uri import DocumentUri
from sidecar.disk import Roots
from sidecar.workspace.ports.ports import AgentFailed, OpenedSession, SessionRequest
from sidecar.workspace.state.allowed_commands import AllowedCommands

_SERVED_KINDS = frozenset({"think", "switch_mode"})
"""Tool calls of these kinds say nothing about what the agent may have read without us."""
_TITLE = 200
"""The number of characters of a tool call's title that are kept."""
_CALLS = 4096
"""The most tool calls under way in one turn; beyond it, the oldest are forgotten."""

_MAX_ENDED = 16
"""The number of ended tool calls whose times are kept: an agent does not remember for long."""


@dataclass(slots=True)
class _ReadsBehind:
    """A tool call that may read files without us."""

    kind: str
    told: int
    """The moment when it was reported."""
    ended: int = 0
    """The moment when it ended; 0: it is under way."""
    served: DocumentUri | None = None
    """The document that it read through us, the whole text, and so not without us."""
    parts: set[DocumentUri] = field(default_factory=set["DocumentUri"])
    """The documents of which it read some lines through us."""


@dataclass(slots=True)
class Session:
    """One agent session. `id` is the sidecar's own; agents' ids never leave acp/."""

    id: str
    agent: str
    cwd: str
    roots: Roots
    request: SessionRequest
    """The request that opens the session."""
    opened: OpenedSession | None = None
    guest: bool = False
    """Somebody else started its agent (guests.py)."""
    recorded: bool = False
    """Loaded, and the sidecar has a record of the conversation."""
    loading: bool = False
    """Its agent is sending the conversation's history."""
    replayed: bool = False
    """The history that the agent sends while loading is shown."""
    history: bool = False
    """Loaded, without a prompt since: nothing that its agent reports is happening now."""
    turn: int = 0
    running: bool = False
    """A turn has begun and has not ended."""
    acting: bool = False
    """The agent has the prompt of the running turn, has not ended it, and the user has not stopped it. Only then may it ask for anything
    to be done."""
    _may_begin: int | None = None
    """The turn whose requests may still begin, until the user stops it or all of its work has ended."""
    alive: bool = True
    tool_calls: dict[str, str] = field(default_factory=dict[str, str])
    """The tool calls under way in this turn: their titles, by id."""
    _told: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Their kinds, and when each kind was reported."""
    moment: Callable[[], int] = lambda: 0
    """The moments of `core.belief`, which tell what came first: a text that we gave, or a tool call."""
    _behind: dict[str, _ReadsBehind] = field(default_factory=dict[str, "_ReadsBehind"])
    """The tool calls under way that may be reading files without us, by id."""
    _ended: list[_ReadsBehind] = field(default_factory=list["_ReadsBehind"])
    """The last such tool calls that ended."""
    grants: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """What the user allowed for the rest of this session: (access, canonical path)."""
    commands: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """The command lines that the user allowed for the rest of this session: (canonical folder, *argv)."""
    allowed: AllowedCommands = field(default_factory=AllowedCommands)
    """The commands that the user allowed when the agent itself asked about them."""
    questions: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])
    told: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """The documents about whose conflicts the user was told in this turn."""
    unsaved: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """The documents whose save failed after a write of this session."""
    went_along: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """The documents for which the user was told that their unsaved text is sent with prompts."""
    saved_for: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """The documents for which the user was told that they were saved so that this agent sees them."""
    afterwards: dict[DocumentUri, int] = field(default_factory=dict[DocumentUri, int])
    """For documents that have another text than this session last knew: the hash of the text about which the session was told."""
    left: dict[DocumentUri, tuple[int, str]] = field(default_factory=dict[DocumentUri, tuple[int, str]])
    """For files that its own tools changed on the disk: the moment when the last such turn ended, and the file's text (compared form)
    then."""
    touched: dict[DocumentUri, tuple[int, int]] = field(default_factory=dict[DocumentUri, tuple[int, int]])
    """The documents changed in this turn, with the numbers of lines added and removed."""
    changed_at: dict[DocumentUri, int] = field(default_factory=dict[DocumentUri, int])
    """The first line (from 0) of the last change in each file, until it is reported."""

    def begin_turn(self) -> int:
        self.alive = True  # an agent that died is started again by its next prompt
        self.turn += 1
        self.history = False
        self.stop()
        self.running = True
        self._no_tool_calls()
        self.touched.clear()
        self.changed_at.clear()
        self.told.clear()
        self.allowed.clear()
        return self.turn

    def begin_guest_turn(self) -> None:
        """Like `begin_turn`, for a turn that no prompt begins. It does not count as running, because nobody reports its end."""
        self.turn += 1
        self.touched.clear()
        self.changed_at.clear()
        self.told.clear()
        self.prompted()

    def prompted(self) -> None:
        """The agent is given the prompt: from now on it may act."""
        self.acting = True
        self._may_begin = self.turn

    def answered(self) -> None:
        """The agent has ended the turn. Its earlier requests are completed; nothing else is done."""
        self.acting = False

    def stop(self) -> None:
        """The user stopped the turn: nothing that the agent asked for is begun any more."""
        self.acting = False
        self._may_begin = None

    def may_act(self, turn: int | None) -> bool:
        """Whether what the agent asked for in that turn (None: outside of any) may still be begun."""
        return self.alive and turn is not None and turn == self._may_begin

    @property
    def may_ask(self) -> bool:
        """Whether the user may be asked about what the agent wants: only while a turn runs that nobody has stopped."""
        return self.alive and self._may_begin is not None

    def end_turn(self) -> None:
        self.stop()
        self.running = False
        self._no_tool_calls()
        self.withdraw_questions()

    def _no_tool_calls(self) -> None:
        self.tool_calls.clear()
        self._told.clear()
        for call in list(self._behind):
            self._no_longer_behind(call)

    def withdraw_questions(self) -> None:
        """Take back every open question. A late "yes" then has no effect."""
        for scope in list(self.questions):
            scope.cancel()

    def observe(self, update: Json) -> None:
        """Note what an ACP session update says about tools that are not ours."""
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return
        call = update.get("toolCallId")
        if not isinstance(call, str):
            return
        title, kind, status = update.get("title"), update.get("kind"), update.get("status")
        if call not in self.tool_calls and kind not in _SERVED_KINDS:
            self._behind[call] = _ReadsBehind(kind if isinstance(kind, str) else "", self.moment())
        if status in ("completed", "failed"):
            self.tool_calls.pop(call, None)
            self._told.pop(call, None)
            self._no_longer_behind(call)
        else:
            if isinstance(kind, str) or call not in self._told:
                self._told[call] = kind if isinstance(kind, str) else "", self.moment()
            self.tool_calls[call] = (
                title[:_TITLE] if isinstance(title, str) else self.tool_calls.get(call, "")
            )
            if len(self.tool_calls) > _CALLS:
                forgotten = next(iter(self.tool_calls))
                del self.tool_calls[forgotten]
                self._told.pop(forgotten, None)
                self._no_longer_behind(forgotten)

    def kind_of(self, call: str) -> str:
        """The kind of a tool call under way; "" if it was not reported."""
        return self._told.get(call, ("", 0))[0]

    def reads_behind(self, call: str) -> bool:
        """Whether a tool call under way has read nothing through us."""
        return call in self._behind

    def command_started(self, terminal_id: str) -> None:
        """A command of this agent starts in a terminal of ours."""
        self._behind[terminal_id] = _ReadsBehind("execute", self.moment())

    def command_ended(self, terminal_id: str) -> None:
        self._no_longer_behind(terminal_id)

    def _no_longer_behind(self, call: str, served: DocumentUri | None = None) -> None:
        ended = self._behind.pop(call, None)
        if ended is not None:
            ended.ended, ended.served = self.moment(), served
            self._ended = [*self._ended[-(_MAX_ENDED - 1) :], ended]

    def current_tool_call(self) -> str | None:
        """The tool call that was announced last and has not ended. A request most likely belongs to it."""
        return next(reversed(self.tool_calls), None)

    def reads_by_program(self, received: int) -> bool:
        """Whether a read received at the moment `received` is only for the agent's program, which looks at a file before it writes it.
        That is so in a tool call that edits, and outside of any tool call for an agent that is known to do this."""
        for call in reversed(self.tool_calls):
            kind, told = self._told[call]
            if told < received:
                return kind == "edit"
        return self.opened is not None and self.opened.rereads

    def served(self, uri: DocumentUri, received: int, *, whole: bool = True) -> None:
        """A request of this agent for a text, received at the moment `received`, was answered by us. So the tool call under way was that
        request, unless it is a shell's or came later. If only a part of the text was asked for (`whole` is False), the call may have read the rest
        on the disk, but most likely has not."""
        self.came_to_us(received)
        call = self.current_tool_call() or ""
        under_way = self._behind.get(call)
        if under_way is None or under_way.kind == "execute" or under_way.told >= received:
            return
        if whole:
            self._no_longer_behind(call, uri)
        else:
            under_way.parts.add(uri)

    def came_to_us(self, received: int) -> None:
        """A request of this agent, received at the moment `received`, came to us. So the edit under way is that request. An edit that asks
        us for nothing writes the disk itself, and its agent knows what it put there."""
        call = self.current_tool_call() or ""
        under_way = self._behind.get(call)
        if under_way is not None and under_way.kind == "edit" and under_way.told < received:
            del self._behind[call]

    def behind_since(self, uri: DocumentUri, since: int, moment: int) -> int:
        """When the first tool that may have read or written files without us after `since` began; `since` if that was later. As known at
        `moment`."""
        return min([since, *(call.told for call in self._may_have_read(uri, since, moment))])

    def behind_again(self, uri: DocumentUri, since: int, moment: int) -> int | None:
        """When the first tool that may have read files without us began after `since`; None if none did. As known at `moment`."""
        began = (call.told for call in self._may_have_read(uri, since, moment))
        return min((told for told in began if told > since), default=None)

    def may_have_read_behind(self, uri: DocumentUri, since: int, moment: int) -> bool:
        """Whether the agent may have read this file other than through us after `since`, as known at `moment`."""
        return bool(self._may_have_read(uri, since, moment))

    def has_asked_us(self, uri: DocumentUri, since: int, moment: int) -> bool:
        """Whether every call that may have done so has asked us for some lines of this file."""
        return all(uri in call.parts for call in self._may_have_read(uri, since, moment))

    def _may_have_read(self, uri: DocumentUri, since: int, moment: int) -> list[_ReadsBehind]:
        """The tool calls under way, and those that ended after `since`, except those known by `moment` to be a read of this document through us. A
        write sent before that may still come from such a tool. If the agent was only ever given parts (`since` is 0), it had the rest from
        elsewhere: from any of them."""
        return [
            *self._behind.values(),
            *(
                call
                for call in self._ended
                if call.ended > since and (call.served != uri or call.ended > moment or not since)
            ),
        ]

    def touch(self, uri: DocumentUri, added: int, removed: int) -> None:
        a, r = self.touched.get(uri, (0, 0))
        self.touched[uri] = (a + added, r + removed)


class Sessions:
    """All sessions of one workspace, newest last."""

    def __init__(self) -> None:
        self._by_id: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(self._by_id.values())

    def add(self, session: Session) -> None:
        self._by_id[session.id] = session

    def get(self, session_id: str) -> Session | None:
        return self._by_id.get(session_id)

    def named(self, session_id: str) -> Session:
        """The session with this id, including a guest's. Raises AgentFailed with a message for the user."""
        session = self.get(session_id)
        if session is None:
            raise AgentFailed(
                "refused", f'there is no session "{session_id}"; start one with sidecar.newSession'
            )
        return session

    def own(self, session_id: str) -> Session:
        """The session with this id if it was begun here: a guest's takes no prompts and no choices. Raises AgentFailed with a message for
        the user."""
        session = self.named(session_id)
        if session.guest:
            raise AgentFailed(
                "refused", f"{session.agent} was not started from here; talk to it where it runs"
            )
        return session

    def newest(self, agent: str | None = None) -> Session | None:
        """The session of that agent, or of any, that was used last; never a guest's, which takes no prompts."""
        for session in reversed(self._by_id.values()):
            if session.alive and not session.guest and (agent is None or session.agent == agent):
                return session
        return None

    def used(self, session: Session) -> None:
        """Move a session to the newest place."""
        self._by_id[session.id] = self._by_id.pop(session.id)

    def remove(self, session_id: str) -> Session | None:
        session = self._by_id.pop(session_id, None)
        if session is not None:
            session.alive = False
            session.withdraw_questions()
            session.roots.close()
        return session
