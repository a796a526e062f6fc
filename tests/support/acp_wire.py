"""The agent's end of an in-memory connection, and a workspace that keeps its files in a dict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.ports.ports import OpenedSession, Question
from sidecar.workspace.ports.session_ports import AgentState, CommandEnd, Elicitation, Elicited

HANGS = 30.0
"""The limit of any wait, in seconds; generous for slow machines."""


class Wire:
    """The code under test gets `reader`, and the wire itself as its sink. Tests act as the agent through `feed` and
    `sent`.
    """

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader()
        self.sent: list[dict[str, Any]] = []
        self.raw = b""
        self.closed = False
        self.room = asyncio.Event()
        """Cleared: the agent does not read and the sink is full."""
        self.room.set()
        self.taken = 0
        """How many bytes the agent has read. A test with a slow agent counts here."""
        self.left = 0
        """How many bytes the agent leaves unread while there is room for more."""
        self._changed = asyncio.Event()

    # for the code under test

    @property
    def full(self) -> bool:
        return not self.room.is_set()

    @property
    def waiting(self) -> int:
        return max(self.left, int(self.full))

    def write(self, *parts: bytes) -> None:
        self.raw += b"".join(parts)
        *lines, self.raw = self.raw.split(b"\n")
        self.sent.extend(json.loads(line) for line in lines)
        self._changed.set()

    async def drain(self) -> None:
        await self.room.wait()

    def close(self) -> None:
        self.closed = True

    # for the test, as the agent

    def feed(self, *messages: bytes | dict[str, Any]) -> None:
        for message in messages:
            self.reader.feed_data(
                message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            )

    def request(self, number: object, method: str, params: object = None) -> None:
        self.feed({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def notify(self, method: str, params: object = None) -> None:
        self.feed({"jsonrpc": "2.0", "method": method, "params": params})

    def update(self, session: str, text: str) -> None:
        self.notify("session/update", {"sessionId": session, "update": chunk(text)})

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message sent to the agent that satisfies the condition."""
        async with asyncio.timeout(HANGS):
            while True:
                for message in self.sent:
                    if found(message):
                        return message
                self._changed.clear()
                await self._changed.wait()

    async def asked(self, method: str) -> dict[str, Any]:
        return await self.until(lambda message: message.get("method") == method)

    async def answered(self, number: object) -> dict[str, Any]:
        return await self.until(lambda message: "method" not in message and message.get("id") == number)

    async def reply(self, method: str, result: object) -> dict[str, Any]:
        """Answers the last request of this method, once there is one; returns it."""
        await self.asked(method)
        message = [message for message in self.sent if message.get("method") == method][-1]
        self.feed({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return message


def chunk(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


@dataclass(eq=False)
class Ticket:
    session_id: str
    path: str
    access: str
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def released(self) -> bool:
        return self.done.is_set()

    def release(self) -> None:
        self.done.set()


@dataclass(frozen=True)
class Done:
    saved: bool | None = None
    note: str = ""


@dataclass
class FakeWorkspace:
    """Its effects happen in the order of arrival. `log` records everything."""

    files: dict[str, str] = field(default_factory=dict)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    choose: Callable[[Question], str | None] | None = None
    """None: the user does not answer."""
    questions: list[Question] = field(default_factory=list)
    updates: list[tuple[str, Json]] = field(default_factory=list)
    deaths: list[tuple[list[str], str]] = field(default_factory=list)
    states: list[AgentState] = field(default_factory=list)
    reopened: list[OpenedSession] = field(default_factory=list)
    noticed: list[tuple[str, str]] = field(default_factory=list)
    elicitations: list[Elicitation] = field(default_factory=list)
    elicited: Elicited | None = None
    """None: the user does not answer."""
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """path → event its reads and writes wait for."""
    refusal: Refusal | None = None
    done: Done = Done()
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ticket(self, session_id: str, path: str, access: str) -> Ticket:
        ticket = Ticket(session_id, path, access)
        self.tickets.append(ticket)
        self.log.append(("ticket", access, path))
        return ticket

    async def _turn(self, ticket: Ticket) -> None:
        if gate := self.gates.get(ticket.path):
            await gate.wait()
        for earlier in self.tickets[: self.tickets.index(ticket)]:
            if earlier.path == ticket.path:
                await earlier.done.wait()

    async def read(self, ticket: Ticket, line: int | None, limit: int | None) -> str | Refusal:
        await self._turn(ticket)
        self.log.append(("read", ticket.path, line, limit))
        if self.refusal:
            return self.refusal
        if ticket.path not in self.files:
            return Refusal(Kind.NOT_FOUND, "not there")
        return self.files[ticket.path]

    async def write(self, ticket: Ticket, content: str) -> Done | Refusal:
        await self._turn(ticket)
        self.log.append(("write", ticket.path, content))
        if self.refusal:
            return self.refusal
        self.files[ticket.path] = content
        return self.done

    async def ask(self, question: Question) -> str | None:
        self.questions.append(question)
        self.changed.set()
        if self.choose is None:
            await asyncio.Event().wait()
            return None
        return self.choose(question)

    def prompt_answered(self, session_id: str) -> None:
        self.log.append(("prompt answered", session_id))

    def session_update(self, session_id: str, update: Json) -> None:
        self.updates.append((session_id, update))
        self.changed.set()

    def agent_state(self, state: AgentState) -> None:
        self.states.append(state)
        self.changed.set()

    async def elicit(self, elicitation: Elicitation) -> Elicited:
        self.elicitations.append(elicitation)
        self.changed.set()
        if self.elicited is None:
            await asyncio.Event().wait()
        assert self.elicited is not None
        return self.elicited

    def elicitation_complete(self, agent: str, elicitation_id: str) -> None:
        self.log.append(("elicitation complete", agent, elicitation_id))
        self.changed.set()

    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        self.log.append(("output", session_id, terminal_id, output))
        self.changed.set()

    def display_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        self.log.append(("display ended", session_id, terminal_id, end))
        self.changed.set()

    def tools_not_there(self, words: str) -> None:
        self.log.append(("tools not there", words))
        self.changed.set()

    def session_reopened(self, opened: OpenedSession) -> None:
        self.reopened.append(opened)

    def notice(self, session_id: str, words: str) -> None:
        self.noticed.append((session_id, words))
        self.changed.set()

    def agent_died(self, session_ids: list[str], message: str) -> None:
        self.deaths.append((list(session_ids), message))
        self.changed.set()

    def said(self, session_id: str | None = None) -> str:
        """The texts of the message chunks."""
        return "".join(
            update["content"]["text"]
            for session, update in self.updates
            if update["sessionUpdate"] == "agent_message_chunk" and session_id in (None, session)
        )

    async def until(self, found: Callable[[], object]) -> None:
        async with asyncio.timeout(HANGS):
            while not found():
                self.changed.clear()
                await self.changed.wait()
