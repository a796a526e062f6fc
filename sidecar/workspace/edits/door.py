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
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeAlias

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.inflight import Phase
from sidecar.core.misapplied import Separated
from sidecar.core.text import Text
from sidecar.workspace.edits.ends import (
    Ended,
    Gone,
    Landed,
    LeftAstray,
    NotTaken,
    TakenOut,
    Unanswered,
    gone,
    taken_out,
)
from sidecar.workspace.edits.sending import ANSWER_SECONDS, End, Right, Sender, Sent, Stop
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Journal, Opens
from sidecar.workspace.state.queues import Queues, Ticket
from sidecar.workspace.state.tracked import Landing, Tracked

MAX_ATTEMPTS = 5
"""How often an edit may be refused before it is given up."""
NO_EDITS = "it does not offer versioned workspace edits"
MAX_MOVES = 50
"""How often a document may change while the journal is written before the edit is given up."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit planned for the current text. All texts are raw, as the editor has them."""

    before: AnyText
    changes: ChangeSet
    """Changes to `before`."""
    after: AnyText
    """The text after the changes."""
    kept: tuple[Text | None, Text | None] = (None, None)
    """`before` and `after` in the chunks of the document's text, if somebody has them."""

    @staticmethod
    def of(before: str, changes: ChangeSet) -> Planned:
        return Planned(before, changes, changes.apply(before))


Result: TypeAlias = Stop[End] | Ended


class Intent(ABC, Generic[End]):
    """An edit that somebody wants made to one document."""

    label: str
    """The editor's name for the undo step."""
    path: str
    """The file's path as shown to the user."""
    goes_on_on_disk = False
    """If the document is closed meanwhile, the file is changed on the disk instead, and an edit at a wrong place is taken out there."""

    async def prepare(self, tracked: Tracked) -> None:
        """May do the work of `plan` in advance, in a thread, as far as it depends only on the texts."""
        return

    @abstractmethod
    def plan(self, tracked: Tracked) -> Planned | Stop[End]:
        """Plan the edit for the document's current text. Synchronous."""

    @abstractmethod
    async def journal(self, planned: Planned) -> str | Stop[End]:
        """Journal the edit, durably when this returns. Returns the entry's id."""

    @abstractmethod
    def already(self, tracked: Tracked, planned: Planned) -> End:
        """The answer if the plan contains no changes to send."""

    @abstractmethod
    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        """The callback for when the planned change was seen in the document. Requested right before sending."""

    @abstractmethod
    def what(self) -> str:
        """What came to a wrong place, in words for the user: "Claude's edit"."""

    def withdrawn(self) -> Stop[End] | None:
        """Returns an answer if the requester is gone. Called after journalling, right before sending."""
        return None

    def right(self, found: Separated) -> Right[End]:
        """The text that the document should have after the editor made the edit at a wrong place. By default the text without the edit,
        which is then planned again."""
        return Right(found.without)

    def taken_out(self, sent: Sent) -> None:
        """Called when an edit at a wrong place has been taken out again."""

    def undone(self) -> Stop[End] | None:
        """The answer after the user took back an edit at a wrong place. None: plan again."""
        return None

    async def ended_late(self, landed: Landed | None) -> None:
        """Called with the edit's result after the caller stopped waiting. `landed`: None if the edit was not applied."""


class Door:
    """Carries intents out."""

    def __init__(
        self, editor: Editor, sender: Sender, journal: Journal, queues: Queues, tasks: Background
    ) -> None:
        self._editor = editor
        self._sender = sender
        self._journal = journal
        self._queues = queues
        self._tasks = tasks

    async def edit(self, tracked: Tracked, intent: Intent[End], ticket: Ticket | None = None) -> Result[End]:
        """Carry out an intent. `ticket`: its place in the document's queue, which stays shut until the editor answers."""
        can = self._editor.capabilities
        refusals = moves = stood_still = 0
        reason = NO_EDITS
        out: TakenOut | None = None
        while refusals < MAX_ATTEMPTS and moves < MAX_MOVES:
            if not tracked.closed:
                await intent.prepare(tracked)
            if not await tracked.rest(ANSWER_SECONDS):
                return Unanswered()
            if tracked.closed:
                return Gone(tracked, "the document was closed")
            planned = intent.plan(tracked)
            if isinstance(planned, Stop):
                return planned
            fitted = can.fitted(planned.before, planned.changes)
            if fitted is not planned.changes:
                planned = Planned.of(str(planned.before), fitted)
            if planned.changes.is_empty:
                return Stop(intent.already(tracked, planned))
            if not (can.apply_edit and can.document_changes):
                return NotTaken(tracked, reason, stood_still=True)
            moment = _moment(tracked)
            entry = await intent.journal(planned)
            if isinstance(entry, Stop):
                return entry
            if _moment(tracked) != moment or tracked.flight is not None:
                moves += 1
                await self._journal.finish(entry, "failed")
                continue
            withdrawn = intent.withdrawn()
            if withdrawn is not None:
                await self._journal.finish(entry, "failed")
                return withdrawn
            landing = intent.landing(tracked, planned)
            changes, after = planned.changes, planned.kept[1]
            del planned  # its texts may be large, and nobody needs them while the edit is on its way
            what = intent.what()
            sent = await self._sender.send(
                tracked, changes, intent.label, landing, after, what=what, is_doors=True
            )
            tracked = sent.tracked
            if not sent.flight.has_ended:
                self.hold(ticket, partial(self._late, intent, sent, entry))
                return Unanswered(sent)
            ended = await self._ended(intent, sent, entry)
            if ended is not None:
                return ended
            refusals += 1
            stood_still += not sent.watch.edits
            reason = sent.reason
            out = taken_out(sent) if sent.flight.phase is Phase.DISPLACED else None
        return out or NotTaken(tracked, reason, stood_still == refusals and not moves)

    async def _ended(
        self, intent: Intent[End], sent: Sent, entry: str, *, late: bool = False
    ) -> Result[End] | None:
        """Do what the end of an edit requires (`core.inflight.ACTIONS`). None: plan it again. `late`: the requester no longer waits, so
        it is not planned again."""
        match sent.flight.phase:
            case Phase.EXACT | Phase.THERE:
                await self._journal.finish(entry, "done")
                return Landed(sent.tracked)
            case Phase.DISPLACED:
                return await self._put_right(intent, sent, entry, late=late)
            case Phase.REFUSED:
                await self._journal.finish(entry, "failed")
                return None
            case _:
                await self._journal.finish(entry, "unknown")
                if sent.was_saved_astray and not intent.goes_on_on_disk:
                    self._sender.tell_saved_astray(sent, intent.path)
                return gone(sent)

    async def _put_right(
        self, intent: Intent[End], sent: Sent, entry: str, *, late: bool
    ) -> Stop[End] | LeftAstray | None:
        """Put the edit right: the editor made it at a wrong place, or nobody can say where."""

        def right(found: Separated) -> Right[End]:
            to_say: Right[End] = Right(found.without) if late else intent.right(found)
            changes = self._editor.capabilities.fitted(found.without, diff(found.without, to_say.wanted))
            return replace(to_say, wanted=changes.apply(found.without))

        corrected = await self._sender.correct(sent, "put right", right)
        if sent.left:
            await self._journal.finish(entry, "unknown")
            return LeftAstray(sent.tracked)
        said = corrected.right
        await self._journal.finish(entry, "failed" if said is None else said.journal)
        if corrected.reached_into:
            self._editor.show(
                "info",
                f"The editor put {sent.what} where you were typing in {intent.path}. "
                "The text that it replaced is restored. Check the lines around it.",
                Opens.file(sent.tracked.client_uri),
            )
        if corrected.is_undone:
            return intent.undone()
        if said is None:
            return None
        intent.taken_out(sent)
        return said.end

    def hold(self, ticket: Ticket | None, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` in the background. The ticket's document queue stays shut meanwhile."""
        hold = self._queues.hold(ticket) if ticket is not None else None

        async def held() -> None:
            try:
                await work()
            finally:
                if hold is not None:
                    hold.release()

        self._tasks.start_soon(held)

    async def _late(self, intent: Intent[End], sent: Sent, entry: str) -> None:
        """Wait for an overdue edit to settle: the answer may still come, and the edit with it."""
        await sent.settled.wait()
        ended = await self._ended(intent, sent, entry, late=True)
        await intent.ended_late(ended if isinstance(ended, Landed) else None)


def _moment(tracked: Tracked) -> tuple[int, int, bool]:
    """A value that stays equal as long as nothing happens to the document."""
    document = tracked.document
    return document.incarnation, document.version, tracked.closed
