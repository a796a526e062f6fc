"""Guest: one session of the agent in one place where files are served. It comes in at its first turn or its first file; requests wait meanwhile, in
order. If the sidecar is lost, it comes in again, at another sidecar or on the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from sidecar.acp import files
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.proxy.conversations import SessionFolders

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""The seconds that a prompt may wait until the sidecar knows of the turn. After that, the contents of files before the turn are not certain."""
LAST_FILES = 1.0
"""The seconds that the end of a turn waits for files that the agent requested before and did not wait for itself."""
AT_ONCE = 12
"""The most file requests under way: a sidecar takes 16 of one caller, and stopping a turn must get through."""
MOST_HEARD = 256
"""The most updates on their way to the sidecar; further ones are left out."""
LOST = "the editor or its acp-sidecar has ended, and whether this was carried out is not known. Read the file again"


class Who(NamedTuple):
    """The agent."""

    name: str
    """The name that the user sees."""
    rereads: bool = False
    """See acp/quirks.py."""
    tools: str = ""
    """The secret of its own tools, if they are redirected to ours; see own_tools.py."""


class GuestHost(Protocol):
    """A running sidecar, or the disk, for one guest."""

    @property
    def live(self) -> bool:
        """Whether it is a sidecar, which has what the user sees."""
        ...

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """See guest_methods.py. Raises ConnectionError if the host is gone, and ValueError with the host's message if it refuses."""
        ...

    async def aclose(self) -> None: ...


class Hosts(Protocol):
    async def find(self, folders: SessionFolders) -> GuestHost:
        """Raises ConnectionError with a message."""
        ...

    async def is_open(self, folders: SessionFolders) -> bool:
        """Whether a running sidecar has the folder open."""
        ...


class Guest:
    def __init__(self, who: Who, folders: SessionFolders, hosts: Hosts) -> None:
        self._who = who
        self._session_folders = folders
        self._hosts = hosts
        self._host: GuestHost | None = None
        self._why = Refusal(Kind.IO_ERROR, LOST)
        """Why there is no host."""
        self._turns = 0
        self._before: asyncio.Task[None] | None = None
        """The last of the steps that are carried out one after the other: coming in, and turns. Files wait for it."""
        self._free = asyncio.Semaphore(AT_ONCE)
        self._files: set[asyncio.Future[None]] = set()
        self._heard = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    # turns

    async def turn_begins(self) -> None:
        """Begin a turn, and wait until the sidecar knows, or PATIENCE is over."""
        await asyncio.wait({self.turn_began()}, timeout=PATIENCE)

    def turn_began(self) -> asyncio.Task[None]:
        """Begin a turn. The task ends when the sidecar knows."""
        self._turns += 1
        return self._then(self._begin)

    def turn_ends(self, reason: str) -> None:
        self._turns = max(0, self._turns - 1)
        if not self._turns:
            under_way = list(self._files)
            self._then(lambda: self._end(reason, under_way))

    def stopped(self) -> None:
        """The client has cancelled the turn. The sidecar is told at once, ahead of whatever waits for the user."""
        if self._host is not None:
            self._keep(asyncio.ensure_future(self._tell(self._host, "stopTurn")))

    def heard(self, update: Mapping[str, Any]) -> None:
        """The agent reports a tool call."""
        if self._heard < MOST_HEARD and self._turns:
            self._heard += 1
            self._keep(asyncio.ensure_future(self._pass_on(update, self._before)))

    def rest(self) -> None:
        """Leave, because other sessions are used more. The guest comes in again when it is needed; the sidecar forgets which texts it has read."""
        if self._host is not None and not self._turns:
            self.leave()

    def leave(self) -> None:
        self._then(self._left)

    # files

    def read(self, path: str, line: int | None, limit: int | None) -> Awaitable[Json | Refusal]:
        return self._read(self._before, {"path": path, "line": line, "limit": limit})

    def write(self, path: str, content: str) -> Awaitable[Json | Refusal]:
        return self._write(self._before, {"path": path, "content": content})

    async def _read(self, before: asyncio.Task[None] | None, params: Json) -> Json | Refusal:
        answer = await self._served("readFile", params, before)
        return answer if isinstance(answer, Refusal) else {"content": answer["content"]}

    async def _write(self, before: asyncio.Task[None] | None, params: Json) -> Json | Refusal:
        answer = await self._served("writeFile", params, before)
        return answer if isinstance(answer, Refusal) else files.written(answer["saved"], answer["note"])

    async def _served(self, method: str, params: Json, before: asyncio.Task[None] | None) -> Any:
        """The answer, or a Refusal. `before`: the step under way when the request came; later ones are not waited for."""
        under_way: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._files.add(under_way)
        try:
            if before is not None:
                await before
            if self._host is None:
                await self._then(self._come_in)
            async with self._free:
                return await self._asked(method, params)
        finally:
            self._files.discard(under_way)
            under_way.set_result(None)

    async def _asked(self, method: str, params: Mapping[str, object]) -> Any:
        host = self._host
        if host is None:
            return self._why
        try:
            answer = await host.call(method, params)
        except ConnectionError:
            self._lost(host)
            return Refusal(Kind.OUTCOME_UNKNOWN, LOST)
        except ValueError as error:
            return Refusal(Kind.IO_ERROR, str(error))
        return _refusal(answer["refused"]) if "refused" in answer else answer

    # one after the other; nothing here raises

    def _then(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        before = self._before

        async def after() -> None:
            if before is not None:
                await before
            try:
                await work()
            except Exception:
                log.exception("a session of the agent cannot be served")

        self._before = asyncio.ensure_future(after())
        return self._before

    async def _begin(self) -> None:
        if (
            self._host is not None
            and not self._host.live
            and await self._hosts.is_open(self._session_folders)
        ):
            await self._left()
        if self._host is None or not await self._tell(self._host, "beginTurn"):
            await self._come_in()

    async def _end(self, reason: str, under_way: list[asyncio.Future[None]]) -> None:
        if under_way:
            await asyncio.wait(under_way, timeout=LAST_FILES)
        if self._host is not None:
            await self._tell(self._host, "endTurn", stopReason=reason)

    async def _come_in(self) -> None:
        if self._host is not None:
            return
        try:
            host = await self._hosts.find(self._session_folders)
        except ConnectionError as error:
            self._why = Refusal(Kind.IO_ERROR, str(error))
            return
        try:
            who = {"agent": self._who.name, "rereads": self._who.rereads, "tools": self._who.tools}
            answer = await host.call("join", {**who, "folder": self._session_folders.cwd})
        except (ConnectionError, ValueError) as error:
            answer = {"refused": {"kind": str(Kind.IO_ERROR), "message": str(error)}}
        if "refused" in answer:
            self._why = _refusal(answer["refused"])
            await host.aclose()
            return
        self._host = host
        if self._turns:
            await self._tell(host, "beginTurn")

    async def _left(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            await host.aclose()

    # what it tells the host

    async def _tell(self, host: GuestHost, method: str, **params: object) -> bool:
        """Call a method of the host. Returns False if the host is lost."""
        try:
            await host.call(method, params)
        except ConnectionError:
            self._lost(host)
            return False
        except ValueError as error:
            log.warning("%s: %s", method, error)
        return True

    async def _pass_on(self, update: Mapping[str, Any], before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await before
            if self._host is not None:
                await self._tell(self._host, "heard", update=update)
        finally:
            self._heard -= 1

    def _lost(self, host: GuestHost) -> None:
        if self._host is host:
            self._host = None
            log.warning("the acp-sidecar that served %s has ended", self._session_folders.cwd)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """End the guest together with the proxy, without waiting for anything."""
        for task in (*self._tasks, *([] if self._before is None else [self._before])):
            task.cancel()
        await self._left()


def _refusal(value: Mapping[str, Any]) -> Refusal:
    try:
        kind = Kind(value.get("kind"))
    except ValueError:  # a kind of another version
        kind = Kind.IO_ERROR
    data: Any = value.get("data")
    return Refusal(kind, str(value.get("message", "")), data if isinstance(data, dict) else {})  # pyright: ignore[reportUnknownArgumentType]  # JSON
