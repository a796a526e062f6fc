"""WatchedFiles: the client's own file watcher, asked for once it is initialized (LSP, "DidChangeWatchedFiles Notification").

Only for clients that take the registration; elsewhere, and where a client refuses it, the workspace has the system's own watcher. What is watched is everything: which
files an agent changes is not known before, and clients leave out what they never watch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from lsprotocol import types

from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp.service import TaskStarter
from sidecar.lsp.wire_port import Wire
from sidecar.workspace.ports.ports import EditorCapabilities, EditorGone, EditorRefused

_log = logging.getLogger(__name__)
_ANSWER_WITHIN = 30.0
"""Seconds; nobody waits for it."""
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
    """`changed` is told the documents of files that were made, changed or removed."""

    def __init__(
        self, wire: Wire, tasks: TaskStarter, changed: Callable[[Sequence[DocumentUri]], None]
    ) -> None:
        self._wire = wire
        self._tasks = tasks
        self._changed = changed
        self.registered = False
        """The client has agreed to tell."""

    def register(self, capabilities: EditorCapabilities) -> None:
        """The client is initialized: requests may be sent to it."""
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
