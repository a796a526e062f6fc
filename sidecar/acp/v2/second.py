"""Second: ACP version 2 on the wire, in both directions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import cast

from sidecar.acp.dialect import OWNED, Dialect
from sidecar.acp.messages import Message, answer_key
from sidecar.acp.v2 import handshake, questions, sessions
from sidecar.acp.v2.children import Children
from sidecar.acp.v2.fields import id_of, object_of
from sidecar.acp.v2.foreground import Foreground
from sidecar.acp.v2.updates import SessionUpdates
from sidecar.core.json_types import Json

_MOST = 16
"""The most remembered sessions that we have not opened: those of sub-agents, and those that an agent reports before it
answers."""
_NAMES = {"authenticate": "auth/login", "logout": "auth/logout", "session/load": "session/resume"}
_OPENS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_UPDATE, _ASK, _ELICIT = "session/update", "session/request_permission", "elicitation/create"


class _Session:
    def __init__(self) -> None:
        self.foreground = Foreground()
        self.updates = SessionUpdates()


class Second(Dialect):
    number = handshake.VERSION
    has_files = False

    def __init__(self) -> None:
        self._programs = False
        """Whether the agent starts MCP servers for its sessions."""
        self._asked: dict[int, tuple[str, str]] = {}
        """Our unanswered requests: the method of version 1 and the session, by id."""
        self._sessions: dict[str, _Session] = {}
        """The sessions that we have opened."""
        self._others: OrderedDict[str, _Session] = OrderedDict()
        self._children = Children()

    # ours to the agent's

    def told(self, message: Message) -> Sequence[Message]:
        method = message.get("method")
        if not isinstance(method, str):
            return (message,)  # answers have the same shape
        params = object_of(message.get("params"))
        session_id = id_of(params, "sessionId") or ""
        if isinstance(request_id := message.get("id"), int):
            self._asked[request_id] = method, session_id
            if method == "session/prompt":
                self._of(session_id).foreground.prompt(request_id)
        match method:
            case "initialize":
                params = handshake.request(params)
            case _ if method in _OPENS:
                params = sessions.place(params, programs=self._programs)
                if method in ("session/load", "session/resume"):
                    self._ours(session_id)
                if method == "session/load":
                    params = {**params, "replayFrom": {"type": "start"}}
            case "session/set_config_option":
                params = sessions.chosen(params)
            case "session/set_mode" if option := self._of(session_id).updates.mode_option:
                value = {"configId": option, "type": "id", "value": params.get("modeId")}
                params, method = {"sessionId": session_id, **value}, "session/set_config_option"
            case "session/cancel":
                children = [
                    {**message, "params": {"sessionId": one}} for one in self._children.at_work(session_id)
                ]
                return message, *children
            case _:
                pass
        return ({**message, "method": _NAMES.get(method, method), "params": params},)

    def stops(self, session_id: str, terminal: str) -> tuple[str, Json] | None:
        if not terminal.startswith(OWNED):
            return None
        terminal, updates = terminal.removeprefix(OWNED), self._of(session_id).updates
        if updates.displays.can_cancel(terminal):
            return "terminal/cancel", {"sessionId": session_id, "terminalId": terminal}
        call = updates.calls.cancellable(OWNED + terminal)
        return None if call is None else ("tool_call/cancel", {"sessionId": session_id, "toolCallId": call})

    # the agent's to ours

    def heard(self, message: Message) -> Sequence[Message]:
        translated: Callable[[Message, Json], Sequence[Message]]
        match message.get("method"):
            case None:
                return self._answered(message)
            case method if method == _UPDATE and "id" not in message:
                translated = self._told
            case method if method in (_ASK, _ELICIT) and "id" in message:
                translated = self._asks
            case _:
                return (message,)
        params = message.get("params")
        if not isinstance(params, dict):
            return (message,)
        return translated(message, cast("Json", params))

    def _answered(self, message: Message) -> Sequence[Message]:
        key = answer_key(message.get("id"))
        method, session_id = self._asked.pop(key, ("", "")) if key is not None else ("", "")
        result = message.get("result")
        if method == "session/prompt":
            answer = self._of(session_id).foreground.accepted(message)
            return () if answer is None else (answer,)
        if message.get("error") is not None:
            return (message,)
        if method == "session/close":
            ended = self._of(session_id).foreground.gone()
            self._sessions.pop(session_id, None)
            return (message,) if ended is None else (ended, message)
        if not isinstance(result, dict):
            return (message,)
        fields = cast("Json", result)
        match method:
            case "initialize":
                self._programs = handshake.takes_programs(fields)
                return ({**message, "result": handshake.answer(fields)},)
            case _ if method in _OPENS:
                opened = id_of(fields, "sessionId") or session_id
                self._ours(opened)
                return self._opened(message, fields, opened)
            case "session/set_config_option" | "session/set_mode":
                return ({**message, "result": self._options(fields, session_id)},)
            case _:
                return (message,)

    def _opened(self, message: Message, fields: Json, session_id: str) -> Sequence[Message]:
        answer = {**message, "result": self._options(fields, session_id)}
        commands = sessions.commands(fields.get("availableCommands"))
        if not commands:
            return (answer,)
        # Version 1 reports them afterwards, but updates before the answer are handed over together with it
        update: Json = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
        return _update(session_id, update), answer

    def _options(self, fields: Json, session_id: str) -> Json:
        told = sessions.answer(fields)
        if "configOptions" in told:
            self._of(session_id).updates.opened(cast("list[Json]", told["configOptions"]))
        return told

    def _told(self, message: Message, params: Json) -> Sequence[Message]:
        session_id, update = id_of(params, "sessionId"), params.get("update")
        if session_id is None or not isinstance(update, dict):
            return (message,)
        fields = cast("Json", update)
        if fields.get("sessionUpdate") == "subagent_update":
            parent, told = self._children.told(session_id, fields)
            alone = None if self._children.at_work(parent) else self._of(parent).foreground.alone()
            return [*(_update(parent, one) for one in told), *([] if alone is None else [alone])]
        parent, call = self._children.of(session_id)
        if fields.get("sessionUpdate") == "state_update":
            others = bool(self._children.at_work(session_id))
            answer = None if call else self._of(session_id).foreground.state(fields, others=others)
            return () if answer is None else (answer,)
        session = self._of(session_id)
        told = session.updates.told(fields, ours=session.foreground.prompted)
        return [_update(parent, inner) for one in told for inner in self._children.within(one, call)]

    def _asks(self, message: Message, params: Json) -> Sequence[Message]:
        parent, _ = self._children.of(id_of(params, "sessionId") or "")
        if parent and "sessionId" in params:
            params = {**params, "sessionId": parent}
        if message["method"] == _ASK:
            params = questions.request(params)
        return ({**message, "params": params},)

    def _of(self, session_id: str) -> _Session:
        known = self._sessions.get(session_id) or self._others.get(session_id)
        if known is None:
            known = self._others[session_id] = _Session()
            if len(self._others) > _MOST:
                self._others.popitem(last=False)
        return known

    def _ours(self, session_id: str) -> None:
        """Remember a session that we have opened, or for which we ask the agent."""
        self._sessions[session_id] = self._of(session_id)
        self._others.pop(session_id, None)


def _update(session_id: str, update: Json) -> Message:
    return {"jsonrpc": "2.0", "method": _UPDATE, "params": {"sessionId": session_id, "update": dict(update)}}
