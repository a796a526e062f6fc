"""Conversations: the agent's sessions and their turns, as far as they show on the wire: where each session works, and when it has a prompt.

Sans-IO, except that it calls the guests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from sidecar.acp.facts import at
from sidecar.acp.v2.foreground import Foreground
from sidecar.proxy.heads import Head, Key

MOST_ASKED = 4096
"""The most unanswered requests of the client that are remembered; beyond that, the oldest are forgotten. Only prompts and requests that open
or end sessions count."""
MOST_SESSIONS = 1024
MOST_IN = 8
"""The most sessions without a turn that stay with a sidecar, each with a connection: those that were used last."""
_OPENINGS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_ENDINGS = frozenset({"session/close", "session/delete"})
PROMPT = "session/prompt"
CANCEL = "session/cancel"


class SessionFolders(NamedTuple):
    """Where a session works, according to the client."""

    cwd: str
    additional: tuple[str, ...] = ()


class Guest(Protocol):
    """See guest.py."""

    def turn_begins(self) -> Awaitable[None]: ...
    def turn_ends(self, reason: str) -> None: ...
    def stopped(self) -> None: ...
    def heard(self, update: Mapping[str, Any]) -> None: ...
    def rest(self) -> None: ...
    def leave(self) -> None: ...
    async def aclose(self) -> None: ...
    def read(self, path: str, line: int | None, limit: int | None) -> Awaitable[Any]: ...
    def write(self, path: str, content: str) -> Awaitable[Any]: ...


class _Session(msgspec.Struct, rename="camel"):
    session_id: str = ""
    cwd: str = ""
    additional_directories: list[str] | None = None


class _Result(msgspec.Struct, rename="camel"):
    session_id: str = ""
    stop_reason: str = ""


class _Update(msgspec.Struct, rename="camel"):
    session_id: str
    update: dict[str, Any]


class _Told(msgspec.Struct):
    params: _Update


class _Asked(NamedTuple):
    method: str
    session: _Session
    led: str = ""


class Conversations:
    def __init__(self, guest: Callable[[SessionFolders, str, str], Guest]) -> None:
        """`guest` makes the guest for folders, the agent's id of the session, and the secret with which its own tools are redirected to ours
        (`asked`)."""
        self._make = guest
        self._guests: OrderedDict[str, Guest] = OrderedDict()
        """By the agent's own ids."""
        self._asked: OrderedDict[Key, _Asked] = OrderedDict()
        self.version = 1
        """The version of ACP. From version 2 on, an answer to a prompt does not end its turn."""
        self._foregrounds: dict[str, Foreground] = {}
        """For the sessions that have a turn, in version 2."""

    @property
    def guests(self) -> list[Guest]:
        return list(self._guests.values())

    def guest(self, session_id: str) -> Guest | None:
        return self._guests.get(session_id)

    def asked(self, head: Head, led: str = "") -> Awaitable[None] | None:
        """A request or notification of the client. Returns what must be over before it is passed on. `led`: the secret of own_tools.py, if it
        opens a session."""
        method = str(head.method)
        if method not in _OPENINGS | _ENDINGS | {PROMPT, CANCEL}:
            return None
        session = _read(head.params, _Session)
        if session is None:
            return None
        guest = self._guests.get(session.session_id)
        if method == CANCEL:
            if guest is not None:
                guest.stopped()
            return None
        if (key := head.key) is None:
            return None
        if (earlier := self._asked.pop(key, None)) is not None:  # the same id again
            self._forgotten(earlier)
        self._asked[key] = _Asked(method, session, led)
        if len(self._asked) > MOST_ASKED:
            self._forgotten(self._asked.popitem(last=False)[1])
        if method in ("session/load", "session/resume"):
            self._opened(session.session_id, session)
        if method != PROMPT or guest is None:
            return None
        self._guests.move_to_end(session.session_id)
        if self.version > 1:
            self._foregrounds.setdefault(session.session_id, Foreground()).prompt(0)
        for other in list(self._guests.values())[:-MOST_IN]:
            other.rest()
        return guest.turn_begins()

    def answered(self, head: Head) -> None:
        """An answer of the agent to any request of the client."""
        asked = self._asked.pop(key, None) if self._asked and (key := head.key) is not None else None
        if asked is None:
            return
        result = _read(head.result, _Result)
        guest = self._guests.get(asked.session.session_id)
        if asked.method == PROMPT:
            if guest is not None and self.version == 1:
                guest.turn_ends(result.stop_reason if result is not None else "")
            elif (foreground := self._foregrounds.get(asked.session.session_id)) is not None:
                answer: dict[str, Any] = {"error": None} if result is None else {"result": {}}
                self._idle(asked.session.session_id, foreground.accepted(answer))
        elif asked.method in _ENDINGS:
            if self._guests.pop(asked.session.session_id, None) is not None and guest is not None:
                guest.leave()
        elif result is not None and result.session_id:
            self._opened(result.session_id, asked.session, asked.led)

    def _forgotten(self, asked: _Asked) -> None:
        """The answer to this request will not be recognised: end its turn, which must not go on for ever."""
        guest = self._guests.get(asked.session.session_id)
        if asked.method == PROMPT and guest is not None:
            guest.turn_ends("")

    def told(self, line: bytes) -> None:
        """A `session/update`: its tool calls show what the agent does without us."""
        if b"tool_call" not in line and (self.version == 1 or b"state_update" not in line):
            return
        try:
            told = msgspec.json.decode(line, type=_Told).params
        except (msgspec.MsgspecError, RecursionError):
            return
        guest, foreground = self._guests.get(told.session_id), self._foregrounds.get(told.session_id)
        if foreground is not None and told.update.get("sessionUpdate") == "state_update":
            self._idle(told.session_id, foreground.state(told.update, others=False))
        elif guest is not None and told.update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            guest.heard(told.update)

    def _idle(self, session_id: str, end: dict[str, Any] | None) -> None:
        """End the session's turn, in version 2. `end`: None while the turn goes on."""
        guest = self._guests.get(session_id)
        if end is not None:
            self._foregrounds.pop(session_id, None)
            if guest is not None:
                guest.turn_ends(str(at(end, "result", "stopReason") or ""))

    def _opened(self, session_id: str, session: _Session, led: str = "") -> None:
        if not session.cwd or session_id in self._guests:
            return
        self._guests[session_id] = self._make(
            SessionFolders(session.cwd, tuple(session.additional_directories or ())), session_id, led
        )
        if len(self._guests) > MOST_SESSIONS:
            forgotten, guest = self._guests.popitem(last=False)
            self._foregrounds.pop(forgotten, None)
            guest.leave()


def _read(value: msgspec.Raw | msgspec.UnsetType, kind: type[Any]) -> Any:
    if value is msgspec.UNSET:
        return None
    try:
        return msgspec.json.decode(value, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None
