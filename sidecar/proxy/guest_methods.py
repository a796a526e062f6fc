"""GuestMethods: what a guest of the proxy may call, over a connection of its own or within the proxy's process. Each method
answers `{"refused": {kind, message, data}}` for a refusal that the agent must get.

    join       {agent, folder, rereads, tools?} → {}    first, and once; `tools`: the secret of its tools (mcp/tokens.py)
    beginTurn  {} → {}                  answered when the agent may get its prompt
    endTurn    {stopReason} → {}
    stopTurn   {} → {}
    heard      {update} → {}            a tool call, in ACP's shape
    readFile   {path, line?, limit?} → {content}
    writeFile  {path, content} → {saved, note}

There is no token: only the connection that joined speaks for its session, which ends with the connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from sidecar.acp import files
from sidecar.acp.errors import Failure
from sidecar.acp.limits import WireLimits
from sidecar.bridge.server import Method
from sidecar.core.any_text import AnyText
from sidecar.core.escape import plain
from sidecar.core.held import Held
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.mcp.tokens import BYTES, Tokens
from sidecar.workspace.edits.write_task import WriteDone, withdrawn
from sidecar.workspace.ports.ports import AgentFailed
from sidecar.workspace.state.queues import Access, Ticket
from sidecar.workspace.state.sessions import Session

LONGEST_NAME = 100
"""In characters."""
LONGEST_PATH = 4096


class Guests(Protocol):
    """`workspace.guests.Guests`; see there for the contract of the methods."""

    def open(
        self,
        agent: str,
        folder: str,
        *,
        allowed: bool | None = None,
        rereads: bool = False,
        prompted: bool = False,
    ) -> str: ...
    def session(self, session_id: str) -> Session: ...
    def close(self, session_id: str) -> None: ...
    def admitted(self, session_id: str) -> Awaitable[Refusal | None]: ...


class Prompted(Protocol):
    """`workspace.prompted.Prompted`."""

    def begin_turn(self, session: Session) -> Awaitable[None]: ...
    def end_turn(self, session: Session, reason: str) -> Awaitable[None]: ...
    def stop_turn(self, session: Session) -> None: ...
    def heard(self, session: Session, update: Json) -> None: ...


class ProxyWorkspace(Protocol):
    """`workspace.service.Workspace`; see there for the contract of the methods."""

    @property
    def guests(self) -> Guests: ...
    @property
    def prompted(self) -> Prompted: ...
    def ticket(self, session_id: str, path: str, access: Access) -> Ticket: ...
    def read(
        self, ticket: Ticket, line: int | None = None, limit: int | None = None
    ) -> Awaitable[str | Refusal]: ...
    def write(self, ticket: Ticket, content: AnyText) -> Awaitable[WriteDone | Refusal]: ...


class GuestMethods:
    """The methods of one connection."""

    def __init__(
        self, service: ProxyWorkspace, tokens: Tokens | None = None, *, allowed: bool | None = None
    ) -> None:
        """`allowed`: the answer, if the user is not to be asked about the agent. None: ask."""
        self._service = service
        self._tokens = tokens
        self._allowed = allowed
        self._session: Session | None = None
        self._held = Held(WireLimits().held)
        self._running: set[asyncio.Future[Any]] = set()

    def methods(self) -> dict[str, Method]:
        of_session: dict[str, Callable[[Session, Mapping[str, Any]], Awaitable[object]]] = {
            "beginTurn": self._begin_turn,
            "endTurn": self._end_turn,
            "stopTurn": self._stop_turn,
            "heard": self._heard,
            "readFile": self._read,
            "writeFile": self._write,
        }
        return {"join": self._join, **{name: self._with_session(work) for name, work in of_session.items()}}

    def gone(self) -> None:
        """The connection has ended."""
        session, self._session = self._session, None
        if session is not None:
            self._run(self._leave(session))

    def _with_session(self, work: Callable[[Session, Mapping[str, Any]], Awaitable[object]]) -> Method:
        def called(params: Mapping[str, Any]) -> Awaitable[object]:
            return work(self._session, params) if self._session is not None else _nobody()

        return called

    async def _join(self, params: Mapping[str, Any]) -> object:
        agent, folder = params.get("agent"), params.get("folder")
        if self._session is not None or not isinstance(agent, str) or not isinstance(folder, str):
            return _refused(Refusal(Kind.BAD_PARAMS, "join needs an agent and a folder, and comes once"))
        if not os.path.isabs(folder) or "\0" in folder or len(folder) > LONGEST_PATH:
            return _refused(Refusal(Kind.BAD_PATH, "the folder of a session must be an absolute path"))
        try:
            name = f"{plain(agent, LONGEST_NAME)} (proxy)"
            guests, rereads = self._service.guests, params.get("rereads") is True
            opened = guests.open(name, folder, allowed=self._allowed, rereads=rereads, prompted=True)
            self._session = guests.session(opened)
            self._adopt(opened, params.get("tools"))
        except AgentFailed as failed:
            return _refused(Refusal(Kind.DENIED_BY_POLICY, failed.message))
        return {}

    def _adopt(self, session_id: str, secret: object) -> None:
        """Let a caller with this secret speak for the session. A short secret is ignored, because somebody could guess it."""
        if self._tokens is not None and isinstance(secret, str) and 2 * BYTES <= len(secret) <= LONGEST_PATH:
            self._tokens.adopt(session_id, secret)

    async def _leave(self, session: Session) -> None:
        if self._tokens is not None:
            self._tokens.forget(session.id)
        self._service.prompted.stop_turn(session)
        await self._service.prompted.end_turn(session, "")
        self._service.guests.close(session.id)

    async def _begin_turn(self, session: Session, params: Mapping[str, Any]) -> object:
        await self._service.prompted.begin_turn(session)
        return {}

    async def _end_turn(self, session: Session, params: Mapping[str, Any]) -> object:
        reason = params.get("stopReason")
        await self._service.prompted.end_turn(session, plain(reason, 60) if isinstance(reason, str) else "")
        return {}

    async def _stop_turn(self, session: Session, params: Mapping[str, Any]) -> object:
        self._service.prompted.stop_turn(session)
        return {}

    async def _heard(self, session: Session, params: Mapping[str, Any]) -> object:
        update = params.get("update")
        if isinstance(update, dict):
            self._service.prompted.heard(session, cast("dict[str, object]", update))
        return {}

    async def _read(self, session: Session, params: Mapping[str, Any]) -> object:
        wanted = files.parse(files.READ, {**params, "sessionId": ""})
        if isinstance(wanted, Failure):
            return _refused(Refusal(Kind.BAD_PARAMS, wanted.message))
        refused = await self._admitted(session, wanted.path)
        if refused is not None:
            return _refused(refused)
        ticket = self._service.ticket(session.id, wanted.path, "read")
        answer = await self._service.read(ticket, wanted.line, wanted.limit)
        return _refused(answer) if isinstance(answer, Refusal) else {"content": answer}

    async def _write(self, session: Session, params: Mapping[str, Any]) -> object:
        wanted = files.parse(files.WRITE, {**params, "sessionId": ""})
        if isinstance(wanted, Failure) or wanted.content is None:
            words = wanted.message if isinstance(wanted, Failure) else "content must be a string"
            return _refused(Refusal(Kind.BAD_PARAMS, words))
        size = self._held.take(wanted.content)
        if isinstance(size, Refusal):
            return _refused(size)
        try:
            refused = await self._admitted(session, wanted.path)
        except BaseException:
            self._held.give_back(size)
            raise
        if refused is not None:
            self._held.give_back(size)
            return _refused(refused)
        ticket = self._service.ticket(session.id, wanted.path, "write")
        # a write that has begun runs to its end: half of it is worse than one whose answer nobody gets
        running = self._run(self._service.write(ticket, wanted.content))
        running.add_done_callback(lambda _: self._held.give_back(size))
        answer = await asyncio.shield(running)
        if isinstance(answer, Refusal):
            return _refused(answer)
        return {"saved": answer.saved, "note": answer.note}

    async def _admitted(self, session: Session, path: str) -> Refusal | None:
        """None once the user has let the agent in. Before that, it gets no place in a queue, where others would wait for
        it."""
        turn = session.turn
        refused = await self._service.guests.admitted(session.id)
        return withdrawn(path) if refused is None and session.turn != turn else refused

    def _run(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        running = asyncio.ensure_future(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return running


def _refused(refusal: Refusal) -> object:
    return {"refused": {"kind": str(refusal.kind), "message": refusal.message, "data": dict(refusal.data)}}


async def _nobody() -> object:
    return _refused(
        Refusal(Kind.UNKNOWN_SESSION, "this connection has not joined, or its session was closed")
    )
