"""Agents behind a WebSocket on 127.0.0.1, as somebody else would serve them."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from sidecar.config import AgentCommand, Transport

Handler = Callable[[ServerConnection], None]


@contextmanager
def served(handler: Handler, token: str = "") -> Generator[str]:
    """Its address. `token`: others than those that bring it in the header Authorization are refused."""

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if token and request.headers.get("Authorization") != f"Bearer {token}":
            return connection.respond(HTTPStatus.UNAUTHORIZED, "who are you?\n")
        return None

    with serve(handler, "127.0.0.1", 0, process_request=check, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/acp"
        server.shutdown()
        thread.join()


def running(argv: Sequence[str], cwd: str, env: Mapping[str, str] | None = None) -> Handler:
    """For each connection, a process of its own, whose lines are the frames. The connection ends with it, by its exit code."""

    def handle(socket: ServerConnection) -> None:
        with subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            stdin = process.stdin

            def inward() -> None:
                try:
                    for frame in socket:
                        stdin.write((frame if isinstance(frame, bytes) else frame.encode()) + b"\n")
                        stdin.flush()
                except (ConnectionClosed, OSError):
                    pass  # either has ended
                finally:
                    try:
                        stdin.close()
                    except OSError:
                        process.kill()

            reading = threading.Thread(target=inward)
            reading.start()
            try:
                for line in process.stdout:
                    socket.send(line.decode())
            except ConnectionClosed:
                process.kill()
            code = process.wait(60)
            socket.close(
                1000 if code == 0 else 1011, "" if code == 0 else f"the agent exited with code {code}"
            )
            reading.join()

    return handle


def at(url: str, folders: Mapping[str, str], headers: Mapping[str, str] | None = None) -> AgentCommand:
    """The agent there, as the settings have it."""
    return AgentCommand("", transport=Transport(url=url, folders=folders, headers=headers or {}))
