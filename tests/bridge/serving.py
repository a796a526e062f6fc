"""A BridgeServer in a thread of its own, so that what talks to it can be plain blocking code, as the command line's is."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sidecar.bridge import proof
from sidecar.bridge.entry import SidecarEntry, read
from sidecar.bridge.limits import BridgeLimits
from sidecar.bridge.server import BridgeServer, Caller, Method, Refused

WAIT = 20.0


async def echo(params: Mapping[str, Any]) -> object:
    return dict(params)


async def refuse(params: Mapping[str, Any]) -> object:
    raise Refused("no, because of the weather")


async def fail(params: Mapping[str, Any]) -> object:
    raise RuntimeError("a secret of the inside")


METHODS: dict[str, Method] = {"echo": echo, "refuse": refuse, "fail": fail}


class Serving:
    """A running server; `folder` is where its files lie."""

    def __init__(self, server: BridgeServer, runtime: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.env = {"XDG_RUNTIME_DIR": str(runtime)}
        self.folder = runtime / "acp-sidecar"
        self.loop = loop

    @property
    def entry(self) -> SidecarEntry:
        entry = read(self.folder, self.server.id)
        assert entry is not None
        return entry

    def do(self, work: Callable[[], Awaitable[None]]) -> None:
        """On the server's loop."""

        async def run() -> None:
            await work()

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(WAIT)


@contextmanager
def serving(
    runtime: Path,
    methods: Mapping[str, Method] = METHODS,
    roots: Sequence[str] = (),
    limits: BridgeLimits = BridgeLimits(),  # noqa: B008  # frozen
    env: Mapping[str, str] | None = None,
    each: Callable[[], Sequence[Caller]] = tuple,
) -> Generator[Serving]:
    """Until left. `runtime` stands for the user's runtime folder, and is private."""
    made: list[Serving] = []
    running, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        server = BridgeServer(
            methods,
            roots,
            each=each,
            env={"XDG_RUNTIME_DIR": str(runtime)} if env is None else env,
            limits=limits,
        )
        made.append(Serving(server, runtime, asyncio.get_running_loop()))
        task = asyncio.ensure_future(server.run())
        await asyncio.wait(
            {task, asyncio.ensure_future(server.listening.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        running.set()
        await stop.wait()
        task.cancel()
        await asyncio.wait({task})

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        assert running.wait(WAIT), "it never listened"
        yield made[0]
    finally:
        made[0].loop.call_soon_threadsafe(stop.set)
        thread.join(WAIT)
        assert not thread.is_alive(), "it never ended"


class Raw:
    """A client that sends what it likes."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT)
        self.socket.connect(path)
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes | Mapping[str, object]) -> None:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n"
        try:
            self.socket.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up, which reading will say too

    def line(self) -> dict[str, Any] | None:
        """The next message; None when the other side hung up."""
        try:
            line = self._file.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def rest_of_one(self) -> str:
        """One more line, or what there is of it when the other side hangs up."""
        try:
            return self._file.readline().decode()
        except ConnectionResetError:
            return ""

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@contextmanager
def raw(path: str) -> Generator[Raw]:
    with closing(Raw(path)) as client:
        yield client


def greeted(client: Raw) -> tuple[str, str, str]:
    """The first half of a handshake: our nonce, the server's, its proof."""
    ours = proof.new_nonce()
    client.send({"v": 1, "nonce": ours})
    hello = client.line()
    assert hello is not None
    return ours, hello["nonce"], hello["proof"]


def shaken(client: Raw, entry: SidecarEntry) -> None:
    """The whole of it."""
    ours, theirs, _ = greeted(client)
    client.send({"proof": proof.prove(entry.secret, "client", ours, theirs, entry.socket)})
    answer = client.line()
    assert answer is not None
    assert answer["ok"] is True
