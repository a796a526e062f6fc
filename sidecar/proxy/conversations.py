"""Conversations: the agent's sessions and their turns, as far as they show on the wire: where each one works, and when it has a prompt.

Sans-IO but for the guests, which it tells.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from sidecar.proxy.heads import Head, Key

MOST_ASKED = 4096
"""Requests of the client that may be unanswered; the oldest are forgotten beyond that. They are the prompts and the openings only."""
MOST_SESSIONS = 1024
MOST_IN = 8
"""Sessions that stay with a sidecar, each with a connection, while they have no turn: those that were used last."""
_OPENINGS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_ENDINGS = frozenset({"session/close", "session/delete"})
PROMPT = "session/prompt"
CANCEL = "session/cancel"


class SessionFolders(NamedTuple):
    """Where a session works, as the client said."""

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


class Conversations:
    def __init__(self, guest: Callable[[SessionFolders], Guest]) -> None:
        self._make = guest
        self._guests: OrderedDict[str, Guest] = OrderedDict()
        """By the agent's own ids."""
        self._asked: OrderedDict[Key, _Asked] = OrderedDict()

    @property
    def guests(self) -> list[Guest]:
        return list(self._guests.values())

    def guest(self, session_id: str) -> Guest | None:
        return self._guests.get(session_id)

    def asked(self, head: Head) -> Awaitable[None] | None:
        """A request or notification of the client's; what must be over before it is passed on."""
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
        self._asked[key] = _Asked(method, session)
        if len(self._asked) > MOST_ASKED:
            self._forgotten(self._asked.popitem(last=False)[1])
        if method in ("session/load", "session/resume"):
            self._opened(session.session_id, session)
        if method != PROMPT or guest is None:
            return None
        self._guests.move_to_end(session.session_id)
        for other in list(self._guests.values())[:-MOST_IN]:
            other.rest()
        return guest.turn_begins()

    def answered(self, head: Head) -> None:
        """An answer of the agent's, to whatever the client asked."""
        asked = self._asked.pop(key, None) if self._asked and (key := head.key) is not None else None
        if asked is None:
            return
        result = _read(head.result, _Result)
        guest = self._guests.get(asked.session.session_id)
        if asked.method == PROMPT:
            if guest is not None:
                guest.turn_ends(result.stop_reason if result is not None else "")
        elif asked.method in _ENDINGS:
            if self._guests.pop(asked.session.session_id, None) is not None and guest is not None:
                guest.leave()
        elif result is not None and result.session_id:
            self._opened(result.session_id, asked.session)

    def _forgotten(self, asked: _Asked) -> None:
        """No answer to it will be known: a turn must not go on for ever."""
        guest = self._guests.get(asked.session.session_id)
        if asked.method == PROMPT and guest is not None:
            guest.turn_ends("")

    def told(self, line: bytes) -> None:
        """A `session/update`: what it says of tool calls shows what the agent does behind us."""
        if b"tool_call" not in line:
            return
        try:
            told = msgspec.json.decode(line, type=_Told).params
        except (msgspec.MsgspecError, RecursionError):
            return
        guest = self._guests.get(told.session_id)
        if guest is not None and told.update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            guest.heard(told.update)

    def _opened(self, session_id: str, session: _Session) -> None:
        if not session.cwd or session_id in self._guests:
            return
        self._guests[session_id] = self._make(
            SessionFolders(session.cwd, tuple(session.additional_directories or ()))
        )
        if len(self._guests) > MOST_SESSIONS:
            self._guests.popitem(last=False)[1].leave()


def _read(value: msgspec.Raw | msgspec.UnsetType, kind: type[Any]) -> Any:
    if value is msgspec.UNSET:
        return None
    try:
        return msgspec.json.decode(value, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None
