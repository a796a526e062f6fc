"""Endpoint: the client's side of an LSP connection — a server process, framed JSON, requests both ways. It contains nothing of an editor.

It deliberately uses raw bytes and the standard library: what drives the sidecar in the demo and the tests must not share its protocol code. Messages
are handled in the order of their arrival. Every wait has a limit (`Silence`). If the server ends or writes something that is not LSP, every wait
raises `Gone`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from sidecar.core.json_types import JsonDict

WAIT = 30.0
"""The limit of any single wait, in seconds, unless the caller gives another."""
PATIENCE = 3.0
"""Seconds within which a server must exit by itself when this side fails."""
PIPES_SECONDS = 5.0
"""Seconds to wait for the end of an ended server's output."""
METHOD_NOT_FOUND, INTERNAL_ERROR, REQUEST_CANCELLED = -32601, -32603, -32800


class Gone(Exception):
    """The server ended or closed its output during a wait."""


class Silence(Exception):
    """Nothing arrived within the limit."""


class ErrorAnswer(Exception):
    """An error response, from the server or to it."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Endpoint:
    def __init__(
        self,
        command: Sequence[str],
        folder: str | os.PathLike[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` replaces the process's own; None inherits it."""
        self.command = list(command)
        self.folder = os.path.abspath(folder)
        self.environment = environment
        self.stderr: deque[str] = deque(maxlen=200)
        """The last lines that the server wrote to stderr."""
        self._process: asyncio.subprocess.Process | None = None
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[object, asyncio.Future[object]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiters: list[tuple[Callable[[], object], asyncio.Future[None]]] = []
        self._gone: Gone | None = None
        self._stopping = False

    # For subclasses

    async def initialize(self) -> None:
        """Do the handshake, once the process has started."""

    def handle(self, method: str, params: JsonDict) -> object:
        """Return the result of a server's request, or an awaitable of it. Raise ErrorAnswer for an error response."""
        raise ErrorAnswer(METHOD_NOT_FOUND, f"{method} is not handled here")

    def heard(self, method: str, params: JsonDict) -> None:
        """Handle a notification from the server."""

    # Life

    async def __aenter__(self) -> Self:
        await self.start()
        try:
            await self.initialize()
        except BaseException:
            await self.kill()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.stop()
        else:
            await self.kill(PATIENCE)  # a good server also ends its agents when its input ends

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )
        self._spawn(self._read_messages(self._spawn(self._read_stderr())))

    async def stop(self, timeout: float = 10.0) -> int:
        """Send shutdown and exit, and return the exit code. Kills the process if it does not end within `timeout` seconds."""
        self._stopping = True
        try:
            await self.request("shutdown", None, timeout)
            self.notify("exit", None)
        except (Gone, Silence, ErrorAnswer):
            pass
        return await self.kill(timeout)

    async def kill(self, patience: float = 0.0) -> int:
        """Close the process's input, wait `patience` seconds, then kill it. Returns the exit code."""
        self._stopping = True
        process = self._process
        if process is None:
            return 0
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), patience)
        except TimeoutError:
            try:
                process.kill()
            except ProcessLookupError:
                pass
            await process.wait()
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            # reads its pipes to the end and closes them; a process that it left behind may hold them open
            await asyncio.wait_for(process.communicate(), PIPES_SECONDS)
        except TimeoutError:
            pass
        return process.returncode or 0

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    # Talking

    async def request(self, method: str, params: object, timeout: float = WAIT) -> Any:
        """Send a request and return its result. Raises ErrorAnswer, Gone, Silence. Silence and cancellation withdraw the request."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            self.send(_message(method, params, number))
            return await asyncio.wait_for(answer, timeout)
        except TimeoutError:
            self.notify("$/cancelRequest", {"id": number})
            raise Silence(f"no answer to {method} within {timeout:g} s") from None
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            del self._pending[number]

    def notify(self, method: str, params: object) -> None:
        try:
            self.send(_message(method, params))
        except Gone:
            pass  # everyone who waits for something is told

    async def wait_for(self, condition: Callable[[], object], timeout: float = WAIT) -> None:
        """Wait until `condition()` is true. It is checked again after everything that happens here. Raises Gone, Silence."""
        if condition():
            return
        if self._gone is not None:
            raise self._gone
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (condition, reached)
        self._waiters.append(waiter)
        try:
            await asyncio.wait_for(reached, timeout)
        except TimeoutError:
            raise Silence(f"did not come about within {timeout:g} s") from None
        finally:
            self._waiters.remove(waiter)

    def happened(self) -> None:
        """Something changed: check the conditions of `wait_for` again."""
        for condition, reached in self._waiters:
            if reached.done():
                continue
            try:
                if condition():
                    reached.set_result(None)
            except Exception as error:  # noqa: BLE001 - the error belongs to the author of the condition
                reached.set_exception(error)

    def send(self, message: JsonDict) -> None:
        """Queue a message at once. A server that does not read never blocks this side. Raises Gone."""
        if self._gone is not None:
            raise self._gone
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def write(self, data: bytes) -> None:
        """Queue raw bytes for the server."""
        assert self._process is not None, "not started"
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    # Incoming

    async def _read_messages(self, stderr: asyncio.Task[None]) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout
        try:
            while True:
                head = (await pipe.readuntil(b"\r\n\r\n")).decode("ascii")
                fields = dict(line.lower().split(":", 1) for line in head.strip().split("\r\n"))
                body = await pipe.readexactly(int(fields["content-length"]))
                self._received(cast("JsonDict", json.loads(body)))
        except asyncio.IncompleteReadError as end:
            await asyncio.wait([stderr], timeout=1.0)  # its last words may still be on their way
            junk = f" after {end.partial[:200]!r}" if end.partial else ""
            self._lost(f"the server closed its output{junk}")
        except (ValueError, KeyError, asyncio.LimitOverrunError) as error:
            self._lost(f"the server wrote something that is not LSP ({error!r})")

    async def _read_stderr(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.stderr.append(line.decode("utf-8", "replace").rstrip())

    def _lost(self, why: str) -> None:
        # Skips the indented lines of a traceback.
        words = next((line for line in reversed(self.stderr) if line[:1].strip()), None)
        self._gone = Gone(why if words is None else f"{why}; its last words: {words}")
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(self._gone)
        for _, reached in self._waiters:
            if not reached.done():
                reached.set_exception(self._gone)

    def _received(self, message: JsonDict) -> None:
        params: JsonDict = message.get("params") or {}
        if "method" not in message:
            self._settle(message)
        elif "id" in message:
            self._answer(message["id"], message["method"], params)
        elif message["method"] == "$/cancelRequest":
            answer = self._answering.get(params["id"])
            if answer is not None:
                answer.cancel()
        else:
            self.heard(message["method"], params)
        self.happened()

    def _settle(self, message: JsonDict) -> None:
        answer = self._pending.get(message.get("id") or 0)
        if answer is None or answer.done():
            return
        if "error" in message:
            error: JsonDict = message["error"]
            answer.set_exception(ErrorAnswer(error["code"], error["message"], error.get("data")))
        else:
            answer.set_result(message.get("result"))

    def _answer(self, number: object, method: str, params: JsonDict) -> None:
        """Handle a request up to its first wait before anything that arrived later is looked at."""
        try:
            result = self.handle(method, params)
        except Exception as error:  # noqa: BLE001 - every request is answered, even if its handler fails
            self._reply(number, error=error)
            return
        if isinstance(result, Awaitable):
            # A cancel withdraws the result, not the waiting task: a task that is cancelled before it began
            # would answer nothing.
            self._answering[number] = answer = asyncio.ensure_future(cast("Awaitable[object]", result))
            self._spawn(self._answer_later(number, answer))
        else:
            self._reply(number, result)

    async def _answer_later(self, number: object, result: asyncio.Future[object]) -> None:
        try:
            self._reply(number, await result)
        except asyncio.CancelledError:
            self._reply(number, error=ErrorAnswer(REQUEST_CANCELLED, "cancelled"))
            if self._stopping:
                raise
        except Exception as error:  # noqa: BLE001 - as above
            self._reply(number, error=error)
        finally:
            self._answering.pop(number, None)

    def _reply(self, number: object, result: object = None, error: Exception | None = None) -> None:
        message: JsonDict = {"jsonrpc": "2.0", "id": number}
        if error is None:
            message["result"] = result
        else:
            code = error.code if isinstance(error, ErrorAnswer) else INTERNAL_ERROR
            message["error"] = {"code": code, "message": str(error) or type(error).__name__}
        try:
            self.send(message)
        except Gone:
            pass

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _message(method: str, params: object, number: int | None = None) -> JsonDict:
    message: JsonDict = {"jsonrpc": "2.0", "method": method}
    if number is not None:
        message["id"] = number
    if params is not None:
        message["params"] = params
    return message
