"""AgentEdit: the intent for an agent's write to a document that is open in the editor. See door.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from sidecar.core.any_text import AnyText
from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.kept import Kept
from sidecar.core.led_to import led_to
from sidecar.core.ledger import Author
from sidecar.core.lines_changed import lines_changed
from sidecar.core.merge import Conflict
from sidecar.core.misapplied import Separated
from sidecar.core.normal import Normal, says
from sidecar.core.normal_text import NormalText, normal_of
from sidecar.core.notebook import LANGUAGE, as_saved
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import EditText, NoChange, Plan, conflict_of
from sidecar.workspace.edits.door import Intent, Planned
from sidecar.workspace.edits.ends import Landed
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Right, Stop
from sidecar.workspace.edits.write_task import WriteTask, conflict, kept_changing, withdrawn
from sidecar.workspace.files.reads import desynchronised
from sidecar.workspace.ports.aside import LARGE, aside
from sidecar.workspace.state.places import Named
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Landing, Tracked

Tell: TypeAlias = Callable[[WriteTask, Tracked, Conflict, tuple[str, Conflict] | None], None]
"""Called for a refused write. The last argument is the text from which it is a conflict, and that conflict."""


@dataclass(frozen=True, slots=True)
class _WorkedOut:
    """A plan, and the texts that it was made for."""

    candidates: tuple[Candidate, ...]
    text: Text
    now: Normal | NormalText
    """The text in the compared form."""
    edit: Planned | NoChange | Conflict | Refusal
    lines: tuple[int, int]
    """How many lines the edit adds and removes."""
    wanted: Text | None = None
    """The text after the edit, if that is large and is what the agent wants."""
    against: tuple[str, Conflict] | None = None
    """The text from which the write is a conflict, and that conflict."""


def _normal(text: Text, wanted: AnyText, known: Sequence[Text] = ()) -> Normal | NormalText:
    """`known`: texts that will be compared with the result on the event loop; the comparison is prepared here."""
    text.compared()  # needed later, on the event loop
    now = normal_of(text, wanted)
    for one in known:
        says(one, now.text)
    return now


def _led_to(text: Text, changes: ChangeSet) -> Text:
    after = led_to(text, changes)
    after.compared()
    return after


class AgentEdit(Intent[Refusal | None]):
    """Makes the document's text what an agent wants, merged with everybody else's work. The result None means that the
    document has that text."""

    goes_on_on_disk = True

    def __init__(self, state: State, recorder: Recorder, tell: Tell, task: WriteTask, place: Named) -> None:
        self.label = task.session.agent
        self.path = place.path
        self._state = state
        self._recorder = recorder
        self._tell = tell
        self._task = task
        self._place = place
        self._is_notebook = place.tracked is not None and place.tracked.document.language_id == LANGUAGE
        self._uri = place.uri
        """The document's, which may be open under another name."""
        self._author: Author | None = None
        """The author of the latest attempt."""
        self._ahead: _WorkedOut | None = None
        self._wanted: Text | None = None

    @property
    def write(self) -> str:
        """The journal's id of the latest attempt."""
        assert self._author is not None, "journalled first"
        return self._author.write

    def said_by(self, text: Text | None) -> Kept | None:
        """`text`, the document's, if it is known to be what the agent wants; None: the two have to be compared."""
        return None if text is None or text is not self._wanted else Kept.of_raw(text)

    async def prepare(self, tracked: Tracked) -> None:
        """Plans in a thread, if the texts are large. A plan depends only on the texts: if they have changed when it is
        done, `plan` makes another."""
        snapshot = tracked.document.snapshot()
        size = len(snapshot) + len(self._task.content)
        if size > LARGE:
            known = self._state.beliefs.kept(self._task.session.id, tracked.document.uri)
            now = await aside(size, lambda: _normal(snapshot, self._task.wanted, known))
            document = tracked.document
            if isinstance(now, NormalText) and not tracked.closed and document.snapshot() is snapshot:
                document.rope.adopt(now.raw)
                snapshot = now.raw
            candidates = self._candidates(tracked.document.uri, now.text)
            on_disk = tracked.on_disk_texts()

            def work_out() -> _WorkedOut:
                found = self._worked_out(candidates, now, snapshot)
                after = found.edit.kept[1] if isinstance(found.edit, Planned) else None
                if after is not None:
                    for one in on_disk:
                        says(after, one)  # done again when the edit is sent, and when it has come
                return found

            self._ahead = await aside(size, work_out)

    def _worked_out(
        self, candidates: tuple[Candidate, ...], now: Normal | NormalText, text: Text
    ) -> _WorkedOut:
        """`now` is the compared form of `text`."""
        plan = self._task.plan(candidates, now.text)
        if self._is_notebook:
            plan = self._as_saved(plan, str(now.text))
        if isinstance(plan, Conflict):
            against = conflict_of(candidates, now.text, self._task.wanted)
            return _WorkedOut(candidates, text, now, plan, (0, 0), against=against)
        if not isinstance(plan, EditText):
            return _WorkedOut(candidates, text, now, plan, (0, 0))
        if isinstance(now, NormalText):
            places = now.in_raw(plan.places(now.text))
            made = places.new
            made.compared()
            wanted = None if plan.after is None or self._is_notebook else made
            planned = Planned(text, places.changes(), made, (text, made))
            return _WorkedOut(candidates, text, now, planned, lines_changed(text, places), wanted)
        changes = now.changes_in_raw(plan.changes)
        known = str(plan.after) if plan.after is not None and changes is plan.made else None
        after = changes.apply(now.raw) if known is None else known
        large = len(now.raw) + len(after) > LARGE
        kept = (text, _led_to(text, changes)) if large else (None, None)
        lines = lines_changed(text, changes)
        wanted = None if known is None or self._is_notebook else kept[1]
        return _WorkedOut(candidates, text, now, Planned(now.raw, changes, after, kept), lines, wanted)

    def _as_saved(self, plan: Plan | Refusal, now: str) -> Plan | Refusal:
        """The plan, changed so that it leads to a text that a notebook's editor can have."""
        if not isinstance(plan, EditText):
            return plan
        merged = plan.changes.apply(now) if plan.after is None else str(plan.after)
        after = as_saved(self._place.requested, merged, now)
        if isinstance(after, Refusal):
            return after
        return NoChange() if after == now else EditText(diff(now, after), plan.base, after)

    def plan(self, tracked: Tracked) -> Planned | Stop[Refusal | None]:
        task, place = self._task, self._place
        if tracked.document.desynchronised is not None:
            return Stop(desynchronised(place.requested))
        if task.replacing is None and self._state.came_from_disk(
            task.session, tracked, task.wanted, task.ticket.moment
        ):
            return Stop(None)
        snapshot = tracked.document.snapshot()
        ahead = self._ahead
        is_now = ahead is not None and snapshot == ahead.text
        now = ahead.now if ahead is not None and is_now else _normal(snapshot, task.wanted)
        candidates = self._candidates(tracked.document.uri, now.text)
        if ahead is None or not is_now or ahead.candidates != candidates:
            ahead = self._ahead = self._worked_out(candidates, now, snapshot)
        match ahead.edit:
            case Planned() as planned:
                return planned
            case NoChange():
                return Stop(None)
            case Refusal() as refusal:
                return Stop(refusal)
            case Conflict() as found:
                self._tell(task, tracked, found, ahead.against)
                return Stop(conflict(place.requested, found))
            case _:
                assert_never(ahead.edit)

    def already(self, tracked: Tracked, planned: Planned) -> None:
        return None

    async def journal(self, planned: Planned) -> str | Stop[Refusal | None]:
        begun = await self._recorder.begin(
            self._task.session,
            self.path,
            planned.before,
            planned.after,
            "editor",
            changes=planned.changes,
            kept=planned.kept,
        )
        if isinstance(begun, Refusal):
            return Stop(begun)
        self._author = begun
        return begun.write

    def withdrawn(self) -> Stop[Refusal | None] | None:
        return None if self._task.may_begin else Stop(withdrawn(self._place.requested))

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        assert self._author is not None, "journalled first"
        self._uri = tracked.document.uri
        ahead = self._ahead
        known = (planned.changes, ahead.lines) if ahead is not None and ahead.edit is planned else None
        self._wanted = None if ahead is None else ahead.wanted
        self._ahead = None
        Text.forget()  # do not keep the texts of the plan while the edit is on its way
        return self._recorder.live_edit(self._task.session, self._uri, self._author, known)

    def what(self) -> str:
        return f"{self.label}'s edit"

    def right(self, found: Separated) -> Right[Refusal | None]:
        """What the agent was shown is known, so its misplaced edit is not only taken out, but also made in the right place."""
        assert self._author is not None, "journalled first"
        task, uri = self._task, self._uri
        landing = self._recorder.corrected_edit(task.session, uri, self._author, found.without)
        if found.is_undone:  # by the user, who does not want it: only take out the rest
            return Right(found.without, landing, self.undone())
        without = Normal(found.without)
        plan = task.plan(self._candidates(uri, without.text), without.text)
        match plan:
            case EditText():
                wanted = without.changes_in_raw(plan.changes).apply(found.without)
                return Right(wanted, landing, Stop(None), "done")
            case NoChange():
                return Right(found.without, landing, Stop(None))
            case Refusal():
                return Right(found.without, landing, Stop(plan))
            case Conflict():
                return Right(found.without, landing, Stop(conflict(self._place.requested, plan)))
            case _:
                assert_never(plan)

    def undone(self) -> Stop[Refusal | None]:
        return Stop(kept_changing(self._place.requested))

    async def ended_late(self, landed: Landed | None) -> None:
        if landed is not None:
            await self._task.believe(
                self._state.beliefs, landed.tracked.document.uri, landed.tracked.document.snapshot()
            )

    def _candidates(self, uri: DocumentUri, now: AnyText) -> tuple[Candidate, ...]:
        """The texts that the write may be based on. `now`: the document's text (compared form)."""
        return self._state.candidates(self._task.session, uri, self._task.ticket.moment, now)
