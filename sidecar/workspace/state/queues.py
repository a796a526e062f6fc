"""Tickets: the order in which requests on one document take effect.

A request takes its ticket as soon as it is received, before anything awaits, so that effects follow the order of arrival although each request has
a task of its own. A write waits for every earlier write of the document and for its own session's earlier reads. A read waits only for its own
session's earlier writes. Different documents never wait for each other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Literal

import anyio

Access = Literal["read", "write"]

TURN_SECONDS = 120.0
"""Seconds that a request waits for earlier ones on its document: one of them may be waiting for the user."""


class Ticket:
    """A place in one document's queue. Whoever holds it must `release` it, whatever happens."""

    __slots__ = ("_passed", "_queues", "access", "asked_in", "key", "moment", "path", "session_id")

    def __init__(
        self,
        queues: Queues,
        session_id: str,
        path: str,
        key: str,
        access: Access,
        moment: int,
        asked_in: int | None = None,
    ) -> None:
        self._queues = queues
        self._passed: anyio.Event | None = None
        self.session_id = session_id
        self.path = path
        self.key = key
        """The key of its queue; "" while it is the only ticket."""
        self.access: Access = access
        self.moment = moment
        """When it was taken, as a moment of `core.belief`."""
        self.asked_in = asked_in
        """The turn in which the agent asked. None: outside of any turn, or after the user had stopped it."""

    async def turn(self, seconds: float = TURN_SECONDS) -> bool:
        """Wait until everything that must take effect earlier is done. False if it was not done within `seconds`."""
        with anyio.move_on_after(seconds):
            while self._queues.blocked(self):
                self._passed = anyio.Event()
                await self._passed.wait()
        return not self._queues.blocked(self)

    def wake(self) -> None:
        if self._passed is not None:
            self._passed.set()

    def release(self) -> None:
        """Leave the queue. A second call does nothing."""
        self._queues.leave(self)

    def must_wait_for(self, earlier: Ticket) -> bool:
        if earlier.session_id == self.session_id:
            return "write" in (earlier.access, self.access)
        return earlier.access == "write" and self.access == "write"


class Queues:
    """All tickets in use, by document key."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Ticket]] = {}
        self._alone: tuple[Ticket, Callable[[str], str]] | None = None
        """The only ticket in use, while it is in no queue yet. Keys are looked up on the disk, and most reads end before the key matters."""

    def take(
        self,
        session_id: str,
        path: str,
        key_of: Callable[[str], str],
        access: Access,
        moment: int = 0,
        asked_in: int | None = None,
    ) -> Ticket:
        """Take a ticket for `path`. `key_of` returns a key of its document that is good enough for ordering (aliases of one file share it)."""
        ticket = Ticket(self, session_id, path, "", access, moment, asked_in)
        if self._waiting or self._alone is not None:
            self._line_up()
            self._join(ticket, key_of)
        else:
            self._alone = ticket, key_of
        return ticket

    @asynccontextmanager
    async def places(
        self, paths: Iterable[str], key_of: Callable[[str], str], seconds: float
    ) -> AsyncGenerator[None]:
        """Hold places for these files: nobody else writes them meanwhile, or attributes changes in them. Earlier tickets are waited for at most
        `seconds`."""
        # one ticket for each key: a second one would wait for the first, in vain
        one_each = {key_of(path): path for path in paths}
        tickets = [self.take("", path, key_of, "write") for path in one_each.values()]
        try:
            with anyio.move_on_after(seconds):
                for ticket in tickets:
                    await ticket.turn(seconds)
            yield
        finally:
            for ticket in tickets:
                ticket.release()

    def hold(self, ticket: Ticket) -> Ticket:
        """A second ticket in the same place as `ticket`, for work that continues after its request was answered."""
        self._line_up()
        hold = Ticket(self, "", ticket.path, ticket.key, "write", ticket.moment)
        queue = self._waiting[ticket.key]
        queue.insert(queue.index(ticket), hold)
        return hold

    def blocked(self, ticket: Ticket) -> bool:
        for earlier in self._waiting.get(ticket.key, ()):
            if earlier is ticket:
                return False
            if ticket.must_wait_for(earlier):
                return True
        return False

    def leave(self, ticket: Ticket) -> None:
        if self._alone is not None and self._alone[0] is ticket:
            self._alone = None
            return
        queue = self._waiting.get(ticket.key)
        if queue is None or ticket not in queue:
            return
        queue.remove(ticket)
        if not queue:
            del self._waiting[ticket.key]
        for other in queue:
            other.wake()

    def lengths(self) -> dict[str, int]:
        """The number of tickets in use for each document, for `sidecar.status`."""
        self._line_up()
        return {key: len(queue) for key, queue in self._waiting.items()}

    def _line_up(self) -> None:
        if self._alone is not None:
            (ticket, key_of), self._alone = self._alone, None
            self._join(ticket, key_of)

    def _join(self, ticket: Ticket, key_of: Callable[[str], str]) -> None:
        ticket.key = key_of(ticket.path)
        self._waiting.setdefault(ticket.key, []).append(ticket)
