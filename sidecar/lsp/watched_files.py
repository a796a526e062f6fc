"""WatchedFiles: the client's own file watcher, requested once it is initialized (LSP, "DidChangeWatchedFiles Notification").

Only for clients that accept the registration; for others, and if a client refuses it, the workspace uses the system's watcher. Everything is watched:
nobody knows in advance which files an agent will change, and clients leave out what they never watch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from lsprotocol import types

from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp.wire_port import Wire
from sidecar.lsp.workspace_port import TaskStarter
from sidecar.workspace.ports.ports import EditorCapabilities, EditorGone, EditorRefused

_log = logging.getLogger(__name__)
_ANSWER_WITHIN = 30.0
"""Seconds. Nobody waits for the answer."""
REGISTRATION: dict[str, object] = {
    "registrations": [
        {
            "id": "sidecar-watched-files",
            "method": types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            "registerOptions": {"watchers": [{"globPattern": "**/*"}]},
        }
    ]
}


class WatchedFiles:
    """Calls `changed` with the URIs of files that were created, changed or removed."""

    def __init__(
        self, wire: Wire, tasks: TaskStarter, changed: Callable[[Sequence[DocumentUri]], None]
    ) -> None:
        self._wire = wire
        self._tasks = tasks
        self._changed = changed
        self.registered = False
        """The client has agreed to report changes."""

    def register(self, capabilities: EditorCapabilities) -> None:
        """Request the watcher. Call this once the client is initialized, because only then it accepts requests."""
        if capabilities.watched_files:
            self._tasks.start_soon(self._register)

    def told(self, params: types.DidChangeWatchedFilesParams) -> None:
        self._changed([normalise(change.uri) for change in params.changes])

    async def _register(self) -> None:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                await self._wire.request(types.CLIENT_REGISTER_CAPABILITY, REGISTRATION)
            self.registered = True
        except (EditorRefused, EditorGone, TimeoutError) as error:
            _log.info("files are not watched by the editor: %s", error)
