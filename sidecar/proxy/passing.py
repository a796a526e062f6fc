"""Passing: what is done with each line of client and agent. All lines pass unchanged and in order, except `initialize`, the agent's
`fs/*`, and the opening of a session in which the agent's own tools are redirected to ours."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

import msgspec

from sidecar.acp import files
from sidecar.acp.messages import encode
from sidecar.proxy.announcing import version_of, with_files
from sidecar.proxy.heads import Head, Key, head_of, raw, read_leniently

log = logging.getLogger(__name__)

UPDATE = "session/update"
_FILES = (files.READ, files.WRITE)


class Conversations(Protocol):
    """See conversations.py."""

    version: int

    def asked(self, head: Head, led: str = "") -> Awaitable[None] | None: ...
    def answered(self, head: Head) -> None: ...
    def told(self, line: bytes) -> None: ...


class Requests(Protocol):
    """See file_requests.py."""

    def take(self, request_id: bytes, message: Mapping[str, Any]) -> None: ...
    def takes_back(self, params: object) -> bool: ...
    async def room(self) -> None: ...


class OwnTools(Protocol):
    """See own_tools.py."""

    def opening(self, line: bytes, head: Head, version: int) -> tuple[bytes, str]: ...


class NotLed:
    """The agent's own tools are not redirected."""

    def opening(self, line: bytes, head: Head, version: int) -> tuple[bytes, str]:
        return line, ""


class Passing:
    def __init__(
        self,
        conversations: Conversations,
        requests: Requests,
        own_tools: OwnTools = NotLed(),  # noqa: B008  # has no state
    ) -> None:
        self._conversations = conversations
        self._requests = requests
        self._own_tools = own_tools
        self._initializing: Key | None = None

    async def from_client(self, line: bytes) -> bytes | None:
        """What the agent gets in place of the client's line."""
        try:
            return await self._from_client(line)
        except Exception:
            log.exception("a line of the client is passed on as it is")
            return line

    async def from_agent(self, line: bytes) -> bytes | None:
        """What the client gets in place of the agent's line. None: the line is answered here."""
        try:
            return await self._from_agent(line)
        except Exception:
            log.exception("a line of the agent is passed on as it is")
            return line

    async def _from_client(self, line: bytes) -> bytes | None:
        head = head_of(line)
        if head is None or head.method is msgspec.UNSET:
            return line
        if head.method == "initialize":
            self._initializing = head.key
            return with_files(line)
        line, led = self._own_tools.opening(line, head, self._conversations.version)
        waits = self._conversations.asked(head, led)
        if waits is not None:
            await waits
        return line

    async def _from_agent(self, line: bytes) -> bytes | None:
        head = head_of(line)
        if head is None:
            return line if not await self._takes_leniently(line) else None
        if head.method is msgspec.UNSET:
            if self._initializing is not None and head.key == self._initializing:
                self._initializing, self._conversations.version = None, version_of(head)
            self._conversations.answered(head)
        elif head.method in _FILES and head.key is not None and head.id is not msgspec.UNSET:
            message = read_leniently(line)
            if message is not None:
                await self._requests.room()
                self._requests.take(raw(head.id), message)
                return None
        elif head.method == UPDATE:
            self._conversations.told(line)
        elif head.method == "$/cancel_request" and self._requests.takes_back(head.params):
            return None
        return line

    async def _takes_leniently(self, line: bytes) -> bool:
        """Take a line that only a lenient decoder understands. Returns whether it is a request for files: it may have half a
        surrogate pair in its text, or too much in its `_meta`."""
        message = read_leniently(line) if line else None
        if message is None or message.get("method") not in _FILES:
            return False
        request_id = message.get("id")
        if not isinstance(request_id, int | str) or isinstance(request_id, bool):
            return False
        await self._requests.room()
        self._requests.take(encode(request_id), message)
        return True
