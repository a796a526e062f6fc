"""Prompted: guests whose prompts are known, because the proxy in front of them sees the prompts pass. Their turns begin and end like those of our own
agents, so their changes on the disk are found and listed too.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from sidecar.core.json_types import Json
from sidecar.workspace.behind.disk_watch import DiskWatch
from sidecar.workspace.behind.evidence import Evidence
from sidecar.workspace.ports.background import Background
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.turns import CANCELLED, Turns


class _Turn:
    """A running turn."""

    def __init__(self) -> None:
        self.prompted = anyio.Event()
        self.over = anyio.Event()
        self.reason = CANCELLED


class Prompted:
    def __init__(self, turns: Turns, disk_watch: DiskWatch, evidence: Evidence, tasks: Background) -> None:
        self._turns = turns
        self._disk_watch = disk_watch
        self._evidence = evidence
        self._tasks = tasks
        self._running: dict[str, _Turn] = {}

    async def begin_turn(self, session: Session) -> None:
        """Begin a turn. Returns when the agent may get its prompt."""
        if session.running:
            return
        turn = self._running[session.id] = _Turn()

        async def prepare() -> Sequence[Json]:
            await self._disk_watch.before_turn(session)
            return ()

        async def work(_: Sequence[Json]) -> str:
            turn.prompted.set()
            await turn.over.wait()
            return turn.reason

        _, outcome = self._turns.start(session, prepare, work)
        self._disk_watch.turn_began(session)

        async def to_its_end() -> None:
            await outcome
            turn.prompted.set()

        self._tasks.start_soon(to_its_end)
        await turn.prompted.wait()

    async def end_turn(self, session: Session, reason: str) -> None:
        """End the turn: the agent has answered its prompt. Returns when its changes are known."""
        turn = self._running.pop(session.id, None)
        if turn is not None:
            session.answered()
            turn.reason = reason or CANCELLED
            turn.over.set()
            await self._turns.end_of(session)

    def stop_turn(self, session: Session) -> None:
        """Stop the turn: the client has cancelled it. Nothing more is begun for the agent, although its turn has not ended."""
        self._turns.cancel(session)

    def heard(self, session: Session, update: Json) -> None:
        """Take an update about a tool call, in ACP's shape."""
        if session.running:
            self._evidence.observe(session, update)
            session.observe(update)
