"""AgentEdit: the intent for an agent's write to a document that is open in the editor. See door.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

from sidecar.core.belief import Candidate
from sidecar.core.final_end import keep_final_end
from sidecar.core.ledger import Author
from sidecar.core.merge import Conflict
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.writes import EditText, NoChange
from sidecar.workspace.documents import Tracked
from sidecar.workspace.door import Door, Intent, Landed, Planned, Stop
from sidecar.workspace.places import Place
from sidecar.workspace.ports import Editor
from sidecar.workspace.put_right import PutRight
from sidecar.workspace.reads import desynchronised
from sidecar.workspace.recording import Recorder
from sidecar.workspace.sending import Applied, Sent
from sidecar.workspace.state import State
from sidecar.workspace.write_task import WriteTask, conflict, misapplied, withdrawn

Tell: TypeAlias = Callable[[WriteTask, Tracked, Sequence[Candidate], Conflict], None]
"""Called for a refused write, with the texts that it could have been based on."""


class AgentEdit(Intent[Refusal | None]):
    """Makes the document's text what an agent wants, merged with everybody else's work. Its end None means that the
    document has that text.
    """

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        put_right: PutRight,
        tell: Tell,
        task: WriteTask,
        place: Place,
    ) -> None:
        self.label = task.session.agent
        self.path = place.path
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._put_right = put_right
        self._tell = tell
        self._task = task
        self._place = place
        self._author: Author | None = None
        """The author of the latest attempt."""

    def plan(self, tracked: Tracked) -> Planned | Stop[Refusal | None]:
        task, place = self._task, self._place
        if tracked.document.desynchronised is not None:
            return Stop(desynchronised(place.requested))
        if task.replacing is None and self._state.came_from_disk(
            task.session, tracked, task.wanted, task.ticket.moment
        ):
            return Stop(None)
        now = Normal(str(tracked.document.snapshot()))
        candidates = self._candidates(tracked)
        plan = task.plan(candidates, now.text)
        match plan:
            case NoChange():
                return Stop(None)
            case Refusal():
                return Stop(plan)
            case Conflict():
                self._tell(task, tracked, candidates, plan)
                return Stop(conflict(place.requested, plan))
            case EditText():
                changes = now.changes_in_raw(plan.changes)
                if self._editor.capabilities.keeps_lines:
                    changes = keep_final_end(now.raw, changes)
                if changes.is_empty:
                    return Stop(None)
                known = plan.after if changes is plan.changes else None
                return Planned(now.raw, changes, changes.apply(now.raw) if known is None else known)
            case _:
                assert_never(plan)

    async def journal(self, planned: Planned) -> str | Stop[Refusal | None]:
        begun = await self._recorder.begin(
            self._task.session, self.path, planned.before, planned.after, "editor"
        )
        if isinstance(begun, Refusal):
            return Stop(begun)
        self._author = begun
        return begun.write

    def withdrawn(self) -> Stop[Refusal | None] | None:
        return None if self._task.may_begin else Stop(withdrawn(self._place.requested))

    def applied(self, tracked: Tracked) -> Applied:
        assert self._author is not None, "journalled first"
        return self._recorder.live_edit(self._task.session, tracked.document.uri, self._author)

    def what(self) -> str:
        return f"{self.label}'s edit"

    def left_there(self) -> Refusal:
        return misapplied(self._place.requested)

    async def misplaced(self, door: Door, sent: Sent, entry: str) -> Stop[Refusal | None] | None:
        """Takes the edit out and makes it at the right place, because the text that the agent was shown is known."""
        assert self._author is not None, "journalled first"
        candidates = self._candidates(sent.tracked)
        right = await self._put_right.put_right(self._task, self._place, sent, self._author, candidates)
        if right is None:
            return None
        return Stop(right if isinstance(right, Refusal) else None)

    async def misplaced_late(self, door: Door, sent: Sent, entry: str) -> None:
        """Takes the edit out, because the agent was already told that the outcome is unknown."""
        assert self._author is not None, "journalled first"
        await self._put_right.take_back(self._task, self._place, sent, self._author)

    async def ended_late(self, landed: Landed | None) -> None:
        if landed is not None:
            self._task.believe(self._state.beliefs, landed.tracked.document.uri)

    def _candidates(self, tracked: Tracked) -> tuple[Candidate, ...]:
        """The texts that the write may be based on."""
        return self._state.candidates(self._task.session, tracked.document.uri, self._task.ticket.moment)
