"""Alone: the object graph of a guest's tools where no sidecar runs: the files on the disk, with the journal, and nobody to ask.

What the user would be asked about is refused. Whoever connected the agent has said yes to the rest, and the agent asks in its own way.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sidecar.mcp.calls import ToolCalls
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.visits import Visit
from sidecar.workspace.on_disk import on_disk


class Alone:
    """As a connection to a sidecar."""

    def __init__(self, methods: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[object]]]) -> None:
        self._methods = methods

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        return await self._methods[method](params)


@asynccontextmanager
async def alone(folder: str) -> AsyncGenerator[Alone]:
    """`folder`: the one to work in, absolute."""
    tokens = Tokens()
    async with on_disk([folder]) as workspace:
        visit = Visit(workspace.guests, tokens, allowed=True)
        try:
            yield Alone({**ToolCalls(workspace, tokens).methods(), **visit.methods()})
        finally:
            visit.gone()
