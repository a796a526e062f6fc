"""Alone: the object graph of a guest's tools where no sidecar runs: the files on the disk, with the journal, and nobody to ask.

What the user would be asked about is refused. Whoever connected the agent has said yes to the rest, and the agent asks in its own way.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from sidecar.approvals import Approvals
from sidecar.audit import AuditLog
from sidecar.config import Settings
from sidecar.journal import SqliteJournal
from sidecar.matchers import compile_matchers
from sidecar.mcp.calls import ToolCalls
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.visits import Visit
from sidecar.state_folder import state_folder
from sidecar.workspace.background import Background
from sidecar.workspace.nobody import NoAgents, NoEditor
from sidecar.workspace.service import Workspace
from sidecar.workspace.storage import Storage

log = logging.getLogger(__name__)


class Alone:
    """As a connection to a sidecar."""

    def __init__(self, methods: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[object]]]) -> None:
        self._methods = methods

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        return await self._methods[method](params)


@asynccontextmanager
async def alone(folder: str) -> AsyncGenerator[Alone]:
    """`folder`: the one to work in, absolute."""
    settings = Settings()
    matchers, _ = compile_matchers((), (), own=[state_folder()])
    audit, tokens = AuditLog(), Tokens()
    async with SqliteJournal.opened() as journal, anyio.create_task_group() as tasks:
        workspace = Workspace(
            settings,
            Storage(settings.max_file_bytes),
            matchers,
            journal,
            Approvals(),
            audit,
            NoEditor(log.warning),
            NoAgents(),
            Background(tasks),
        )
        workspace.roots_changed([folder])
        visit = Visit(workspace.guests, tokens, allowed=True)
        try:
            yield Alone({**ToolCalls(workspace, tokens).methods(), **visit.methods()})
        finally:
            visit.gone()
            with anyio.CancelScope(shield=True):
                await workspace.aclose()
            audit.close()
            tasks.cancel_scope.cancel()
