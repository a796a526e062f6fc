"""Gaps: handles missing versions from an editor that sends changes out of order (Helix). A missing one is awaited briefly, then skipped."""

from __future__ import annotations

import anyio

from sidecar.core.overlay import Document, Overlay
from sidecar.workspace.ports.background import Background

GAP_SECONDS = 1.0
"""How long a change may take to arrive after a later one. Helix sends them at almost the same time."""


class Gaps:
    """Versions may have gaps (LSP 3.17, TextDocumentItem.version), even where they are used to order changes."""

    def __init__(self, overlay: Overlay, tasks: Background) -> None:
        self._overlay = overlay
        self._tasks = tasks
        self._watched: set[Document] = set()

    def noticed(self, document: Document) -> None:
        """Changes of `document` are waiting for an earlier one."""
        if document not in self._watched:
            self._watched.add(document)
            self._tasks.start_soon(self._close, document)

    async def _close(self, document: Document) -> None:
        try:
            while document.early and document.is_open:
                version = min(document.early)
                await anyio.sleep(GAP_SECONDS)
                self._overlay.close_gap(document, version)
        finally:
            self._watched.discard(document)
