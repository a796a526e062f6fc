"""FileRequests: answers the agent's `fs/*`. Requests begin in the order in which they come, and are answered as they end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from sidecar.acp import errors, files
from sidecar.acp.byte_streams import Sink
from sidecar.acp.errors import Failure
from sidecar.acp.limits import WireLimits
from sidecar.acp.messages import encode
from sidecar.acp.quirks import Quirks
from sidecar.core.json_limits import NotJson, Unusable
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.proxy.heads import value_of

log = logging.getLogger(__name__)

MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of unanswered requests, as they came. Beyond that, nothing is read from the agent, as with WireLimits.unfinished."""


class Serving(Protocol):
    """See guest.py."""

    def read(self, path: str, line: int | None, limit: int | None) -> Awaitable[Json | Refusal]: ...
    def write(self, path: str, content: str) -> Awaitable[Json | Refusal]: ...


class FileRequests:
    def __init__(
        self,
        guest: Callable[[str], Serving | None],
        to_agent: Sink,
        quirks: Quirks,
        most: int = WireLimits().unfinished,
    ) -> None:
        """`guest`: by the agent's session id. `quirks`: the agent's, by what the user started. `most`: the most unanswered requests."""
        self._guest = guest
        self._to_agent = to_agent
        self._quirks = quirks
        self._most = most
        self._running: dict[asyncio.Task[None], tuple[bytes, int]] = {}
        self._bytes = 0
        self._less = asyncio.Event()

    async def room(self) -> None:
        """Wait until another request can be taken."""
        while len(self._running) >= self._most or self._bytes >= MOST_BYTES:
            self._less.clear()
            await self._less.wait()

    async def over(self, seconds: float) -> None:
        """Wait until all requests are answered, or the time is over."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    def take(self, request_id: bytes, message: Mapping[str, Any]) -> None:
        """Start answering a request. `request_id`: as the agent wrote it."""
        params = message.get("params")
        content: object = cast("Json", params).get("content") if isinstance(params, dict) else None
        size = len(content) if isinstance(content, str) else 0
        task = asyncio.ensure_future(
            self._answer(request_id, self._work(str(message["method"]), cast("object", params)))
        )
        self._running[task] = request_id, size
        self._bytes += size
        task.add_done_callback(self._done)

    def takes_back(self, params: object) -> bool:
        """Whether this withdraws a request that is answered here. The request is answered all the same, as JSON-RPC allows."""
        if not isinstance(params, msgspec.Raw):
            return False
        try:
            meant = msgspec.json.decode(params, type=_Meant).request_id
        except (msgspec.MsgspecError, RecursionError):
            return False
        return any(value_of(request_id) == meant for request_id, _ in self._running.values())

    def _work(self, method: str, params: object) -> Awaitable[Json | Failure]:
        """The work for a request. It begins in the order of the requests: whatever a coroutine does up to its first `await`."""
        if isinstance(params, NotJson):
            return _said(Failure(errors.PARSE_ERROR, f"Parse error: {params}", {}))
        if not isinstance(params, dict):
            why = params if isinstance(params, Unusable) else "not an object"
            return _said(errors.invalid(f"Invalid params: {why}", Kind.BAD_PARAMS))
        parsed = files.parse(method, cast("Json", params))
        if isinstance(parsed, Failure):
            return _said(parsed)
        guest = self._guest(parsed.session_id)
        if guest is None:
            return _said(errors.invalid("there is no such session", Kind.UNKNOWN_SESSION))
        if isinstance(parsed.content, str):
            return self._served(guest.write(parsed.path, parsed.content), parsed.path)
        return self._served(guest.read(parsed.path, parsed.line, parsed.limit), parsed.path)

    async def _served(self, work: Awaitable[Json | Refusal], path: str) -> Json | Failure:
        answer = await work
        if not isinstance(answer, Refusal):
            return answer
        if answer.kind is Kind.NOT_FOUND and self._quirks.missing_reads_empty:
            return {"content": ""}
        return errors.failure(answer, path)

    async def _answer(self, request_id: bytes, work: Awaitable[Json | Failure]) -> None:
        try:
            answer = await work
        except Exception:
            log.exception("a request for a file failed")
            answer = errors.INTERNAL
        if isinstance(answer, Failure):
            told = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, encode(answer._asdict()))
        else:
            told = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, encode(answer))
        self._to_agent.write(told, b"\n")
        try:
            await self._to_agent.drain()  # answers that the agent does not read keep us from taking more
        except ConnectionError:
            pass  # the agent is gone

    def _done(self, task: asyncio.Task[None]) -> None:
        self._bytes -= self._running.pop(task)[1]
        self._less.set()


class _Meant(msgspec.Struct, rename="camel"):
    request_id: int | str


async def _said(failure: Failure) -> Json | Failure:
    return failure
