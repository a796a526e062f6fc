"""`acp-sidecar reach`: one process for each agent that runs elsewhere, started by the sidecar. It starts a relay there by the agent's
transport, and carries out the calls that arrive through it.

stdin, from the sidecar (acp/elsewhere/reached_tools.py): what to start, then a line for each session. When it ends, everything ends:

    {"agent", "argv": […], "folders": [[there, here], …]}
    {"ticket", "token", "cwd"}      a session, whose calls name the ticket; `cwd`: its folder, there

stdout, to the sidecar: `{"socket", "command"}` whenever a relay is there, `{"failed": words}` if none could be started.

This is a process of its own, so that what a relay sends costs the language server nothing, and so that Search looks at the user's files here.
A relay that ends is started again, after pauses; one that breaks the protocol is not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from sidecar import __version__
from sidecar.acp.elsewhere.folders import Folders
from sidecar.bridge.calling import Calling
from sidecar.bridge.wire import Lines, Malformed, decode, encode
from sidecar.core.refusal import Kind, Refusal
from sidecar.mcp.answers import refused
from sidecar.mcp.caller import Caller, carried_out, failed
from sidecar.proxy.process_end import ended
from sidecar.proxy.streams import Input
from sidecar.relayed.numbered_lines import LONGEST, MOST, NUMBER, VERSION, Hello, hello_of, joined, parted
from sidecar.relayed.tool_paths import Outside, ToolPaths

log = logging.getLogger(__name__)

START_SECONDS = 20.0
PAUSES = (0.5, 2.0, 5.0, 15.0, 30.0)
"""The seconds before each new start of a relay that has ended. After the last one, it is given up."""
STEADY_SECONDS = 60.0
"""A relay that ran for this many seconds gets all pauses again."""
MOST_NOISE = 64 * 1024
"""The most bytes that a login shell may write before the relay's first line."""
NO_HELLO = "did not answer as one"
AT_ONCE = 16
"""The most calls of one connection at a time, as on the bridge."""
HELD = 128 * 1024 * 1024
"""The bytes of unanswered requests beyond which nothing is read."""
MOST_HELD = 512
"""The number of unanswered requests beyond which nothing is read."""
END_SECONDS = 1.0
READ = 256 * 1024
pause = asyncio.sleep
TOO_LONG = f"the answer has more than {LONGEST} bytes, the most that can be sent; ask for a part"
NO_TICKET = (
    "this token belongs to no open session of this agent: the conversation was closed, or the editor was started again. "
    "Use your own file tools"
)


@dataclass(frozen=True, slots=True)
class RelayedSession:
    token: str
    paths: ToolPaths


class NoRelay(Exception):
    """No relay could be started. The message is for the user, and continues after the words of the command."""


class Reach:
    def __init__(
        self,
        agent: str,
        argv: Sequence[str],
        folders: Folders,
        connect: Callable[[], Awaitable[Calling]],
        tell: Callable[[Mapping[str, object]], None],
    ) -> None:
        """`connect`: connects to the sidecar here. `tell`: sends the sidecar a line."""
        self.sessions: dict[str, RelayedSession] = {}
        """By ticket."""
        self._agent = agent
        self._argv = list(argv)
        self._folders = folders
        self._connect = connect
        self._tell = tell

    def session(self, told: Mapping[str, Any]) -> None:
        paths = ToolPaths(self._agent, self._folders, str(told["cwd"]))
        self.sessions[str(told["ticket"])] = RelayedSession(str(told["token"]), paths)

    async def until_ended(self) -> int:
        """Run the relay, and start it again when it ends. Returns an exit code once there is no relay any more."""
        pauses = iter(PAUSES)
        ever = False
        while True:
            began = time.monotonic()
            try:
                why = await self._relayed()
                ever = True
            except NoRelay as error:
                if not ever:
                    self._tell({"failed": str(error)})
                    return 1
                why = str(error)
            except Malformed as error:
                log.error(
                    "the relay of %s was ended and is not started again: it sent %s", self._agent, error
                )
                return 1
            if time.monotonic() - began > STEADY_SECONDS:
                pauses = iter(PAUSES)
            seconds = next(pauses, None)
            log.warning("the relay of %s %s", self._agent, why)
            if seconds is None:
                return 1
            await pause(seconds)

    async def _relayed(self) -> str:
        """Run a relay from its start to its end. Returns a message about its end. Raises NoRelay, and Malformed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=READ
            )
        except OSError as error:
            raise NoRelay(f"could not be started: {error.strerror}") from error
        connections = None
        try:
            stdout = cast("asyncio.StreamReader", process.stdout)
            lines = Lines(MOST_NOISE)
            try:
                async with asyncio.timeout(START_SECONDS):
                    hello = await _hello(stdout, lines)
            except Malformed:
                raise NoRelay(NO_HELLO) from None
            except TimeoutError:
                raise NoRelay(f"did not answer within {START_SECONDS:.0f} seconds") from None
            if hello is None:
                await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=END_SECONDS)
                raise NoRelay(_ended(process.returncode))
            if hello.version != VERSION:
                raise NoRelay(
                    f"is of acp-sidecar {hello.program}, which this one ({__version__}) does not understand: install the same version there"
                )
            lines.limit = LONGEST + NUMBER
            connections = _Connections(self, cast("asyncio.StreamWriter", process.stdin))
            self._tell({"socket": hello.socket, "command": list(hello.command)})
            await connections.carry(stdout, lines)
            return _ended(process.returncode)
        finally:
            if connections is not None:
                await connections.aclose()
            await ended(process, END_SECONDS, process.terminate, process.kill)

    async def carry_out(
        self, caller: Caller, session: RelayedSession, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Carry out a tool's call, as it came from there."""
        name, given = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(given, dict):
            return failed("a call has a name and arguments")
        try:
            arguments = session.paths.arguments(cast("dict[str, Any]", given))
        except Outside as outside:
            return dict(refused(Refusal(Kind.OUTSIDE, str(outside)), outside.path).as_json())
        answer = await carried_out(caller.ask, name, arguments, numbered=False)
        return session.paths.answer(name, answer)

    async def connected(self) -> Calling:
        return await self._connect()


class _Connections:
    """The connections of one relay."""

    def __init__(self, reach: Reach, out: asyncio.StreamWriter) -> None:
        self._reach = reach
        self._out = out
        self._sending = asyncio.Lock()
        self._open: dict[int, _Connection] = {}
        self._last = 0
        self._held = self._count = 0
        self._less = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()

    async def carry(self, stdout: asyncio.StreamReader, lines: Lines) -> None:
        """Carry lines until the relay ends. Raises Malformed."""
        while True:
            while (line := lines.next()) is not None:
                self._came(line)
                while self._held > HELD or self._count > MOST_HELD:
                    self._less.clear()
                    await self._less.wait()
            data = await stdout.read(READ)
            if not data:
                return
            lines.feed(data)

    def _came(self, line: bytes) -> None:
        found = parted(line)
        if found is None:
            raise Malformed("a line without a connection's number")
        number, rest = found
        connection = self._open.get(number)
        if not rest:
            if connection is not None:
                self._end(number)
            return
        if connection is None:
            if number <= self._last:
                return  # it was ended here, and the relay did not know yet
            if len(self._open) >= MOST:
                raise Malformed(f"lines of more than {MOST} connections")
            self._last = number
            connection = self._open[number] = _Connection(self._reach)
        try:
            message = decode(rest)
        except Malformed as error:
            log.warning("a connection through the relay was ended: %s", error)
            self._end(number)
            self._later(self.send(number, b""))
            return
        self._held += len(rest)
        self._count += 1
        connection.begin(self._answer(number, connection, message, len(rest)))

    async def _answer(
        self, number: int, connection: _Connection, message: Mapping[str, Any], size: int
    ) -> None:
        try:
            answer = await connection.answer(message)
            if self._open.get(number) is connection:
                line = encode({"id": message.get("id"), **answer})[:-1]
                if len(line) > LONGEST:
                    line = encode({"id": message.get("id"), "error": {"message": TOO_LONG}})[:-1]
                await self.send(number, line)
        finally:
            self._held -= size
            self._count -= 1
            self._less.set()

    async def send(self, number: int, line: bytes) -> None:
        with suppress(OSError):  # the relay has ended, which shows where it is read
            async with self._sending:
                self._out.write(joined(number, line))
                await self._out.drain()

    def _end(self, number: int) -> None:
        self._later(self._open.pop(number).aclose())

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def aclose(self) -> None:
        for number in list(self._open):
            self._end(number)
        if self._ending:
            await asyncio.wait(self._ending, timeout=END_SECONDS)


class _Connection:
    """One process of an agent's tools there, with its own connection to the sidecar here. Whatever is under way ends with it."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._free = asyncio.Semaphore(AT_ONCE)
        self._calls: set[asyncio.Task[None]] = set()
        self._callers: dict[str, Caller] = {}
        self._sidecars: list[Calling] = []

    def begin(self, call: Any) -> None:
        task = asyncio.ensure_future(call)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def answer(self, message: Mapping[str, Any]) -> Mapping[str, object]:
        """`{"result"}` or `{"error"}`, as on the bridge."""
        method, params = message.get("method"), message.get("params")
        if method not in ("hello", "tool", "removes") or not isinstance(params, dict):
            return {"error": {"message": "there is no such method here"}}
        given = cast("dict[str, Any]", params)
        ticket = given.get("token")
        session = self._reach.sessions.get(ticket) if isinstance(ticket, str) else None
        if session is None or not isinstance(ticket, str):
            log.warning("a tool was called through the relay with a token that belongs to no session")
            return {"result": {"refused": NO_TICKET}}
        caller = self._callers.setdefault(ticket, Caller(session.token, self._connected))
        async with self._free:
            match method:
                case "hello":
                    await caller.hello()
                    return {"result": {}}
                case "removes":
                    path = given.get("path")
                    here = session.paths.here(path) if isinstance(path, str) else None
                    if here is not None:
                        await caller.removes(here, "")
                    return {"result": {}}
                case _:
                    return {"result": await self._reach.carry_out(caller, session, given)}

    async def _connected(self) -> Calling:
        sidecar = await self._reach.connected()
        self._sidecars.append(sidecar)
        return sidecar

    async def aclose(self) -> None:
        for call in self._calls:
            call.cancel()
        for sidecar in self._sidecars:
            await sidecar.aclose()


async def _hello(stdout: asyncio.StreamReader, lines: Lines) -> Hello | None:
    """The relay's first line. None at the end. Raises NoRelay, and Malformed."""
    noise = 0
    while True:
        while (line := lines.next()) is not None:
            noise += len(line)
            if (hello := hello_of(line)) is not None:
                return hello
        if noise > MOST_NOISE:
            raise NoRelay(NO_HELLO)
        data = await stdout.read(READ)
        if not data:
            return None
        lines.feed(data)


def _ended(code: int | None) -> str:
    return "ended" if code is None else f"ended with code {code}"


def run(streams: tuple[int, int], connect: Callable[[], Awaitable[Calling]]) -> int:
    """Run reach. Returns the exit code. `streams`: descriptors of stdin and stdout that nothing else uses."""
    return asyncio.run(_run(streams, connect))


async def _run(streams: tuple[int, int], connect: Callable[[], Awaitable[Calling]]) -> int:
    told, source = Lines(LONGEST), Input(streams[0])
    first = await _next(source, told)
    if first is None:
        return 0
    pairs = [(str(there), str(here)) for there, here in first["folders"]]

    def tell(line: Mapping[str, object]) -> None:
        with suppress(OSError):
            os.write(streams[1], encode(dict(line)))

    reach = Reach(str(first["agent"]), first["argv"], Folders(pairs), connect, tell)
    relayed = asyncio.ensure_future(reach.until_ended())

    async def sessions() -> None:
        while (line := await _next(source, told)) is not None:
            reach.session(line)

    listening = asyncio.ensure_future(sessions())
    await asyncio.wait({relayed, listening}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    if not relayed.done():
        relayed.cancel()
        await asyncio.wait({relayed})
        return 0
    return relayed.result()


async def _next(source: Any, lines: Lines) -> dict[str, Any] | None:
    while (line := lines.next()) is None:
        data = await source.read(READ)
        if not data:
            return None
        lines.feed(data)
    return decode(line)
