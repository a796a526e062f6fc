"""An LSP client that sends raw bytes and reads strictly, connected to a server in another process or in this one.

It shares no code with the server and parses the base protocol as specified.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from sidecar.lsp.greeting import Greeting
from sidecar.lsp.server import SidecarServer, serve
from tests.support import lsp_only

WAIT = 60.0
INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def message(**fields: Any) -> bytes:
    return framed(json.dumps({"jsonrpc": "2.0", **fields}).encode())


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, write: Callable[[bytes], Any], close: Callable[[], Any]):
        self._reader = reader
        self._write = write
        self.close = close
        self._serial = 0
        self.seen: list[dict[str, Any]] = []
        """All received messages."""
        self.exit_code: Callable[[], Any]
        self.process: Any = None
        self.reading: Any = None
        """The transport that reads. Pause it for an editor that does not read."""

    def send(self, data: bytes) -> None:
        self._write(data)

    def notify(self, method: str, params: Any = None) -> None:
        self.send(message(method=method, params=params))

    def ask(self, method: str, params: Any = None) -> int:
        """Sends a request and returns its id."""
        self._serial += 1
        self.send(message(id=f"c{self._serial}", method=method, params=params))
        return self._serial

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the server's output."""
        async with asyncio.timeout(WAIT):
            length = 0
            while (line := await self._reader.readline()) != b"\r\n":
                if not line:
                    return None
                name, value = line.split(b": ")
                assert name == b"Content-Length"
                length = int(value)
            received = json.loads(await self._reader.readexactly(length))
        self.seen.append(received)
        return received

    async def receive_until(self, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        while (received := await self.receive()) is not None:
            if wanted(received):
                return received
        raise AssertionError(f"the server ended; it had said {self.seen}")

    async def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Sends a request and returns the whole answer, with `result` or `error`."""
        serial = self.ask(method, params)
        return await self.receive_until(lambda m: m.get("id") == f"c{serial}" and "method" not in m)

    async def command(self, name: str, *arguments: Any) -> Any:
        answer = await self.request(
            "workspace/executeCommand", {"command": name, "arguments": list(arguments)}
        )
        return answer["result"]

    async def initialize(self, **params: Any) -> dict[str, Any]:
        answer = await self.request("initialize", {**INITIALIZE, **params})
        self.notify("initialized", {})
        return answer["result"]

    async def text(self, uri: str) -> Any:
        return (await self.command("test.text", {"uri": uri}))["text"]


@asynccontextmanager
async def in_process(
    build: Callable[[], AbstractAsyncContextManager[SidecarServer]] = lsp_only.build,
    greeting: Greeting | None = None,
) -> AsyncIterator[RawClient]:
    """Runs the server on pipes in this process. `client.exit_code()` awaits its end."""
    loop = asyncio.get_running_loop()
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    reader = asyncio.StreamReader(limit=2**24)
    pipe = os.fdopen(client_in, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    closed = False

    def close() -> None:
        nonlocal closed
        if not closed:
            closed = True
            os.close(client_out)

    task = asyncio.ensure_future(serve(server_in, server_out, build, greeting))
    task.add_done_callback(lambda _: os.close(server_out))
    client = RawClient(reader, lambda data: _write_all(client_out, data), close)

    async def exit_code() -> int:
        async with asyncio.timeout(WAIT):
            return await task

    client.exit_code = exit_code
    client.reading = transport
    try:
        yield client
    finally:
        close()
        await exit_code()
        transport.close()
        os.close(server_in)


@asynccontextmanager
async def as_process(*command: str, drained: bool = True, **how: Any) -> AsyncIterator[RawClient]:
    """Runs `python -m tests.support.lsp_only`, or another command, as `client.process`. `client.reading` is the
    transport that reads.

    Without `drained`, nobody reads its stderr. `how`: further options of the process (`cwd`, `env`).
    """
    output, its_output = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(command or (sys.executable, "-m", "tests.support.lsp_only")),
        stdin=asyncio.subprocess.PIPE,
        stdout=its_output,
        stderr=asyncio.subprocess.PIPE if drained else (unread := os.pipe())[1],
        **how,
    )
    os.close(its_output)
    assert process.stdin is not None
    reader = asyncio.StreamReader(limit=2**24)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb", buffering=0)
    )
    client = RawClient(reader, process.stdin.write, process.stdin.close)
    errors = asyncio.ensure_future(_all_of(process.stderr))

    async def exit_code() -> tuple[int, str]:
        async with asyncio.timeout(WAIT):
            return await process.wait(), (await errors).decode()

    client.exit_code = exit_code
    client.process = process
    client.reading = transport
    try:
        yield client
    finally:
        process.stdin.close()
        if process.returncode is None:
            try:
                async with asyncio.timeout(WAIT):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        transport.close()
        if not drained:
            for fd in unread:
                os.close(fd)
        await errors


async def _all_of(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
