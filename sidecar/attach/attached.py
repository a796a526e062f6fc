"""Attached: what an attached client may call over the bridge, over a connection of its own. Each method answers `{"refused": words}`
if it refuses.

    attach         {client, folder} → {}     first, and once
    sessions       {} → {sessions: [row]}    as `sidecar.listSessions`, of the editor's folders
    newSession     {agent?, cwd, tag}        → {}, then the event `answer`
    loadSession    {sessionId, tag, replay}  → {}, then the events of its history, then `answer`
    forkSession    {sessionId, tag}          → {}, then the event `answer`
    promptSession  {sessionId, prompt, tag}  → {}, then the turn's updates, then `answer`
    cancelSession  {sessionId} → {}
    setMode        {sessionId, modeId} → {modes}
    setOption      {sessionId, configId, value} → {configOptions}
    answerQuestion {id, optionId} → {counts: true | false}
    events         {} → {events}             waits for events; none if nothing came for a while; {dropped: words} at the end

Events, in the order in which things happened:

    {update, sessionId}          ACP's session update
    {asked: {id, sessionId, toolCall, options}}     {withdrawn: id}
    {answer: tag, result | error: {message, kind}}

There is no token: only the connection that attached speaks for itself, and its attachment ends with it. The sessions continue.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from sidecar.attach import asking
from sidecar.attach.inbox import Inbox
from sidecar.bridge.server import Method
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal
from sidecar.workspace.ports.ports import AgentFailed, OpenedSession, Question
from sidecar.workspace.sessions.audience import Audience
from sidecar.workspace.state.sessions import Session

LONGEST_NAME = 100
"""In characters."""
LONGEST_PATH = 4096
MOST_SESSIONS = 256
"""The most sessions that one client hears at a time."""
POLL = 60.0
"""The seconds that `events` waits."""
WANTS = "take part in your conversations with agents (read them, send prompts, answer what agents ask)"
TOO_SLOW = "it did not read its messages; attach again, and load the conversations"
STOPPED = "you stopped it in the editor"


class Guests(Protocol):
    """`workspace.guests.Guests`; see there for the contract of the methods."""

    def open(self, agent: str, folder: str, *, allowed: bool | None = None, wants: str = "") -> str: ...
    def session(self, session_id: str) -> Session: ...
    def close(self, session_id: str) -> None: ...
    def is_let_in(self, session_id: str) -> bool: ...
    def admitted(self, session_id: str) -> Awaitable[Refusal | None]: ...


class Conversations(Protocol):
    """`workspace.sessions.conversations.Conversations`; see there for the contract of the methods."""

    async def list(self) -> Sequence[Json]: ...
    async def load(self, session_id: str, replay: bool) -> Json: ...
    async def fork(self, session_id: str) -> Json: ...
    async def history(self, listener: Attached, session_id: str) -> Sequence[Json]: ...
    async def set_mode(self, session_id: str, mode_id: str, by: Attached) -> Json: ...
    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool, by: Attached
    ) -> Sequence[Json]: ...


class AttachWorkspace(Protocol):
    """`workspace.service.Workspace`; see there for the contract of the methods."""

    @property
    def guests(self) -> Guests: ...
    @property
    def audience(self) -> Audience: ...
    @property
    def conversations(self) -> Conversations: ...
    def has_session(self, session_id: str) -> bool: ...
    async def new_session(self, agent: str | None, cwd: str) -> OpenedSession: ...
    def start_prompt(
        self, session_id: str, blocks: Sequence[Json], *, by: Attached
    ) -> tuple[str, int, Awaitable[Json]]: ...
    def cancel(self, session_id: str) -> None: ...


class Attached:
    """One client. It is an `audience.Listener`."""

    def __init__(self, service: AttachWorkspace) -> None:
        self._service = service
        self._guest: Session | None = None
        self._inbox = Inbox(lambda: self._drop(TOO_SLOW))
        self._heard: set[str] = set()
        self._dropped = ""
        self._running: set[asyncio.Future[Any]] = set()

    def methods(self) -> dict[str, Method]:
        let_in: dict[str, Callable[[Mapping[str, Any]], Awaitable[object]]] = {
            "sessions": self._sessions,
            "newSession": self._new,
            "loadSession": self._load,
            "forkSession": self._fork,
            "promptSession": self._prompt,
            "cancelSession": self._cancel,
            "setMode": self._set_mode,
            "setOption": self._set_option,
            "answerQuestion": self._answer,
        }
        return {
            "attach": self._attach,
            "events": self._events,
            **{name: self._if_let_in(work) for name, work in let_in.items()},
        }

    def gone(self) -> None:
        """The client has hung up. Whatever it began continues."""
        self._heard.clear()
        self._service.audience.leave(self)
        self._inbox.clear()
        guest, self._guest = self._guest, None
        if guest is not None:
            self._service.guests.close(guest.id)

    # audience.Listener

    def hears(self, session_id: str) -> bool:
        return session_id in self._heard

    def update(self, session_id: str, update: Json) -> None:
        self._tell({"sessionId": session_id, "update": update})

    def asked(self, question: Question) -> None:
        self._tell({"asked": asking.permission(question)})

    def withdrawn(self, question_id: str) -> None:
        self._tell({"withdrawn": question_id})

    def _tell(self, event: Json) -> None:
        guest = self._guest
        if guest is None or self._dropped:
            return
        if not self._service.guests.is_let_in(guest.id):
            self._drop(STOPPED)
            return
        self._inbox.put(event)

    def _drop(self, words: str) -> None:
        self._dropped = words
        self._heard.clear()
        self._inbox.clear()
        self._service.audience.leave(self)

    # the methods that it calls

    async def _attach(self, params: Mapping[str, Any]) -> object:
        client, folder = params.get("client"), params.get("folder")
        if self._guest is not None or not isinstance(client, str) or not isinstance(folder, str):
            return _refused("attach needs a client and a folder, and comes once")
        if not os.path.isabs(folder) or "\0" in folder or len(folder) > LONGEST_PATH:
            return _refused("the folder must be an absolute path")
        name = f"{plain(client, LONGEST_NAME) or 'a client'} (attached)"
        try:
            guests = self._service.guests
            self._guest = guests.session(guests.open(name, folder, wants=WANTS))
        except AgentFailed as failed:
            return _refused(failed.message)
        self._service.audience.join(self)
        return {}

    def _if_let_in(self, work: Callable[[Mapping[str, Any]], Awaitable[object]]) -> Method:
        async def called(params: Mapping[str, Any]) -> object:
            guest = self._guest
            if guest is None:
                return _refused("this connection has not attached")
            if self._dropped:
                return _refused(f"this client was dropped: {self._dropped}")
            refused = await self._service.guests.admitted(guest.id)
            if refused is not None:
                return _refused(refused.message)
            try:
                return await work(params)
            except AgentFailed as failed:
                return _refused(failed.message, failed.kind)

        return called

    async def _events(self, params: Mapping[str, Any]) -> object:
        if self._guest is None:
            return _refused("this connection has not attached")
        events = [] if self._dropped else await self._inbox.take(POLL)
        return {"dropped": self._dropped} if self._dropped else {"events": events}

    async def _sessions(self, params: Mapping[str, Any]) -> object:
        return {"sessions": await self._rows()}

    async def _rows(self) -> list[Json]:
        rows = await self._service.conversations.list()
        return [row for row in rows if self._is_ours(str(row["cwd"]))]

    def _is_ours(self, folder: str) -> bool:
        """Whether the folder is one of the editor's folders, or lies in one."""
        assert self._guest is not None
        roots, real = self._guest.roots, os.path.realpath(folder)
        return roots.is_root(real) or roots.match(real) is not None

    async def _new(self, params: Mapping[str, Any]) -> object:
        agent, cwd = params.get("agent"), _text(params, "cwd")
        if not os.path.isabs(cwd) or "\0" in cwd or len(cwd) > LONGEST_PATH or not self._is_ours(cwd):
            raise AgentFailed(
                "refused",
                f"{plain(cwd, 300)} is in no folder of the editor that this client is attached to; start the client in one of that editor's folders",
            )
        if agent is not None and not isinstance(agent, str):
            raise AgentFailed("refused", "the agent should be a name")
        self._room()
        opened = await self._service.new_session(agent, cwd)
        return self._began(params, opened.session_id, opened.choices)

    async def _fork(self, params: Mapping[str, Any]) -> object:
        session_id = await self._listed(params)
        self._room()
        fork = await self._service.conversations.fork(session_id)
        return self._began(params, str(fork["sessionId"]), fork)

    def _began(self, params: Mapping[str, Any], session_id: str, choices: Json) -> object:
        self._heard.add(session_id)
        result = {"sessionId": session_id, **_choices(choices)}
        self._tell({"answer": params.get("tag"), "result": result})
        self._service.audience.came(self, session_id)
        return {}

    async def _listed(self, params: Mapping[str, Any]) -> str:
        session_id = _text(params, "sessionId")
        rows = {str(row["sessionId"]) for row in await self._rows()}
        if session_id not in rows:
            raise AgentFailed(
                "refused",
                f'there is no conversation "{plain(session_id, 60)}" in the editor\'s folders; session/list lists them',
            )
        return session_id

    async def _load(self, params: Mapping[str, Any]) -> object:
        session_id = await self._listed(params)
        self._room()
        # the editor shows nothing that its user did not ask for
        loaded = await self._service.conversations.load(session_id, False)
        answer: dict[str, object] = {"answer": params.get("tag"), "result": _choices(loaded)}
        gate = self._inbox.gate()
        events: list[Json] = []
        self._heard.add(session_id)
        try:
            history = await self._service.conversations.history(self, session_id)
            replayed = history if params.get("replay") is not False else ()
            events = [*({"sessionId": session_id, "update": update} for update in replayed), answer]
        except OSError as error:
            self._heard.discard(session_id)
            raise AgentFailed(
                "refused", f"the record of this conversation cannot be read: {error.strerror}"
            ) from error
        finally:
            gate.open(events)
        return {}

    def _room(self) -> None:
        if len(self._heard) >= MOST_SESSIONS:
            raise AgentFailed("refused", f"this client has {MOST_SESSIONS} conversations open; restart it")

    async def _prompt(self, params: Mapping[str, Any]) -> object:
        session_id, blocks, tag = self._session(params), params.get("prompt"), params.get("tag")
        if (
            not isinstance(blocks, list)
            or not blocks
            or not all(isinstance(block, dict) for block in cast("list[object]", blocks))
        ):
            raise AgentFailed("refused", "the prompt should be a list of content blocks, and not empty")
        _, _, outcome = self._service.start_prompt(session_id, cast("list[Json]", blocks), by=self)
        self._run(self._to_its_end(tag, outcome))
        return {}

    async def _to_its_end(self, tag: object, outcome: Awaitable[Json]) -> None:
        ended = await outcome
        error = ended.get("error")
        if isinstance(error, str):
            words = {"message": error, "kind": ended.get("errorKind", "failed")}
            self._tell({"answer": tag, "error": words})
        else:
            self._tell({"answer": tag, "result": {"stopReason": ended.get("stopReason")}})

    async def _cancel(self, params: Mapping[str, Any]) -> object:
        self._service.cancel(self._session(params))
        return {}

    async def _set_mode(self, params: Mapping[str, Any]) -> object:
        return {
            "modes": await self._service.conversations.set_mode(
                self._session(params), _text(params, "modeId"), self
            )
        }

    async def _set_option(self, params: Mapping[str, Any]) -> object:
        value = params.get("value")
        if not isinstance(value, str | bool):
            raise AgentFailed("refused", "the value should be a text, true or false")
        options = await self._service.conversations.set_config_option(
            self._session(params), _text(params, "configId"), value, self
        )
        return {"configOptions": list(options)}

    async def _answer(self, params: Mapping[str, Any]) -> object:
        counts = self._service.audience.answered(self, _text(params, "id"), _text(params, "optionId"))
        return {"counts": counts}

    def _session(self, params: Mapping[str, Any]) -> str:
        """A session that the client has opened or loaded."""
        session_id = _text(params, "sessionId")
        if session_id not in self._heard:
            raise AgentFailed(
                "refused",
                f'this client has no conversation "{plain(session_id, 60)}" open; load it first (session/load)',
            )
        if not self._service.has_session(session_id):
            self._heard.discard(session_id)
            raise AgentFailed(
                "refused", "this conversation was closed in the editor; load it again (session/load)"
            )
        return session_id

    def _run(self, work: Awaitable[Any]) -> None:
        running = asyncio.ensure_future(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)


def _choices(answer: Json) -> dict[str, object]:
    """The choices that ACP's answers have fields for."""
    return {key: answer[key] for key in ("modes", "configOptions") if key in answer}


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise AgentFailed("refused", f"{name} should be a text")
    return value


def _refused(words: str, kind: str = "refused") -> object:
    return {"refused": words, "kind": kind}
