"""Our side of a connection to an agent, whose half the test plays in raw messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sidecar.acp.client import AgentConnection
from sidecar.acp.dialect import FIRST, Dialect
from sidecar.acp.elsewhere.border import HERE, Border
from sidecar.acp.limits import Limits
from sidecar.workspace.ports.ports import SessionRequest
from tests.support.acp_wire import HANGS, FakeWorkspace, Wire

LIMITS = Limits(initialize=HANGS, silence=HANGS, close=HANGS)
"""Where they must not be reached, however busy the machine is."""
QUICK = 0.3
"""Seconds; where one is waited for."""
READ, WRITE = "fs/read_text_file", "fs/write_text_file"
INITIALIZED: dict[str, Any] = {"protocolVersion": 1}


class Side:
    def __init__(
        self,
        *,
        fs: bool = True,
        workspace: FakeWorkspace | None = None,
        limits: Limits = LIMITS,
        border: Border = HERE,
        dialect: Dialect = FIRST,
    ) -> None:
        self.wire = Wire()
        self.workspace = workspace or FakeWorkspace()
        self.agent = AgentConnection(
            "fake",
            self.wire.reader,
            self.wire,
            self.workspace,
            fs=fs,
            limits=limits,
            border=border,
            dialect=dialect,
        )

    async def ready(self, capabilities: object = None) -> Side:
        task = asyncio.ensure_future(self.agent.initialize())
        await self.wire.reply("initialize", {**INITIALIZED, "agentCapabilities": capabilities or {}})
        await task
        return self

    async def open(self, name: str = "a1", ours: str = "S1", cwd: str = "/w", **request: Any) -> Any:
        self.wire.sent.clear()
        task = asyncio.ensure_future(self.agent.new_session(SessionRequest(ours, "fake", cwd, **request)))
        await self.wire.reply("session/new", {"sessionId": name})
        return await task


@asynccontextmanager
async def opened(**how: Any) -> AsyncIterator[Side]:
    """Connected, with the agent's session a1 being S1."""
    side = Side(**how)
    try:
        async with asyncio.timeout(HANGS):
            await (await side.ready()).open()
            yield side
    finally:
        await side.agent.close()
