"""Door: the only way an edit reaches a document that is open in the editor, whoever requests it.

    plan ─▶ journal ─▶ has the document changed? ─▶ send ─▶ judge ─▶ finish in the journal
      ▲                        │ yes                          │ refused, or applied at a wrong place and taken out again
      └────────────────────────┴──────────────────────────────┘

An *intent* describes the edit: the plan for the current text, the journal entry, and what to do if the editor applies
the edit at a wrong place. An agent's write (buffer_writes.py), a rejection (rejecting.py), a revert (applying.py) and a
decided conflict (resolving.py) are intents. They differ only in plan, author and wording.

The edit sent is always the plan for the exact current text. If the document changes while the journal is written, the
edit is planned and journalled again. Nothing is planned while an edit of the document is unanswered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeAlias, TypeVar, assert_never

from sidecar.core.change import ChangeSet
from sidecar.workspace.background import Background
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ports import Editor, Journal
from sidecar.workspace.queues import Queues, Ticket
from sidecar.workspace.sending import ANSWER_SECONDS, Applied, Outcome, Sender, Sent

MAX_ATTEMPTS = 5
"""How often one edit may be refused before it is given up."""
MAX_MOVES = 50
"""How often a document may change while the journal is written before the edit is given up."""

End = TypeVar("End")


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit planned for the current text. All texts are raw, as the editor has them."""

    before: str
    changes: ChangeSet
    """Changes to `before`."""
    after: str
    """The text after the changes."""


@dataclass(frozen=True, slots=True)
class Stop(Generic[End]):
    """Send nothing more. `end` is the intent's answer."""

    end: End


@dataclass(frozen=True, slots=True)
class Landed:
    """The document has the planned text."""

    tracked: Tracked
    """The document at the end. It is a different one if it was closed and opened again meanwhile."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The editor refused every attempt; nothing was changed."""

    tracked: Tracked
    reason: str
    """The editor's reason, or "" if it gives none."""
    stood_still: bool = False
    """The document did not change either, so nothing explains the refusals."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The editor has not said whether it applied an edit to the document. It may still apply it."""

    sent: Sent | None = None
    """This edit; None if it was not sent because an earlier one is unanswered."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The document was closed, or the editor has disconnected."""

    tracked: Tracked
    reason: str = ""
    sent: Sent | None = None
    """The attempt that was in progress."""


Result: TypeAlias = Stop[End] | Landed | NotTaken | Unanswered | Gone


class Intent(ABC, Generic[End]):
    """An edit that somebody wants made to one document."""

    label: str
    """The editor's name for the undo step."""
    path: str
    """The file, in the form shown to the user."""

    @abstractmethod
    def plan(self, tracked: Tracked) -> Planned | Stop[End]:
        """Plans the edit for the document's current text. Synchronous."""

    @abstractmethod
    async def journal(self, planned: Planned) -> str | Stop[End]:
        """Journals the edit; durable when this returns. Returns the entry's id."""

    @abstractmethod
    def applied(self, tracked: Tracked) -> Applied:
        """Returns the callback for when the planned change appears in the document. Called right before sending."""

    @abstractmethod
    def what(self) -> str:
        """What came to a wrong place, in words for the user: "Claude's edit"."""

    @abstractmethod
    def left_there(self) -> End:
        """The answer if the edit is at a wrong place and cannot reliably be taken out."""

    def withdrawn(self) -> Stop[End] | None:
        """Returns an answer if the requester is gone. Called after journalling, right before sending."""
        return None

    def taken_out(self, sent: Sent) -> None:
        """Called when an edit at a wrong place has been taken out again."""

    async def misplaced(self, door: Door, sent: Sent, entry: str) -> Stop[End] | None:
        """The editor applied the edit at a wrong place, or its place is unknown. Finishes the journal entry. Returns
        None to plan again.
        """
        if await door.take_back(self, sent):
            await door.journal.finish(entry, "failed")
            self.taken_out(sent)
            return None
        await door.journal.finish(entry, "unknown")
        return Stop(self.left_there())

    async def misplaced_late(self, door: Door, sent: Sent, entry: str) -> None:
        """Like `misplaced`, but after the caller stopped waiting, so there is nobody to plan it again for."""
        await self.misplaced(door, sent, entry)

    async def ended_late(self, landed: Landed | None) -> None:
        """Called with the edit's result after the caller stopped waiting. `landed`: None if the edit was not applied."""


class Door:
    """Carries intents out."""

    def __init__(
        self, editor: Editor, sender: Sender, journal: Journal, queues: Queues, tasks: Background
    ) -> None:
        self._editor = editor
        self._sender = sender
        self.journal = journal
        self._queues = queues
        self._tasks = tasks

    async def edit(self, tracked: Tracked, intent: Intent[End], ticket: Ticket | None = None) -> Result[End]:
        """Carries out an intent. `ticket`: its place in the document's queue, which stays shut until the editor
        answers.
        """
        can = self._editor.capabilities
        refusals = moves = stood_still = 0
        reason = "it does not offer versioned workspace edits"
        while refusals < MAX_ATTEMPTS and moves < MAX_MOVES:
            if not await tracked.rest(ANSWER_SECONDS):
                return Unanswered()
            if tracked.closed:
                return Gone(tracked, "the document was closed")
            planned = intent.plan(tracked)
            if isinstance(planned, Stop):
                return planned
            if not (can.apply_edit and can.document_changes):
                return NotTaken(tracked, reason, stood_still=True)
            moment = _moment(tracked)
            entry = await intent.journal(planned)
            if isinstance(entry, Stop):
                return entry
            if _moment(tracked) != moment or tracked.watch is not None:
                moves += 1
                await self.journal.finish(entry, "failed")
                continue
            withdrawn = intent.withdrawn()
            if withdrawn is not None:
                await self.journal.finish(entry, "failed")
                return withdrawn
            sent = await self._sender.send(tracked, planned.changes, intent.label, intent.applied(tracked))
            tracked = sent.tracked
            match sent.outcome:
                case Outcome.APPLIED:
                    await self.journal.finish(entry, "done")
                    return Landed(tracked)
                case Outcome.UNKNOWN:
                    self.hold(ticket, partial(self._late, intent, sent, entry))
                    return Unanswered(sent)
                case Outcome.GONE:
                    await self.journal.finish(entry, "unknown")
                    return Gone(tracked, sent.reason, sent)
                case Outcome.REFUSED:
                    await self.journal.finish(entry, "failed")
                case Outcome.UNCLEAR:
                    end = await intent.misplaced(self, sent, entry)
                    if end is not None:
                        return end
                case _:
                    assert_never(sent.outcome)
            refusals += 1
            stood_still += not sent.received
            reason = sent.reason
        return NotTaken(tracked, reason, stood_still == refusals and not moves)

    async def take_back(self, intent: Intent[End], sent: Sent) -> bool:
        """Takes an edit at a wrong place out again. True if it is out and the document is still open.

        If it cannot reliably be taken out, nothing more is tried and the user is told.
        """
        label = f"{intent.label}, taken back"
        taken_back = await self._sender.take_back_or_tell(sent, label, intent.what(), intent.path)
        return taken_back and not sent.tracked.closed

    def hold(self, ticket: Ticket | None, work: Callable[[], Awaitable[None]]) -> None:
        """Runs `work` in the background. The ticket's document queue stays shut meanwhile."""
        hold = self._queues.hold(ticket) if ticket is not None else None

        async def held() -> None:
            try:
                await work()
            finally:
                if hold is not None:
                    hold.release()

        self._tasks.start_soon(held)

    async def _late(self, intent: Intent[End], sent: Sent, entry: str) -> None:
        """Waits for the late answer and finishes the edit, which may still be applied."""
        if sent.late is not None:
            await sent.late.wait()
        landed = None
        if sent.outcome is Outcome.UNCLEAR:
            await intent.misplaced_late(self, sent, entry)
        else:
            landed = None if sent.matched_at is None else Landed(sent.tracked)
            await self.journal.finish(entry, "done" if landed is not None else "failed")
        await intent.ended_late(landed)


def _moment(tracked: Tracked) -> tuple[int, int, bool]:
    """A value that stays equal as long as nothing happens to the document."""
    document = tracked.document
    return document.incarnation, document.version, tracked.closed
