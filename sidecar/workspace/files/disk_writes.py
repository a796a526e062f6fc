"""DiskWriter: writes to files that the editor has not open and cannot open, and to files that are not there yet."""

from __future__ import annotations

from typing import assert_never

from sidecar.core.change import ChangeSet
from sidecar.core.ledger import Author
from sidecar.core.lines_changed import lines_changed
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.normal import BOM, Normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import EditText, NoChange
from sidecar.disk import Missing, Resolved
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.legs import changes_of
from sidecar.workspace.edits.recording import DiskChange, Recorder
from sidecar.workspace.edits.sending import RELOAD_SECONDS, Reload, Sender
from sidecar.workspace.edits.write_task import Misplaced, Undecided, WriteDone, WriteTask, conflict, withdrawn
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.places import Place
from sidecar.workspace.state.state import State

_NOTHING = Text.of("")


class DiskWriter:
    """Atomic, journalled, and based on what the agent saw like any other write."""

    def __init__(self, state: State, recorder: Recorder, sender: Sender, behind: Behind) -> None:
        self._state = state
        self._recorder = recorder
        self._sender = sender
        self._behind = behind

    async def write(
        self, task: WriteTask, place: Place, file: Resolved, misplaced: Misplaced | None = None
    ) -> WriteDone | Refusal:
        """Changes a file that exists. `misplaced`: an edit that is to be taken out of it first, if it is there."""
        storage, beliefs, session = self._state.storage, self._state.beliefs, task.session
        found = await storage.read_bytes(file)
        decoded = found if isinstance(found, Refusal) else await storage.decode(found, file)
        if isinstance(decoded, Refusal):
            return decoded
        if place.tracked is None:
            await self._behind.before_write(place.uri, place.path, file, found)
        size = len(decoded.text) + len(task.content)
        now = await aside(size, lambda: Normal(decoded.text))
        disk = self._state.documents.disk
        disk.seen(place.uri, now.text)
        candidates = self._state.candidates(session, place.uri, task.ticket.moment)
        proper = now
        # Some editors end the last line when they save.
        if misplaced is not None and misplaced.text.rstrip("\n") == now.text.rstrip("\n"):
            taken_out = merge(misplaced.text, now.text, misplaced.without)
            if isinstance(taken_out, Merged):
                proper = Normal(now.changes_in_raw(taken_out.changes).apply(now.raw))
        plan = await aside(size, lambda: task.plan(candidates, proper.text))
        match plan:
            case NoChange() if proper is now:
                task.believe(beliefs, place.uri, disk.newest(place.uri))
                return WriteDone(saved=True)
            case Conflict() if proper is now:
                return conflict(place.requested, plan)
            case Refusal() if proper is now:
                return plan
            case EditText():
                wanted = plan.changes
                changes = await aside(size, lambda: proper.changes_in_raw(wanted))
            case NoChange() | Conflict() | Refusal():
                changes = ChangeSet(len(proper.raw))
            case _:
                assert_never(plan)
        after = await aside(size, lambda: changes.apply(proper.raw))
        data = await storage.encoded(after, decoded, place.requested)
        if isinstance(data, Refusal):
            return data
        unwritable = storage.check_writable(file, len(data))
        if unwritable is not None:
            return unwritable
        newest = disk.newest(place.uri)
        known = await aside(
            size, lambda: DiskChange.of(proper.raw, changes, None if newest is None else newest.text)
        )
        author = await self._recorder.begin(
            session,
            place.path,
            decoded.text,
            after,
            "disk",
            decoded.encoding,
            decoded.bom,
            changes=changes if proper is now else None,
            kept=known.after,
        )
        if isinstance(author, Refusal):
            return author
        if not task.may_begin:
            await self._recorder.finish(author, "failed")
            return withdrawn(place.requested)
        reload = self._reload(task, place.uri, author, known.after, None if proper is now else proper.raw)
        saved = await storage.save(file, data)
        if isinstance(saved, Refusal):
            if reload is not None:
                reload.end()
            await self._recorder.finish(author, "failed")
            return saved
        disk.written(place.uri, known.after, beliefs.moment())
        if reload is not None:
            await reload.wait(RELOAD_SECONDS)
        elif self._state.documents.get(place.uri) is None:
            self._recorder.disk_edit(session, place.uri, author, proper.raw, changes, known)
        if isinstance(
            plan, Conflict | Refusal
        ):  # nothing of the agent's was written; what was there before is back
            await self._recorder.finish(author, "failed")
            return plan if isinstance(plan, Refusal) else conflict(place.requested, plan)
        await self._recorder.finish(author, "done")
        task.believe(beliefs, place.uri, disk.newest(place.uri))
        return self._done(author, place)

    def _done(self, author: Author, place: Place) -> WriteDone:
        """On the disk there is nothing that is not saved, so that only the answer waits for the user."""
        if self._state.settings.writes != "confirm":
            return WriteDone(saved=True)

        async def save() -> WriteDone:
            return WriteDone(saved=True)

        return WriteDone(saved=True, undecided=Undecided(author.write, place.uri, place.requested, save))

    def _reload(
        self, task: WriteTask, uri: DocumentUri, author: Author, text: Text, proper: str | None
    ) -> Reload | None:
        """The editor has the file open all the same: when it takes the text from the disk, that is the agent's edit, of `proper`
        where a misplaced one was taken out first."""
        tracked = self._state.documents.get(uri)
        if tracked is None or tracked.flight is not None:
            return None
        if proper is None:
            landing = self._recorder.live_edit(task.session, uri, author)
        else:
            landing = self._recorder.corrected_edit(task.session, uri, author, proper)
        return self._sender.reload(tracked, text, landing)

    async def create(self, task: WriteTask, place: Place, missing: Missing) -> WriteDone | Refusal:
        """Makes a file that does not exist, and the folders above it."""
        storage, session = self._state.storage, task.session
        text = task.content.removeprefix(BOM)
        data = await storage.encoded(text, None, place.requested)
        if isinstance(data, Refusal):
            return data
        unwritable = storage.check_writable(missing, len(data))
        if unwritable is not None:
            return unwritable
        await self._behind.before_write(place.uri, place.path, missing, None)
        after = await aside(len(text), lambda: Text.of(text))
        author = await self._recorder.begin(session, place.path, None, text, "disk", kept=after)
        if isinstance(author, Refusal):
            return author
        if not task.may_begin:
            await self._recorder.finish(author, "failed")
            return withdrawn(place.requested)
        created = await storage.create(missing, data)
        if isinstance(created, Refusal):
            await self._recorder.finish(author, "failed")
            return created
        self._state.documents.disk.written(place.uri, after, self._state.beliefs.moment())
        author, before = self._behind.came(place.path, author)
        changes = changes_of(before, text)
        known = (
            DiskChange.of(before, changes)
            if before
            else DiskChange(_NOTHING, after, lines_changed("", changes))
        )
        self._recorder.disk_edit(session, place.uri, author, before, changes, known)
        task.believe(self._state.beliefs, place.uri, self._state.documents.disk.newest(place.uri))
        await self._recorder.finish(author, "done")
        return self._done(author, place)
