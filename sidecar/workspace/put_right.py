"""PutRight: what to do when the editor says it applied an edit and the mirror shows something else than was expected.

Typing that the editor had not told yet came first, and our edit was made at the places it was sent for: in the right place when
nothing before it had moved, else in a wrong one. It is found among what was received, taken out in thought, and the write planned
on what is left. Where that plan gives the very text there is, everything is right; else one edit makes it so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.merge import Conflict
from sidecar.core.misapplied import SentEdit, Separated, looks_applied, separate
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.writes import EditText, plan_write
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ledgers import changes_as_steps
from sidecar.workspace.places import Place
from sidecar.workspace.ports import Editor
from sidecar.workspace.recording import Recorder
from sidecar.workspace.sending import Outcome, Sender, Sent
from sidecar.workspace.state import State
from sidecar.workspace.write_task import WriteTask, conflict, kept_changing, misapplied

_ATTEMPTS = 5
"""How often a correction is tried that newer typing makes the editor refuse."""


class PutRight:
    """Settles edits whose outcome is unclear."""

    def __init__(self, state: State, editor: Editor, sender: Sender, recorder: Recorder) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._recorder = recorder

    async def put_right(
        self,
        task: WriteTask,
        place: Place,
        tracked: Tracked,
        sent: Sent,
        author: Author,
        candidates: Sequence[Candidate],
    ) -> Refusal | bool | None:
        """True: the text is right now. None: nothing of the edit arrived, plan again."""
        can = self._editor.capabilities
        edits = [SentEdit(e.start, e.end, e.new_text) for e in sent.edits]
        received = list(sent.received)
        for _ in range(_ATTEMPTS):
            found = separate(sent.before, edits, received, can.encoding, can.lf_lines)
            if found is None:
                if looks_applied(edits, received):
                    break
                await self._recorder.finish(author, "failed")
                return None
            if found.is_undone:  # by the user, who does not want it
                await self._recorder.finish(author, "failed")
                return kept_changing(place.requested)
            before = str(tracked.document.snapshot())
            correction = await self._correct(task, place, tracked, found, author, candidates)
            if not isinstance(correction, Sent):
                return correction
            later: Sequence[Edit] = correction.received
            if correction.outcome is Outcome.UNCLEAR:
                label = f"{task.session.agent}, taken back"
                if not await self._sender.take_back(correction, label):
                    break
                if tracked.closed:  # without saving: nothing of either edit is left
                    await self._recorder.finish(author, "failed")
                    return kept_changing(place.requested)
                later = changes_as_steps(diff(before, str(tracked.document.snapshot())))
            elif correction.outcome is not Outcome.REFUSED:
                break
            if tracked.closed or tracked.watch is not None:
                break
            received += later  # the user goes on typing: found once more, with that behind it
        return await self._left_to_the_user(task, place, author)

    async def _correct(
        self,
        task: WriteTask,
        place: Place,
        tracked: Tracked,
        found: Separated,
        author: Author,
        candidates: Sequence[Candidate],
    ) -> Refusal | bool | Sent:
        """True or a conflict when it is right now; else what became of the edit that was to make it so."""
        now = tracked.document.snapshot()
        without = Normal(found.without)
        plan = plan_write(candidates, without.text, task.wanted)
        wanted = found.without
        if isinstance(plan, EditText):
            wanted = without.changes_in_raw(plan.changes).apply(found.without)

        applied = self._recorder.corrected_edit(task.session, tracked.document.uri, author, found.without)
        if wanted == str(now):
            applied(now, ChangeSet.of(len(now), ()), now)
        else:
            label = f"{task.session.agent}, put right"
            correction = await self._sender.send(tracked, diff(str(now), wanted), label, applied)
            if correction.outcome is not Outcome.APPLIED:
                return correction
        if found.reached_into:
            self._editor.show(
                "info",
                f"The editor put {task.session.agent}'s edit where you were typing in {place.path}. "
                "What it took away is back; look whether the lines around it are as you want them.",
            )
        await self._recorder.finish(author, "done" if isinstance(plan, EditText) else "failed")
        return conflict(place.requested, plan) if isinstance(plan, Conflict) else True

    async def take_back(self, task: WriteTask, place: Place, sent: Sent, author: Author) -> None:
        """An edit that was given up was made at a wrong place after all: the agent was told that nobody knows, so it goes."""
        if await self._sender.take_back(sent, f"{task.session.agent}, taken back"):
            await self._recorder.finish(author, "failed")
        elif looks_applied([SentEdit(e.start, e.end, e.new_text) for e in sent.edits], sent.received):
            await self._left_to_the_user(task, place, author)
        else:
            await self._recorder.finish(author, "failed")

    async def _left_to_the_user(self, task: WriteTask, place: Place, author: Author) -> Refusal:
        await self._recorder.finish(author, "unknown")
        self._editor.show(
            "warning",
            f"The editor applied {task.session.agent}'s edit at a wrong place in {place.path}. "
            "Your own text is all there: undo once to take the edit back.",
        )
        return misapplied(place.requested)
