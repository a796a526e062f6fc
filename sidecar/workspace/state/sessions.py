"""Sessions: the agents' conversations as the workspace knows them: roots, turn, what they did that we did not serve."""

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
"""Tool calls of these kinds tell nothing about what the agent may have read behind us."""
_TITLE = 200
"""Characters of a tool call's title that are kept."""
_CALLS = 4096
"""Tool calls under way in one turn; with more of them the oldest are forgotten."""

_MAX_ENDED = 16
"""Tool calls that ended whose time is kept: an agent does not remember for long."""


@dataclass(slots=True)
class Session:
    """One agent session. `id` is the sidecar's own; agents' ids never leave acp/."""

    id: str
    agent: str
    cwd: str
    roots: Roots
    request: SessionRequest
    """What it is opened with."""
    opened: OpenedSession | None = None
    guest: bool = False
    """Its agent was started by somebody else (guests.py)."""
    recorded: bool = False
    """Loaded, and the sidecar has a record of what was said in it."""
    loading: bool = False
    """Its agent is telling its history."""
    replayed: bool = False
    """That is shown."""
    history: bool = False
    """Loaded, without a prompt since: nothing that its agent tells is happening now."""
    turn: int = 0
    running: bool = False
    """A turn has begun and has not ended."""
    acting: bool = False
    """The agent has the prompt of the running turn, has not ended it, and the user has not stopped it. Only then it may ask for anything
    to be done."""
    _may_begin: int | None = None
    """The turn whose requests may still begin, until the user stops it or all of its work has ended."""
    alive: bool = True
    tool_calls: dict[str, str] = field(default_factory=dict[str, str])
    """Tool calls under way in this turn, by id, with their title."""
    _told: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Of what kind they are, and when that was told."""
    moment: Callable[[], int] = lambda: 0
    """The time of `core.belief`, in which it is told what came first: a text we gave, or a tool."""
    _behind: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Tool calls under way that may be reading files behind us, by id, with their kind and when they were told."""
    _ended: list[tuple[int, int, DocumentUri | None]] = field(
        default_factory=list[tuple[int, int, DocumentUri | None]]
    )
    """When the last of such tool calls began and ended, and the document that they read through us, and so not behind us."""
    grants: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """What the user allowed for the rest of this session: (access, canonical path)."""
    commands: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """Command lines the user allowed for the rest of this session: (canonical folder, *argv)."""
    allowed: AllowedCommands = field(default_factory=AllowedCommands)
    """Commands the user allowed when the agent asked about them itself."""
    questions: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])
    told: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """Documents about whose conflicts the user was told in this turn."""
    unsaved: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """Documents whose save failed after a write of this session."""
    went_along: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """Documents for which the user was told that their unsaved text is sent along with prompts."""
    saved_for: set[DocumentUri] = field(default_factory=set[DocumentUri])
    """Documents for which the user was told that they were saved so that this agent sees them."""
    afterwards: dict[DocumentUri, int] = field(default_factory=dict[DocumentUri, int])
    """Of documents that say something else than this session last knew: the hash of the text of which it was told that."""
    left: dict[DocumentUri, tuple[int, str]] = field(default_factory=dict[DocumentUri, tuple[int, str]])
    """What files said (compared form) at the end of the last turn in which its own tools changed them on the disk, and the moment of that."""
    touched: dict[DocumentUri, tuple[int, int]] = field(default_factory=dict[DocumentUri, tuple[int, int]])
    """Documents changed in this turn, with lines added and removed."""
    changed_at: dict[DocumentUri, int] = field(default_factory=dict[DocumentUri, int])
    """The first line (from 0) of the last change in each file, until somebody was told about it."""

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
        """As `begin_turn`, where no prompt begins it. It does not count as running, since nobody tells when it ends."""
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
        """The agent has ended the turn. What it requested before is completed, and nothing else is done."""
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
        """Whether the user may be asked about what the agent wants: while a turn runs that nobody has stopped."""
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
        """Every open question is taken back; a late "yes" then has nothing to act upon."""
        for scope in list(self.questions):
            scope.cancel()

    def observe(self, update: Json) -> None:
        """Notes what an ACP session update says about tools that are not ours."""
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return
        call = update.get("toolCallId")
        if not isinstance(call, str):
            return
        title, kind, status = update.get("title"), update.get("kind"), update.get("status")
        if call not in self.tool_calls and kind not in _SERVED_KINDS:
            self._behind[call] = kind if isinstance(kind, str) else "", self.moment()
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
        """Of a tool call under way, as far as it was told."""
        return self._told.get(call, ("", 0))[0]

    def reads_behind(self, call: str) -> bool:
        """Whether a tool call under way has read nothing through us."""
        return call in self._behind

    def command_started(self, terminal_id: str) -> None:
        """A command of this agent's runs in a terminal of ours from now on."""
        self._behind[terminal_id] = "execute", self.moment()

    def command_ended(self, terminal_id: str) -> None:
        self._no_longer_behind(terminal_id)

    def _no_longer_behind(self, call: str, served: DocumentUri | None = None) -> None:
        _, told = self._behind.pop(call, ("", 0))
        if told:
            self._ended = [*self._ended[-(_MAX_ENDED - 1) :], (told, self.moment(), served)]

    def current_tool_call(self) -> str | None:
        """The tool call that was announced last and has not ended: most likely what a request belongs to."""
        return next(reversed(self.tool_calls), None)

    def reads_by_program(self, received: int) -> bool:
        """Whether a read received at that moment is for the agent's program only, which looks at a file before it writes it: in a tool
        call that edits, or, from one known to do so, in none."""
        for call in reversed(self.tool_calls):
            kind, told = self._told[call]
            if told < received:
                return kind == "edit"
        return self.opened is not None and self.opened.rereads

    def served(self, uri: DocumentUri, received: int) -> None:
        """A request of this agent for a text, received at that moment, was answered by us: the tool call under way was that, unless
        it is a shell's or came later."""
        self.came_to_us(received)
        call = self.current_tool_call()
        kind, told = self._behind.get(call or "", ("execute", 0))
        if call is not None and kind != "execute" and told < received:
            self._no_longer_behind(call, uri)

    def came_to_us(self, received: int) -> None:
        """A request of this agent, received at that moment, came to us: that is what the edit under way is. An edit that asks
        us for nothing writes the disk itself, and its agent knows what it put there."""
        call = self.current_tool_call()
        kind, told = self._behind.get(call or "", ("", 0))
        if call is not None and kind == "edit" and told < received:
            del self._behind[call]

    def behind_since(self, uri: DocumentUri, since: int, moment: int) -> int:
        """When the first of what may have read or written files behind us after `since` began; `since` when that was later. As it looked
        at `moment`."""
        began = [told for _, told in self._behind.values()]
        return min([since, *began, *(told for told, _ in self._over(uri, since, moment))])

    def behind_again(self, uri: DocumentUri, since: int, moment: int) -> int | None:
        """When the first of what may have read files behind us began after `since`; None: nothing did. As it looked at `moment`."""
        began = [told for _, told in self._behind.values()]
        began += [told for told, _ in self._over(uri, since, moment)]
        return min((told for told in began if told > since), default=None)

    def may_have_read_behind(self, uri: DocumentUri, since: int, moment: int) -> bool:
        """Whether the agent may have read this file in another way than through us after `since`, as it looked at `moment`."""
        return bool(self._behind or self._over(uri, since, moment))

    def _over(self, uri: DocumentUri, since: int, moment: int) -> list[tuple[int, int]]:
        """Tool calls that ended after `since`, but for those that had turned out to be a read through us by `moment`: what was sent before
        that may come from a tool all the same."""
        return [
            (told, ended)
            for told, ended, served in self._ended
            if ended > since and (served != uri or ended > moment)
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
        """Also a guest's. Raises AgentFailed with words for a person."""
        session = self.get(session_id)
        if session is None:
            raise AgentFailed(
                "refused", f'there is no session "{session_id}"; start one with sidecar.newSession'
            )
        return session

    def own(self, session_id: str) -> Session:
        """One that was begun here: a guest's takes no prompts and no choices. Raises AgentFailed with words for a person."""
        session = self.named(session_id)
        if session.guest:
            raise AgentFailed(
                "refused", f"{session.agent} was not started from here; talk to it where it runs"
            )
        return session

    def newest(self, agent: str | None = None) -> Session | None:
        """The session used last by that agent, or by any; never a guest's, which takes no prompts."""
        for session in reversed(self._by_id.values()):
            if session.alive and not session.guest and (agent is None or session.agent == agent):
                return session
        return None

    def used(self, session: Session) -> None:
        """Moves a session to the newest place."""
        self._by_id[session.id] = self._by_id.pop(session.id)

    def remove(self, session_id: str) -> Session | None:
        session = self._by_id.pop(session_id, None)
        if session is not None:
            session.alive = False
            session.withdraw_questions()
            session.roots.close()
        return session
