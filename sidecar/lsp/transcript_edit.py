"""One edit of a transcript, made where its text is: in the editor's buffer while it is open there, otherwise in its file.

Through the editor, it is a versioned applyEdit whose success is judged by the mirror, not by the answer, and which is planned again if the buffer has
moved on. Not for workspace documents: they have the workspace's own, journalled writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.core.change import Edit
from sidecar.core.coordinates import TextEdit
from sidecar.core.overlay import Document
from sidecar.core.text import Encoding, Text
from sidecar.core.uri import DocumentUri
from sidecar.lsp.transcript_folder import TranscriptFolder
from sidecar.lsp.transcript_text import history
from sidecar.lsp.workspace_port import Documents
from sidecar.workspace.ports.ports import DocumentEdit, Editor

_log = logging.getLogger(__name__)

PlanEdits = Callable[[str], Sequence[Edit]]
"""Returns the edits for a text, sorted and without overlaps; none if there is nothing to do."""

ATTEMPTS: Final = 5
LANDS_WITHIN = 2.0
"""Seconds after the editor's answer within which its didChange may come. Editors debounce it by up to 0.5 s."""
MOVES_WITHIN = 0.6
"""Seconds for the typing that made the editor refuse to become visible: one debounce."""


@dataclass(frozen=True, slots=True)
class TranscriptEditor:
    editor: Editor
    documents: Documents
    folder: TranscriptFolder

    async def edit(self, uri: DocumentUri, path: Path, plan: PlanEdits) -> bool:
        """Make the edit. Return whether it was made. Raises EditorGone, OSError."""
        for _ in range(ATTEMPTS):
            document = self.documents(uri)
            if document is None or not self.editor.capabilities.apply_edit:
                return self._edit_file(path, plan)
            if document.desynchronised is not None:
                _log.warning(
                    "transcript %s: not in step with the editor: %s", path.name, document.desynchronised
                )
                return False
            if await self._edit_buffer(document, plan):
                return True
        _log.warning("transcript %s: the editor did not take an edit", path.name)
        return False

    async def save(self, uri: DocumentUri) -> bool:
        """Save the transcript. Return whether the client saved it. Raises EditorGone, EditorRefused, EditorTimeout."""
        document = self.documents(uri)
        if document is None:
            return False
        return (await self.editor.save(document.client_uri, document.version)).saved

    def _edit_file(self, path: Path, plan: PlanEdits) -> bool:
        before = self.folder.read(path)
        edits = plan(before)
        if edits:
            self.folder.write(path, apply(before, edits))
        return True

    async def _edit_buffer(self, document: Document, plan: PlanEdits) -> bool:
        snapshot = document.snapshot()
        edits = plan(str(snapshot))
        if not edits:
            return True
        expected = history(apply(str(snapshot), edits))
        watch = _Watch(document, expected)
        try:
            edit = DocumentEdit(
                document.client_uri,
                document.version,
                text_edits(snapshot, edits, self.editor.capabilities.encoding),
            )
            answer = await self.editor.apply_edit("transcript", edit)
            await watch.wait(LANDS_WITHIN if answer.applied else MOVES_WITHIN)
        finally:
            watch.stop()
        return watch.landed


def apply(text: str, edits: Sequence[Edit]) -> str:
    out: list[str] = []
    at = 0
    for edit in edits:
        out += (text[at : edit.start], edit.new)
        at = edit.end
    return "".join((*out, text[at:]))


def text_edits(text: Text, edits: Sequence[Edit], encoding: Encoding) -> tuple[TextEdit, ...]:
    return tuple(
        TextEdit(text.position_at(edit.start, encoding), text.position_at(edit.end, encoding), edit.new)
        for edit in edits
    )


class _Watch:
    """Checks every state of a document until its history is the expected one. Typing below, in the prompt, does not matter."""

    def __init__(self, document: Document, expected: str) -> None:
        self.landed = False
        self._document = document
        self._expected = expected
        self._moved = asyncio.Event()
        document.listeners.append(self._changed)

    async def wait(self, seconds: float) -> None:
        """Wait until the edit has landed, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                while not self.landed:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            return

    def stop(self) -> None:
        self._document.listeners.remove(self._changed)

    def _changed(self, document: Document, _: Edit) -> None:
        self.landed = self.landed or history(str(document.snapshot())) == self._expected
        self._moved.set()
