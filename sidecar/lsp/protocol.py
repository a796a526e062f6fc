"""SidecarProtocol: pygls's protocol with its own life cycle, decoding and error handling.

Kept of pygls: the feature manager (`fm`), the capabilities builder, lsprotocol's types and their converter, the generated
methods of `LanguageServer`. Replaced, because of what was measured with pygls 2.1:

* its text store and notebook handlers (line ends of `str.splitlines`; 55 to 160 ms a keystroke at 10 MB): `sync` instead;
* its dispatch (async built-ins leak, cancel leaves a command's coroutine running, SystemExit in a handler ends the process);
* its decoding (`object_hook` turns any nested object with a `jsonrpc` key into a message, invalid params are never answered);
* its life cycle (requests before `initialize` are executed, after `shutdown` never answered, `exit` calls sys.exit).

Law: every request is answered, whatever is in it. Nothing here shows a message to the user.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

import msgspec
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path

from sidecar.core.text import Encoding
from sidecar.lsp import sync
from sidecar.lsp.greeting import position_encoding
from sidecar.lsp.pending import Pending
from sidecar.workspace.ports import AgentFailed, EditorGone, EditorRefused

if TYPE_CHECKING:
    from sidecar.core.overlay import Modification

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803

MAX_RUNNING = 1000
"""Requests of the editor being worked on at once; more are refused."""

_log = logging.getLogger(__name__)

Id = int | str
Handler = Callable[..., Any]
Send = Callable[[bytes, Hashable | None], None]


class Failed(JsonRpcException):
    """A request that was understood and could not be done. The message is for a person."""

    CODE = REQUEST_FAILED


class InvalidParams(JsonRpcException):
    CODE = INVALID_PARAMS


class State(enum.Enum):
    """LSP, "Server lifecycle"."""

    NEW = "before initialize"
    RUNNING = "running"
    SHUTDOWN = "after shutdown"
    EXITED = "after exit"


_json = json.JSONDecoder()
_blanks = re.compile(r"[ \t\r\n]*")
_absent = object()


class SidecarProtocol(LanguageServerProtocol):
    """One connection. `receive` takes message bodies, `attach` gives it the way out."""

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self.state = State.NEW
        self.encoding = Encoding.UTF_16
        self.folders: dict[str, types.WorkspaceFolder] = {}
        """Workspace folders by the editor's URI, in its order."""
        self.announced: dict[str, Any] | None = None
        """The result of `initialize` when it was answered before this object existed (see greeting)."""
        self.client_capabilities = types.ClientCapabilities()
        self.initialize_params: dict[str, Any] = {}
        self.on_modification: Callable[[Modification], None] = lambda _: None
        self.on_folders: Callable[[tuple[str, ...]], None] = lambda _: None
        """Told the workspace folders' URIs when the editor changed them."""
        self.on_exit: Callable[[], None] = lambda: None
        self._send: Send | None = None
        self._gone = False
        self._running: dict[Id, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._pending: dict[str, Pending] = {}
        self._serial = 0
        self._builtin: Mapping[str, Callable[[Any, Handler | None], object]] = {
            types.INITIALIZE: self._initialize,
            types.SHUTDOWN: self._shutdown_now,
            types.SET_TRACE: self._set_trace,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._folders_changed,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._cancel_progress,
        }
        """What is done before (initialize: around) the feature of the same name."""
        self._encode = json.JSONEncoder(
            separators=(",", ":"), allow_nan=False, default=self._serialize_message
        ).encode

    def _register_builtin_features(self) -> None:
        """None of pygls's: these and `sync` take their place."""

    @property
    def _features(self) -> dict[str, Handler]:
        return cast("dict[str, Handler]", self.fm.features)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls

    @property
    def _commands(self) -> dict[str, Handler]:
        return cast("dict[str, Handler]", self.fm.commands)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls

    # ---- in

    def receive(self, body: bytes) -> bytes:
        """Handles one message; never raises. Returns what followed it in `body`: its length was announced too long."""
        try:
            modification = sync.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            modification = None
        if modification is None:
            return self._receive_json(body)
        if self.state is State.RUNNING:
            self._modify(modification)
        return b""

    def refuse(self, reason: str) -> None:
        """Answers input that is no message (JSON-RPC 2.0 §5.1: the id is null when it cannot be known)."""
        _log.warning("from the editor: %s", reason)
        self._answer_error(None, PARSE_ERROR, reason)

    def _receive_json(self, body: bytes) -> bytes:
        flaw = None
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            flaw = f"not UTF-8 at byte {error.start}"
            text = body.decode("utf-8", "replace")
        position = 0
        while True:
            try:
                message, position = _json.raw_decode(text, _space(text, position))
            except (ValueError, RecursionError) as error:
                self.refuse(f"not JSON: {error}" if flaw is None else flaw)
                lost = sync.lost_in(text)
                if lost is not None and self.state is State.RUNNING:
                    self._modify(lost)
                return b""
            try:
                self._dispatch(message, flaw)
            except Exception:  # noqa: BLE001 - the last resort: a message must not end the connection
                _log.exception("a message could not be handled")
            position = _space(text, position)
            if position == len(text):
                return b""
            if text[position] != "{":  # not a second message: the beginning of the next header
                return text[position:].encode()

    def _dispatch(self, message: object, flaw: str | None) -> None:
        if not isinstance(message, dict):
            self._answer_error(None, INVALID_REQUEST, "a message is an object (LSP has no batches)")
            return
        message = cast("dict[str, Any]", message)
        method = message.get("method", _absent)
        has_id = "id" in message
        msg_id = message.get("id")
        if method is _absent and has_id and ("result" in message or "error" in message):
            self._on_response(msg_id, message.get("result"), message.get("error"))
        elif not isinstance(method, str):
            self._answer_error(_valid(msg_id), INVALID_REQUEST, "a message without a method")
        elif not has_id:
            if flaw is not None:
                _log.warning("from the editor: %s: %s", method, flaw)
            self._on_notification(method, message.get("params"), flaw)
        elif _valid(msg_id) is None:
            self._answer_error(None, INVALID_REQUEST, "the id of a request is an integer or a string")
        elif flaw is not None:
            self._answer_error(msg_id, INVALID_PARAMS, flaw)
        else:
            self._on_request(cast("Id", msg_id), method, message.get("params"))

    # ---- notifications

    def _on_notification(self, method: str, params: object, flaw: str | None) -> None:
        if method == types.EXIT:
            self._exit()
        elif self.state is not State.RUNNING:
            _log.info("ignored %s %s", method, self.state.value)
        elif method in sync.METHODS:
            self._on_sync(method, params, flaw)
        elif method == types.CANCEL_REQUEST:
            self._on_cancel(params)
        else:
            handler = self._handler(method)
            if handler is None:
                _log.debug("no use for %s", method)
                return
            try:
                self._start(None, method, handler, (self._structured(method, params),))
            except InvalidParams as error:
                _log.warning("from the editor: %s: %s", method, error)

    def _on_sync(self, method: str, params: object, flaw: str | None) -> None:
        try:
            if flaw is not None:
                raise sync.Malformed(flaw, sync.lost(params))
            modification = sync.from_json(method, params)
        except sync.Malformed as error:
            _log.warning("from the editor: %s", error)
            if error.lost is not None:
                self._modify(error.lost)
            return
        self._modify(modification)

    def _modify(self, modification: Modification) -> None:
        try:
            self.on_modification(modification)
        except Exception:  # noqa: BLE001 - the next message is another chance
            _log.exception("a change of %s could not be applied", modification.uri)

    def _on_cancel(self, params: object) -> None:
        request_id = cast("dict[str, Any]", params).get("id") if isinstance(params, dict) else None
        running = self._running.get(request_id) if isinstance(request_id, int | str) else None
        if running is not None:
            running.cancel()  # it is answered when the work has ended

    # ---- requests

    def _on_request(self, msg_id: Id, method: str, params: object) -> None:
        refusal = self._inadmissible(msg_id, method)
        if refusal is not None:
            self._answer_error(msg_id, *refusal)
            return
        try:
            if method in sync.METHODS:  # a notification with an id: odd, but an edit is not to be lost
                self._on_sync(method, params, None)
                self._answer(msg_id, method, None)
                return
            if method == types.WORKSPACE_EXECUTE_COMMAND:
                handler, arguments = self._command(params)
            else:
                handler = self._handler(method)
                if handler is None:
                    self._answer_error(msg_id, METHOD_NOT_FOUND, f"no such method: {method}")
                    return
                arguments = (self._structured(method, params),)
        except Exception as error:  # noqa: BLE001 - every request is answered
            self._answer_exception(msg_id, method, error)
            return
        self._start(
            None if method == types.INITIALIZE and self.announced is not None else msg_id,
            method,
            handler,
            arguments,
        )

    def _inadmissible(self, msg_id: Id, method: str) -> tuple[int, str] | None:
        if self.state is State.NEW and method != types.INITIALIZE:
            return NOT_INITIALIZED, "the server is not initialized"
        if self.state in (State.SHUTDOWN, State.EXITED):
            return INVALID_REQUEST, "the server was shut down"
        if self.state is State.RUNNING and method == types.INITIALIZE:
            return INVALID_REQUEST, "the server is initialized already"
        if msg_id in self._running:
            return INVALID_REQUEST, "a request with this id is being worked on"
        if len(self._running) >= MAX_RUNNING:
            return REQUEST_FAILED, f"{MAX_RUNNING} requests are being worked on"
        return None

    def _command(self, params: object) -> tuple[Handler, tuple[Any, ...]]:
        """pygls converts arguments by annotations; ours are one JSON value, as INTERFACE has it, or none."""
        fields = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        name, arguments = fields.get("command"), fields.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, list | None):
            raise InvalidParams("expected {command: string, arguments?: array}")
        handler = self._commands.get(name)
        if handler is None:
            raise InvalidParams(f"no such command: {name}")
        values = cast("list[Any]", arguments or [])
        if len(values) > 1:
            raise InvalidParams(f"{name} takes one argument, not {len(values)}")
        return handler, (values[0] if values else None,)

    def _structured(self, method: str, params: object) -> Any:
        """lsprotocol's type for its methods; plain JSON for custom ones. Only the top level is known to be typed."""
        if method == types.INITIALIZE:
            return self._structured_initialize(params)
        known = types.METHOD_TO_TYPES.get(method)
        shape = known[2] if known is not None else None
        if shape is None:
            return None if known is not None else params
        try:
            return self._converter.structure({} if params is None else params, shape)
        except Exception as error:
            raise InvalidParams(f"invalid params for {method}") from error

    def _structured_initialize(self, params: object) -> types.InitializeParams:
        """As much of it as can be understood: one odd capability must not cost the user the whole server."""
        if not isinstance(params, dict):
            raise InvalidParams("invalid params for initialize")
        self.initialize_params = cast("dict[str, Any]", params)
        fields: dict[str, Any] = {"capabilities": {}, **cast("dict[str, Any]", params)}
        structure = self._converter.structure
        try:
            return structure(fields, types.InitializeParams)
        except Exception:  # noqa: BLE001 - whatever the converter meets
            _log.warning("initialize has fields that LSP does not: they are left out")
        announced: object = fields["capabilities"]
        sections = cast("dict[str, Any]", announced) if isinstance(announced, dict) else {}
        fields["capabilities"] = self._sound(sections, types.ClientCapabilities, {})
        return structure(
            self._sound(fields, types.InitializeParams, {"capabilities": {}}), types.InitializeParams
        )

    def _sound(self, fields: dict[str, Any], shape: type[Any], least: dict[str, Any]) -> dict[str, Any]:
        sound = dict(least)
        for key, value in fields.items():
            try:
                self._converter.structure({**least, key: value}, shape)
            except Exception:  # noqa: BLE001 - whatever the converter meets
                _log.warning("initialize: %s is not understood", key)
            else:
                sound[key] = value
        return sound

    # ---- running handlers

    def _handler(self, method: str) -> Handler | None:
        own = self._builtin.get(method)
        feature = self._features.get(method)
        if own is None:
            return feature

        def handler(params: Any) -> object:
            return own(params, feature)

        return handler

    def _start(self, msg_id: Id | None, method: str, handler: Handler, arguments: tuple[Any, ...]) -> None:
        """Runs the synchronous part now, in the order of arrival; what it returns to be awaited becomes a task."""
        try:
            result = handler(*arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - every request is answered
            self._finish(msg_id, method, None, error)
            return
        if not inspect.isawaitable(result):
            self._finish(msg_id, method, result, None)
            return
        task = asyncio.ensure_future(_contained(result))
        self._tasks.add(task)
        if msg_id is not None:
            self._running[msg_id] = task

        def done(task: asyncio.Future[Any]) -> None:
            self._tasks.discard(task)
            if inspect.iscoroutine(result):
                result.close()  # cancelled before it began: nobody else closes it
            if msg_id is not None:
                self._running.pop(msg_id, None)
            if task.cancelled():
                if msg_id is not None:
                    self._answer_error(msg_id, REQUEST_CANCELLED, "cancelled")
                return
            error = task.exception()
            self._finish(msg_id, method, None if error else task.result(), error)

        task.add_done_callback(done)

    def _finish(self, msg_id: Id | None, method: str, result: Any, error: BaseException | None) -> None:
        if error is None:
            if msg_id is not None:
                self._answer(msg_id, method, result)
        elif msg_id is not None:
            self._answer_exception(msg_id, method, error)
        else:
            _log.error("%s failed", method, exc_info=error)

    def _answer(self, msg_id: Id, method: str, result: Any) -> None:
        try:
            body = self._encode({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except Exception as error:  # noqa: BLE001 - every request is answered
            self._answer_exception(msg_id, method, error)
            return
        self._post(body)

    def _answer_exception(self, msg_id: Id, method: str, error: BaseException) -> None:
        """Words for a person, never a traceback: that is for the log."""
        if isinstance(error, JsonRpcException):
            self._answer_error(msg_id, error.code, error.message, error.data)
        elif isinstance(error, AgentFailed):
            self._answer_error(msg_id, REQUEST_FAILED, error.message, {"kind": error.kind, **error.data})
        else:
            _log.error("%s failed", method, exc_info=error)
            self._answer_error(msg_id, INTERNAL_ERROR, f"{method} failed; the sidecar's log says why")

    def _answer_error(self, msg_id: Id | None, code: int, message: str, data: object = None) -> None:
        error: dict[str, object] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._post(self._encode({"jsonrpc": "2.0", "id": msg_id, "error": error}))

    # ---- out

    def attach(self, send: Send) -> None:
        self._send = send

    def _post(self, body: str, key: Hashable | None = None) -> None:
        if self._send is not None:
            self._send(body.encode("ascii"), key)

    def notify(self, method: str, params: Any = None, coalesce_key: Hashable | None = None) -> None:
        """Queues a notification; never blocks. With `coalesce_key` it replaces an unsent one of the same key, and may be dropped
        when the editor does not read."""
        if self._gone:
            return
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._post(self._encode(message), coalesce_key)

    def request(self, method: str, params: Any = None) -> Pending:
        """Queues a request before it returns. Awaiting gives the result as plain JSON; see Pending."""
        self._serial += 1
        pending = Pending(f"s{self._serial}", self._withdrawn)
        if self._gone:
            pending.fail(EditorGone("the editor's connection has ended"))
            return pending
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": pending.id, "method": method}
        if params is not None:
            message["params"] = params
        body = self._encode(message)
        self._pending[pending.id] = pending
        self._post(body)
        return pending

    def _withdrawn(self, request_id: str) -> None:
        if self._pending.pop(request_id, None) is not None:
            self.notify(types.CANCEL_REQUEST, {"id": request_id})

    def _on_response(self, msg_id: object, result: object, error: object) -> None:
        pending = self._pending.pop(msg_id, None) if isinstance(msg_id, str) else None
        if pending is None:
            _log.debug("an answer nobody waits for: %r", msg_id)
        elif error is None:
            pending.resolve(result)
        else:
            fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
            pending.fail(EditorRefused(str(fields.get("message", "")), fields.get("code")))

    def disconnect(self) -> None:
        """The editor is gone, or going: whoever waits for it is told, its own requests are cancelled. Their answers are still
        sent, for an editor that only said `exit`."""
        self._gone = True
        for pending in list(self._pending.values()):
            pending.fail(EditorGone("the editor's connection has ended"))
        self._pending.clear()
        self._cancel_running()

    def _cancel_running(self, but: asyncio.Future[Any] | None = None) -> None:
        for task in list(self._tasks):
            if task is not but:
                task.cancel()

    async def settle(self, seconds: float) -> None:
        """Waits for cancelled work to end, so that its requests are answered."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    # ---- what pygls's generated methods call

    def _send_data(self, data: Any) -> None:
        self._post(self._encode(data))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: Id | None = None,
    ) -> Future[Any]:
        answer: Future[Any] = Future()
        if callback is not None:
            answer.add_done_callback(lambda done: None if done.exception() else callback(done.result()))

        def done(future: asyncio.Future[object]) -> None:
            if future.cancelled():
                answer.cancel()
            elif (error := future.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(self._structured_result(method, future.result()))

        self.request(method, params).add_done_callback(done)
        return answer

    def send_request_async(
        self, method: str, params: Any | None = None, msg_id: Id | None = None
    ) -> asyncio.Future[Any]:
        async def answer() -> Any:
            return self._structured_result(method, await pending)

        pending = self.request(method, params)
        return asyncio.ensure_future(answer())

    def _structured_result(self, method: str, result: object) -> Any:
        shape = self.get_result_type(method)
        if shape is None:
            return result
        return self._converter.structure({"jsonrpc": "2.0", "id": 0, "result": result}, shape).result

    # ---- life cycle

    def _initialize(self, params: types.InitializeParams, feature: Handler | None) -> object:
        self._server.process_id = params.process_id
        self.client_capabilities = params.capabilities
        self.encoding = Encoding(position_encoding(self.initialize_params))
        folders = list(params.workspace_folders or ())
        if not folders and (root := params.root_uri or (params.root_path and from_fs_path(params.root_path))):
            folders = [types.WorkspaceFolder(uri=root, name="")]
        self.folders = {folder.uri: folder for folder in folders}
        self.state = State.RUNNING
        if feature is not None:
            feature(params)
        self.server_capabilities = self._capabilities()
        result = types.InitializeResult(capabilities=self.server_capabilities, server_info=self.server_info)
        if self.announced is not None and self.announced != json.loads(self._encode(result)):
            _log.error("what was announced is not what is registered: %s", self._encode(result))
        return result

    def _capabilities(self) -> types.ServerCapabilities:
        capabilities = ServerCapabilitiesBuilder(
            self.client_capabilities,
            set(self._features),
            cast("dict[str, Any]", self.fm.feature_options),  # pyright: ignore[reportUnknownMemberType] - untyped in pygls
            sorted(self._commands),
            types.TextDocumentSyncKind.Incremental,
            None,
            types.PositionEncodingKind(self.encoding.value),
        ).build()
        capabilities.text_document_sync = types.TextDocumentSyncOptions(
            open_close=True,
            change=types.TextDocumentSyncKind.Incremental,
            save=types.SaveOptions(include_text=True),
        )
        return capabilities

    def _shutdown_now(self, _: object, feature: Handler | None) -> object:
        self.state = State.SHUTDOWN
        self._cancel_running()
        return None if feature is None else self._shut_down(feature)

    async def _shut_down(self, feature: Handler) -> None:
        try:
            await _resolved(feature(None))
        except Exception:  # noqa: BLE001 - the editor's shutdown goes on
            _log.exception("shutting down failed")

    def _exit(self) -> None:
        if self.state is not State.EXITED:
            self.clean = self.state is State.SHUTDOWN
            self.state = State.EXITED
            self.on_exit()

    clean = False
    """The editor asked for shutdown before exit (LSP: exit code 0, else 1)."""

    def _folders_changed(
        self, params: types.DidChangeWorkspaceFoldersParams, feature: Handler | None
    ) -> object:
        for folder in params.event.removed:
            self.folders.pop(folder.uri, None)
        for folder in params.event.added:
            self.folders[folder.uri] = folder
        self.on_folders(tuple(self.folders))
        return None if feature is None else feature(params)

    def _set_trace(self, params: types.SetTraceParams, feature: Handler | None) -> object:
        self.trace = params.value
        return None if feature is None else feature(params)

    def _cancel_progress(self, params: types.WorkDoneProgressCancelParams, feature: Handler | None) -> object:
        tokens = cast("dict[int | str, Future[Any]]", self.progress.tokens)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls
        future = tokens.get(params.token)
        if future is not None:
            future.cancel()
        return None if feature is None else feature(params)


def _space(text: str, position: int) -> int:
    """Where the JSON whitespace from `position` on ends."""
    match = _blanks.match(text, position)
    return position if match is None else match.end()


def _valid(msg_id: object) -> Id | None:
    return msg_id if isinstance(msg_id, int | str) and not isinstance(msg_id, bool) else None


async def _resolved(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


async def _contained(work: Awaitable[Any]) -> Any:
    """SystemExit in a task would end the whole event loop."""
    try:
        return await work
    except SystemExit as error:
        raise RuntimeError("a handler called sys.exit") from error
