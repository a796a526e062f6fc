"""on_disk: a workspace without an editor and without agents of its own, for guests where no sidecar runs.

Their changes are journalled, so that `acp-sidecar changes` and `revert` know them. Whatever needs a question to the user is refused.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio

from sidecar.approvals import Approvals
from sidecar.audit import AuditLog
from sidecar.config import Settings
from sidecar.disk.watching import FolderWatch
from sidecar.journal import SqliteJournal
from sidecar.matchers import compile_matchers
from sidecar.state_folder import state_folder
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.nobody import NoAgents, NoEditor
from sidecar.workspace.service import Workspace
from sidecar.workspace.state.storage import Storage

log = logging.getLogger(__name__)


@asynccontextmanager
async def on_disk(folders: Sequence[str]) -> AsyncGenerator[Workspace]:
    """Build a workspace for these folders (absolute paths)."""
    settings = Settings()  # an editor's settings belong to that editor
    matchers, _ = compile_matchers((), (), own=[state_folder()])
    audit = AuditLog()
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
            None,
            FolderWatch,
        )
        workspace.roots_changed(folders)
        await workspace.restore_reviews()  # otherwise a new review would replace the stored one
        try:
            yield workspace
        finally:
            with anyio.CancelScope(shield=True):
                await workspace.reviews_stored()
                await workspace.aclose()
            audit.close()
            tasks.cancel_scope.cancel()
