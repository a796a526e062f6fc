"""Applier: a change of text that the user asked for outside the editor (`acp-sidecar revert`), made in the editor.

What is to be done is given as pairs of texts, `base` and `wanted`; each is merged into the text as it is now, so that
everything else in it stays. It is the user's own edit: journalled before it is made like an agent's, versioned, one undo
step, and nobody reviews it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.escape import plain
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.background import Background
from sidecar.workspace.buffer_writes import MAX_ATTEMPTS, MAX_MOVES, BufferWriter
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ledgers import changes_as_steps
from sidecar.workspace.ports import Audit, Editor, Journal
from sidecar.workspace.queues import Ticket
from sidecar.workspace.reconcile import Reconciler
from sidecar.workspace.sending import ANSWER_SECONDS, Outcome, Sender
from sidecar.workspace.state import State

_LABEL = 80
"""Characters of a label or name that is shown or journalled."""


class Step(NamedTuple):
    """What leads from `base` to `wanted` is to be done to the text, whatever else it says by now. Raw or compared form."""

    base: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Change:
    """One document's change: all of its steps, one after another, or none of them."""

    path: str
    """Absolute."""
    steps: tuple[Step, ...]
    label: str
    """What the editor calls the undo step, and the journal in the place of an agent."""
    session: str = ""
    """What the journal has in the place of a session."""
    takes_back: tuple[str, ...] = ()
    """The journal's ids of the writes that this takes back."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of it. `reason` is in words; with `applied` it says why the file was not saved, if it was not."""

    result: Literal["applied", "conflict", "not_open", "refused"]
    """not_open: the editor does not have the file open, so the file on the disk is the caller's to change."""
    reason: str = ""
    saved: bool | None = None
    """With `applied`: whether the disk says it too."""


class Applier:
    """Only what the editor has open is changed, through the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        sender: Sender,
        buffers: BufferWriter,
        reconciler: Reconciler,
        journal: Journal,
        audit: Audit,
        tasks: Background,
    ) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._buffers = buffers
        self._reconciler = reconciler
        self._journal = journal
        self._audit = audit
        self._tasks = tasks

    def is_open(self, path: str) -> bool:
        """Whether the file at `path` is open in the editor, by this name or another, and be it where its text cannot be seen."""
        if not os.path.isabs(path) or "\0" in path:
            return False
        opaque = self._state.opaque.refusal_of(from_path(path))
        return opaque is not None or self._open_document(path) is not None

    async def apply(self, change: Change) -> Applied:
        """Once begun it goes to its end: cancelling it does not leave half of it."""
        path = change.path
        if not os.path.isabs(path) or "\0" in path:
            return Applied("refused", "the path should be absolute")
        ticket = self._state.queues.take("", path, self._state.storage.order_key, "write")
        try:
            if not await ticket.turn():
                return Applied("refused", "an earlier edit of it still waits for the editor's answer")
            done = Applied("refused", "it was interrupted")
            with anyio.CancelScope(shield=True):
                done = await self._apply(ticket, change)
                self._audit.record("apply", label=change.label, path=path, outcome=done.result)
            return done
        finally:
            ticket.release()

    async def _apply(self, ticket: Ticket, change: Change) -> Applied:
        opaque = self._state.opaque.refusal_of(from_path(change.path))
        if opaque is not None:
            return Applied("refused", opaque.message)
        found = self._open_document(change.path)
        if not isinstance(found, Tracked):
            return found or Applied("not_open")
        await self._reconciler.look(found)
        return await self._edit(ticket, found, change)

    def _open_document(self, path: str) -> Tracked | Applied | None:
        """By its name, else by what the name leads to: it may be open by another (a link, letter case)."""
        documents, storage = self._state.documents, self._state.storage
        tracked = documents.get(from_path(path))
        identity = storage.identity(path)
        if tracked is not None or identity is None:
            return tracked
        same = [
            t
            for t in documents
            if (p := to_path(t.document.uri)) is not None and storage.identity(p) == identity
        ]
        if len(same) > 1:
            return Applied("refused", f"it is open under {len(same)} names; close all but one")
        return same[0] if same else None

    async def _edit(self, ticket: Ticket, tracked: Tracked, change: Change) -> Applied:
        was_user_dirty = tracked.is_user_dirty()
        can = self._editor.capabilities
        refusals = moves = 0
        why = ""
        while refusals < MAX_ATTEMPTS and moves < MAX_MOVES:
            if not await tracked.rest(ANSWER_SECONDS):
                return Applied("refused", "an earlier edit of it still waits for the editor's answer")
            document = tracked.document
            if tracked.closed:
                return Applied("refused", "it was closed meanwhile; try again")
            if document.desynchronised is not None:
                return Applied(
                    "refused", "the editor's text of it is not known for certain; save it or open it again"
                )
            before = str(document.snapshot())
            changes = _planned(before, change.steps)
            if isinstance(changes, Applied):
                return changes
            if changes.is_empty:
                return Applied("applied", saved=tracked.is_clean())
            if not (can.apply_edit and can.document_changes):
                return Applied("refused", "it is open, and this editor takes no edits; undo it there")
            moment = (document.incarnation, document.version)
            try:
                entry = await self._journal.begin(
                    _entry(change, before, changes.apply(before)), change.takes_back
                )
            except JournalFailed as failed:
                return Applied("refused", f"it could not be journalled first: {failed}")
            moved = (document.incarnation, document.version) != moment
            if moved or tracked.closed or tracked.watch is not None:
                moves += 1
                await self._journal.finish(entry, "failed")
                continue
            reviewed, text = self._state.ledgers.get(document.uri), document.snapshot()
            hunks = () if reviewed is None else reviewed.ledger.hunks
            label = plain(change.label, _LABEL)
            sent = await self._sender.send(tracked, changes, label, self._noting(document.uri))
            why = sent.reason
            match sent.outcome:
                case Outcome.APPLIED:
                    await self._journal.finish(entry, "done")
                    tracked.user_dirty = was_user_dirty
                    saved = await self._buffers.save_by_policy(tracked, was_user_dirty)
                    return Applied("applied", saved.note, saved.saved)
                case Outcome.REFUSED:
                    await self._journal.finish(entry, "failed")
                    refusals += 1
                case Outcome.UNKNOWN:
                    self._hold(ticket, entry, sent.late)
                    return Applied(
                        "refused", "the editor has not answered whether it made the edit; look there"
                    )
                case Outcome.UNCLEAR:
                    taken_back = await self._sender.take_back_or_tell(
                        sent, f"{label}, taken back", f"“{label}”", change.path
                    )
                    if not taken_back or sent.tracked.closed:
                        await self._journal.finish(entry, "unknown")
                        return Applied("refused", "the editor made the edit at a wrong place; look there")
                    await self._journal.finish(entry, "failed")
                    if reviewed is not None and reviewed.live:
                        self._state.ledgers.back_to(reviewed, hunks, text, sent.tracked.document.snapshot())
                    refusals += 1
                case Outcome.GONE:
                    await self._journal.finish(entry, "unknown")
                    return Applied("refused", sent.reason)
        return Applied("refused", "the editor did not take the edit" + (f": {why}" if why else ""))

    def _hold(self, ticket: Ticket, entry: str, late: anyio.Event | None) -> None:
        """Nothing else is planned on this document until the editor has answered."""
        hold = self._state.queues.hold(ticket)

        async def wait() -> None:
            try:
                if late is not None:
                    await late.wait()
                await self._journal.finish(entry, "unknown")
            finally:
                hold.release()

        self._tasks.start_soon(wait)

    def _noting(self, uri: DocumentUri) -> Callable[[Text, ChangeSet, Text], None]:
        def applied(before: Text, changes: ChangeSet, after: Text) -> None:
            reviewed = self._state.ledgers.get(uri)
            if reviewed is None:
                return
            length = len(before)
            for step in changes_as_steps(changes):
                length += step.growth
                reviewed.user_edit(step, length, lambda: after)
            self._state.ledgers.moved(reviewed)

        return applied


def _planned(now: str, steps: tuple[Step, ...]) -> ChangeSet | Applied:
    """The changes for the raw text."""
    if len(steps) == 1 and now == steps[0].base:
        return diff(now, steps[0].wanted)  # exact, line ends too
    compared = Normal(now)
    text = compared.text
    changes = ChangeSet(len(text))
    for base, wanted in steps:
        merged = merge(normal(base), text, normal(wanted))
        if isinstance(merged, Conflict):
            lines = ", ".join(str(hunk.start_line + 1) for hunk in merged.hunks[:5])
            return Applied("conflict", f"it was changed since in the same place (line {lines})")
        changes, text = changes.compose(merged.changes), merged.apply(text)
    return ChangeSet(len(now)) if text == compared.text else compared.changes_in_raw(changes)


def _entry(change: Change, before: str, after: str) -> Entry:
    return Entry(
        session=plain(change.session, _LABEL),
        agent=plain(change.label, _LABEL),
        turn=1,
        tool_call=None,
        root=os.path.dirname(change.path),
        path=change.path,
        before=before,
        after=after,
        encoding="utf-8",
        bom=b"",
        via="editor",
    )
