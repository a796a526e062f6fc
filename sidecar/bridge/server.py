"""BridgeServer: answers other processes of the same user, each on its own connection, once both sides have proved who
they are.

    {"id": 1, "method": "status", "params": {}}  →  {"id": 1, "result": …}  |  {"id": 1, "error": {"message": "words"}}

A client's requests start in the order of their arrival (up to a method's first `await`) and are answered as they end. A
violation of the protocol ends the connection without a message; the log has the reason. When a client disconnects, its
requests are cancelled. A method must shield whatever must not be left half done.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from sidecar import __version__
from sidecar.bridge import UNSUPPORTED, folder, peer, proof
from sidecar.bridge.limits import BridgeLimits
from sidecar.bridge.long_requests import LongRequest
from sidecar.bridge.registry import Claim, new_id, sweep
from sidecar.bridge.wire import Lines, Malformed, Message, decode, pieces
from sidecar.core.json_limits import Unusable

log = logging.getLogger(__name__)
T = TypeVar("T")

Method = Callable[[Mapping[str, Any]], Awaitable[object]]
"""`params` → the result, plain JSON. Raises Refused, also for wrong params."""


class Caller(Protocol):
    """The additional methods of one client, for as long as it is connected."""

    def methods(self) -> Mapping[str, Method]: ...
    def gone(self) -> None:
        """The client has hung up."""
        ...


READ = 256 * 1024
LARGE = 256 * 1024
"""Messages of at least this many bytes are decoded while they arrive."""
ACCEPT_AGAIN = 1.0
"""The seconds to wait if the system has no descriptor left for a new client."""


class Refused(Exception):
    """A method refuses. The message is for the user."""


class BridgeServer:
    """One sidecar's server. `run` serves until it is cancelled. If there is no place for a socket, it logs that and
    returns."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        roots: Sequence[str],
        bridge_id: str = "",
        *,
        each: Callable[[], Sequence[Caller]] = tuple,
        env: Mapping[str, str] | None = None,
        limits: BridgeLimits = BridgeLimits(),  # noqa: B008  # frozen
        longest_text: int = 0,
    ) -> None:
        """`bridge_id`: from `registry.new_id`, if the id must be known in advance. `each`: called for each client,
        returns what answers its additional methods. `longest_text`: the bytes of the largest file that may be written."""
        self.id = bridge_id or new_id()
        self.listening = anyio.Event()
        """Set once clients can find the server."""
        self._methods = methods
        self._each = each
        self._roots = list(roots)
        self._env = os.environ if env is None else env
        self._limits = replace(
            limits, text=max(limits.text, longest_text)
        )  # the user may have allowed larger files
        self._moved = anyio.Event()
        self._clients: set[socket.socket] = set()

    def roots_changed(self, roots: Sequence[str]) -> None:
        """Set the editor's current folders."""
        self._roots = list(roots)
        self._moved.set()

    async def run(self) -> None:
        """Serve clients. When this returns or is cancelled, others can no longer find the server."""
        if UNSUPPORTED:
            log.info("%s", UNSUPPORTED)
            return
        claim = listener = None
        try:
            try:
                claim, listener = await anyio.to_thread.run_sync(self._begin)
                await self._publish(claim)
            except (OSError, folder.NoFolder) as error:
                log.warning("commands in a terminal cannot reach this sidecar: %s", error)
                return
            self.listening.set()
            await self._accept(claim, listener)
        finally:
            for connection in (*self._clients, *([] if listener is None else [listener])):
                connection.close()  # including those whose task never started
            if claim is not None:
                claim.release()

    def _begin(self) -> tuple[Claim, socket.socket]:
        place = folder.made(self._env)
        sweep(place)
        claim = Claim.take(place, self.id)
        try:
            listener = claim.listen()
        except BaseException:
            claim.release()
            raise
        listener.setblocking(False)
        return claim, listener

    async def _publish(self, claim: Claim) -> None:
        """Write the entry. Raises OSError. Runs in a thread, because a root may be on a slow disk."""
        self._moved = anyio.Event()
        await anyio.to_thread.run_sync(claim.publish, self._roots)

    async def _follow(self, claim: Claim) -> None:
        """Write the entry again whenever the roots change."""
        while True:
            await self._moved.wait()
            try:
                await self._publish(claim)
            except OSError as error:
                log.warning("the bridge's entry cannot be renewed: %s", error.strerror)

    async def _accept(self, claim: Claim, listener: socket.socket) -> None:
        """Accept clients. Does not use `loop.sock_accept`, which loses a connection if it is cancelled at the wrong
        moment."""
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as tasks:

            def accept() -> None:
                try:
                    connection, _ = listener.accept()
                except (BlockingIOError, InterruptedError):
                    return
                except OSError as error:
                    log.warning("a client of the bridge cannot be accepted: %s", error.strerror)
                    loop.remove_reader(listener)
                    later.append(loop.call_later(ACCEPT_AGAIN, loop.add_reader, listener, accept))
                    return
                if len(self._clients) >= self._limits.clients:
                    log.warning("a client of the bridge is turned away: there are %d", len(self._clients))
                    connection.close()
                    return
                self._clients.add(connection)
                tasks.start_soon(self._client, claim, connection)

            tasks.start_soon(self._follow, claim)
            later: deque[asyncio.TimerHandle] = deque(maxlen=1)
            loop.add_reader(listener, accept)
            try:
                await anyio.sleep_forever()
            finally:
                loop.remove_reader(listener)
                for timer in later:
                    timer.cancel()

    async def _client(self, claim: Claim, connection: socket.socket) -> None:
        connection.setblocking(False)
        client = _Client(connection, self._limits)
        with closing(connection):
            try:
                with anyio.fail_after(self._limits.handshake):
                    await self._shake_hands(claim, client)
                client.lines.limit = self._limits.message_bytes
                await self._served(client)
            except Malformed as error:
                log.warning("a client of the bridge was dropped: %s", error)
            except TimeoutError:
                log.warning("a client of the bridge was dropped: it was too slow")
            except OSError:
                pass  # the client disconnected
            except Exception:
                log.exception("a client of the bridge was dropped")
            finally:
                self._clients.discard(connection)

    async def _shake_hands(self, claim: Claim, client: _Client) -> None:
        """Perform the handshake of proof.py. Raises Malformed if the client does not know the secret or belongs to
        another user."""
        hello = await client.receive()
        theirs = hello.get("nonce")
        if hello.get("v") != proof.VERSION or not proof.is_nonce(theirs):
            raise Malformed("no greeting, or one of another version")
        ours = proof.new_nonce()
        expected = proof.prove(claim.secret, "client", str(theirs), ours, claim.socket_path)
        mine = proof.prove(claim.secret, "server", str(theirs), ours, claim.socket_path)
        await client.send({"v": proof.VERSION, "nonce": ours, "proof": mine})
        if not proof.is_proof((await client.receive()).get("proof"), expected):
            raise Malformed("it does not know the secret")
        if not peer.is_same_user(client.connection):
            raise Malformed("it is another user's")
        await client.send({"ok": True, "pid": os.getpid(), "version": __version__})

    async def _served(self, client: _Client) -> None:
        callers = self._each()
        methods = dict(self._methods)
        for caller in callers:
            methods |= caller.methods()
        try:
            await self._requests(client, methods)
        finally:
            for caller in callers:
                caller.gone()

    async def _requests(self, client: _Client, methods: Mapping[str, Method]) -> None:
        free = anyio.Semaphore(self._limits.requests)
        why: Exception | None = None
        async with anyio.create_task_group() as tasks:
            try:
                while (message := await client.receive_or_end()) is not None:
                    await free.acquire()
                    tasks.start_soon(self._answer, client, message, free, methods)
            except (Malformed, TimeoutError, OSError) as error:
                why = error  # not raised here, because the group would wrap it
            tasks.cancel_scope.cancel()
        if why is not None:
            raise why

    async def _answer(
        self, client: _Client, message: Message, free: anyio.Semaphore, methods: Mapping[str, Method]
    ) -> None:
        number = message.get("id")
        try:
            with anyio.fail_after(self._limits.request):
                answer = {"id": number, "result": await _called(message, methods)}
        except Refused as error:
            answer = {"id": number, "error": {"message": str(error)}}
        except TimeoutError:
            answer = {"id": number, "error": {"message": "the sidecar did not get it done in time"}}
        except Exception:
            log.exception("a request over the bridge failed")
            answer = {"id": number, "error": {"message": "the sidecar failed; see its log"}}
        finally:
            free.release()
        try:
            await client.send(answer)
        except (OSError, TimeoutError):
            client.hang_up()  # so that reading from the socket ends too


class _Client:
    """A connection as lines, with one reader and any number of senders."""

    def __init__(self, connection: socket.socket, limits: BridgeLimits) -> None:
        self.connection = connection
        self.lines = Lines(limits.handshake_bytes)
        self._limits = limits
        self._sending = anyio.Lock()
        self._loop = asyncio.get_running_loop()

    async def receive(self) -> Message:
        """The next message. Raises Malformed at the end."""
        message = await self.receive_or_end()
        if message is None:
            raise Malformed("it hung up")
        return message

    async def receive_or_end(self) -> Message | None:
        """The next message. None at the end. Raises Malformed, OSError, and TimeoutError for a message that never ends."""
        while (line := self.lines.next()) is None:
            if self.lines.begun:
                with anyio.fail_after(self._limits.line):
                    return await self._rest_of_message()
            data = await self._read()
            if not data:
                return None
            self.lines.feed(data)
        return decode(line)

    async def _rest_of_message(self) -> Message:
        while self.lines.size < LARGE:
            if (line := self.lines.next()) is not None:
                return decode(line)
            self.lines.feed(await self._more())
        long = LongRequest(self._limits.text)
        size = 0
        while True:
            part, ended = self.lines.part()
            size += len(part)
            if size > self.lines.limit:
                raise Malformed(f"a line of more than {self.lines.limit} bytes")
            await _in_steps(long.feed(part))
            if ended:
                return await _in_steps(long.message())
            self.lines.feed(await self._more())

    async def _more(self) -> bytes:
        """The next bytes of a message. Raises Malformed at the end."""
        data = await self._read()
        if not data:
            raise Malformed("it hung up within a message")
        return data

    async def _read(self) -> bytes:
        return await self._loop.sock_recv(self.connection, READ)

    async def send(self, message: Message) -> None:
        """Send a message. Raises OSError, and TimeoutError if the client does not accept it."""
        async with self._sending:
            with anyio.fail_after(self._limits.send):
                waiting: list[bytes] = []
                size = 0
                for piece in pieces(
                    message
                ):  # not encoded earlier: many answers may wait for a client that does not read
                    waiting.append(piece)
                    size += len(piece)
                    if size > READ:
                        await self._loop.sock_sendall(self.connection, b"".join(waiting))
                        waiting, size = [], 0
                        await anyio.lowlevel.checkpoint()
                await self._loop.sock_sendall(self.connection, b"".join(waiting))

    def hang_up(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


async def _in_steps(steps: Generator[None, None, T]) -> T:
    """Run the steps to the end and return their result. Other tasks run after each step."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value
        await anyio.lowlevel.checkpoint()


async def _called(message: Message, methods: Mapping[str, Method]) -> object:
    name, params = message.get("method"), message.get("params", {})
    if isinstance(params, Unusable):
        raise Refused(f"the request has {params}")
    method = methods.get(name) if isinstance(name, str) else None
    if method is None:
        raise Refused("this sidecar has no such method; it may be of another version")
    if not isinstance(params, dict):
        raise Refused("params should be an object")
    return await method(cast("dict[str, Any]", params))
