"""listen: `acp-sidecar acp --listen PORT`, for clients that cannot start a program here: a WebSocket on 127.0.0.1, with one text frame for each
message, or Streamable HTTP (http_clients.py) on the same port.

It never runs unless the user starts it. Each client that is let in (`Pairing`) talks to an `acp-sidecar acp` of its own, so it can do, and may cost,
the same as a client that started one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from ipaddress import ip_address
from typing import cast
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from sidecar import __version__
from sidecar.acp.frames import frame_of, line_of
from sidecar.attach.front import NOBODY
from sidecar.attach.http_clients import CONNECTION, METHODS, SESSION, ClientProcess, HttpClients
from sidecar.attach.http_wire import Answered, HttpRequest, carried, either, said
from sidecar.attach.pairing import Pairing, PairingVerdict
from sidecar.bridge import UNSUPPORTED
from sidecar.bridge.calling import Calling
from sidecar.bridge.finding import serving as sidecar_of
from sidecar.bridge.pipelined import Pipelined
from sidecar.own_program import own_program
from sidecar.proxy.process_end import ended
from sidecar.proxy.waiting import cancelled, signals

PATH = "/acp"
COOKIE = "acp-sidecar"
MOST = 16
"""The most clients at a time."""
MOST_CONNECTIONS = 128
"""The most HTTP connections at a time: each client has one for each stream, and one for its own messages."""
MOST_BROUGHT = 3
LONGEST = 64 * 1024 * 1024
"""The most bytes of a message."""
END_SECONDS = 5.0
"""The seconds until the program of a client that has gone is killed."""
NO_CODE = "The editor shows a code. Connect again with it: as ?code=… in the address, or in the header Authorization: Bearer …"


def run(env: Mapping[str, str], agent: str | None, port: int, origins: Sequence[str]) -> int:
    """Run until a signal ends it. Returns the exit code. `port`: 0 for any. `origins`: the origins of the pages that may connect, such as
    https://example.com."""
    if UNSUPPORTED:
        return _fail("it is not available on Windows yet")
    try:
        return asyncio.run(Listening(env, agent, origins).until_ended(port))
    except ConnectionError as error:
        return _fail(str(error))
    except (OSError, OverflowError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or error
        return _fail(f"port {port} cannot be opened: {why}")


def _fail(words: str) -> int:
    sys.stderr.write(f"acp-sidecar acp: {words}\n")
    return 1


class Listening:
    def __init__(self, env: Mapping[str, str], agent: str | None, origins: Sequence[str]) -> None:
        self._env = env
        self._folder = os.getcwd()
        self._command = [*own_program(), "acp", *(["--agent", agent] if agent is not None else [])]
        self._origins = {None, *origins}
        self._pairing = Pairing(self._show, time.monotonic)
        self._showing: set[asyncio.Future[None]] = set()
        self._paired = weakref.WeakSet[ServerConnection]()
        self._clients = 0
        self._http = HttpClients(self._start, self._end)
        self._carrying: set[asyncio.Future[None]] = set()
        self.port = 0

    async def until_ended(self, port: int) -> int:
        """Listen until a signal comes. Returns the exit code. Raises ConnectionError without an editor, and OSError if the port cannot be opened."""
        stopped, connections = signals(), either(self._taken_over)
        await (await self._sidecar()).aclose()
        async with serve(
            self._client,
            "127.0.0.1",
            port,
            max_size=LONGEST,
            server_header=f"acp-sidecar/{__version__}",
            process_request=self._request,
            process_response=self._response,
            create_connection=connections,
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            sys.stderr.write(
                f"Listening on ws://127.0.0.1:{self.port}{PATH} for the conversations of {self._folder}. Ctrl-C ends it.\n"
                "When a client connects, your editor shows the code that the client needs.\n"
            )
            number = await stopped
            await cancelled(*self._carrying)
            await self._http.aclose()
            connections.end_silent()
            return 128 + number

    # who is let in

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        no = self._misled(request.path, request.headers) or self._judged(request.path, request.headers)
        if isinstance(no, Answered):
            response = connection.respond(no.status, no.body.decode())
            for name, value in no.headers.items():
                if name != "Content-Type":
                    response.headers[name] = value
            return response
        if no is PairingVerdict.PAIRED:
            self._paired.add(connection)
        return None

    def _misled(self, target: str, headers: Headers) -> Answered | None:
        """Why a request does not come from a client that means this port, or comes from a page that may not connect. None if it may go on."""
        if not _is_this_machine(headers.get("Host", "")):
            return said(HTTPStatus.FORBIDDEN, "Connect to 127.0.0.1.")
        if urlsplit(target).path != PATH:
            return said(HTTPStatus.NOT_FOUND, f"There is only {PATH}.")
        if headers.get("Origin") not in self._origins:
            return said(
                HTTPStatus.FORBIDDEN,
                "Pages of this origin may not connect: acp-sidecar acp --listen … --origin ORIGIN",
            )
        return None

    def _judged(self, target: str, headers: Headers) -> Answered | PairingVerdict:
        """How a new client is let in, or the answer that says why it is not."""
        if self._clients >= MOST:
            return said(HTTPStatus.SERVICE_UNAVAILABLE, f"There are {MOST} clients already.")
        verdict = self._pairing.judge(*_brought(headers, urlsplit(target).query))
        if verdict is PairingVerdict.REFUSED:
            return said(HTTPStatus.UNAUTHORIZED, NO_CODE, {"WWW-Authenticate": "Bearer"})
        return verdict

    async def _http_request(self, asked: HttpRequest) -> Answered:
        if (no := self._misled(asked.target, asked.headers)) is not None:
            return no
        origin = asked.headers.get("Origin")
        if asked.method == "OPTIONS" and origin is not None:
            return Answered(HTTPStatus.NO_CONTENT, headers=_to_page(origin))
        paired = False
        if self._http.begins(asked):
            verdict = self._judged(asked.target, asked.headers)
            if isinstance(verdict, Answered):
                return replace(verdict, headers={**verdict.headers, **_to_page(origin)})
            paired = verdict is PairingVerdict.PAIRED
        answer = await self._http.answered(asked)
        cookie = {"Set-Cookie": self._cookie} if paired else {}
        return replace(answer, headers={**answer.headers, **cookie, **_to_page(origin)})

    @property
    def _cookie(self) -> str:
        return f"{COOKIE}={self._pairing.token}; Path={PATH}; HttpOnly; SameSite=Strict"

    def _response(
        self, connection: ServerConnection, request: Request, response: Response
    ) -> Response | None:
        if connection in self._paired:
            response.headers["Set-Cookie"] = self._cookie
        return None

    def _show(self, code: str) -> None:
        task = asyncio.ensure_future(self._show_in_editor(code))
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    async def _show_in_editor(self, code: str) -> None:
        try:
            sidecar = await self._sidecar()
            try:
                await Calling(sidecar).call("showCode", {"code": code, "port": self.port})
            finally:
                await sidecar.aclose()
        except (ConnectionError, ValueError) as error:
            sys.stderr.write(f"A client wants to connect, but its code could not be shown: {error}\n")

    async def _sidecar(self) -> Pipelined:
        client = await anyio.to_thread.run_sync(sidecar_of, self._folder, self._env)
        if client is None:
            raise ConnectionError(NOBODY.format(folder=self._folder))
        return Pipelined.of(client)

    # a client

    async def _start(self) -> asyncio.subprocess.Process:
        """Start a client's process. It counts as a client from now on."""
        self._clients += 1
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                cwd=self._folder,
                env=dict(self._env),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST,
            )
        except BaseException:
            self._clients -= 1
            raise

    async def _end(self, process: ClientProcess) -> None:
        try:
            real = cast("asyncio.subprocess.Process", process)
            await ended(real, END_SECONDS, real.kill)
        finally:
            self._clients -= 1

    async def _client(self, connection: ServerConnection) -> None:
        process = await self._start()
        inward = asyncio.ensure_future(_inward(connection, cast("asyncio.StreamWriter", process.stdin)))
        try:
            await _outward(cast("asyncio.StreamReader", process.stdout), connection)
        finally:
            inward.cancel()
            await self._end(process)

    def _taken_over(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection that opens no WebSocket."""
        if len(self._carrying) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.ensure_future(carried(reader, writer, LONGEST, self._http_request))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)


async def _inward(connection: ServerConnection, stdin: asyncio.StreamWriter) -> None:
    try:
        async for frame in connection:
            if isinstance(frame, str):
                stdin.write(line_of(frame))
                await stdin.drain()
    except (ConnectionClosed, OSError):
        pass  # one side has ended; `_client` ends the other
    finally:
        stdin.close()


async def _outward(stdout: asyncio.StreamReader, connection: ServerConnection) -> None:
    try:
        async for line in stdout:
            await connection.send(frame_of(line))
    except ConnectionClosed:
        return
    except ValueError:
        await connection.close(1009, "a message is too long")
        return
    await connection.close(1000)


def _brought(headers: Headers, query: str) -> list[str]:
    """The values that may be the code or the token: from the address, the header, and the cookie."""
    found = parse_qs(query[:1000]).get("code", [])[:1]
    kind, _, value = headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found.append(value.strip())
    for part in headers.get("Cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            found.append(value)
    return found[:MOST_BROUGHT]


def _to_page(origin: str | None) -> dict[str, str]:
    """The headers that let a page of this origin read the answer (CORS). The origin may connect."""
    if origin is None:
        return {}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": f"Authorization, Content-Type, {CONNECTION}, {SESSION}",
        "Access-Control-Expose-Headers": CONNECTION,
        "Vary": "Origin",
    }


def _is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine. A name that another page's server has given to this address leads here, too (DNS rebinding), and is
    refused. The port may be that of a tunnel."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
