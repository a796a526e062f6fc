"""LeftInFiles: what was taken back in a document that is closed without a save is taken out of its file, too."""

from __future__ import annotations

import os

import anyio

from sidecar.core.diff import diff
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Resolved
from sidecar.journal.entry import JournalFailed
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.review.rejection import entry
from sidecar.workspace.state.documents import Tracked
from sidecar.workspace.state.left_on_disk import LeftOnDisk
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.state import State

WAIT_SECONDS = 10.0
"""How long to wait for a write that is under way."""
TRIES = 3
"""How often the file is read again that somebody writes in the same moment."""


class LeftInFiles:
    """Of one workspace."""

    def __init__(
        self, state: State, editor: Editor, reconciler: Reconciler, journal: Journal, tasks: Background
    ) -> None:
        self._state = state
        self._editor = editor
        self._reconciler = reconciler
        self._journal = journal
        self._tasks = tasks

    def closed(self, tracked: Tracked) -> None:
        """A document was closed. Agents' writes of its file wait until that is put right."""
        path = to_path(tracked.document.uri)
        if tracked.left_on_disk is not None and path is not None:
            ticket = self._state.queues.take("", path, self._state.storage.order_key, "write")
            self._tasks.start_soon(self._closed, tracked, path, tracked.left_on_disk, ticket)

    async def _closed(self, tracked: Tracked, path: str, left: LeftOnDisk, ticket: Ticket) -> None:
        uri, closed_with = tracked.document.uri, tracked.text()
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return
            why: str | None = None
            for _ in range(TRIES):
                again = self._state.documents.get(uri)
                if again is not None:
                    with anyio.move_on_after(WAIT_SECONDS):
                        await again.observed.wait()
                    if not again.is_clean():  # a reload may be told as a closing and an opening
                        again.left_on_disk = left
                        return
                why = await self._take_out(tracked, path, left, closed_with)
                if why is None:
                    break
            else:
                words = f"{path}: what you rejected in it, and did not save, is still in the file: {why}"
                self._editor.show("warning", words)
        finally:
            ticket.release()
        again = self._state.documents.get(uri)
        if again is not None:
            await self._reconciler.look(again)

    async def _take_out(self, tracked: Tracked, path: str, left: LeftOnDisk, closed_with: str) -> str | None:
        """None when there is nothing left to do, else why it was not done, in words."""
        state, storage = self._state, self._state.storage
        roots = storage.roots([os.path.dirname(path)])
        if isinstance(roots, Refusal):
            return None  # with its folder
        with roots:
            file = storage.resolve(roots, path, "write")
            if not isinstance(file, Resolved):
                return file.message if isinstance(file, Refusal) else None
            with file:
                decoded = await storage.read(file)
        if isinstance(decoded, Refusal):
            return decoded.message
        now = Normal(decoded.text)
        wanted = left.without(now.text, closed_with)
        if wanted is None:
            return None
        after = now.changes_in_raw(diff(now.text, wanted)).apply(now.raw)
        data = storage.encode(after, decoded, path)
        if isinstance(data, Refusal):
            return data.message
        try:
            made = entry(path, decoded.text, after, "disk", decoded.encoding, decoded.bom)
            entry_id = await self._journal.begin(made)
        except JournalFailed as failed:
            return f"it could not be journalled first: {failed}"
        saved = await storage.put(path, file.stat, data)
        await self._journal.finish(entry_id, "failed" if isinstance(saved, Refusal) else "done")
        if isinstance(saved, Refusal):
            return saved.message
        state.documents.disk.taken_back(tracked.document.uri, after)
        reviewed = state.ledgers.get(tracked.document.uri)
        if reviewed is not None and not reviewed.live:
            reviewed.seen(Text.of(decoded.text))
            reviewed.seen(Text.of(after))
            state.ledgers.moved(reviewed)
        return None
