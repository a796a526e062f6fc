"""http_wire: HTTP/1.1 on a connection to the port of `acp-sidecar acp --listen`: requests, one after another, and their answers.

The WebSocket library reads requests that open a WebSocket, and no others. So the first bytes of a connection decide who reads it (`Either`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers

from sidecar import __version__

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 20.0
"""For the first request's head. Later requests may come at any time."""
BODY_SECONDS = 60.0
SEND_SECONDS = 60.0
"""How long a client may leave its data unread."""
READ = 256 * 1024


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    target: str
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    status: HTTPStatus
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: AsyncIterator[bytes] | None = None
    """Used in place of `body`: pieces, until it ends or the client hangs up."""


def said(status: HTTPStatus, words: str, headers: Mapping[str, str] | None = None) -> Answered:
    return Answered(
        status, f"{words}\n".encode(), {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}
    )


class TooLong(Exception):
    """The body of a request has too many bytes."""


Serve = Callable[[HttpRequest], Awaitable[Answered]]


Ours = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
"""Takes a connection over. Must not block."""


def either(ours: Ours) -> type[Either]:
    class WithOurs(Either):
        _ours = staticmethod(ours)
        silent: ClassVar[set[Either]] = set()

    return WithOurs


class Either(ServerConnection):
    """A connection of the WebSocket server that becomes one of ours if its first request does not open a WebSocket."""

    _ours: Ours
    silent: ClassVar[set[Either]]
    """The connections that have requested nothing yet."""

    @classmethod
    def end_silent(cls) -> None:
        """Close the silent connections: from Python 3.12.1 on, the end of a server waits for all of its connections."""
        for one in list(cls.silent):
            one._undecided.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._begun = b""
        self._undecided: Any = transport
        self.silent.add(self)
        self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        transport = self._undecided
        if transport is None:
            return super().data_received(data)
        self._begun += data
        head, end, _ = self._begun.partition(b"\r\n\r\n")
        if not end and len(head) <= HEAD_BYTES:
            return None
        self._undecided = None
        self._late.cancel()
        self.silent.discard(self)
        if end and head.startswith(b"GET ") and b"\r\nupgrade: websocket" in head.lower():
            super().connection_made(transport)
            return super().data_received(self._begun)
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader, self._ours)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return protocol.data_received(self._begun)

    def eof_received(self) -> None:
        if self._undecided is None:
            super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        self.silent.discard(self)
        if self._undecided is None:
            super().connection_lost(exc)


async def carried(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, longest: int, serve: Serve
) -> None:
    """Answer requests until either side ends the connection. `longest`: the most bytes of a request's body."""
    wire = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
    try:
        while (asked := await _asked(wire, reader, writer, longest)) is not None:
            await _answer(wire, reader, writer, asked.method, await serve(asked))
            if wire.our_state is not h11.DONE or wire.their_state is not h11.DONE:
                return
            wire.start_next_cycle()
    except h11.RemoteProtocolError as error:
        await _last(wire, writer, HTTPStatus(error.error_status_hint), "that is no HTTP")
    except TooLong:
        await _last(
            wire, writer, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a message has at most {longest} bytes"
        )
    except (OSError, TimeoutError, h11.LocalProtocolError):
        pass  # it has hung up, or does not continue
    finally:
        writer.close()


async def _asked(
    wire: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, longest: int
) -> HttpRequest | None:
    """The next request, as a whole. None at the end. Raises RemoteProtocolError, TooLong, OSError, and TimeoutError for a body that does not
    continue."""
    head = await _event(wire, reader)
    if not isinstance(head, h11.Request):
        return None
    parts: list[bytes] = []
    size = 0
    if wire.they_are_waiting_for_100_continue:
        writer.write(wire.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
    async with asyncio.timeout(BODY_SECONDS):
        while isinstance(part := await _event(wire, reader), h11.Data):
            size += len(part.data)
            if size > longest:
                raise TooLong
            parts.append(bytes(part.data))
    if not isinstance(part, h11.EndOfMessage):
        return None
    headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers])
    return HttpRequest(head.method.decode("ascii"), head.target.decode("latin-1"), headers, b"".join(parts))


async def _event(wire: h11.Connection, reader: asyncio.StreamReader) -> object:
    while (event := wire.next_event()) is h11.NEED_DATA:
        wire.receive_data(await reader.read(READ))
    return event


async def _answer(
    wire: h11.Connection,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    answer: Answered,
) -> None:
    headers = {"Server": f"acp-sidecar/{__version__}", **answer.headers}
    if answer.stream is None:
        headers["Content-Length"] = str(len(answer.body))
    else:
        headers |= {"Cache-Control": "no-cache", "Connection": "close"}
    start = h11.Response(status_code=int(answer.status), headers=list(headers.items()))
    writer.write(wire.send(start) or b"")
    if answer.stream is None:
        if answer.body and method != "HEAD":
            writer.write(wire.send(h11.Data(data=answer.body)) or b"")
    else:
        await _streamed(wire, reader, writer, answer.stream)
    writer.write(wire.send(h11.EndOfMessage()) or b"")
    await _drained(writer)


async def _streamed(
    wire: h11.Connection,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    pieces: AsyncIterator[bytes],
) -> None:
    gone = asyncio.ensure_future(reader.read(1))  # a client sends nothing more on such a connection
    piece: asyncio.Future[bytes] | None = None
    try:
        await _drained(writer)
        while True:
            piece = asyncio.ensure_future(anext(pieces, b""))
            await asyncio.wait({gone, piece}, return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                raise ConnectionResetError
            if not (data := piece.result()):
                return
            writer.write(wire.send(h11.Data(data=data)) or b"")
            await _drained(writer)
    finally:
        gone.cancel()
        if piece is not None and not piece.done():
            piece.cancel()
            await asyncio.wait({piece})


async def _drained(writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await writer.drain()


async def _last(wire: h11.Connection, writer: asyncio.StreamWriter, status: HTTPStatus, words: str) -> None:
    body = f"{words}\n".encode()
    try:
        headers = [("Content-Length", str(len(body))), ("Connection", "close")]
        writer.write(wire.send(h11.Response(status_code=int(status), headers=headers)) or b"")
        writer.write((wire.send(h11.Data(data=body)) or b"") + (wire.send(h11.EndOfMessage()) or b""))
        await _drained(writer)
    except (h11.LocalProtocolError, OSError, TimeoutError):
        pass
