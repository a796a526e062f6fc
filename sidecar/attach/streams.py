"""Streams: the stream on which a client over HTTP gets each message: one for the connection, and one for each conversation.

As in ACP's draft ("Streamable HTTP & WebSocket Transport"), and in the SDKs that follow it: a conversation's messages go to its stream once
the client has opened the stream, or has been told of the conversation. All other messages go to the connection's stream. Sans-IO except for
waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import msgspec

from sidecar.proxy.heads import Head, fields_of, head_of, raw, value_of

MOST_BYTES = 16 * 1024 * 1024
"""The bytes that wait for a client above which nothing more is read from the agent."""
MOST_SESSIONS = 256
ALIVE_SECONDS = 15.0
"""The seconds without a message after which a stream sends a sign of life: an intermediary may end a silent one."""


class Box:
    """The messages of one stream."""

    def __init__(self) -> None:
        self.lines: deque[bytes] = deque()
        self.listener = 0
        """The number of the listener that gets the messages: the last one."""
        self.came = asyncio.Event()


class Streams:
    def __init__(self) -> None:
        self.listening = 0
        """The number of open streams."""
        self._connection = Box()
        self._sessions: dict[str, Box] = {}
        self._asked: dict[bytes, str] = {}
        """The unanswered requests of conversations, by request id."""
        self._early: dict[str, int] = {}
        """The conversations with a request that began before their stream existed. Until it is answered, their messages keep the order of
        the connection's stream."""
        self._waiting = 0
        self._room = asyncio.Event()
        self._over = False

    def asked(self, line: bytes) -> None:
        """Note a message of the client."""
        head = head_of(line)
        session = _session_of(head, "params")
        if (
            head is None
            or session is None
            or isinstance(head.method, msgspec.UnsetType)
            or head.id is msgspec.UNSET
        ):
            return
        self._asked[raw(head.id)] = session
        if session not in self._sessions:
            self._early[session] = self._early.get(session, 0) + 1

    async def put(self, line: bytes) -> None:
        """Add a message for the client, without its line end. Waits while the client takes nothing."""
        while self._waiting > MOST_BYTES and not self._over:
            self._room.clear()
            await self._room.wait()
        box = self._box_of(line)
        box.lines.append(line)
        self._waiting += len(line)
        box.came.set()

    async def listen(self, session: str | None) -> AsyncIterator[bytes]:
        """The events of a stream, until another listener takes it over or the client is gone."""
        box = self._connection if session is None else self._sessions.setdefault(session, Box())
        box.listener += 1
        box.came.set()
        mine = box.listener
        self.listening += 1
        try:
            while True:
                while box.lines and box.listener == mine:
                    line = box.lines.popleft()
                    self._waiting -= len(line)
                    self._room.set()
                    yield b"data: " + line + b"\n\n"
                if self._over or box.listener != mine:
                    return
                box.came.clear()
                try:
                    async with asyncio.timeout(ALIVE_SECONDS):
                        await box.came.wait()
                except TimeoutError:
                    yield b": still there\n\n"
        finally:
            self.listening -= 1

    def has_room_for(self, session: str) -> bool:
        return session in self._sessions or len(self._sessions) < MOST_SESSIONS

    def end(self) -> None:
        self._over = True
        self._room.set()
        for box in (self._connection, *self._sessions.values()):
            box.came.set()

    def _box_of(self, line: bytes) -> Box:
        head = head_of(line)
        if head is None:
            return self._connection
        if not isinstance(head.method, msgspec.UnsetType):
            return self._of(_session_of(head, "params"))
        made = _session_of(head, "result")
        if made is not None:
            self._sessions.setdefault(made, Box())
        session = None if head.id is msgspec.UNSET else self._asked.pop(raw(head.id), None)
        if session is None or made is not None:
            return self._connection
        box = self._of(session)
        if session in self._early:
            self._early[session] -= 1
            if not self._early[session]:
                del self._early[session]
        return box

    def _of(self, session: str | None) -> Box:
        if session is None or session in self._early:
            return self._connection
        return self._sessions.get(session, self._connection)


def _session_of(head: Head | None, field: str) -> str | None:
    fields = None if head is None else fields_of(cast("msgspec.Raw", getattr(head, field)))
    found = value_of(fields["sessionId"]) if fields and "sessionId" in fields else None
    return found if isinstance(found, str) else None
