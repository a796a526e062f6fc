"""Creator: creates a file with its text in the editor, as one undoable step, saves it and closes it again."""

from __future__ import annotations

from functools import partial

import anyio

from sidecar.core.coordinates import TextEdit
from sidecar.core.ledger import Author
from sidecar.core.normal import without_mark
from sidecar.core.refusal import Refusal
from sidecar.core.text import Position, Text
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.legs import changes_of
from sidecar.workspace.edits.door import Door
from sidecar.workspace.edits.ends import Unanswered, refusal
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import ANSWER_SECONDS, Request, Sender
from sidecar.workspace.edits.write_task import WriteDone, WriteTask, kept_changing, withdrawn
from sidecar.workspace.files.opening import OPEN_SECONDS, Opener
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.ports import DocumentEdit
from sidecar.workspace.state.places import Place
from sidecar.workspace.state.state import State


class Creator:
    """For editors that create files and save."""

    def __init__(
        self,
        state: State,
        sender: Sender,
        door: Door,
        opener: Opener,
        saver: Saver,
        recorder: Recorder,
        behind: Behind,
    ) -> None:
        self._state = state
        self._door = door
        self._sender = sender
        self._opener = opener
        self._saver = saver
        self._recorder = recorder
        self._behind = behind

    async def create(self, task: WriteTask, place: Place) -> WriteDone | Refusal | None:
        """Creates the file. None if the editor did not do it: then the caller creates the file on the disk. Not None
        while the editor may still do it: the text would be there twice."""
        text = without_mark(task.content)
        await self._behind.before_write(place.uri, place.path, place.on_disk, None)
        author = await self._recorder.begin(task.session, place.path, None, text, "editor")
        if isinstance(author, Refusal):
            return author
        if not task.may_begin:
            await self._recorder.finish(author, "failed")
            return withdrawn(place.requested)
        start = Position(0, 0)
        edits = (TextEdit(start, start, str(text)),) if text else ()
        edit = DocumentEdit(place.uri, None, edits, create=True)
        self._behind.making.add(place.uri)
        request = self._sender.dispatch(f"{task.session.agent} creates a file", edit)
        with anyio.move_on_after(ANSWER_SECONDS):
            await request.answered.wait()
        if not request.answered.is_set():
            # what the answer brings is recorded and saved all the same
            self._door.hold(task.ticket, partial(self._late, task, place, request, author))
            return refusal(place.requested, Unanswered())
        return await self._answered(task, place, request, author)

    async def _late(self, task: WriteTask, place: Place, request: Request, author: Author) -> None:
        await request.answered.wait()
        await self._answered(task, place, request, author)

    async def _answered(
        self, task: WriteTask, place: Place, request: Request, author: Author
    ) -> WriteDone | Refusal | None:
        try:
            return await self._made(task, place, request, author)
        finally:
            self._behind.making.discard(place.uri)

    async def _made(
        self, task: WriteTask, place: Place, request: Request, author: Author
    ) -> WriteDone | Refusal | None:
        session = task.session
        tracked = None
        if request.answer is not None and request.answer.applied:
            tracked = await self._opener.appearance(place.uri)
        if tracked is None:
            await self._recorder.finish(author, "failed")
            return None
        if not await tracked.becomes(task.wanted, OPEN_SECONDS):
            await self._recorder.finish(author, "unknown")
            return kept_changing(place.requested)
        now = tracked.document.snapshot()
        author, before = self._behind.came(place.path, author)
        applied = self._recorder.live_edit(session, place.uri, author)
        applied(Text.of(before), changes_of(before, str(now)), now)
        tracked.agent_alone()
        await task.believe(self._state.beliefs, place.uri, now)
        await self._recorder.finish(author, "done")
        if self._state.settings.writes == "confirm":
            return self._saver.undecided(author.write, place.uri, place, was_user_dirty=False)
        done = await self._saver.save(tracked)
        if done.saved:
            await self._opener.close(tracked)
        return done
