"""Watch: what the mirror receives between sending an edit to the editor and knowing how it ended.

An editor's answer proves nothing: some answer `applied: true` and apply nothing, or apply in the wrong place (docs/clients.md). Its
didChange may come before or after the answer, alone or followed by newer typing. Only this proves success: one of the states
received since sending equals the expected text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio

from sidecar.core.change import Edit
from sidecar.core.normal import normal
from sidecar.core.overlay import Document
from sidecar.core.text import Text


class Watch:
    """Attached to a document from sending until `close`. Synchronous but for `wait`."""

    def __init__(
        self, document: Document, expected: Text, before: Text | None = None, edits: Sequence[Edit] = ()
    ) -> None:
        """`before`, `edits`: what was received already, when that is not nothing."""
        self.document = document
        self.before = document.snapshot() if before is None else before
        self.edits: list[Edit] = list(edits)
        """Received since, each on the text that the one before left."""
        self.version = document.version - len(self.edits)
        """Of the document, with `before`; at most."""
        self.matched_at: int | None = None
        """How many of `edits` it took to reach the expected text; what follows is somebody's newer work."""
        self.reached = expected
        """The expected text; once matched, as the editor really has it."""
        self.saved_over = False
        """The document was saved before the expected text was there: the disk may not say any more what that was made from."""
        self._moved = anyio.Event()
        self._closed = False
        document.listeners.append(self._on_edit)

    @property
    def matched(self) -> bool:
        return self.matched_at is not None

    def is_there(self) -> bool:
        """Whether the document already has the expected text."""
        now = self.document.snapshot()
        if normal(str(now)) == normal(str(self.reached)):
            self.matched_at, self.reached = len(self.edits), now
        return self.matched

    async def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Whether the expected text was seen, waiting for it at most that long, or until closed, or `is_enough` of what came."""
        with anyio.move_on_after(seconds):
            while not (self.matched or self._matches_normalised() or self._closed or is_enough()):
                self._moved = anyio.Event()
                await self._moved.wait()
        return self.matched

    async def wait_for_any(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Whether anything at all was received, waiting for it at most that long, or until closed, or `is_enough` (see `look`)."""
        with anyio.move_on_after(seconds):
            while not (self.edits or self._closed or is_enough()):
                self._moved = anyio.Event()
                await self._moved.wait()
        return bool(self.edits)

    def look(self) -> None:
        """Whoever waits looks once more whether it is enough."""
        self._moved.set()

    def saved(self) -> None:
        """The document was saved."""
        if not (self.matched or self._matches_normalised()):
            self.saved_over = True

    def close(self) -> None:
        if self._on_edit in self.document.listeners:
            self.document.listeners.remove(self._on_edit)
        self._closed = True
        self._moved.set()

    def _on_edit(self, document: Document, edit: Edit) -> None:
        self.edits.append(edit)
        same_size = len(document.rope) == len(self.reached)
        if self.matched_at is None and same_size and document.snapshot() == self.reached:
            self.matched_at = len(self.edits)
        self._moved.set()

    def _matches_normalised(self) -> bool:
        """The last state, compared without line ends: some editors turn those of an edit into their own."""
        if self.edits and self.matched_at is None:
            now = self.document.snapshot()
            text, expected = str(now), str(self.reached)
            if ("\r" in text or "\r" in expected) and normal(text) == normal(expected):
                self.matched_at, self.reached = len(self.edits), now
        return self.matched
