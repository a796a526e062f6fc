"""A person's stop takes effect whenever it comes, also before the agent has the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.ports.ports import OpenedSession, Question, SessionRequest
from tests.support.workspaces import Bench, IdleAgents, QuietEditor, a_workspace

TEXT = [{"type": "text", "text": "go"}]
HANGS = 10.0


class Agents(IdleAgents):
    """Sessions after the first are opened when `opens` is set; a cancel ends the turn that has reached the agent."""

    def __init__(self) -> None:
        super().__init__()
        self.opens = asyncio.Event()
        self.opening = asyncio.Event()
        self.prompted = asyncio.Event()

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        if self.opened:
            self.opening.set()
            await self.opens.wait()
        return await super().open_session(request)

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, object]]) -> str:
        self.prompted.set()
        return await super().prompt(session_id, blocks)

    def cancel(self, session_id: str) -> None:
        super().cancel(session_id)
        if self.stop is not None:
            self.stop.set_result("cancelled")


class Asked(QuietEditor):
    """Whoever is asked thinks for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def ask(self, question: Question) -> str | None:
        self.asked.set()
        await asyncio.Event().wait()
        return None


class Unapproved:
    """Approvals that do not know a command the second time."""

    def __init__(self) -> None:
        self.times = 0

    def knows(self, command: object) -> bool:
        self.times += 1
        return self.times != 2

    def remember(self, command: object) -> None: ...


async def nothing(agents: Agents, editor: Asked) -> None: ...


async def opening(agents: Agents, editor: Asked) -> None:
    await agents.opening.wait()


async def asked(agents: Agents, editor: Asked) -> None:
    await editor.asked.wait()


async def prompted(agents: Agents, editor: Asked) -> None:
    await agents.prompted.wait()


# when the stop comes · in a session that is open · approvals · what is waited for · the agent gets the prompt
STOPS: dict[str, tuple[bool, Any, Callable[[Agents, Asked], Awaitable[None]], bool]] = {
    "with the prompt": (True, None, nothing, False),
    "with the prompt that opens a session": (False, None, nothing, False),
    "while the agent is started": (False, None, opening, False),
    "while the user is asked whether to start it": (False, Unapproved, asked, False),
    "while it works": (True, None, prompted, True),
}


@pytest.mark.parametrize("when", STOPS)
async def test_a_stop_is_never_lost(when: str, tmp_path: Path) -> None:
    is_open, approvals, until, reaches = STOPS[when]
    agents, editor = Agents(), Asked()
    async with (
        asyncio.timeout(HANGS),
        a_workspace(tmp_path, editor, agents, approvals=approvals and approvals()) as bench,
    ):
        session_id, outcome = start(bench, is_open)
        await until(agents, editor)
        bench.workspace.cancel(session_id)
        ended = await outcome
        assert ended["stopReason"] == "cancelled"
        assert "error" not in ended
        assert agents.prompted.is_set() == reaches
        assert editor.shown == []
        # and the next prompt in the same session is a turn like any other
        agents.opens.set()
        agents.prompted.clear()
        agents.stop = None
        _, _, outcome = bench.workspace.start_prompt(session_id, TEXT)
        await agents.prompted.wait()
        assert agents.stop is not None
        agents.stop.set_result("end_turn")
        assert (await outcome)["stopReason"] == "end_turn"


def start(bench: Bench, is_open: bool) -> tuple[str, Awaitable[Mapping[str, object]]]:
    """A prompt in the session that is open, or (there being none of that agent) in a new one."""
    if is_open:
        session_id, _, outcome = bench.workspace.start_prompt(bench.session, TEXT)
    else:
        first = bench.workspace.state.sessions.get(bench.session)
        assert first is not None
        bench.workspace.state.sessions.remove(bench.session)
        session_id, _, outcome = bench.workspace.start_prompt(None, TEXT)
        bench.workspace.state.sessions.add(first)
    return session_id, outcome
