"""SidecarProtocol: pygls's protocol with its own life cycle, dispatch and error handling.

Kept from pygls: the feature manager (`fm`), the capabilities builder, lsprotocol's types and their converter, the generated methods of
`LanguageServer`. Replaced, because of what was measured with pygls 2.1:

* its text store and notebook handlers (line ends of `str.splitlines`; 55 to 160 ms a keystroke at 10 MB): `sync`;
* its decoding (nested objects with a `jsonrpc` key, invalid params never answered): `messages` and `shapes`;
* its running of handlers (leaks, cancel, SystemExit): `running`; its table of open requests (leaks): `pending`;
* its life cycle (requests before `initialize` are executed, after `shutdown` never answered, `exit` calls sys.exit).

Rule: every request is answered, whatever it contains. Nothing here shows a message to the user.
"""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import json
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, cast

import msgspec
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path

from sidecar.core.overlay import Modification
from sidecar.core.text import Encoding
from sidecar.lsp import errors, sync
from sidecar.lsp.errors import CommandFailed, InvalidParams
from sidecar.lsp.greeting import position_encoding
from sidecar.lsp.long_texts import LongText, LongValue, Marks
from sidecar.lsp.messages import Broken, Id, LspRequest, Message, Notification, Response, parse, valid_id
from sidecar.lsp.pending import Asked, Pending
from sidecar.lsp.running import Running
from sidecar.lsp.shapes import Shapes
from sidecar.workspace.ports.ports import AgentFailed

__all__ = ["CommandFailed", "Handler", "InvalidParams", "Lifecycle", "SidecarProtocol"]

MAX_RUNNING = 1000
"""The number of requests from the editor that are handled at once; more are refused."""

_log = logging.getLogger(__name__)

Handler = Callable[..., Any]
Parsed = tuple["list[Message]", bytes]
"""Messages, and the bytes that follow the last one."""
Send = Callable[["bytes | Sequence[bytes | LongText | LongValue]", Hashable | None], None]
"""Takes a message, or its pieces, and the key under which it may be replaced."""


class Lifecycle(enum.Enum):
    """LSP, "Server lifecycle"."""

    NEW = "before initialize"
    RUNNING = "running"
    SHUTDOWN = "after shutdown"
    EXITED = "after exit"


def read(body: bytes) -> Modification | Parsed:
    """Parse one message. Never raises, and may run in a thread."""
    try:
        modification = sync.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        modification = None
    return parse(body) if modification is None else modification


class SidecarProtocol(LanguageServerProtocol):
    """One connection. `take` handles what `read` returned for a message body; `attach` sets where messages are sent."""

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self.state = Lifecycle.NEW
        self.encoding = Encoding.UTF_16
        self.folders: dict[str, types.WorkspaceFolder] = {}
        """Workspace folders by the editor's URI, in the editor's order."""
        self.announced: dict[str, Any] | None = None
        """The result of `initialize` if it was answered before this object existed (see greeting.py)."""
        self.client_capabilities = types.ClientCapabilities()
        self.initialize_params: dict[str, Any] = {}
        self.on_modification: Callable[[Modification], None] = lambda _: None
        self.on_folders: Callable[[tuple[str, ...]], None] = lambda _: None
        """Called with the URIs of the workspace folders when the editor has changed them."""
        self.on_editor: Callable[[object], None] = lambda process_id: None
        """Called with the editor's `processId`, unchecked."""
        self.on_exit: Callable[[], None] = lambda: None
        self._send: Send | None = None
        self._gone = False
        self._shapes = Shapes(converter)
        self._running = Running()
        self._asked = Asked(lambda request_id: self.notify(types.CANCEL_REQUEST, {"id": request_id}))
        self._builtin: Mapping[str, Callable[[Handler | None, Any], object]] = {
            types.INITIALIZE: self._initialize,
            types.SHUTDOWN: self._shutdown_now,
            types.SET_TRACE: self._set_trace,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._folders_changed,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._cancel_progress,
        }
        """Called before the feature of the same name; for `initialize`, around it."""
        self._encode = json.JSONEncoder(
            separators=(",", ":"), allow_nan=False, default=self._serialize_other
        ).encode
        self._marks = Marks()
        """The marks of the message that is being encoded."""

    def _register_builtin_features(self) -> None:
        """Register none of pygls's features: `_builtin` and `sync` replace them."""

    @property
    def _features(self) -> dict[str, Handler]:
        return cast("dict[str, Handler]", self.fm.features)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls

    @property
    def _commands(self) -> dict[str, Handler]:
        return cast("dict[str, Handler]", self.fm.commands)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls

    # ---- incoming

    def take(self, found: Modification | Parsed) -> bytes:
        """Handle one message. Never raises. Returns the bytes that follow it in its body if the announced length was too long."""
        if isinstance(found, Modification):
            self._modify(found)
            return b""
        messages, rest = found
        for message in messages:
            try:
                self._dispatch(message)
            except Exception:  # noqa: BLE001 - the last resort: a message must not end the connection
                _log.exception("a message could not be handled")
        return rest

    def refuse(self, reason: str) -> None:
        """Answer input that is not a message."""
        self._on_broken(Broken(None, errors.PARSE_ERROR, reason))

    def _dispatch(self, message: Message) -> None:
        match message:
            case LspRequest():
                self._on_request(message)
            case Notification():
                self._on_notification(message)
            case Response(msg_id, result, error):
                if not self._asked.answered(msg_id, result, error):
                    _log.debug("an answer nobody waits for: %r", msg_id)
            case Broken():
                self._on_broken(message)

    def _on_broken(self, message: Broken) -> None:
        _log.warning("from the editor: %s", message.reason)
        self._answer_error(message.id, message.code, message.reason)
        lost = sync.lost_in(message.text)
        if lost is not None:
            self._modify(lost)

    # ---- notifications

    def _on_notification(self, message: Notification) -> None:
        method, params = message.method, message.params
        if method == types.EXIT:
            self._exit()
        elif self.state is not Lifecycle.RUNNING:
            _log.info("ignored %s %s", method, self.state.value)
        elif method in sync.METHODS:
            self._on_sync(message)
        elif message.flaw is not None:
            _log.warning("from the editor: %s: %s", method, message.flaw)
        elif method == types.CANCEL_REQUEST:
            if isinstance(params, dict):
                self._running.cancel(valid_id(cast("dict[str, Any]", params).get("id")))
        elif (handler := self._handler(method)) is None:
            _log.debug("no use for %s", method)
        else:
            try:
                work = functools.partial(handler, self._shapes.params(method, params))
            except InvalidParams as error:
                _log.warning("from the editor: %s", error)
                return
            self._running.start(None, work, functools.partial(self._finish, None, method))

    def _on_sync(self, message: Notification) -> None:
        try:
            if message.flaw is not None:
                raise sync.InvalidNotification(message.flaw, sync.lost(message.params))
            modification = sync.from_json(message.method, message.params)
        except sync.InvalidNotification as error:
            _log.warning("from the editor: %s", error)
            if error.lost is not None:
                self._modify(error.lost)
            return
        self._modify(modification)

    def _modify(self, modification: Modification) -> None:
        if self.state is not Lifecycle.RUNNING:
            return
        try:
            self.on_modification(modification)
        except Exception:  # noqa: BLE001 - the next message is another chance
            _log.exception("a change of %s could not be applied", modification.uri)

    # ---- requests

    def _on_request(self, message: LspRequest) -> None:
        msg_id, method, params = message.id, message.method, message.params
        refusal = self._inadmissible(msg_id, method)
        if refusal is not None:
            self._answer_error(msg_id, *refusal)
            return
        if method in sync.METHODS:  # a notification with an id: odd, but an edit must not be lost
            self._on_sync(Notification(method, params))
            self._answer(msg_id, method, None)
            return
        try:
            work = self._work(method, params)
        except JsonRpcException as error:
            self._answer_exception(msg_id, method, error)
            return
        answered = None if method == types.INITIALIZE and self.announced is not None else msg_id
        self._running.start(msg_id, work, functools.partial(self._finish, answered, method))

    def _inadmissible(self, msg_id: Id, method: str) -> tuple[int, str] | None:
        if self.state is Lifecycle.NEW and method != types.INITIALIZE:
            return errors.NOT_INITIALIZED, "the server is not initialized"
        if self.state in (Lifecycle.SHUTDOWN, Lifecycle.EXITED):
            return errors.INVALID_REQUEST, "the server was shut down"
        if self.state is Lifecycle.RUNNING and method == types.INITIALIZE:
            return errors.INVALID_REQUEST, "the server is initialized already"
        if msg_id in self._running:
            return errors.INVALID_REQUEST, "a request with this id is being worked on"
        if len(self._running) >= MAX_RUNNING:
            return errors.REQUEST_FAILED, f"{MAX_RUNNING} requests are being worked on"
        return None

    def _work(self, method: str, params: object) -> Callable[[], Any]:
        if method == types.WORKSPACE_EXECUTE_COMMAND:
            return self._command(params)
        handler = self._handler(method)
        if handler is None:
            raise JsonRpcException(f"no such method: {method}", errors.METHOD_NOT_FOUND)
        shaped = self._shapes.params(method, params)
        if method == types.INITIALIZE:
            self.initialize_params = cast("dict[str, Any]", params)
        return functools.partial(handler, shaped)

    def _command(self, params: object) -> Callable[[], Any]:
        """Prepare a command. pygls converts arguments by annotations; ours are one JSON value, or none."""
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
        return functools.partial(handler, values[0] if values else None)

    def _handler(self, method: str) -> Handler | None:
        own = self._builtin.get(method)
        feature = self._features.get(method)
        return feature if own is None else functools.partial(own, feature)

    def _finish(self, msg_id: Id | None, method: str, result: Any, error: BaseException | None) -> None:
        if error is None:
            if msg_id is not None:
                self._answer(msg_id, method, result)
        elif msg_id is not None:
            self._answer_exception(msg_id, method, error)
        elif not isinstance(error, asyncio.CancelledError):
            _log.error("%s failed", method, exc_info=error)

    def _answer(self, msg_id: Id, method: str, result: Any) -> None:
        try:
            self._post_with({"jsonrpc": "2.0", "id": msg_id}, "result", result)
        except Exception as error:  # noqa: BLE001 - every request is answered
            self._answer_exception(msg_id, method, error)

    def _answer_exception(self, msg_id: Id, method: str, error: BaseException) -> None:
        """Answer with a message for the user. The traceback goes only to the log."""
        if isinstance(error, JsonRpcException):
            self._answer_error(msg_id, error.code, error.message, error.data)
        elif isinstance(error, asyncio.CancelledError):
            self._answer_error(msg_id, errors.REQUEST_CANCELLED, "cancelled")
        elif isinstance(error, AgentFailed):
            self._answer_error(
                msg_id, errors.REQUEST_FAILED, error.message, {"kind": error.kind, **error.data}
            )
        else:
            _log.error("%s failed", method, exc_info=error)
            self._answer_error(msg_id, errors.INTERNAL_ERROR, f"{method} failed; see the sidecar's log")

    def _answer_error(self, msg_id: Id | None, code: int, message: str, data: object = None) -> None:
        error: dict[str, object] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        try:
            body = self._encode({"jsonrpc": "2.0", "id": msg_id, "error": error})
        except Exception:  # noqa: BLE001 - every request is answered
            _log.exception("an error's data is no JSON")
            body = self._encode({"jsonrpc": "2.0", "id": msg_id, "error": {"code": code, "message": message}})
        self._post(body)

    # ---- outgoing

    def attach(self, send: Send) -> None:
        self._send = send

    def _post(self, body: str, key: Hashable | None = None) -> None:
        if self._send is not None:
            self._send(body.encode("ascii"), key)

    def notify(self, method: str, params: Any = None, coalesce_key: Hashable | None = None) -> None:
        """Queue a notification. Never blocks. With `coalesce_key`, it replaces an unsent notification with the same key, and may be dropped if the
        editor does not read."""
        if self._gone:
            return
        message = {"jsonrpc": "2.0", "method": method}
        if params is None:
            self._post(self._encode(message), coalesce_key)
        else:
            self._post_with(message, "params", params, coalesce_key)

    def _post_with(
        self, message: Mapping[str, object], name: str, value: Any, key: Hashable | None = None
    ) -> None:
        """Send a message with the value under that name. A long value is encoded later, by the thread that writes it. Raises what encoding raises."""
        long = LongValue.of(value)
        if long is None:
            self._post(self._encode({**message, name: value}), key)
        elif self._send is not None:
            head = self._encode(message)[:-1]
            self._send([f'{head},"{name}":'.encode("ascii"), long, b"}"], key)

    def request(self, method: str, params: Any = None) -> Pending:
        """Queue a request before returning. Awaiting gives the result as plain JSON; see Pending."""
        marks = self._marks = Marks()
        encoded = (
            None if params is None else self._encode(params)
        )  # first, because it may raise, and then nothing was asked
        pending = self._asked.new()
        if not self._gone:
            head = f'{{"jsonrpc":"2.0","id":"{pending.id}","method":{self._encode(method)}'
            body = f"{head}}}" if encoded is None else f'{head},"params":{encoded}}}'
            if not marks:
                self._post(body)
            elif self._send is not None:
                self._send(marks.in_pieces(body), None)
        self._marks = Marks()  # the pieces hold the texts now
        return pending

    def _serialize_other(self, value: Any) -> Any:
        return self._marks.put(value) if isinstance(value, LongText) else self._serialize_message(value)

    async def disconnect(self, seconds: float) -> None:
        """The editor is gone, or going: fail the requests to it and cancel its own requests. Answers to those are still sent, for an editor that only
        said `exit`."""
        self._gone = True
        self._asked.end()
        self._running.cancel_all()
        await self._running.settle(seconds)

    # ---- called by pygls's generated methods

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
                answer.set_result(self._shapes.result(method, future.result()))

        self.request(method, params).add_done_callback(done)
        return answer

    def send_request_async(
        self, method: str, params: Any | None = None, msg_id: Id | None = None
    ) -> asyncio.Future[Any]:
        async def answer() -> Any:
            return self._shapes.result(method, await pending)

        pending = self.request(method, params)
        return asyncio.ensure_future(answer())

    # ---- life cycle

    def _initialize(self, feature: Handler | None, params: types.InitializeParams) -> object:
        self._server.process_id = params.process_id
        self.on_editor(params.process_id)
        self.client_capabilities = params.capabilities
        self.encoding = Encoding(position_encoding(self.initialize_params))
        folders = list(params.workspace_folders or ())
        if not folders and (root := params.root_uri or (params.root_path and from_fs_path(params.root_path))):
            folders = [types.WorkspaceFolder(uri=root, name="")]
        self.folders = {folder.uri: folder for folder in folders}
        self.state = Lifecycle.RUNNING
        try:
            if feature is not None:
                feature(params)
        except Exception:
            if self.announced is None:
                self.state = Lifecycle.NEW  # the editor is told, and may try again
            raise
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

    def _shutdown_now(self, feature: Handler | None, _: object) -> object:
        self.state = Lifecycle.SHUTDOWN
        self._running.cancel_all()
        return None if feature is None else self._shut_down(feature)

    async def _shut_down(self, feature: Handler) -> None:
        try:
            await _resolved(feature(None))
        except Exception:  # noqa: BLE001 - the editor's shutdown goes on
            _log.exception("shutting down failed")

    def _exit(self) -> None:
        if self.state is not Lifecycle.EXITED:
            self.clean = self.state is Lifecycle.SHUTDOWN
            self.state = Lifecycle.EXITED
            self.on_exit()

    clean = False
    """The editor asked for shutdown before exit (LSP: exit code 0, otherwise 1)."""

    def _folders_changed(
        self, feature: Handler | None, params: types.DidChangeWorkspaceFoldersParams
    ) -> object:
        for folder in params.event.removed:
            self.folders.pop(folder.uri, None)
        for folder in params.event.added:
            self.folders[folder.uri] = folder
        self.on_folders(tuple(self.folders))
        return None if feature is None else feature(params)

    def _set_trace(self, feature: Handler | None, params: types.SetTraceParams) -> object:
        self.trace = params.value
        return None if feature is None else feature(params)

    def _cancel_progress(self, feature: Handler | None, params: types.WorkDoneProgressCancelParams) -> object:
        tokens = cast("dict[int | str, Future[Any]]", self.progress.tokens)  # pyright: ignore[reportUnknownMemberType] - untyped in pygls
        future = tokens.get(params.token)
        if future is not None:
            future.cancel()
        return None if feature is None else feature(params)


async def _resolved(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result
