"""Our side of a connection to an agent that speaks version 2 of ACP, whose half the test plays in raw messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from sidecar.acp.limits import Limits
from sidecar.acp.v2.second import Second
from sidecar.workspace.ports.ports import SessionRequest
from tests.acp.side import LIMITS, Side
from tests.support.acp_wire import HANGS

INFO = {"name": "a", "title": "An agent", "version": "3"}
SESSION: dict[str, Any] = {
    "prompt": {"image": {}, "embeddedContext": {}},
    "mcp": {"stdio": {}, "http": {}},
    "delete": {},
    "fork": None,
}
MODE = {
    "configId": "mode",
    "name": "Mode",
    "category": "mode",
    "type": "select",
    "currentValue": "ask",
    "options": [
        {
            "groupId": "g",
            "name": "G",
            "options": [{"value": "ask", "name": "Ask"}, {"value": "do", "name": "Do"}],
        }
    ],
}


class Two(Side):
    """Our side, which speaks version 2."""

    def __init__(self, limits: Limits = LIMITS, **how: Any) -> None:
        super().__init__(dialect=Second(), limits=limits, **how)
        self.asked: Any = None
        """The params of `initialize`."""
        self.new: Any = None
        """Those of `session/new`."""
        self.opened: Any = None

    async def initialized(self, **more: Any) -> Two:
        task = asyncio.ensure_future(self.agent.initialize())
        answer: dict[str, Any] = {
            "protocolVersion": 2,
            "info": INFO,
            "capabilities": {"session": SESSION},
            **more,
        }
        self.asked = (await self.wire.reply("initialize", answer))["params"]
        await task
        return self

    def tells(self, session: str = "a1", **update: Any) -> None:
        self.wire.notify("session/update", {"sessionId": session, "update": update})

    def state(self, state: str, **more: Any) -> None:
        self.tells(sessionUpdate="state_update", state=state, **more)

    def prompted(self) -> asyncio.Future[str]:
        self.wire.sent.clear()
        return asyncio.ensure_future(self.agent.prompt("a1", [{"type": "text", "text": "hi"}]))

    async def turn(self, *updates: dict[str, Any]) -> list[Any]:
        """A turn in which the agent tells this; → what is heard of it."""
        before = len(self.workspace.updates)
        turn = self.prompted()
        await self.wire.reply("session/prompt", {})
        self.state("running")
        for update in updates:
            self.tells(**update)
        self.state("idle", stopReason="end_turn")
        assert await turn == "end_turn"
        return [update for _, update in self.workspace.updates[before:]]


@asynccontextmanager
async def opened(answer: dict[str, Any] | None = None, **how: Any) -> AsyncGenerator[Two]:
    """Connected, with the agent's session a1 being S1."""
    two = Two(**how)
    try:
        async with asyncio.timeout(HANGS):
            await two.initialized()
            task = asyncio.ensure_future(
                two.agent.new_session(
                    SessionRequest(
                        "S1",
                        "fake",
                        "/w",
                        mcp_servers=({"name": "m", "command": "c", "args": [], "env": []},),
                    )
                )
            )
            two.new = (await two.wire.reply("session/new", {"sessionId": "a1", **(answer or {})}))["params"]
            two.opened = await task
            yield two
    finally:
        await two.agent.close()


OPTIONS = [
    {"optionId": "y", "name": "Allow", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]

PATCH = {
    "format": "git_patch",
    "text": "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
}
