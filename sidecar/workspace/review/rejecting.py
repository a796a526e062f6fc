"""Rejecter: reverts hunks of documents, through the editor if it has or can open the document, otherwise on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import anyio
import anyio.to_thread

from sidecar import disk
from sidecar.core.change import ChangeSet
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Hunk, Rejection
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.disk import Decoded, FolderSyncs, decode
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.door import Door, Planned
from sidecar.workspace.edits.ends import Landed, told
from sidecar.workspace.edits.exact import keeps_line_ends
from sidecar.workspace.edits.sending import ANSWER_SECONDS, Sender, Stop
from sidecar.workspace.files.opening import NotOpened, Opener
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.ports import DocumentEdit, Editor, Journal
from sidecar.workspace.review.disk_rejecting import WAIT_SECONDS, DiskRejecter
from sidecar.workspace.review.rejection import (
    Job,
    PlanRejection,
    Rejected,
    TakesBack,
    created,
    entry,
    leads_to,
)
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Landing, Tracked

FEW = 20
"""The most files that are opened in the editor to be reverted there, where the user can undo it. If there are more, opening each of them would
not be worth it."""
AT_ONCE = 8
"""The number of files whose rows are reverted at the same time."""
TRIES = 3
"""How often a file is tried that somebody opens or reviews at the same moment."""
RELOAD_SECONDS = 2.0
"""How long the editor has to read a file again that is text again. Some editors do not do that by themselves."""


class Rejecter:
    """Every rejection is journalled before it is made, and is one undo step in the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        sender: Sender,
        opener: Opener,
        saver: Saver,
        reconciler: Reconciler,
        journal: Journal,
        door: Door,
    ) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._opener = opener
        self._saver = saver
        self._reconciler = reconciler
        self._journal = journal
        self._door = door
        self._on_disk = DiskRejecter(state, journal)
        self._few = anyio.CapacityLimiter(AT_ONCE)
        self._editing = anyio.CapacityLimiter(1)
        """Documents are reverted one after the other: VS Code needs a tab to save a document that nobody looks at, and when several were
        reverted at once, a tab stayed open."""
        self._left_empty: dict[DocumentUri, tuple[Reviewed, PlanRejection]] = {}
        """Open documents of files that agents created and in which nothing is left: the user may undo that. The files go when they are closed."""

    async def reject(self, jobs: Sequence[Job]) -> list[Rejected]:
        """Carry out the jobs: in the editor one after the other, on the disk as many at once as it handles. If there are more than a few, the
        files that nobody has open are reverted on the disk."""
        results: list[Rejected | None] = [self._opaque(job) for job in jobs]
        for _ in range(TRIES):
            left = [number for number, result in enumerate(results) if result is None]
            closed = [
                number for number in left if self._state.documents.get(jobs[number].reviewed.uri) is None
            ]
            on_disk = closed if len(closed) > FEW or not self._can_open() else ()
            for number, result in zip(
                on_disk, await self._on_disk.put_back([jobs[n] for n in on_disk]), strict=True
            ):
                results[number] = result
            async with anyio.create_task_group() as group:
                for number in set(left).difference(on_disk):
                    group.start_soon(self._one, jobs[number], number, results)
        return [result or Rejected("it keeps changing; try again") for result in results]

    async def _one(self, job: Job, number: int, results: list[Rejected | None]) -> None:
        async with self._editing:
            results[number] = await self._by_editor(job) or (await self._on_disk.put_back([job]))[0]

    def _opaque(self, job: Job) -> Rejected | None:
        refusal = self._state.opaque.refusal_of(job.reviewed.uri)
        return None if refusal is None else Rejected(refusal.message)

    def _can_open(self) -> bool:
        can = self._editor.capabilities
        return can.open and can.save and can.apply_edit and can.document_changes

    async def _by_editor(self, job: Job) -> Rejected | None:
        """Revert in the editor. None: the file is not open, and should not be opened."""
        reviewed, plan = job.reviewed, job.plan
        tracked, path = self._state.documents.get(reviewed.uri), to_path(reviewed.uri)
        created = job.created
        if tracked is not None:
            # It may be saved over what somebody has written to the file meanwhile.
            await self._reconciler.look(tracked)
            tracked = self._state.documents.get(reviewed.uri)
        if tracked is not None:
            was_apart = tracked.apart
            rejected = await self._in_editor(reviewed, tracked, plan)
            if was_apart:
                rejected = replace(rejected, made_room=await self._reconciler.fits_again(tracked))
            if created and rejected.emptied:
                self._left_empty[reviewed.uri] = reviewed, plan
                await self._delete_empty(reviewed, tracked, plan)
            return rejected
        if path is None or not (self._can_open() and await self._editor_keeps(reviewed, path, plan)):
            return None
        opened = await self._opener.open(reviewed.uri)
        if isinstance(opened, NotOpened):
            return None
        rejected = await self._in_editor(reviewed, opened, plan)
        if opened.is_clean() or (await self._saver.save(opened, whose="rejection")).saved:
            await self._opener.close(opened)
        if created and rejected.emptied:
            await self._delete_empty(reviewed, opened, plan)
        return rejected

    async def _editor_keeps(self, reviewed: Reviewed, path: str, plan: PlanRejection) -> bool:
        """Whether the file would have exactly the wanted text if it were opened, edited and saved. A file that cannot be read here is left to
        the editor. A file that is gone is not: the editor would create it."""
        if self._state.storage.stat(path) is None:
            return False
        now = await self._state.storage.read_named(path)
        if isinstance(now, Refusal):
            return True
        before = Text.of(now.text)
        reviewed.seen(before)
        after = plan(len(before)).changes.apply(before)
        if created(reviewed) and not after:
            return False  # it is removed in one step; the editor would first save it empty, and an interruption would leave that
        return now.encoding == "utf-8" and keeps_line_ends(self._editor.capabilities, now.text, after)

    async def reject_files(self, files: FileReviews, changes: Sequence[FileChange]) -> list[str]:
        """Restore what was at paths as a whole. Returns for each why it could not be done, as a message; "" if it was done. No change may
        block another."""
        paths = (path for change in changes for path in (change.path, change.moved_from) if path)
        async with self._state.queues.places(paths, self._state.storage.name_key, WAIT_SECONDS):
            changes = [await files.as_it_is_put_back(change) for change in changes]
            results = await self._put_back(files, changes)
        await self._texts_are_shown([change for change, why in zip(changes, results, strict=True) if not why])
        return results

    async def _texts_are_shown(self, changes: Sequence[FileChange]) -> None:
        """Where a file was no text, an open document of it shows its text once the editor has read the file again. What is under review in that is
        not in what the document shows before, and may be rejected next. Where nothing is, nobody waits."""
        async with anyio.create_task_group() as documents:
            for change in changes:
                tracked = self._state.documents.get(change.uri)
                was_bytes = change.after is not None and change.new_text is None
                text = change.old_text if was_bytes and change.hunks != () else None
                if tracked is not None and text is not None:
                    documents.start_soon(tracked.becomes, normal(text), RELOAD_SECONDS)

    async def _put_back(self, files: FileReviews, changes: Sequence[FileChange]) -> list[str]:
        """`changes`: as `FileReviews.as_it_is_put_back` returned them."""
        results = [self._in_the_way(change) or await files.in_the_way(change) for change in changes]
        free = [number for number, why in enumerate(results) if not why]
        steps = {number: _steps(changes[number]) for number in free}
        begun = [(number, step) for number in free for step in steps[number] if step.now != step.wanted]
        entries = [entry(step.path, None, None, "disk", states=(step.now, step.wanted)) for _, step in begun]
        try:
            takes_back = [(step.takes_back,) for _, step in begun]
            ids = await self._journal.begin_all(entries, takes_back) if entries else []
        except JournalFailed as failed:
            return [why or f"it could not be journalled first: {failed}" for why in results]

        async def one_of_them(number: int) -> None:
            async with self._few:
                change = changes[number]
                results[number] = self._in_the_way(change) or await files.put_back(change, syncs)

        with FolderSyncs() as syncs:
            async with anyio.create_task_group() as group:
                for number in free:
                    group.start_soon(one_of_them, number)
            await self._state.storage.sync(syncs)
        await self.prune(
            files
        )  # once a row counts as rejected, nobody finds the folders that were made for it
        await files.rejected([changes[number] for number in free if not results[number]])
        ended: dict[bool, list[str]] = {True: [], False: []}
        for (number, _), entry_id in zip(begun, ids, strict=True):
            ended[not results[number]].append(entry_id)
        for is_done, some in ended.items():
            if some:
                await self._journal.finish_all(some, "done" if is_done else "failed")
        for number in free:
            for path, now, wanted, _ in steps[number] if not results[number] else ():
                if now is not None and now.differs_in_mode(wanted):
                    continue  # its text may be an agent's that nobody has looked at yet
                data = None if wanted is None or wanted.is_link else decode(wanted.data)
                text = data.text if isinstance(data, Decoded) else None
                self._state.documents.disk.taken_back(from_path(path), text)
        return results

    async def prune(self, files: FileReviews) -> None:
        """Remove the folders that were made for agents' files and are empty now."""
        gone = await anyio.to_thread.run_sync(disk.remove_empty, list(self._state.made_folders))
        self._state.made_folders.difference_update(gone)
        for folder in gone:
            files.was_put_back(folder, None, None)

    def _in_the_way(self, change: FileChange) -> str:
        """Why the change cannot be reverted now, as a message; "" if no reason is known. A file does not go while somebody has unsaved text in it. One
        that comes back, or gets its text back, gets it without that text, which the document keeps."""
        tracked = self._state.documents.get(change.uri) if change.before is None else None
        if tracked is not None and tracked.is_user_dirty():
            return "the file is open with unsaved changes; save it or discard them first"
        return ""

    async def _delete_empty(self, reviewed: Reviewed, tracked: Tracked, plan: PlanRejection) -> None:
        """Remove a file that an agent created and in which nothing is left. As long as the editor holds the document, the editor removes it
        (VS Code keeps the document for a while after its tab is closed), unless the user has it open. Only our own extension knows that, so no
        other client is asked."""
        can = self._editor.capabilities
        if tracked.closed:
            await self._on_disk.put_back([Job(reviewed, plan, str(tracked.document.snapshot()))])
        elif not reviewed.ledger.hunks and can.delete_files and can.changes and tracked.is_clean():
            edit = DocumentEdit(tracked.document.client_uri, None, (), delete=True)
            request = self._sender.dispatch("reject", edit)
            with anyio.move_on_after(ANSWER_SECONDS):
                await request.answered.wait()

    def has_left_empty(self, uri: DocumentUri) -> bool:
        """Whether a rejection left a document empty, of a file that an agent created."""
        return uri in self._left_empty

    async def closed(self, tracked: Tracked) -> None:
        """Such a document was closed, and not opened again a while later. Removes the file if it is still empty."""
        uri = tracked.document.uri
        if self._state.documents.get(uri) is not None or uri not in self._left_empty:
            return
        left = self._left_empty.pop(uri)
        if not tracked.text().strip("\n"):
            await self._on_disk.put_back([Job(*left, str(tracked.document.snapshot()))])

    async def _in_editor(self, reviewed: Reviewed, tracked: Tracked, plan: PlanRejection) -> Rejected:
        was_user_dirty = tracked.is_user_dirty()
        intent = _Rejection(self._state, self._journal, reviewed, plan)
        result = await self._door.edit(tracked, intent)
        match result:
            case Stop():
                return result.end
            case Landed():
                landed = tracked.history.newest
                emptied = intent.emptied(result.tracked)
                saved = await self._saver.settle(tracked, was_user_dirty, whose="rejection")
                if not saved.saved and not emptied and intent.made is not None:
                    tracked.takes_back(intent.made, landed)
                return Rejected(impossible=intent.impossible, emptied=emptied)
            case _:
                return Rejected(told(result))


class _Step(NamedTuple):
    """What reverting a change does at one path."""

    path: str
    now: FileState | None
    wanted: FileState | None
    takes_back: str
    """The agent's write (the journal's id). If the sidecar is killed, the next one sees on the disk whether this was done; then the row is, too."""


def _steps(change: FileChange) -> list[_Step]:
    steps = [_Step(change.path, change.after, change.before, change.author.write)]
    if change.moved_from:
        steps.append(_Step(change.moved_from, None, change.after, change.removal))
    return steps


class _Rejection(TakesBack[Rejected]):
    """Reverts hunks of an open document."""

    _rejection: Rejection
    """The newest plan."""

    def __init__(self, state: State, journal: Journal, reviewed: Reviewed, plan: PlanRejection) -> None:
        super().__init__(state, journal, "reject", to_path(reviewed.uri) or reviewed.uri)
        self._its = reviewed
        self._plan = plan
        self._empties = False

    @property
    def impossible(self) -> tuple[Hunk, ...]:
        """The hunks of the newest plan that later work keeps in place."""
        return self._rejection.impossible

    def ledger(self, uri: DocumentUri) -> Reviewed:
        return self._its

    def failed(self, why: str) -> Rejected:
        return Rejected(why)

    def changes(self, text: Text) -> ChangeSet | Stop[Rejected]:
        self._rejection = self._plan(len(text))
        changes = self._rejection.changes
        if changes.is_empty:
            return Stop(Rejected(impossible=self.impossible))
        self._empties = not changes.new_length and not self._rejection.hunks
        return changes

    def already(self, tracked: Tracked, planned: Planned) -> Rejected:
        self._its.ledger.rejected(self._text, self._as_sent(planned), self._text)
        self._state.ledgers.moved(self._its)
        return Rejected(impossible=self.impossible, emptied=self._empties)

    def _as_sent(self, planned: Planned) -> Rejection:
        """The newest plan, with its changes as they are sent."""
        end = planned.changes.new_length
        hunks = self._rejection.hunks
        hunks = tuple(replace(h, start=min(h.start, end), end=min(h.end, end)) for h in hunks)
        self._rejection = replace(self._rejection, changes=planned.changes, hunks=hunks)
        return self._rejection

    def emptied(self, tracked: Tracked) -> bool:
        """Whether nothing is left in the document. Call it after the edit has landed."""
        return self._empties and tracked.document.snapshot().says(self._rejection.changes.apply(self._text))

    def entry(self, planned: Planned) -> Entry:
        return entry(self.path, str(planned.before), str(planned.after), "editor")

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        self._as_sent(planned)
        return super().landing(tracked, planned)

    def rejects(self, reviewed: Reviewed, before: Text, after: Text) -> bool:
        if not leads_to(self._rejection.changes, before, after):
            return False
        reviewed.ledger.rejected(before, self._rejection, after)
        return True

    def what(self) -> str:
        return "the rejection"
