"""Front: the ACP agent that an attached client sees. It passes the client's messages to the running sidecar, and the sidecar's events to the
client, in order.

Nothing of the client's machine is used: no `fs/*`, no terminals, no MCP servers. The sidecar has the text as the user sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from sidecar import __version__
from sidecar.acp.errors import AUTH_REQUIRED, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, REFUSED, Failure
from sidecar.acp.facts import at
from sidecar.acp.flow import Params
from sidecar.acp.json_rpc import RequestId
from sidecar.acp.transport import LineTransport

log = logging.getLogger(__name__)

VERSION = 1
"""The version of ACP."""
AT_ONCE = 12
"""The most requests under way that may take long: a sidecar takes 16 of one client, and a cancel must get through."""
NOBODY = (
    "no editor with acp-sidecar has {folder} open: open this folder (or one above it) in your editor, which starts acp-sidecar, and try again; "
    "`acp-sidecar doctor` says what runs"
)


class AttachedSidecar(Protocol):
    """See attached.py for the methods."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Raises ConnectionError if the sidecar is gone, and ValueError with a message if the bridge refuses."""
        ...


Find = Callable[[], Awaitable[AttachedSidecar | None]]
"""The running sidecar of this folder. None if there is none. Raises ConnectionError if it runs and does not answer."""


class RequestRefused(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ClientFront:
    def __init__(self, transport: LineTransport, find: Find, folder: str, agent: str | None) -> None:
        """`folder`: where the client started us. `agent`: the agent for new sessions; None: the user's default."""
        self._transport = transport
        self._find = find
        self._folder = folder
        self._agent = agent
        self._name = "a client"
        self._unwanted = frozenset[str]()
        """The kinds of updates that the client did not say it understands."""
        self._sidecar: AttachedSidecar | None = None
        self._attaching = asyncio.Lock()
        self._free = asyncio.Semaphore(AT_ONCE)
        self._serial = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        """The client's requests whose answer is an event, by tag."""
        self._questions: dict[int, str] = {}
        """The client's open questions: our request's id → the question's id."""
        self._tasks: set[asyncio.Future[Any]] = set()
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why nothing more comes from the sidecar, in words."""

    async def serve(self) -> None:
        """Serve until the client has gone."""
        try:
            while (message := await self._transport.receive()) is not None:
                if "method" in message:
                    self._run(self._handled(message))
                else:
                    self._answered(message)
        finally:
            for task in self._tasks:
                task.cancel()

    # requests

    async def _handled(self, message: Mapping[str, Any]) -> None:
        params = cast("Params", message["params"])
        try:
            method = getattr(self, _METHODS.get(message["method"], ""), None)
            if method is None:
                raise RequestRefused(
                    Failure(METHOD_NOT_FOUND, f"Method not found: {str(message['method'])[:100]}", {})
                )
            answer: dict[str, object] = {"result": await method(params)}
        except RequestRefused as refused:
            answer = {"error": refused.failure._asdict()}
        except ConnectionError as error:
            answer = {"error": Failure(REFUSED, str(error), {"errorKind": "gone"})._asdict()}
        except Exception:
            log.exception("%s failed", message["method"])
            answer = {"error": INTERNAL._asdict()}
        finally:
            params.finish()
        if "id" in message:
            await self._reply(message["id"], answer)

    async def _reply(self, request_id: RequestId, answer: Mapping[str, object]) -> None:
        await self._transport.send({"jsonrpc": "2.0", "id": request_id, **answer})

    async def _initialize(self, params: Params) -> object:
        info = params.get("clientInfo")
        name = cast("dict[str, object]", info).get("name") if isinstance(info, dict) else None
        self._name = name if isinstance(name, str) and name else self._name
        self._unwanted = frozenset(
            kind for kind, capability in _ON_REQUEST.items() if not _announces(params, capability)
        )
        await self._attached()
        return {
            "protocolVersion": VERSION,
            "agentInfo": {"name": "acp-sidecar", "title": "acp-sidecar", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "fork": {}},
            },
            "authMethods": [],
        }

    async def _list(self, params: Params) -> object:
        answer = await self._asks("sessions", {})
        cwd = params.get("cwd")
        rows = [_info(row) for row in answer["sessions"] if not isinstance(cwd, str) or row["cwd"] == cwd]
        return {"sessions": rows}

    async def _new(self, params: Params) -> object:
        if params.get("mcpServers"):
            log.warning("the client's MCP servers are not used: the editor's settings say which are offered")
        return await self._event("newSession", {"cwd": _text(params, "cwd"), "agent": self._agent})

    async def _load(self, params: Params, *, replay: bool = True) -> object:
        return await self._event("loadSession", {"sessionId": _text(params, "sessionId"), "replay": replay})

    async def _resume(self, params: Params) -> object:
        return await self._load(params, replay=False)

    async def _fork(self, params: Params) -> object:
        """Fork a conversation. If its agent cannot do that, the request is refused with a message."""
        return await self._event("forkSession", {"sessionId": _text(params, "sessionId")})

    async def _prompt(self, params: Params) -> object:
        params.park()
        wanted = {"sessionId": _text(params, "sessionId"), "prompt": params.get("prompt")}
        return await self._event("promptSession", wanted, long=False)

    async def _cancel(self, params: Params) -> object:
        return await self._call("cancelSession", {"sessionId": _text(params, "sessionId")})

    async def _set_mode(self, params: Params) -> object:
        await self._call(
            "setMode", {"sessionId": _text(params, "sessionId"), "modeId": _text(params, "modeId")}
        )
        return {}

    async def _set_option(self, params: Params) -> object:
        session, option = _text(params, "sessionId"), _text(params, "configId")
        return await self._call(
            "setOption", {"sessionId": session, "configId": option, "value": params.get("value")}
        )

    # the sidecar

    async def _attached(self) -> AttachedSidecar:
        async with self._attaching:
            if self._sidecar is None:
                found = await self._find()
                if found is None:
                    raise RequestRefused(
                        Failure(REFUSED, NOBODY.format(folder=self._folder), {"errorKind": "no_sidecar"})
                    )
                _let(await self._said(found, "attach", {"client": self._name, "folder": self._folder}))
                self._sidecar = found
                self._run(self._hears(found))
            return self._sidecar

    async def _call(self, method: str, params: Mapping[str, object]) -> Any:
        return _let(await self._said(await self._attached(), method, params))

    async def _asks(self, method: str, params: Mapping[str, object]) -> Any:
        """A call that may take long: the user is asked, or a program is started."""
        async with self._free:
            return await self._call(method, params)

    async def _event(self, method: str, params: Mapping[str, object], *, long: bool = True) -> Any:
        """A call whose answer is an event: it comes after all events before it have been passed on."""
        self._serial += 1
        tag = self._serial
        answer = self._waiting[tag] = asyncio.get_running_loop().create_future()
        try:
            await (self._asks if long else self._call)(method, {**params, "tag": tag})
            told = await answer
        finally:
            self._waiting.pop(tag, None)
        if "error" in told:
            _let({"refused": told["error"]["message"], "kind": told["error"]["kind"]})
        return told["result"]

    async def _said(self, sidecar: AttachedSidecar, method: str, params: Mapping[str, object]) -> Any:
        try:
            return await sidecar.call(method, params)
        except ValueError as error:
            raise RequestRefused(Failure(REFUSED, str(error), {"errorKind": "refused"})) from error

    # the sidecar's events

    async def _hears(self, sidecar: AttachedSidecar) -> None:
        try:
            while True:
                answer = await sidecar.call("events", {})
                if "dropped" in answer:
                    why = f"acp-sidecar dropped this client: {answer['dropped']}"
                    break
                for event in answer["events"]:
                    await self._told(event)
        except (ConnectionError, ValueError) as error:
            why = f"the editor's acp-sidecar has ended: {error}"
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result({"error": {"message": why, "kind": "gone"}})
        if not self.lost.done():
            self.lost.set_result(why)

    async def _told(self, event: Mapping[str, Any]) -> None:
        if "update" in event:
            if event["update"].get("sessionUpdate") in self._unwanted:
                return
            await self._notify("session/update", {"sessionId": event["sessionId"], "update": event["update"]})
        elif "asked" in event:
            asked = dict(event["asked"])
            self._serial += 1
            self._questions[self._serial] = str(asked.pop("id"))
            request = {"jsonrpc": "2.0", "id": self._serial, "method": "session/request_permission"}
            await self._transport.send({**request, "params": asked})
        elif "withdrawn" in event:
            for number in [n for n, question in self._questions.items() if question == event["withdrawn"]]:
                del self._questions[number]
                await self._notify("$/cancel_request", {"requestId": number})
        elif (answer := self._waiting.get(event["answer"])) is not None and not answer.done():
            await self._transport.room()  # so that the answer is written at once, before what follows it
            answer.set_result(dict(event))
            await asyncio.sleep(0)

    async def _notify(self, method: str, params: Mapping[str, object]) -> None:
        await self._transport.send({"jsonrpc": "2.0", "method": method, "params": dict(params)})

    def _answered(self, message: Mapping[str, Any]) -> None:
        """The client answers a question of ours. If it chooses nothing, the question stays open for the others."""
        question = self._questions.pop(message["id"], None)
        match message.get("result"):
            case {"outcome": {"outcome": "selected", "optionId": str(option)}} if question is not None:
                self._run(self._answer(question, option))
            case _:
                pass

    async def _answer(self, question: str, option: str) -> None:
        try:
            await self._call("answerQuestion", {"id": question, "optionId": option})
        except (RequestRefused, ConnectionError) as error:
            log.warning("an answer did not reach the sidecar: %s", error)

    def _run(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def over(self) -> None:
        """Wait until everything under way has been answered."""
        if self._tasks:
            await asyncio.wait(self._tasks)


_METHODS = {
    "initialize": "_initialize",
    "session/list": "_list",
    "session/new": "_new",
    "session/load": "_load",
    "session/resume": "_resume",
    "session/fork": "_fork",
    "session/prompt": "_prompt",
    "session/cancel": "_cancel",
    "session/set_mode": "_set_mode",
    "session/set_config_option": "_set_option",
}


_ON_REQUEST = {
    "compaction_update": "compaction",
    "compaction_summary_chunk": "compaction",
    "notice": "notices",
}
"""The updates that only clients get that announce them under `clientCapabilities.session` (ACP, "Session compaction", "Session notices")."""


def _announces(params: Mapping[str, object], capability: str) -> bool:
    return isinstance(at(params.get("clientCapabilities"), "session", capability), dict)


def _info(row: Mapping[str, Any]) -> dict[str, object]:
    info: dict[str, object] = {"sessionId": row["sessionId"], "cwd": row["cwd"]}
    return info | {key: row[key] for key in ("title", "updatedAt") if key in row}


def _let(answer: Any) -> Any:
    """The answer. Raises RequestRefused if it is a refusal."""
    told = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
    if "refused" in told:
        kind, words = told.get("kind"), str(told["refused"])
        code = AUTH_REQUIRED if kind == "auth_required" else REFUSED
        raise RequestRefused(Failure(code, words, {"errorKind": str(kind or "refused")}))
    return cast("Any", answer)


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RequestRefused(Failure(INVALID_PARAMS, f"Invalid params: {name} should be a text", {}))
    return value
