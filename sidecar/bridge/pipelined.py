"""Pipelined: one connection to a running sidecar, for a process with an event loop: any number of requests at a time, sent in order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any, Self

from sidecar.bridge.client import READ, Client, Failed, Lost
from sidecar.bridge.limits import MESSAGE_BYTES
from sidecar.bridge.wire import Lines, Malformed, encode
from sidecar.bridge.wire import decode as decoded


class Pipelined:
    """It cannot be used after Lost."""

    def __init__(self, connection: socket.socket, lost: str) -> None:
        """Create it in a running loop. `connection`: to a process that is known to be the right one. `lost`: the message if the
        connection is lost."""
        self._lost = lost
        self._connection = connection
        self._connection.setblocking(False)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serial = 0
        self._sending = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    def of(cls, client: Client) -> Self:
        """Take over a Client's connection."""
        return cls(client.detach(), f"the sidecar with process id {client.entry.pid} was lost")

    @property
    def lost(self) -> bool:
        return self._reading.done()

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """The result, plain JSON. Raises Failed, also for a request that is too large to send, and Lost."""
        self._serial += 1
        number = self._serial
        request = encode({"id": number, "method": method, "params": dict(params)})
        if len(request) > MESSAGE_BYTES:
            raise Failed(f"that is more than {MESSAGE_BYTES} bytes, the most that can be sent to the sidecar")
        answer = self._waiting[number] = self._loop.create_future()
        try:
            async with self._sending:  # a request abandoned half sent would spoil the next
                await asyncio.shield(asyncio.ensure_future(self._send(request)))
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def _send(self, request: bytes) -> None:
        if self.lost:
            raise self._gone("the connection has ended")
        try:
            await self._loop.sock_sendall(self._connection, request)
        except OSError as error:
            raise self._gone(error.strerror or "the connection has ended") from error

    async def _read(self) -> None:
        lines, why = Lines(MESSAGE_BYTES), "it hung up"
        try:
            while data := await self._loop.sock_recv(self._connection, READ):
                lines.feed(data)
                while (line := lines.next()) is not None:
                    self._answered(decoded(line))
        except (OSError, Malformed) as error:
            why = str(error)
        finally:
            self._connection.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._gone(why))

    def _answered(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return  # answers a request that was given up
        if "result" in message:
            answer.set_result(message["result"])
            return
        match message.get("error"):
            case {"message": str(words)}:
                answer.set_exception(Failed(words))
            case _:
                answer.set_exception(Failed("the sidecar reported an error without a message"))

    def _gone(self, why: str) -> Lost:
        return Lost(f"{self._lost}: {why}")

    async def aclose(self) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})
