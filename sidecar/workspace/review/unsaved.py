"""Unsaved: applies an unsaved rejection to the file when its document is closed without a save.

A rejection in a document with other unsaved work is not saved, so the file still has the rejected text, and it would come back. If the document is closed
without a save, the rejection is made in the file. If the document was opened again and typed in since, it is made in the document.

Until then, writing the file would make the editor ask about the user's next save. For agents that read the disk, the document is saved before they read.
"""

from __future__ import annotations

import os

import anyio

from sidecar.core.diff import diff
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Decoded, Resolved, Stat
from sidecar.journal.entry import JournalFailed
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.door import MAX_ATTEMPTS
from sidecar.workspace.edits.sending import Sender
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.review.rejection import entry
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import TakenBack, Tracked, out_of

WAIT_SECONDS = 2.0
"""Seconds to wait for a write of the file that is in progress. If it takes longer, the rejected changes are under review again."""


class Unsaved:
    """Applies the unsaved rejections of one workspace."""

    def __init__(
        self, state: State, reconciler: Reconciler, sender: Sender, journal: Journal, tasks: Background
    ) -> None:
        self._state = state
        self._sender = sender
        self._reconciler = reconciler
        self._journal = journal
        self._tasks = tasks

    def closed(self, tracked: Tracked) -> None:
        """The user closed the document. Agents' writes of its file wait until its unsaved rejections are applied."""
        left, path = tracked.still_taken_back(), to_path(tracked.document.uri)
        if left and path is not None and not tracked.is_clean():
            ticket = self._state.queues.take("", path, self._state.storage.order_key, "write")
            self._tasks.start_soon(self._put_back, tracked, path, left, ticket)

    async def _put_back(
        self, tracked: Tracked, path: str, taken_back: list[TakenBack], ticket: Ticket
    ) -> None:
        storage, uri = self._state.storage, tracked.document.uri
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return
            with anyio.move_on_after(WAIT_SECONDS):
                async with (
                    tracked.looking
                ):  # a reload is reported as a closing, an opening, and the changes made on top of it
                    pass
            if await self._is_unsaved_again(uri, taken_back):
                return
            roots = storage.roots([os.path.dirname(path)])
            if isinstance(roots, Refusal):
                return
            with roots:
                file = storage.resolve(roots, path, "write")
                if not isinstance(file, Resolved):
                    return
                with file:
                    decoded = await storage.read(file)
                    if not isinstance(decoded, Refusal):
                        await self._put(uri, path, file.stat, decoded, taken_back)
        finally:
            ticket.release()
        again = self._state.documents.get(uri)
        if again is not None:
            await self._reconciler.look(again)

    async def _is_unsaved_again(self, uri: DocumentUri, taken_back: list[TakenBack]) -> bool:
        """Whether the user has typed in the document since it was opened again. If so, the rejected text is removed from the document. A user who opens
        the file again with its text still does not want what they rejected."""
        again, known = self._state.documents.get(uri), None
        for _ in range(MAX_ATTEMPTS):  # the user may be typing
            if again is None:
                return False
            if again is not known:
                with anyio.move_on_after(WAIT_SECONDS):
                    await again.observed.wait()
                if again.is_clean():
                    return False
                again.was_taken_back(taken_back)
                known = again
            if not await again.rest(WAIT_SECONDS) or again.closed:
                break
            said = str(again.document.snapshot())
            changes = diff(said, out_of(said, taken_back))
            if changes.is_empty:
                break
            sent = await self._sender.put(again, changes, "Rejected", "what you rejected")
            if sent.left or not sent.flight.has_ended:
                break  # what the document says now is not all the user's, or may still change
            again = sent.tracked
        return True

    async def _put(
        self, uri: DocumentUri, path: str, stat: Stat, decoded: Decoded, taken_back: list[TakenBack]
    ) -> None:
        text = out_of(decoded.text, taken_back)
        data = self._state.storage.encode(text, decoded, path)
        if text == decoded.text or isinstance(data, Refusal):
            return
        made = entry(path, decoded.text, text, "disk", decoded.encoding, decoded.bom)
        try:
            entry_id = await self._journal.begin(made)
        except JournalFailed:
            return  # it is under review again
        saved = await self._state.storage.put(path, stat, data)
        await self._journal.finish(entry_id, "failed" if isinstance(saved, Refusal) else "done")
        if isinstance(saved, Refusal):
            return
        self._state.documents.disk.taken_back(uri, text)
        reviewed = self._state.ledgers.get(uri)
        if reviewed is not None and not reviewed.live:
            reviewed.seen(Text.of(text), is_known=True)
            self._state.ledgers.moved(reviewed)
