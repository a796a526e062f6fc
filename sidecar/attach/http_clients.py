"""HttpClients: the clients of `acp-sidecar acp --listen` that use Streamable HTTP, in ACP's draft of it, in place of a WebSocket.

    POST    `initialize`, which is answered with 200, the answer, and `Acp-Connection-Id`; every other message, which is answered with 202
    GET     an event stream (Streams): of the connection, or with `Acp-Session-Id` of a conversation
    DELETE  the end

Nobody else knows the connection's id, so whoever has it is let in. `Listening` decides who may begin a connection.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Protocol, cast

import msgspec

from sidecar.acp.frames import line_of
from sidecar.attach.http_wire import Answered, HttpRequest, said
from sidecar.attach.streams import Streams
from sidecar.proxy.heads import head_of, raw

CONNECTION, SESSION = "Acp-Connection-Id", "Acp-Session-Id"
METHODS = "POST, GET, DELETE"
INITIALIZE_SECONDS = 90.0
"""Long, because the user is asked whether the client may take part."""
ALONE_SECONDS = 30.0
"""How long a client may listen to no stream before it is assumed to have gone."""
SEND_SECONDS = 60.0
LONGEST_NAME = 1024
"""The most characters of a conversation's id."""


class ClientProcess(Protocol):
    """The process to which a client talks: an `acp-sidecar acp` of its own."""

    stdin: asyncio.StreamWriter | None
    stdout: asyncio.StreamReader | None


class HttpClients:
    def __init__(
        self, start: Callable[[], Awaitable[ClientProcess]], end: Callable[[ClientProcess], Awaitable[None]]
    ) -> None:
        """`start`: starts a client's process; `end`: ends it, and everything with it."""
        self._start = start
        self._end = end
        self._clients: dict[str, _Client] = {}

    def knows(self, asked: HttpRequest) -> bool:
        return asked.headers.get(CONNECTION) in self._clients

    @staticmethod
    def begins(asked: HttpRequest) -> bool:
        """Whether the request is for a new connection."""
        return asked.method == "POST" and CONNECTION not in asked.headers

    async def answered(self, asked: HttpRequest) -> Answered:
        match asked.method:
            case "POST":
                return await self._posted(asked)
            case "GET":
                return self._listened(asked)
            case "DELETE":
                client = self._client(asked)
                if isinstance(client, Answered):
                    return client
                await self._over(client)
                return Answered(HTTPStatus.ACCEPTED)
            case _:
                return said(HTTPStatus.METHOD_NOT_ALLOWED, f"There are {METHODS}.", {"Allow": METHODS})

    async def aclose(self) -> None:
        for client in list(self._clients.values()):
            await self._over(client)

    def _client(self, asked: HttpRequest) -> _Client | Answered:
        found = asked.headers.get(CONNECTION)
        if found is None:
            return said(HTTPStatus.BAD_REQUEST, f"{CONNECTION} is missing; begin with `initialize`.")
        client = self._clients.get(found)
        return client or said(HTTPStatus.NOT_FOUND, "This connection has ended; begin with `initialize`.")

    async def _posted(self, asked: HttpRequest) -> Answered:
        kind = asked.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return said(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A message is application/json.")
        if asked.body.lstrip()[:1] == b"[":
            return said(HTTPStatus.NOT_IMPLEMENTED, "Batches are not supported; send one message.")
        head = head_of(asked.body)
        if head is None:
            return said(HTTPStatus.BAD_REQUEST, "That is not an ACP message.")
        line = line_of(asked.body.decode())
        if not self.begins(asked):
            client = self._client(asked)
            if isinstance(client, Answered):
                return client
            return Answered(HTTPStatus.ACCEPTED if await client.told(line) else HTTPStatus.NOT_FOUND)
        if head.method != "initialize" or isinstance(head.id, msgspec.UnsetType):
            return said(HTTPStatus.BAD_REQUEST, f"{CONNECTION} is missing; begin with `initialize`.")
        return await self._initialized(line, raw(head.id))

    async def _initialized(self, line: bytes, number: bytes) -> Answered:
        client = _Client(await self._start())
        self._clients[client.id] = client
        client.run(self._over)
        try:
            async with asyncio.timeout(INITIALIZE_SECONDS):
                answer = await client.initialized(line, number)
        except (TimeoutError, ConnectionError):
            await self._over(client)
            return said(HTTPStatus.BAD_GATEWAY, "The editor did not answer.")
        except asyncio.CancelledError:
            await self._over(client)
            raise
        headers = {"Content-Type": "application/json", CONNECTION: client.id}
        return Answered(HTTPStatus.OK, answer, headers)

    def _listened(self, asked: HttpRequest) -> Answered:
        accepted = asked.headers.get("Accept", "")
        if "text/event-stream" not in accepted and "*/*" not in accepted:
            return said(HTTPStatus.NOT_ACCEPTABLE, "The Accept header must allow text/event-stream.")
        client = self._client(asked)
        if isinstance(client, Answered):
            return client
        session = asked.headers.get(SESSION)
        if session is not None and (len(session) > LONGEST_NAME or not client.streams.has_room_for(session)):
            return said(HTTPStatus.BAD_REQUEST, "There are too many conversations.")
        return Answered(
            HTTPStatus.OK,
            headers={"Content-Type": "text/event-stream"},
            stream=client.streams.listen(session),
        )

    async def _over(self, client: _Client) -> None:
        if self._clients.pop(client.id, None) is not None:
            client.streams.end()
            await self._end(client.process)
            client.stop()


class _Client:
    def __init__(self, process: ClientProcess) -> None:
        self.id = secrets.token_urlsafe(32)
        self.process = process
        self.streams = Streams()
        self._writing = asyncio.Lock()
        self._first: tuple[bytes, asyncio.Future[bytes]] | None = None
        self._tasks: list[asyncio.Future[None]] = []

    def run(self, over: Callable[[_Client], Awaitable[None]]) -> None:
        self._tasks = [asyncio.ensure_future(self._heard(over)), asyncio.ensure_future(self._alone(over))]

    def stop(self) -> None:
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def initialized(self, line: bytes, number: bytes) -> bytes:
        """Send the first request. Returns its answer. Raises ConnectionError."""
        self._first = number, asyncio.get_running_loop().create_future()
        await self.told(line)
        return await self._first[1]

    async def told(self, line: bytes) -> bool:
        """Pass a message to the process. Returns whether the process still accepts messages."""
        stdin = cast("asyncio.StreamWriter", self.process.stdin)
        self.streams.asked(line)
        try:
            async with self._writing, asyncio.timeout(SEND_SECONDS):
                stdin.write(line)
                await stdin.drain()
        except (OSError, TimeoutError):
            return False
        return True

    async def _heard(self, over: Callable[[_Client], Awaitable[None]]) -> None:
        with suppress(ValueError, OSError):  # a line that is too long
            async for line in cast("asyncio.StreamReader", self.process.stdout):
                head = head_of(line)
                first = self._first
                if (
                    first is not None
                    and head is not None
                    and isinstance(head.method, msgspec.UnsetType)
                    and not isinstance(head.id, msgspec.UnsetType)
                    and raw(head.id) == first[0]
                ):
                    self._first = None
                    first[1].set_result(line)
                else:
                    await self.streams.put(line.rstrip(b"\n"))
        if self._first is not None and not self._first[1].done():
            self._first[1].set_exception(ConnectionError())
        await over(self)

    async def _alone(self, over: Callable[[_Client], Awaitable[None]]) -> None:
        """End the client when it has listened to nothing for a while: there is no other sign that it has gone."""
        since: float | None = None
        loop = asyncio.get_running_loop()
        while since is None or loop.time() - since < ALONE_SECONDS:
            await asyncio.sleep(ALONE_SECONDS / 10)
            if self.streams.listening or self._first is not None:
                since = None
            elif since is None:
                since = loop.time()
        await over(self)
