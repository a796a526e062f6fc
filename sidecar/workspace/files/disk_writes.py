"""DiskWriter: writes to new files, and to files that are not open and that the editor cannot open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from sidecar.core.any_text import AnyText, as_text, narrowed
from sidecar.core.change import ChangeSet
from sidecar.core.kept import Kept
from sidecar.core.ledger import Author
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.normal import Normal, without_mark
from sidecar.core.normal_text import NormalText, normal_of
from sidecar.core.places import Places
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import EditText, NoChange
from sidecar.disk import Decoded, Encoded, Missing, Resolved
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.legs import changes_of
from sidecar.workspace.edits.recording import DiskChange, Recorder
from sidecar.workspace.edits.sending import RELOAD_SECONDS, Reload, Sender
from sidecar.workspace.edits.write_task import Misplaced, Undecided, WriteDone, WriteTask, conflict, withdrawn
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.places import Place
from sidecar.workspace.state.state import State

_NOTHING = Text.of("")


@dataclass(frozen=True, slots=True)
class _WorkedOut:
    """What is to be done to a file."""

    raw: AnyText
    """What the file says; if a misplaced edit is to be taken out, the text without it."""
    changes: ChangeSet | Places
    """Of `raw`."""
    after: AnyText | None = None
    """The result of the changes, if it is known without applying them."""
    is_wanted: bool = False
    """The result is what the agent wants."""
    refused: Refusal | None = None
    """The answer, if a misplaced edit is to be taken out and nothing else is to be done."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A change that is journalled."""

    author: Author
    data: Encoded
    """The file's new content."""
    known: DiskChange
    changes: ChangeSet | Places
    proper: AnyText | None
    """The file's text without the misplaced edit that is taken out; None: there is none."""
    refused: Refusal | None
    said: Kept | None
    """The file's new text, if it is what the agent wants."""


def _normal(text: AnyText, wanted: AnyText, known: Sequence[Text]) -> Normal | NormalText:
    for one in known:
        one.compared()  # needed next, on the event loop
    return (
        normal_of(as_text(text), wanted)
        if isinstance(text, Text) or isinstance(wanted, Text)
        else Normal(text)
    )


def _narrowed(text: str, known: Sequence[Text]) -> AnyText:
    """`text`, as the equal one of `known` if there is one."""
    found = narrowed(text)
    return (
        found
        if isinstance(found, str)
        else next((one for one in known if one.is_narrow and one == found), found)
    )


def _in_raw(now: Normal | NormalText, plan: EditText) -> _WorkedOut:
    if isinstance(now, NormalText):
        places = now.in_raw(plan.places(now.text))
        return _WorkedOut(now.raw, places, places.new, is_wanted=plan.after is not None)
    wanted = plan.changes
    changes = now.changes_in_raw(wanted)
    after = plan.after if changes is wanted else None
    return _WorkedOut(now.raw, changes, after, is_wanted=after is not None)


def _text(text: AnyText) -> Text:
    found = as_text(text)
    found.compared()  # needed later, on the event loop
    return found


class DiskWriter:
    """Writes are atomic, journalled, and based on what the agent saw, like every other write."""

    def __init__(self, state: State, recorder: Recorder, sender: Sender, behind: Behind) -> None:
        self._state = state
        self._recorder = recorder
        self._sender = sender
        self._behind = behind

    async def write(
        self,
        task: WriteTask,
        place: Place,
        file: Resolved,
        misplaced: Misplaced | None = None,
        *,
        made: bool = False,
    ) -> WriteDone | Refusal:
        """Changes an existing file. `misplaced`: an edit that is taken out of it first, if it is there. `made`: the editor created the file, empty, for
        this write."""
        begun = await self._begun(task, place, file, misplaced, made=made)
        if not isinstance(begun, _Begun):
            return begun
        author, known = begun.author, begun.known
        disk, beliefs = self._state.documents.disk, self._state.beliefs
        if not task.may_begin:
            await self._recorder.finish(author, "failed")
            return withdrawn(place.requested)
        reload = self._reload(task, place.uri, author, known.after, begun.proper)
        # Otherwise the write restores what was there before, and contains nothing of the agent's
        is_agents = begun.refused is None
        if reload is None and is_agents:
            self._behind.writes(task.session, place.uri, author, known)
        saved = await self._state.storage.save(file, begun.data)
        if isinstance(saved, Refusal):
            if reload is not None:
                reload.end()
            self._behind.did_not_write(place.uri, author)
            await self._recorder.finish(author, "failed")
            return saved
        disk.written(place.uri, known.after, beliefs.moment())
        if reload is None or not await reload.wait(RELOAD_SECONDS):
            if reload is not None and is_agents:
                self._behind.writes(task.session, place.uri, author, known)
            is_documents = (
                self._behind.wrote(place.uri, place.path, author) if is_agents else self._is_open(place.uri)
            )
            if not is_documents:
                self._recorder.disk_change(task.session, place.uri, author, begun.changes, known)
        if begun.refused is not None:
            await self._recorder.finish(author, "failed")
            return begun.refused
        await self._recorder.finish(author, "done")
        await task.believe(beliefs, place.uri, disk.newest(place.uri), begun.said)
        return self._done(author, place)

    def _is_open(self, uri: DocumentUri) -> bool:
        return self._state.documents.get(uri) is not None

    async def _begun(
        self, task: WriteTask, place: Place, file: Resolved, misplaced: Misplaced | None, *, made: bool
    ) -> _Begun | WriteDone | Refusal:
        """Works the change out and journals it. The texts that this needs are released when the call ends."""
        storage = self._state.storage
        decoded = await self._read(place, file)
        if isinstance(decoded, Refusal):
            return decoded
        read = self._state.beliefs.kept(task.session.id, place.uri)
        before = await aside(len(decoded.text), lambda text=decoded.text: _narrowed(text, read))
        decoded = decoded._replace(text="")
        worked_out = await self._worked_out(task, place, before, misplaced)
        if not isinstance(worked_out, _WorkedOut):
            return worked_out
        Text.forget()  # the texts of the plan are not needed soon
        raw, changes = worked_out.raw, worked_out.changes
        size = len(raw) + len(task.content)
        after = worked_out.after
        if after is None:
            edits = changes.changes() if isinstance(changes, Places) else changes
            after = await aside(size, lambda: edits.apply(str(raw)))
        data = await storage.encoded(after, decoded, place.requested)
        if isinstance(data, Refusal):
            return data
        unwritable = storage.check_writable(file, len(data))
        if unwritable is not None:
            return unwritable
        newest = self._state.documents.disk.newest(place.uri)
        like = None if newest is None else newest.text
        known = await aside(size, lambda: DiskChange.of(raw, changes, like))
        is_proper = raw == before
        is_new = made and not len(before)
        author = await self._recorder.begin(
            task.session,
            place.path,
            None if is_new else before,
            after,
            "disk",
            decoded.encoding,
            decoded.bom,
            changes=changes if is_proper and not is_new else None,
            kept=(known.before if is_proper and not is_new else None, known.after),
        )
        if isinstance(author, Refusal):
            return author
        said = Kept.of_raw(known.after) if worked_out.is_wanted else None
        return _Begun(author, data, known, changes, None if is_proper else raw, worked_out.refused, said)

    async def _read(self, place: Place, file: Resolved) -> Decoded | Refusal:
        storage = self._state.storage
        found = await storage.read_bytes(file)
        decoded = found if isinstance(found, Refusal) else await storage.decode(found, file)
        if not isinstance(found, Refusal) and not isinstance(decoded, Refusal) and place.tracked is None:
            await self._behind.before_write(place.uri, place.path, file, found)
        return decoded

    async def _worked_out(
        self, task: WriteTask, place: Place, before: AnyText, misplaced: Misplaced | None
    ) -> _WorkedOut | WriteDone | Refusal:
        """Works the change out. The texts that this needs, except the one that is changed, are released when the call ends."""
        size = len(before) + len(task.content)
        known = self._state.beliefs.kept(task.session.id, place.uri)
        now = await aside(size, lambda: _normal(before, task.wanted, known))
        disk = self._state.documents.disk
        newest = disk.newest(place.uri)
        disk.seen(place.uri, await aside(size, lambda: Kept.of(now.text, newest)))
        candidates = self._state.candidates(task.session, place.uri, task.ticket.moment, now.text)
        proper = now
        # Some editors add a final line end when they save.
        text = "" if misplaced is None else str(now.text)
        if misplaced is not None and misplaced.text.rstrip("\n") == text.rstrip("\n"):
            taken_out = merge(misplaced.text, text, misplaced.without)
            if isinstance(taken_out, Merged):
                raw = str(now.raw)
                proper = Normal(Normal(raw).changes_in_raw(taken_out.changes).apply(raw))
        plan = await aside(size, lambda: task.plan(candidates, proper.text))
        refused: Refusal | None = None
        match plan:
            case EditText():
                return await aside(size, lambda: _in_raw(proper, plan))
            case NoChange() if proper is now:
                await task.believe(self._state.beliefs, place.uri, disk.newest(place.uri))
                return WriteDone(saved=True)
            case NoChange():
                pass
            case Conflict():
                refused = conflict(place.requested, plan)
            case Refusal():
                refused = plan
            case _:
                assert_never(plan)
        if refused is not None and proper is now:
            return refused
        return _WorkedOut(proper.raw, ChangeSet(len(proper.raw)), refused=refused)

    def _done(self, author: Author, place: Place) -> WriteDone:
        """On the disk nothing is unsaved, so only the answer waits for the user."""
        if self._state.settings.writes != "confirm":
            return WriteDone(saved=True)

        async def save() -> WriteDone:
            return WriteDone(saved=True)

        return WriteDone(saved=True, undecided=Undecided(author.write, place.uri, place.requested, save))

    def _reload(
        self, task: WriteTask, uri: DocumentUri, author: Author, text: Text, proper: AnyText | None
    ) -> Reload | None:
        """The editor has the file open all the same. When it takes the text from the disk, that is the agent's edit: of
        `proper`, if a misplaced edit was taken out first. None: the document is not open, or has an edit on its way."""
        tracked = self._state.documents.get(uri)
        if tracked is None or tracked.flight is not None:
            return None
        if proper is None:
            landing = self._recorder.live_edit(task.session, uri, author)
        else:
            landing = self._recorder.corrected_edit(task.session, uri, author, str(proper))
        return self._sender.reload(tracked, text, landing)

    async def create(self, task: WriteTask, place: Place, missing: Missing) -> WriteDone | Refusal:
        """Creates a file that does not exist, and the folders above it."""
        storage, session = self._state.storage, task.session
        text = without_mark(task.content)
        data = await storage.encoded(text, None, place.requested)
        if isinstance(data, Refusal):
            return data
        unwritable = storage.check_writable(missing, len(data))
        if unwritable is not None:
            return unwritable
        await self._behind.before_write(place.uri, place.path, missing, None)
        after = await aside(len(text), lambda: _text(text))
        said = await aside(len(text), lambda: Kept.of_raw(after))
        author = await self._recorder.begin(session, place.path, None, text, "disk", kept=(None, after))
        if isinstance(author, Refusal):
            return author
        if not task.may_begin:
            await self._recorder.finish(author, "failed")
            return withdrawn(place.requested)
        ends = after.slice(max(0, len(after) - 1), len(after)) in ("", "\n", "\r")
        known = DiskChange(_NOTHING, after, (after.line_count - ends, 0))
        self._behind.writes(session, place.uri, author, known)
        created = await storage.create(missing, data)
        if isinstance(created, Refusal):
            self._behind.did_not_write(place.uri, author)
            await self._recorder.finish(author, "failed")
            return created
        self._state.documents.disk.written(place.uri, after, self._state.beliefs.moment())
        if not self._behind.wrote(place.uri, place.path, author):
            author, before = self._behind.came(place.path, author)
            if before:
                changes = changes_of(before, str(text))
                known = DiskChange.of(before, changes)
            else:
                changes = Places.made(after)
            self._recorder.disk_change(session, place.uri, author, changes, known)
        await task.believe(self._state.beliefs, place.uri, self._state.documents.disk.newest(place.uri), said)
        await self._recorder.finish(author, "done")
        return self._done(author, place)
