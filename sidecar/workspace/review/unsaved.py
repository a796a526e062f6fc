"""Unsaved: what the user took back in a document with other unsaved work is not saved with that, so the file still says it. It is made in the file, too:
before an agent can read it there, and when the document is closed without being saved. In a document that was opened again and typed in since, it is made
there: it would come back otherwise.

The first needs an editor that takes the file anew for us, with the unsaved work on top. Any other would make the user's next save a question.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import anyio

from sidecar.core.diff import diff
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Decoded, Resolved, Stat
from sidecar.journal.entry import JournalFailed
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.sending import Sender
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.review.rejection import entry
from sidecar.workspace.state.documents import TakenBack, Tracked
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.state import State

WAIT_SECONDS = 2.0
"""How long to wait for a write of the file that is under way. If it takes longer, what was taken back is under review again."""


class Unsaved:
    """Of one workspace."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        reconciler: Reconciler,
        sender: Sender,
        journal: Journal,
        tasks: Background,
    ) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._reconciler = reconciler
        self._journal = journal
        self._tasks = tasks

    async def taken_back(self, tracked: Tracked, made: TakenBack) -> None:
        """The user has taken agents' work back in it, which was not saved. An agent that works may read the file at any moment."""
        tracked.takes_back(made)
        if any(session.acting for session in self._state.sessions):
            await self._make(tracked)

    async def before_a_prompt(self) -> None:
        """An agent is going to work."""
        for tracked in self._state.documents:
            if tracked.taken_back:
                await self._make(tracked)

    async def _make(self, tracked: Tracked) -> None:
        """In the file of a document with unsaved work, as long as nobody has written either since they were compared."""
        path = to_path(tracked.document.uri)
        if path is None or not self._editor.capabilities.reload or not await self._reconciler.look(tracked):
            return
        async with tracked.looking:
            left = tracked.still_taken_back()
            if not left or tracked.apart or tracked.is_clean() or not self._reconciler.is_current(tracked):
                return
            file = await self._writable(path)
            if file is None or file[0] != tracked.stat:
                return
            with anyio.CancelScope(shield=True):
                written = await self._put(tracked.document.uri, path, *file, left)
                if written is not None:
                    tracked.taken_back = []
                    self._note_file(tracked, left)
                    await self._taken_anew(tracked, path, *written)

    async def _taken_anew(self, tracked: Tracked, path: str, text: str, stat: Stat) -> None:
        """The editor takes the file, which says `text`, and puts on top what is unsaved: the review goes on as if nothing had been edited."""
        uri, before = tracked.document.uri, tracked.document.snapshot()
        reviewed = self._state.ledgers.get(uri)
        mark = None if reviewed is None else reviewed.ledger.mark()
        await self._reconciler.we_wrote(tracked, path, text, stat)
        now = self._state.documents.get(uri)
        if reviewed is not None and mark is not None and reviewed.live and now is not None:
            self._state.ledgers.back_at(reviewed, mark, before, now.document.snapshot())

    def _note_file(self, tracked: Tracked, taken_back: list[TakenBack]) -> None:
        """What is under review in what the file says: it counts once the document is closed without a save."""
        then, reviewed = tracked.hunks_then.file, self._state.ledgers.get(tracked.document.uri)
        if then is not None and reviewed is not None:
            ledger, text = reviewed.ledger.elsewhere(then.hunks), Text.of(_out_of(str(then.text), taken_back))
            ledger.user_led(then.text, text)
            tracked.hunks_then.file = Noted(text, ledger.hunks, -1)

    def closed(self, tracked: Tracked) -> None:
        """The user closed the document. Agents' writes of its file wait until that is put right."""
        left, path = tracked.still_taken_back(), to_path(tracked.document.uri)
        if left and path is not None and not tracked.is_clean():
            ticket = self._state.queues.take("", path, self._state.storage.order_key, "write")
            self._tasks.start_soon(self._put_back, tracked, path, left, ticket)

    async def _put_back(
        self, tracked: Tracked, path: str, taken_back: list[TakenBack], ticket: Ticket
    ) -> None:
        uri = tracked.document.uri
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return
            with anyio.move_on_after(WAIT_SECONDS):
                async with (
                    tracked.looking
                ):  # a reload is told as a closing, an opening, and what comes on top of that
                    pass
            if await self._is_unsaved_again(uri, taken_back):
                return
            file = await self._writable(path)
            if file is not None:
                await self._put(uri, path, *file, taken_back)
        finally:
            ticket.release()
        again = self._state.documents.get(uri)
        if again is not None:
            await self._reconciler.look(again)

    async def _is_unsaved_again(self, uri: DocumentUri, taken_back: list[TakenBack]) -> bool:
        """Who opens the file anew, with what it says, does not want what they rejected; where they
        have typed since, that goes from the document."""
        again = self._state.documents.get(uri)
        if again is None:
            return False
        with anyio.move_on_after(WAIT_SECONDS):
            await again.observed.wait()
        if again.is_clean():
            return False
        again.taken_back = [*(one._replace(at=0) for one in taken_back), *again.taken_back]
        if await again.rest(WAIT_SECONDS) and not again.closed:
            said = str(again.document.snapshot())
            changes = diff(said, _out_of(said, taken_back))
            if not changes.is_empty:
                await self._sender.send(again, changes, "Rejected")
        return True

    async def _writable(self, path: str) -> tuple[Stat, Decoded] | None:
        """What the file says; None: nobody can say, or it cannot be written."""
        storage = self._state.storage
        roots = storage.roots([os.path.dirname(path)])
        if isinstance(roots, Refusal):
            return None
        with roots:
            file = storage.resolve(roots, path, "write")
            if not isinstance(file, Resolved):
                return None
            with file:
                decoded = await storage.read(file)
                return None if isinstance(decoded, Refusal) else (file.stat, decoded)

    async def _put(
        self, uri: DocumentUri, path: str, stat: Stat, decoded: Decoded, taken_back: list[TakenBack]
    ) -> tuple[str, Stat] | None:
        """What the file says then; None: it is as it was."""
        text = _out_of(decoded.text, taken_back)
        data = self._state.storage.encode(text, decoded, path)
        if text == decoded.text or isinstance(data, Refusal):
            return None
        made = entry(path, decoded.text, text, "disk", decoded.encoding, decoded.bom)
        try:
            entry_id = await self._journal.begin(made)
        except JournalFailed:
            return None  # once the document is closed, it is under review again
        saved = await self._state.storage.put(path, stat, data)
        await self._journal.finish(entry_id, "failed" if isinstance(saved, Refusal) else "done")
        if saved is None or isinstance(saved, Refusal):
            return None
        self._state.documents.disk.taken_back(uri, text)
        reviewed = self._state.ledgers.get(uri)
        if reviewed is not None and not reviewed.live:
            reviewed.seen(Text.of(text), is_known=True)
            self._state.ledgers.moved(reviewed)
        return text, saved


def _out_of(text: str, taken_back: Sequence[TakenBack]) -> str:
    for one in taken_back:
        text = one.out_of(text)
    return text
