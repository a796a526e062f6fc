"""Job, Rejected, TakesBack: the hunks of one document to be reverted, the outcome, and what all ways of reverting share."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Hunk, Mark, Rejection
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.edits.door import Intent, Planned
from sidecar.workspace.edits.sending import End, Sent, Stop
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Landing, TakenBack, Tracked

PlanRejection = Callable[[int], Rejection]
"""Returns the rejection for a text of that length (code points), as the ledger stands."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The outcome of a job. `why`: nothing was reverted, and the reason as a message. `impossible`: hunks that later work keeps in
    place. `emptied`: nothing is left in the document, although an editor whose buffers are lists of lines may show one empty line. `made_room`: the document
    could not take what its file says, and has it now."""

    why: str = ""
    impossible: tuple[Hunk, ...] = ()
    emptied: bool = False
    made_room: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """The hunks of one document to be reverted."""

    reviewed: Reviewed
    plan: PlanRejection
    emptied: str | None = None
    """The text with which the editor saved the file when nothing was left in it. Such a file is removed if an agent created it."""

    @property
    def created(self) -> bool:
        """Whether an unreviewed write by an agent created the file."""
        return self.emptied is not None or created(self.reviewed)


def leads_to(changes: ChangeSet, before: Text, after: Text) -> bool:
    """Whether `changes` of `before` lead to `after`, in whatever pieces the editor reports that. They do not if it changes line ends."""
    return (
        changes.length == len(before)
        and changes.new_length == len(after)
        and changes.apply(before) == str(after)
    )


def created(reviewed: Reviewed) -> bool:
    """Whether an unreviewed write by an agent created the file."""
    return any(not h.was and h.versions[0].author.created for h in reviewed.ledger.hunks)


def entry(
    path: str,
    before: AnyText | None,
    after: AnyText | None,
    via: Literal["editor", "disk"],
    encoding: str = "utf-8",
    bom: bytes = b"",
    states: tuple[FileState | None, FileState | None] | None = None,
) -> Entry:
    """The journal's entry for a rejection. `states`: what was and is at the path as a whole, if texts do not tell it."""
    return Entry(
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


class TakesBack(Intent[End]):
    """Takes agents' work back in an open document: what a rejection and a revert share."""

    takes_back: tuple[str, ...] = ()
    """The journal's ids of the writes that this takes back."""

    def __init__(self, state: State, journal: Journal, label: str, path: str) -> None:
        self.label = label
        self.path = path
        self._state = state
        self._journal = journal
        self._reviewed: Reviewed | None = None
        self._mark: Mark | None = None
        self._text = Text.of("")
        """The text of the newest plan."""
        self.made: TakenBack | None = None
        """What was made, valid after the edit has landed."""

    @abstractmethod
    def failed(self, why: str) -> End:
        """The answer if nothing is done."""

    @abstractmethod
    def changes(self, text: Text) -> ChangeSet | Stop[End]:
        """The changes of the document's text."""

    @abstractmethod
    def entry(self, planned: Planned) -> Entry:
        """The journal's entry."""

    @abstractmethod
    def rejects(self, reviewed: Reviewed, before: Text, after: Text) -> bool:
        """Reject the same work in the ledger, if that leads from `before` to `after`. Returns whether it does."""

    def ledger(self, uri: DocumentUri) -> Reviewed | None:
        """The document's ledger."""
        return self._state.ledgers.get(uri)

    def plan(self, tracked: Tracked) -> Planned | Stop[End]:
        if tracked.document.desynchronised is not None:
            return Stop(self.failed("the editor's text of it is not known for certain; save it or reopen it"))
        self._text = tracked.document.snapshot()
        changes = self.changes(self._text)
        return changes if isinstance(changes, Stop) else Planned.of(str(self._text), changes)

    async def journal(self, planned: Planned) -> str | Stop[End]:
        try:
            return await self._journal.begin(self.entry(planned), self.takes_back)
        except JournalFailed as failed:
            return Stop(self.failed(f"it could not be journalled first: {failed}"))

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        uri = tracked.document.uri
        self._reviewed = self.ledger(uri)
        self._mark = None if self._reviewed is None else self._reviewed.ledger.mark()
        self.made = TakenBack(self._text, planned.changes)

        def landed(before: Text, changes: ChangeSet, after: Text) -> None:
            reviewed = self.ledger(uri)
            if reviewed is None:
                return
            if not self.rejects(reviewed, before, after):  # what was touched counts as reviewed all the same
                reviewed.ledger.user_edits(before, changes)
            self._state.ledgers.moved(reviewed)

        return landed

    def taken_out(self, sent: Sent) -> None:
        if self._reviewed is not None and self._mark is not None and self._reviewed.live:
            now = sent.tracked.document.snapshot()
            self._state.ledgers.back_at(self._reviewed, self._mark, self._text, now)
