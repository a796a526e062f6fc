"""Applier: makes a change of text that the user asked for outside the editor (`acp-sidecar revert`) in the editor.

The change is given as pairs of texts, `base` and `wanted`. Each pair is merged into the current text, so that everything else in it stays. It is
the user's own edit: journalled before it is made, like an agent's, versioned, one undo step, and not reviewed.
"""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal, NamedTuple

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.escape import plain
from sidecar.core.hunk import writes_of
from sidecar.core.ledger import Author, Ledger, Rejection
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.taken_back import Write, as_one, take_out
from sidecar.core.text import Text
from sidecar.core.uri import from_path, to_path
from sidecar.journal.entry import Entry
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.door import Door, Planned
from sidecar.workspace.edits.ends import Landed, told
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.edits.sending import Stop
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.ports import Audit, Editor, Journal
from sidecar.workspace.review.rejection import TakesBack, leads_to
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

_LABEL = 80
"""The number of characters of a label or name that are shown or journalled."""


class Step(NamedTuple):
    """A change from `base` to `wanted`, applied to the current text, which may differ from `base`. Raw or compared form."""

    base: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Change:
    """One document's change. All of its steps are made, one after another, or none."""

    path: str
    """An absolute path."""
    steps: tuple[Step, ...]
    label: str
    """The editor's name for the undo step, and the journal's entry in place of an agent."""
    session: str = ""
    """The journal's entry in place of a session."""
    takes_back: tuple[str, ...] = ()
    """The journal's ids of the writes that this takes back."""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The result. `reason` is a message; with `applied` it says why the file was not saved, if it was not."""

    result: Literal["applied", "conflict", "not_open", "refused"]
    """not_open: the editor does not have the file open, so the caller must change the file on the disk."""
    reason: str = ""
    saved: bool | None = None
    """With `applied`: whether the text is also on the disk."""


class Applier:
    """Changes only documents that are open in the editor, through the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        saver: Saver,
        reconciler: Reconciler,
        journal: Journal,
        audit: Audit,
        door: Door,
        keeper: Keeper,
    ) -> None:
        self._keeper = keeper
        self._state = state
        self._editor = editor
        self._saver = saver
        self._reconciler = reconciler
        self._journal = journal
        self._audit = audit
        self._door = door

    def is_open(self, path: str) -> bool:
        """Whether the file at `path` is open in the editor, under this or another name, even where its text cannot be seen."""
        if not os.path.isabs(path) or "\0" in path:
            return False
        opaque = self._state.opaque.refusal_of(from_path(path))
        return opaque is not None or self._open_document(path) is not None

    async def look(self, path: str) -> None:
        """Bring the document at `path`, if it is open, up to the file: the user has corrected on the disk what only the disk can tell about the
        file."""
        found = self._open_document(path)
        if not isinstance(found, Tracked):
            return
        on_disk = await self._state.storage.peek(path)
        if on_disk is None or on_disk.text is not None:
            self._state.documents.disk.taken_back(
                found.document.uri, None if on_disk is None else on_disk.text
            )
        found.history.put_there()
        reviewed, before = self._state.ledgers.get(found.document.uri), found.document.snapshot()
        hunks = () if reviewed is None else reviewed.ledger.hunks
        await self._reconciler.look(found)
        after = found.document.snapshot()
        if reviewed is None or found.closed:
            return
        taken_back = await self._journal.undone(writes_of(hunks))
        rejection = _rejection(Ledger(hunks), len(before), taken_back)
        if found.document.snapshot() != after:
            return  # it was edited meanwhile
        if rejection.changes.apply(before) == str(after):
            reviewed.ledger.hunks = rejection.hunks
            self._state.ledgers.moved(reviewed)
        elif after != before:
            reviewed.guessed = after
            await self._keeper.as_told(reviewed)

    async def apply(self, change: Change) -> ApplyResult:
        """Apply the change. Once begun, it runs to its end: cancelling it does not leave half of it."""
        path = change.path
        if not os.path.isabs(path) or "\0" in path:
            return ApplyResult("refused", "the path should be absolute")
        ticket = self._state.queues.take("", path, self._state.storage.order_key, "write")
        try:
            if not await ticket.turn():
                return ApplyResult("refused", "an earlier edit of it still waits for the editor's answer")
            done = ApplyResult("refused", "it was interrupted")
            with anyio.CancelScope(shield=True):
                done = await self._apply(ticket, change)
                self._audit.record("apply", label=change.label, path=path, outcome=done.result)
            return done
        finally:
            ticket.release()

    async def _apply(self, ticket: Ticket, change: Change) -> ApplyResult:
        opaque = self._state.opaque.refusal_of(from_path(change.path))
        if opaque is not None:
            return ApplyResult("refused", opaque.message)
        found = self._open_document(change.path)
        if not isinstance(found, Tracked):
            return found or ApplyResult("not_open")
        await self._reconciler.look(found)
        return await self._edit(ticket, found, change)

    def _open_document(self, path: str) -> Tracked | ApplyResult | None:
        """The open document at this path: by its name or, because it may be open under another name (a link, letter case), by the file's
        identity."""
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
            return ApplyResult("refused", f"it is open under {len(same)} names; close all but one")
        return same[0] if same else None

    async def _edit(self, ticket: Ticket, tracked: Tracked, change: Change) -> ApplyResult:
        was_user_dirty = tracked.is_user_dirty()
        revert = _Revert(self._state, self._journal, change)
        result = await self._door.edit(tracked, revert, ticket)
        match result:
            case Stop():
                if result.end.result == "applied":  # it is already out of the text, and stays out
                    await self._journal.finish_all(change.takes_back, "undone")
                return result.end
            case Landed():
                landed = tracked.history.newest
                reviewed = self._state.ledgers.get(tracked.document.uri)
                if reviewed is not None:
                    await self._keeper.as_told(reviewed)
                saved = await self._saver.settle(tracked, was_user_dirty)
                if not saved.saved and revert.made is not None:
                    tracked.takes_back(revert.made, landed)
                return ApplyResult("applied", saved.note, saved.saved)
            case _:
                return ApplyResult("refused", f"it is open, and {told(result)}")


class _Revert(TakesBack[ApplyResult]):
    """Makes the steps of a change in an open document."""

    def __init__(self, state: State, journal: Journal, change: Change) -> None:
        super().__init__(state, journal, plain(change.label, _LABEL), change.path)
        self._change = change
        self.takes_back = change.takes_back

    def failed(self, why: str) -> ApplyResult:
        return ApplyResult("refused", why)

    def changes(self, text: Text) -> ChangeSet | Stop[ApplyResult]:
        changes = _planned(str(text), self._change.steps)
        return Stop(changes) if isinstance(changes, ApplyResult) else changes

    def already(self, tracked: Tracked, planned: Planned) -> ApplyResult:
        """Somebody has already reverted these writes: reject their hunks, so that the writes do not come back when that work is taken back."""
        reviewed, now = self.ledger(tracked.document.uri), tracked.document.snapshot()
        if reviewed is not None:
            rejection = _rejection(reviewed.ledger, len(now), self.takes_back)
            if rejection.changes.is_empty:
                reviewed.ledger.rejected(now, rejection, now)
                self._state.ledgers.moved(reviewed)
        return ApplyResult("applied", saved=tracked.is_clean())

    def entry(self, planned: Planned) -> Entry:
        return _entry(self._change, str(planned.before), str(planned.after))

    def rejects(self, reviewed: Reviewed, before: Text, after: Text) -> bool:
        rejection = _rejection(reviewed.ledger, len(before), self.takes_back)
        if rejection.changes.is_empty or not leads_to(rejection.changes, before, after):
            reviewed.guessed = after
            return False
        reviewed.ledger.rejected(before, rejection, after)
        return True

    def what(self) -> str:
        return f"“{self.label}”"


def _rejection(ledger: Ledger, length: int, taken_back: Container[str]) -> Rejection:
    """How to reject these writes (the journal's ids) in a text of `length` code points."""

    def whose(author: Author) -> bool:
        return author.write in taken_back

    return ledger.reject(length, ledger.ids(whose), whose)


def _planned(now: str, steps: tuple[Step, ...]) -> ChangeSet | ApplyResult:
    """The changes to the raw text, or why there are none."""
    writes = [(step.wanted, step.base) for step in steps]
    exact = as_one(now, writes)
    if exact is not None:
        return diff(now, exact[0] or "")
    compared = Normal(now)
    text = compared.text
    changes = ChangeSet(len(text))

    def less(write: Write) -> Conflict | None:
        nonlocal changes, text
        wanted, base = write
        merged = merge(normal(base or ""), text, normal(wanted or ""))
        if isinstance(merged, Conflict):
            return merged
        changes, text = changes.compose(merged.changes), merged.apply(text)
        return None

    conflict = take_out(writes, lambda: text, less)
    if conflict is not None:
        lines = ", ".join(str(hunk.start_line + 1) for hunk in conflict.hunks[:5])
        return ApplyResult("conflict", f"it was changed in the same place since (line {lines})")
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
