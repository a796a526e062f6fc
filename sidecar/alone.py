"""Alone: the object graph of a guest's tools where no sidecar runs: the files on the disk, with the journal, and no user to ask.

Whatever needs a question to the user is refused. By connecting the agent, the user has agreed to the rest, and the agent asks in its own way.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from sidecar.mcp.calls import McpCalls
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.visits import Visit
from sidecar.workspace.on_disk import on_disk


class Alone:
    """Stands in for a connection to a sidecar."""

    def __init__(
        self,
        methods: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[object]]],
        renew: Callable[[], Awaitable[None]],
        stored: Callable[[], Awaitable[None]],
    ) -> None:
        """`renew`: takes over what others did to the same files. Editors come and go between calls, and review what was done here. `stored`: waits
        until they can take over what was done here."""
        self._methods = methods
        self._renew = renew
        self._stored = stored
        self._line = anyio.Lock()
        self._running = 0

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        async with self._line:  # calls begin in the order in which they came
            if not self._running:
                await self._renew()
            self._running += 1
        try:
            answer = await self._methods[method](params)
            await self._stored()
            return answer
        finally:
            self._running -= 1


@asynccontextmanager
async def alone(folder: str) -> AsyncGenerator[Alone]:
    """`folder`: the folder to work in, absolute."""
    tokens = Tokens()
    async with on_disk([folder]) as workspace:
        visit = Visit(workspace.guests, tokens, allowed=True)
        try:
            methods = {**McpCalls(workspace, tokens).methods(), **visit.methods()}
            yield Alone(methods, workspace.renew_reviews, workspace.reviews_stored)
        finally:
            visit.gone()
