"""Opener: has the editor open a file that is not open, and close it again."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, EditorTimeout
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

OPEN_SECONDS = 5.0
"""How long an editor may take to open a document."""


@dataclass(frozen=True, slots=True)
class NotOpened:
    """The editor did not open the file for us."""

    reason: str = ""
    """In the editor's words, if it gave any."""


class Opener:
    """Opens documents for us alone. The editor shows no tab for them if it can."""

    def __init__(self, state: State, editor: Editor) -> None:
        self._state = state
        self._editor = editor

    async def open(self, uri: DocumentUri) -> Tracked | NotOpened:
        """Has the editor open the file."""
        try:
            await self._editor.open(uri)
        except EditorRefused as refusal:
            return NotOpened(str(refusal.args[0]))
        except (EditorGone, EditorTimeout):
            return NotOpened()
        return await self.appearance(uri) or NotOpened()

    async def open_undecodable(self, uri: DocumentUri) -> Tracked | NotOpened:
        """As `open`, for a file whose encoding only the editor may know. If the editor reads it in a wrong encoding, it
        is closed again."""
        tracked = await self.open(uri)
        if isinstance(tracked, NotOpened) or tracked.is_clean():
            return tracked
        await self.close(tracked)
        return NotOpened()

    async def read_undecodable(self, uri: DocumentUri) -> Text | None:
        """The text that the editor reads in such a file; None: it could not be opened in the right encoding."""
        tracked = await self.open_undecodable(uri)
        if isinstance(tracked, NotOpened):
            return None
        text = tracked.document.snapshot()
        await self.close(tracked)
        return text

    async def appearance(self, uri: DocumentUri) -> Tracked | None:
        """The document, once the editor has announced it; None if that takes too long."""
        with anyio.move_on_after(OPEN_SECONDS):
            tracked = await self._state.documents.appearance(uri)
            await tracked.observed.wait()
            return tracked
        return self._state.documents.get(uri)

    async def close(self, tracked: Tracked) -> None:
        """Has the editor close a document that was opened only for a write."""
        try:
            await self._editor.close(tracked.document.client_uri)
        except (EditorGone, EditorRefused, EditorTimeout):
            pass  # one tab too many does no harm
