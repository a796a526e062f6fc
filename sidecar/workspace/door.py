"""Door: the one way in which an edit reaches a document that the editor has open, whoever asks for it.

    plan ─▶ journal ─▶ has the document moved? ─▶ send ─▶ judge ─▶ finish in the journal
      ▲                        │ yes                        │ refused, or made at a wrong place and taken out again
      └────────────────────────┴────────────────────────────┘

An *intent* says what is to be done: the plan for the text as it is now, what goes into the journal, and what to do when the editor puts
the edit at a wrong place. An agent's write (buffer_writes.py), a rejection (rejecting.py), a revert (applying.py) and a decided
conflict (resolving.py) are intents; they differ in the plan, the author and the words, in nothing else.

The edit that is sent is always the plan for the very text the document has in that moment: when the document moves while the
journal is written, the plan is made again and the journal gets that one first. Nothing is planned while an edit of the document is
unanswered.
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
"""Refusals of one edit before it is given up."""
MAX_MOVES = 50
"""How often a document may move while the journal is written, before the edit is given up."""

End = TypeVar("End")


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be sent, for the text as it is now. All raw, as the editor has it."""

    before: str
    changes: ChangeSet
    """Of `before`."""
    after: str
    """What they lead to."""


@dataclass(frozen=True, slots=True)
class Stop(Generic[End]):
    """Nothing more is to be sent. `end` is what the intent answers with."""

    end: End


@dataclass(frozen=True, slots=True)
class Landed:
    """The document says it."""

    tracked: Tracked
    """The document it ended in: another one when it was closed and opened again on the way."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The editor took none of the attempts; nothing was changed."""

    tracked: Tracked
    reason: str
    """The editor's, or "" when it gives none."""
    stood_still: bool = False
    """The document did not move either: there was nothing that explains the refusals."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The editor has not answered whether it made an edit of the document. It may still make it."""

    sent: Sent | None = None
    """This edit; None when it was not sent, because an earlier one is unanswered."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The document was closed, or the editor is gone."""

    tracked: Tracked
    reason: str = ""
    sent: Sent | None = None
    """The attempt that was under way."""


Result: TypeAlias = Stop[End] | Landed | NotTaken | Unanswered | Gone


class Intent(ABC, Generic[End]):
    """What somebody wants done to one document."""

    label: str
    """What the editor calls the undo step."""
    path: str
    """The file, as it is named to the user."""

    @abstractmethod
    def plan(self, tracked: Tracked) -> Planned | Stop[End]:
        """The edit for the document's text as it is now. Synchronous."""

    @abstractmethod
    async def journal(self, planned: Planned) -> str | Stop[End]:
        """Journals it; durable when this returns. → the entry's id."""

    @abstractmethod
    def applied(self, tracked: Tracked) -> Applied:
        """What to call when the planned change was seen in the document. Asked for right before sending."""

    @abstractmethod
    def what(self) -> str:
        """What the user is told came to a wrong place: "Claude's edit"."""

    @abstractmethod
    def left_there(self) -> End:
        """The answer when the edit stands at a wrong place and cannot be taken out for certain."""

    def withdrawn(self) -> Stop[End] | None:
        """Whether whoever asked is gone. Asked after journalling, right before sending."""
        return None

    def taken_out(self, sent: Sent) -> None:
        """An edit that the editor made at a wrong place is out again."""

    async def misplaced(self, door: Door, sent: Sent, entry: str) -> Stop[End] | None:
        """The editor made the edit at a wrong place, or nobody can say where. Ends the journal's entry. None: plan again."""
        if await door.take_back(self, sent):
            await door.journal.finish(entry, "failed")
            self.taken_out(sent)
            return None
        await door.journal.finish(entry, "unknown")
        return Stop(self.left_there())

    async def misplaced_late(self, door: Door, sent: Sent, entry: str) -> None:
        """The same, after the answer was given up: there is nobody to plan it again for."""
        await self.misplaced(door, sent, entry)

    async def ended_late(self, landed: Landed | None) -> None:
        """What became of the edit after the answer was given up."""


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
        """`ticket`: its place in the document's queue, which stays shut for as long as the editor's answer is missing."""
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
        """Whether an edit at a wrong place is out again, in a document that is still open. When it cannot be taken out for certain,
        nothing more is tried and the user is told."""
        label = f"{intent.label}, taken back"
        taken_back = await self._sender.take_back_or_tell(sent, label, intent.what(), intent.path)
        return taken_back and not sent.tracked.closed

    def hold(self, ticket: Ticket | None, work: Callable[[], Awaitable[None]]) -> None:
        """Does `work` in the background. The queue of the ticket's document stays shut meanwhile."""
        hold = self._queues.hold(ticket) if ticket is not None else None

        async def held() -> None:
            try:
                await work()
            finally:
                if hold is not None:
                    hold.release()

        self._tasks.start_soon(held)

    async def _late(self, intent: Intent[End], sent: Sent, entry: str) -> None:
        """The answer may still come, and the edit with it."""
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
    """Equal as long as nothing happened to the document."""
    document = tracked.document
    return document.incarnation, document.version, tracked.closed
