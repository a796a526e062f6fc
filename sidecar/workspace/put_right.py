"""PutRight: what to do when the editor says it applied an edit and the mirror shows something else than was expected.

Typing that the editor had not told yet came first, and our edit was made at the places it was sent for: in the right place when
nothing before it had moved, else in a wrong one. It is found among what was received, taken out in thought, and the write planned
on what is left. Where that plan gives the very text there is, everything is right; else one edit makes it so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.final_end import keep_final_end
from sidecar.core.ledger import Author
from sidecar.core.merge import Conflict
from sidecar.core.misapplied import Separated
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.writes import EditText
from sidecar.workspace.documents import Tracked
from sidecar.workspace.places import Place
from sidecar.workspace.ports import Editor
from sidecar.workspace.recording import Recorder
from sidecar.workspace.sending import Outcome, Sender, Sent, at_a_wrong_place, followed_by
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
        sent: Sent,
        author: Author,
        candidates: Sequence[Candidate],
    ) -> Refusal | bool | None:
        """True: the text is right now. None: nothing of the edit arrived, plan again."""
        made = [sent]
        for _ in range(_ATTEMPTS):
            tracked = made[-1].tracked
            if tracked.closed or tracked.watch is not None:
                break
            found = self._sender.without(made)
            if found is None:
                if len(made) > 1 or self._sender.looks_made(sent):
                    break
                await self._recorder.finish(author, "failed")
                return None
            if found.is_undone and len(made) == 1:  # by the user, who does not want it
                await self._recorder.finish(author, "failed")
                return kept_changing(place.requested)
            correction = await self._correct(task, place, tracked, found, author, candidates)
            if not isinstance(correction, Sent):
                return correction
            if correction.outcome not in (Outcome.UNCLEAR, Outcome.REFUSED):
                break
            # The user goes on typing. Whatever the correction did at a wrong place is undone together with the edit that it was
            # to correct.
            made = followed_by(made, correction)
            if not made or made[0] is correction:  # closed without saving, and opened again by the correction
                if made and await self._sender.take_back(correction, f"{task.session.agent}, taken back"):
                    break
                await self._recorder.finish(author, "failed")
                return kept_changing(place.requested)
        return await self._left_to_the_user(task, place, author, len(made))

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
        # What the user undid meanwhile they do not want: then there is only something to take out.
        plan = None if found.is_undone else task.plan(candidates, without.text)
        wanted = found.without
        if isinstance(plan, EditText):
            changes = without.changes_in_raw(plan.changes)
            if self._editor.capabilities.keeps_lines:
                changes = keep_final_end(found.without, changes)
            wanted = changes.apply(found.without)

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
                "The text that it replaced is restored. Check the lines around it.",
            )
        await self._recorder.finish(author, "done" if isinstance(plan, EditText) else "failed")
        if plan is None:
            return kept_changing(place.requested)
        if isinstance(plan, Refusal):
            return plan
        return conflict(place.requested, plan) if isinstance(plan, Conflict) else True

    async def take_back(self, task: WriteTask, place: Place, sent: Sent, author: Author) -> None:
        """An edit that was given up was made at a wrong place after all: the agent was told that nobody knows, so it goes."""
        left = await self._sender.take_back(sent, f"{task.session.agent}, taken back")
        if left and self._sender.looks_made(sent):
            await self._left_to_the_user(task, place, author, left)
        else:
            await self._recorder.finish(author, "failed")

    async def _left_to_the_user(
        self, task: WriteTask, place: Place, author: Author, edits: int = 1
    ) -> Refusal:
        """Nothing more is tried: `edits` of ours are in the text where they do not belong."""
        await self._recorder.finish(author, "unknown")
        self._editor.show("warning", at_a_wrong_place(f"{task.session.agent}'s edit", place.path, edits))
        return misapplied(place.requested)
