"""Server: `SidecarServer`, on which the editor's features are registered, and `serve`, which runs it on two descriptors.

Registering (editor.py, commands.py, …), all before or while `build` runs:

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)       async def or def (params), lsprotocol's type
    @server.feature("sidecar/opaque")                    custom: params as plain JSON
    @server.command("sidecar.prompt")                    (argument): one JSON value, None if there was none
    @server.feature(types.INITIALIZE)                    def only; runs before the capabilities are computed
    @server.feature(types.SHUTDOWN)                      params is None; awaited before the answer

An `async def` starts after the messages that arrived with it. Record what depends on the order of arrival in a plain `def`
that returns an awaitable. Errors for the user: raise `errors.CommandFailed("message")` or `ports.AgentFailed`.

Sending: `server.notify(method, params, coalesce_key=…)`, `await server.request(method, params)`; params are plain JSON or
lsprotocol's types. pygls's generated methods (`window_show_message`, `workspace_apply_edit_async`, …) work too.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import signal
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from sidecar import __version__, processes
from sidecar.core.overlay import Modification, Notified
from sidecar.core.text import Encoding, Text
from sidecar.lsp.announcement import NAME
from sidecar.lsp.framing import Fault, Framing, LongBody, joined
from sidecar.lsp.greeting import Greeting
from sidecar.lsp.pending import Pending
from sidecar.lsp.protocol import Handler, Parsed, SidecarProtocol, read
from sidecar.lsp.reader import InputReader
from sidecar.lsp.told_back import ToldBack
from sidecar.lsp.writer import OutputWriter

SLICE = 0.005
"""Seconds of handling messages before agents, timers and answers get their turn."""

FLUSH = 2.0
"""Seconds within which the last answers must be written."""

EDITOR_CHECK = 5.0
"""Seconds between checks that the editor's process is alive."""

_log = logging.getLogger(__name__)


class SidecarServer(LanguageServer):
    """The language server of one editor connection. Never read text from `workspace`, pygls's store: it is empty."""

    protocol: SidecarProtocol  # pyright: ignore[reportIncompatibleVariableOverride] - set once, by pygls

    def __init__(self, on_modification: Callable[[Modification], None]) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - untyped in pygls
            NAME, __version__, protocol_cls=SidecarProtocol, converter_factory=default_converter
        )
        self.protocol.on_modification = on_modification
        self.told_back = ToldBack()

    @property
    def encoding(self) -> Encoding:
        """The negotiated encoding of positions: the client's first offer that we support (all three), otherwise UTF-16."""
        return self.protocol.encoding

    @property
    def folders(self) -> tuple[str, ...]:
        """The URIs of the workspace folders, as the editor spells them."""
        return tuple(self.protocol.folders)

    @property
    def client_capabilities(self) -> types.ClientCapabilities:
        """Empty before `initialize`."""
        return self.protocol.client_capabilities

    @property
    def initialize_params(self) -> dict[str, Any]:
        """The params of `initialize` as plain JSON; empty before it."""
        return self.protocol.initialize_params

    def feature(self, feature_name: str, options: Any | None = None) -> Callable[[Handler], Handler]:
        register = super().feature(feature_name, options)

        def decorate(handler: Handler) -> Handler:
            if feature_name == types.INITIALIZE and inspect.iscoroutinefunction(handler):
                raise TypeError(
                    "what initialize needs must be there before the next message: use a plain def"
                )
            return register(handler)

        return decorate

    def notify(self, method: str, params: Any = None, coalesce_key: Hashable | None = None) -> None:
        """Queue a notification; see SidecarProtocol.notify."""
        self.protocol.notify(method, params, coalesce_key)

    def request(self, method: str, params: Any = None) -> Pending:
        """Queue a request and return an awaitable; see Pending."""
        return self.protocol.request(method, params)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log the error; pygls would show the user a message box."""
        _log.error("%s", error, exc_info=error)


async def serve(
    stdin: int,
    stdout: int,
    build: Callable[[], AbstractAsyncContextManager[SidecarServer]],
    greeting: Greeting | None = None,
) -> int:
    """Run one connection on two descriptors until `exit`, end of input or a signal. Returns the exit code.

    `build` makes the object graph and takes it down again: it is left before the last answers are flushed. `greeting`: what was read, and perhaps
    answered, before. See `main.run`, which has the process's own stdin and stdout.

    0: exit after shutdown. 1: exit without shutdown, or the editor vanished. 128 + n: signal n."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    writer = OutputWriter(stdout, lambda _: _soon(loop, end, 1))
    restore = _on_signals(loop, lambda number: end(128 + number))
    try:
        async with build() as server:
            protocol = server.protocol
            protocol.attach(writer.send)
            protocol.on_exit = lambda: end(0 if protocol.clean else 1)
            feeder = _Feeder(
                protocol, loop, greeting or Greeting(Framing()), server.told_back, lambda: end(1)
            )
            reader = InputReader(stdin, feeder.on_data)
            feeder.start(reader)
            watch = _EditorWatch(lambda: end(1))
            protocol.on_editor = watch.begin
            try:
                return await ended
            finally:
                watch.stop()
                reader.close()
                feeder.stop()
                await protocol.disconnect(FLUSH)
    finally:
        restore()
        writer.close()
        await loop.run_in_executor(None, writer.wait, FLUSH)


LARGE = 1024 * 1024
"""Bytes of a message above which parsing would block the event loop for too long."""


class _Feeder:
    """Turns data into messages and feeds them to the protocol, in slices."""

    def __init__(
        self,
        protocol: SidecarProtocol,
        loop: asyncio.AbstractEventLoop,
        greeting: Greeting,
        told_back: ToldBack,
        on_end: Callable[[], None],
    ) -> None:
        self._protocol = protocol
        self._loop = loop
        self._on_end = on_end
        self._framing = greeting.framing
        self._first = greeting.first
        self._told_back = told_back
        protocol.announced = greeting.announced
        self._ended = False
        self._stopped = False
        self._reader: InputReader | None = None
        self._reading = False
        """A thread is parsing a large message. Everything after it waits."""

    def start(self, reader: InputReader) -> None:
        self._reader = reader
        if self._first is not None:
            self._handle(self._first)
        self._work()

    def stop(self) -> None:
        """Drop input that was read and not yet handled."""
        self._stopped = True

    def on_data(self, data: bytes) -> None:
        if data:
            self._framing.feed(data)
        else:
            self._ended = True
        self._work()

    def _handle(self, item: bytes | LongBody | Fault) -> None:
        if isinstance(item, Fault):
            self._protocol.refuse(item.reason)
        else:
            self._take(read(joined(item)))

    def _take(self, found: Modification | Parsed) -> None:
        if rest := self._protocol.take(found):
            self._framing.unread(rest)

    def _read(self, item: bytes | LongBody) -> Modification | Parsed:
        """Parse a large message, in a thread."""
        body = joined(item)
        return self._told_back.read(body) or _divided(read(body))

    def _was_read(self, reading: asyncio.Future[Modification | Parsed]) -> None:
        self._reading = False
        if self._stopped or reading.cancelled():
            return
        self._loop.call_soon(self._work)  # even if this message fails
        self._take(reading.result())

    def _work(self) -> None:
        framing, reader = self._framing, self._reader
        assert reader is not None
        if self._stopped or self._reading:
            return
        until = time.monotonic() + SLICE
        while (item := framing.next()) is not None:
            if not isinstance(item, Fault) and _size(item) > LARGE:
                self._reading = True
                reader.pause()
                self._loop.run_in_executor(None, self._read, item).add_done_callback(self._was_read)
                return
            self._handle(item)
            if time.monotonic() > until:
                reader.pause()
                self._loop.call_soon(self._work)
                return
        if self._ended:
            if framing.pending:
                _log.warning("the input ended within a message")
            self._on_end()
        else:
            reader.resume()


def _divided(found: Modification | Parsed) -> Modification | Parsed:
    """If a document is opened, with its text as the mirror keeps it: the loop only has to take it."""
    if not isinstance(found, Modification) or found.action is not Notified.OPEN or not found.text:
        return found
    text = Text.of(found.text)
    text.compared()
    return found._replace(divided=text)


def _size(item: bytes | LongBody) -> int:
    return item.size if isinstance(item, LongBody) else len(item)


class _EditorWatch:
    """Reports when the process named in `initialize` has ended (LSP, `processId`).

    The end of input usually comes earlier, except when another process inherited the pipe. If no such process exists when it is named, the editor
    runs on another machine or in another container, unless it is the process that started us. Not on Windows, where this cannot be determined."""

    def __init__(self, on_death: Callable[[], None]) -> None:
        self._on_death = on_death
        self._parent = os.getppid()
        self._task: asyncio.Future[None] | None = None

    def begin(self, pid: object) -> None:
        """Start watching. Checks at once, so that an editor that dies a moment later is known to have lived."""
        self.stop()
        if isinstance(pid, int) and pid > 0 and (pid == self._parent or _runs(pid)):
            self._task = asyncio.ensure_future(self._until_death(pid))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _until_death(self, pid: int) -> None:
        while True:
            running = _runs(pid)
            if running is None:
                return
            if not running:
                _log.warning("the editor's process has ended")
                self._on_death()
                return
            await asyncio.sleep(EDITOR_CHECK)


def _runs(pid: int) -> bool | None:
    try:
        return processes.runs(pid)
    except OverflowError:
        return None


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[int], None], argument: int) -> None:
    try:
        loop.call_soon_threadsafe(call, argument)
    except RuntimeError:
        pass  # the loop is closed: nobody is left to be told


def _on_signals(loop: asyncio.AbstractEventLoop, call: Callable[[int], None]) -> Callable[[], None]:
    """Let the usual signals end the server in order. Windows has no `add_signal_handler`."""
    restores: list[Callable[[], object]] = []
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    numbers = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    for number in numbers:
        try:
            loop.add_signal_handler(number, call, number)
            restores.append(lambda number=number: loop.remove_signal_handler(number))
        except (NotImplementedError, RuntimeError, ValueError):
            try:
                before = signal.signal(number, lambda n, _: _soon(loop, call, n))
            except ValueError:
                continue  # not in the main thread
            restores.append(lambda number=number, before=before: signal.signal(number, before))

    def restore() -> None:
        for undo in restores:
            undo()

    return restore
