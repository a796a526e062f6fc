"""Rejecter: puts hunks of one document back: through the editor where that has the document or can open it, else on the disk."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Hunk, Rejection
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import from_path, to_path
from sidecar.disk import Decoded, Resolved, decode
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.behind.file_reviews import FileChange, FileReviews
from sidecar.workspace.edits.door import Door, Gone, Intent, Landed, NotTaken, Planned, Stop, Unanswered
from sidecar.workspace.edits.exact import keeps_line_ends
from sidecar.workspace.edits.sending import ANSWER_SECONDS, Sender, Sent
from sidecar.workspace.files.buffer_writes import BufferWriter
from sidecar.workspace.ports.ports import DocumentEdit, Editor, Journal
from sidecar.workspace.state.documents import Landing, Tracked
from sidecar.workspace.state.ledgers import Reviewed, changes_as_steps
from sidecar.workspace.state.state import State

Plan = Callable[[int], Rejection]
"""The rejection for a text of that length, as the ledger stands."""
_Begin: TypeAlias = 'Callable[[str, str, str, Literal["editor", "disk"]], Awaitable[str | Rejected]]'
"""Journals (the path, the text before, the text after, where it is changed) → the entry's id."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """`why`: nothing was put back, and the reason in words. `impossible`: hunks that later work keeps in place. `emptied`: nothing is left
    in the document, though an editor of lines may show that as one empty line."""

    why: str = ""
    impossible: tuple[Hunk, ...] = ()
    emptied: bool = False


class Rejecter:
    """Every rejection is journalled before it is made, and is one undo step in the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        sender: Sender,
        buffers: BufferWriter,
        journal: Journal,
        door: Door,
    ) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._buffers = buffers
        self._journal = journal
        self._door = door

    async def reject(self, reviewed: Reviewed, plan: Plan) -> Rejected:
        """Puts back what `plan` says."""
        opaque = self._state.opaque.refusal_of(reviewed.uri)
        if opaque is not None:
            return Rejected(opaque.message)
        tracked, path = self._state.documents.get(reviewed.uri), to_path(reviewed.uri)
        created = _created(reviewed)
        if tracked is not None:
            rejected = await self._in_editor(reviewed, tracked, plan)
            if created and rejected.emptied:
                await self._delete_empty(reviewed, tracked, path, plan)
            return rejected
        if path is None:
            return Rejected("the document is not open")
        can = self._editor.capabilities
        is_able = can.open and can.save and can.apply_edit and can.document_changes
        if is_able and await self._editor_keeps(reviewed, path, plan):
            opened = await self._buffers.open(reviewed.uri)
            if opened is not None:
                rejected = await self._in_editor(reviewed, opened, plan)
                if opened.is_clean() or (await self._buffers.save(opened, whose="rejection")).saved:
                    await self._buffers.close(opened)
                if created and rejected.emptied:
                    await self._delete_empty(reviewed, opened, path, plan)
                return rejected
        return await self._on_disk(reviewed, path, plan)

    async def _editor_keeps(self, reviewed: Reviewed, path: str, plan: Plan) -> bool:
        """Whether the file would say exactly what it is to say, were it opened, edited and saved. What cannot be read here is left to the editor."""
        now = await self._state.storage.read_named(path)
        if isinstance(now, Refusal):
            return True
        before = Text.of(now.text)
        reviewed.seen(before)
        after = plan(len(before)).changes.apply(before)
        return now.encoding == "utf-8" and keeps_line_ends(self._editor.capabilities, now.text, after)

    async def reject_file(self, files: FileReviews, change: FileChange) -> str:
        """Puts back what was under a path as a whole. In words, why not; "" when it is done."""
        if self._is_open_and_unsaved(change.path) or self._is_open_and_unsaved(change.moved_from):
            return "the file is open with unsaved changes; save it or discard them first"
        states = [(change.path, change.after, change.before)]
        if change.moved_from:
            states.append((change.moved_from, None, change.after))
        begun: list[str] = []
        for path, now, wanted in states:
            entry_id = await self._begin(path, None, None, "disk", states=(now, wanted))
            if isinstance(entry_id, Rejected):
                for one in begun:
                    await self._journal.finish(one, "failed")
                return entry_id.why
            begun.append(entry_id)
        why = await files.reject(change)
        for entry_id in begun:
            await self._journal.finish(entry_id, "failed" if why else "done")
        for path, _, wanted in states if not why else ():
            data = None if wanted is None or wanted.is_link else decode(wanted.data)
            text = data.text if isinstance(data, Decoded) else None
            self._state.documents.disk.taken_back(from_path(path), text)
        return why

    def _is_open_and_unsaved(self, path: str) -> bool:
        tracked = self._state.documents.get(from_path(path)) if path else None
        return tracked is not None and tracked.is_user_dirty()

    async def _delete_empty(self, reviewed: Reviewed, tracked: Tracked, path: str | None, plan: Plan) -> None:
        """A file that an agent made, and of which nothing is left, is taken away: by the editor as long as it holds the document (VS Code
        keeps it for a while after its tab is closed), unless somebody has it open. Only our own extension knows that, so no other
        client is asked."""
        can = self._editor.capabilities
        if tracked.closed:
            if path is not None:
                await self._on_disk(reviewed, path, plan, emptied=str(tracked.document.snapshot()))
        elif not reviewed.ledger.hunks and can.delete_files and can.changes and tracked.is_clean():
            edit = DocumentEdit(tracked.document.client_uri, None, (), delete=True)
            request = self._sender.dispatch("reject", edit)
            with anyio.move_on_after(ANSWER_SECONDS):
                await request.answered.wait()

    async def _in_editor(self, reviewed: Reviewed, tracked: Tracked, plan: Plan) -> Rejected:
        was_user_dirty = tracked.is_user_dirty()
        intent = _Rejection(self._state, reviewed, plan, self._begin)
        result = await self._door.edit(tracked, intent)
        match result:
            case Stop():
                return result.end
            case Landed():
                if result.tracked is tracked:
                    tracked.user_dirty = was_user_dirty
                emptied = intent.emptied(result.tracked)
                await self._buffers.settle(tracked, was_user_dirty, whose="rejection")
                return Rejected(impossible=intent.impossible, emptied=emptied)
            case Unanswered():
                return Rejected(
                    "the editor has not answered whether it applied the edit; check the file there"
                )
            case Gone() | NotTaken():
                return Rejected(result.reason or "the editor did not accept the edit")

    async def _on_disk(
        self, reviewed: Reviewed, path: str, plan: Plan, *, emptied: str | None = None
    ) -> Rejected:
        """`emptied`: what the file says that the editor saved when nothing was left in it. Such a file, made by an agent, is taken away."""
        storage = self._state.storage
        roots = storage.roots([os.path.dirname(path)])
        if isinstance(roots, Refusal):
            return Rejected(roots.message)
        with roots:
            file = storage.resolve(roots, path, "write")
            if not isinstance(file, Resolved):
                return Rejected(file.message if isinstance(file, Refusal) else "the file is gone")
            with file:
                decoded = await storage.read(file)
                if isinstance(decoded, Refusal):
                    return Rejected(decoded.message)
                before = Text.of(decoded.text)
                created = emptied is not None or _created(reviewed)
                reviewed.seen(before)
                rejection = plan(len(before))
                after = rejection.changes.apply(before)
                nothing = not after or after == emptied
                if rejection.changes.is_empty and not (nothing and created):
                    self._state.ledgers.moved(reviewed)  # somebody has put it back already
                    return Rejected(impossible=rejection.impossible)
                data = storage.encode(after, decoded, path)
                if isinstance(data, Refusal):
                    return Rejected(data.message)
                gone = created and nothing and not rejection.hunks
                entry = await self._begin(
                    path, decoded.text, None if gone else after, "disk", decoded.encoding, decoded.bom
                )
                if isinstance(entry, Rejected):
                    return entry
                saved = await (storage.remove(file) if gone else storage.save(file, data))
                if isinstance(saved, Refusal):
                    await self._journal.finish(entry, "failed")
                    return Rejected(saved.message)
        self._state.documents.disk.taken_back(reviewed.uri, None if gone else after)
        text = Text.of("" if gone else after)
        reviewed.ledger.rejected(before, rejection, text)
        reviewed.text = text
        self._state.ledgers.moved(reviewed)
        await self._journal.finish(entry, "done")
        return Rejected(impossible=rejection.impossible)

    async def _begin(
        self,
        path: str,
        before: str | None,
        after: str | None,
        via: Literal["editor", "disk"],
        encoding: str = "utf-8",
        bom: bytes = b"",
        states: tuple[FileState | None, FileState | None] | None = None,
    ) -> str | Rejected:
        entry = Entry(
            session="",
            agent="reject",
            turn=0,
            tool_call=None,
            root=os.path.dirname(path),
            path=path,
            before=before,
            after=after,
            encoding=encoding,
            bom=bom,
            via=via,
            states=states,
        )
        try:
            return await self._journal.begin(entry)
        except JournalFailed as failed:
            return Rejected(f"it could not be journalled first: {failed}")


class _Rejection(Intent[Rejected]):
    """Hunks of an open document are put back."""

    label = "reject"

    def __init__(self, state: State, reviewed: Reviewed, plan: Plan, begin: _Begin) -> None:
        self.path = to_path(reviewed.uri) or reviewed.uri
        self._state = state
        self._reviewed = reviewed
        self._plan = plan
        self._begin = begin
        self._before = Text.of("")
        self._empties = False
        self._rejection: Rejection | None = None
        self._hunks: tuple[Hunk, ...] = ()

    @property
    def impossible(self) -> tuple[Hunk, ...]:
        """Hunks of the newest plan that later work keeps in place."""
        return self._rejection.impossible if self._rejection is not None else ()

    def plan(self, tracked: Tracked) -> Planned | Stop[Rejected]:
        if tracked.document.desynchronised is not None:
            return Stop(Rejected("the editor's text is not known for certain; save or reopen the file"))
        self._before = tracked.document.snapshot()
        self._rejection = self._plan(len(self._before))
        if self._rejection.changes.is_empty:
            return Stop(Rejected(impossible=self.impossible))
        self._empties = not self._rejection.changes.new_length and not self._rejection.hunks
        return Planned.of(str(self._before), self._rejection.changes)

    def already(self, tracked: Tracked, planned: Planned) -> Rejected:
        rejection = self._as_sent(planned)
        self._reviewed.ledger.rejected(self._before, rejection, self._before)
        self._state.ledgers.moved(self._reviewed)
        return Rejected(impossible=self.impossible, emptied=self._empties)

    def _as_sent(self, planned: Planned) -> Rejection:
        """The newest plan, with what is left of its changes."""
        assert self._rejection is not None, "planned first"
        end = planned.changes.new_length
        hunks = self._rejection.hunks
        hunks = tuple(replace(h, start=min(h.start, end), end=min(h.end, end)) for h in hunks)
        self._rejection = replace(self._rejection, changes=planned.changes, hunks=hunks)
        return self._rejection

    def emptied(self, tracked: Tracked) -> bool:
        """Once it has landed: whether nothing is left in the document."""
        assert self._rejection is not None, "planned first"
        return self._empties and tracked.document.snapshot().says(self._rejection.changes.apply(self._before))

    async def journal(self, planned: Planned) -> str | Stop[Rejected]:
        entry = await self._begin(self.path, planned.before, planned.after, "editor")
        return Stop(entry) if isinstance(entry, Rejected) else entry

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        reviewed, rejection = self._reviewed, self._as_sent(planned)
        self._hunks = reviewed.ledger.hunks

        def landed(before: Text, changes: ChangeSet, after: Text) -> None:
            if _leads_to(rejection.changes, before, after):  # in whatever pieces the editor tells it
                reviewed.ledger.rejected(before, rejection, after)
            else:  # to another text (line ends): what was touched is reviewed all the same
                for step in changes_as_steps(changes):
                    reviewed.user_edit(step, -1, lambda: after)
            self._state.ledgers.moved(reviewed)

        return landed

    def what(self) -> str:
        return "the rejection"

    def left_there(self) -> Rejected:
        return Rejected("the editor applied the edit in the wrong place; check the file there")

    def taken_out(self, sent: Sent) -> None:
        if self._reviewed.live:
            now = sent.tracked.document.snapshot()
            self._state.ledgers.back_to(self._reviewed, self._hunks, self._before, now)


def _leads_to(changes: ChangeSet, before: Text, after: Text) -> bool:
    return (
        changes.length == len(before)
        and changes.new_length == len(after)
        and changes.apply(before) == str(after)
    )


def _created(reviewed: Reviewed) -> bool:
    """Whether an agent's unreviewed write made the file."""
    return any(not h.old and h.versions[0].author.created for h in reviewed.ledger.hunks)
