"""BufferWriter: writes to documents that the editor has open, or can open: planned, journalled, sent, verified, saved.

After a refusal the write is planned again on the text as it is then, never while an edit is unanswered. The plan that is sent is
always the plan for the very text the document has in that moment: when it moved on while the journal was being
written, the journal gets the newer one first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

import anyio

from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.final_end import keep_final_end
from sidecar.core.ledger import Author, Mark
from sidecar.core.merge import Conflict
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.core.writes import EditText, NoChange, conflicting_base, plan_write
from sidecar.workspace.background import Background
from sidecar.workspace.conflicts import Conflicts
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ledgers import changes_as_steps
from sidecar.workspace.places import Place
from sidecar.workspace.ports import Editor, EditorGone, EditorRefused, EditorTimeout, Saved
from sidecar.workspace.put_right import PutRight
from sidecar.workspace.reads import desynchronised
from sidecar.workspace.reconcile import Reconciler
from sidecar.workspace.recording import Recorder
from sidecar.workspace.sending import ANSWER_SECONDS, Misplaced, Outcome, Sender, Sent
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State
from sidecar.workspace.write_task import (
    WriteDone,
    WriteTask,
    conflict,
    editor_refused,
    kept_changing,
    outcome_unknown,
    unseen,
    withdrawn,
)

Saving = Literal["agents", "users", "rejection"]
"""What is saved: an agent's write, the user's own text, or a text that was put back and has to stay as it is."""

MAX_ATTEMPTS = 5
"""Refusals of one write before it is given up."""
MAX_MOVES = 50
"""How often a document may move on while the journal is written, before the write is given up."""
LEFT_TO_THE_USER = "this editor leaves saving to the user"
COULD_NOT_SAVE = "the editor could not save the file; it has the new text, unsaved"
OPEN_SECONDS = 5.0
"""How long an editor may take to open a document it was asked for."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The document was closed on the way: the disk is the truth now."""

    misplaced: Misplaced | None = None
    """The edit had come to it before, at a wrong place, and may have been saved there."""


@dataclass(frozen=True, slots=True)
class Untaken:
    """The editor takes no edits at all; the document was clean (`clean`) or has unsaved text."""

    clean: bool
    reason: str


class _Planned(NamedTuple):
    raw: str
    """The text as the editor has it."""
    changes: ChangeSet
    """Of it."""
    after: str
    """What they lead to."""


class BufferWriter:
    """Writes through the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        sender: Sender,
        reconciler: Reconciler,
        recorder: Recorder,
        tasks: Background,
    ) -> None:
        self._state = state
        self._editor = editor
        self._sender = sender
        self._reconciler = reconciler
        self._recorder = recorder
        self._put_right = PutRight(state, editor, sender, recorder)
        self.tasks = tasks
        self.conflicts: Conflicts | None = None
        """Told of writes that were refused because the user changed the same lines, and of those that were made."""

    async def write(
        self, task: WriteTask, place: Place, tracked: Tracked
    ) -> WriteDone | Closed | Untaken | Refusal:
        """Makes the open document say what the agent wants, and saves it by policy."""
        await self._reconciler.look(tracked)
        was_user_dirty = tracked.is_user_dirty()
        result = await self._edit(task, place, tracked)
        if result is not None:
            return result
        uri = tracked.document.uri
        self._state.beliefs.wrote(task.session.id, uri, task.wanted, task.ticket.moment)
        if self.conflicts is not None:
            self.conflicts.written(task.session, uri)
        now = self._state.documents.get(uri)
        if now is not None and (snapshot := now.document.snapshot()).says(task.wanted):
            snapshot.remember(
                task.wanted
            )  # which is believed now, so it is kept anyway; the next write begins with it
        if now is not None and now is not tracked:  # closed by the user, and opened by the edit
            return await self._save_and_close(now)
        done = await self.save_by_policy(tracked, was_user_dirty)
        if done.note == COULD_NOT_SAVE:
            task.session.unsaved.add(tracked.document.uri)
        return done

    async def _save_and_close(self, tracked: Tracked) -> WriteDone:
        if not self._editor.capabilities.save:
            return WriteDone(saved=False, note=LEFT_TO_THE_USER)
        done = await self.save(tracked)
        if done.saved:
            await self.close(tracked)
        return done

    async def save_again(self, session: Session) -> None:
        """Saves what could not be saved after a write, unless the user has worked on it since."""
        while session.unsaved:
            tracked = self._state.documents.get(session.unsaved.pop())
            if tracked is None or tracked.is_clean():
                continue
            if not tracked.is_user_dirty() and (await self.save(tracked)).saved:
                continue
            path = to_path(tracked.document.uri) or tracked.document.uri
            self._editor.show(
                "warning", f"{path} has changes of {session.agent} that could not be saved; save it yourself."
            )

    async def open(self, uri: DocumentUri) -> Tracked | None:
        """Has the editor open the file; None when it does not."""
        try:
            await self._editor.open(uri)
        except (EditorGone, EditorRefused, EditorTimeout):
            return None
        return await self.appearance(uri)

    async def appearance(self, uri: DocumentUri) -> Tracked | None:
        """The document once the editor has announced it; None when it does not in time."""
        with anyio.move_on_after(OPEN_SECONDS):
            tracked = await self._state.documents.appearance(uri)
            await tracked.observed.wait()
            return tracked
        return self._state.documents.get(uri)

    async def close(self, tracked: Tracked) -> None:
        """Has the editor close what was opened for a write only."""
        try:
            await self._editor.close(tracked.document.client_uri)
        except (EditorGone, EditorRefused, EditorTimeout):
            pass  # a tab more is no harm

    async def save(self, tracked: Tracked, *, whose: Saving = "agents") -> WriteDone:
        """Saves now, whatever the policy says, except over what somebody put on the disk meanwhile and cannot be merged."""
        document = tracked.document
        await self._reconciler.look(tracked)
        if tracked.apart or not self._reconciler.is_current(tracked):
            return WriteDone(saved=False, note=COULD_NOT_SAVE)
        raw = document.snapshot()
        before = normal(str(raw))
        reviewed = self._state.ledgers.get(document.uri)
        mark = reviewed.ledger.mark() if reviewed is not None and reviewed.live else None
        exact = whose == "rejection"
        tracked.text_at_save = None
        tracked.saving = True
        try:
            answer = await self._editor.save(document.client_uri, document.version, exact=exact)
        except (EditorGone, EditorRefused, EditorTimeout):
            answer = Saved(False)
        finally:
            tracked.saving = False
        if not answer.saved:
            return WriteDone(saved=False, note=COULD_NOT_SAVE)
        if whose == "agents" and mark is not None and not answer.typed:
            self._aftermath(tracked, mark, raw)
        await self._reconciler.look(tracked)
        # At the very save: what the user typed since is nothing the agent could know, nor is what was typed until then.
        after = before if tracked.text_at_save is None else normal(str(tracked.text_at_save))
        # One that was closed and opened again has the same version, so that it was saved all the same.
        by_itself = not answer.typed and not tracked.closed
        put_back = exact and document.snapshot() == raw
        if after != before and by_itself and not put_back:
            self._state.beliefs.formatted(document.uri, before, after)
        return WriteDone(saved=True)

    def _aftermath(self, tracked: Tracked, since: Mark, before: Text) -> None:
        """What the save itself changed goes with the agent's work that was saved, and is nobody's."""
        after, now = tracked.text_at_save, tracked.document.snapshot()
        reviewed = self._state.ledgers.get(tracked.document.uri)
        if (
            after is None
            or after == before
            or tracked.last_author is None
            or reviewed is None
            or not reviewed.live
        ):
            return
        done = reviewed.ledger.aftermath(
            since, before, diff(str(before), str(after)), after, tracked.last_author
        )
        if done:
            for step in changes_as_steps(diff(str(after), str(now))):
                reviewed.ledger.user_edit(step, len(now), lambda: now)
            self._state.ledgers.moved(reviewed)

    async def _edit(
        self, task: WriteTask, place: Place, tracked: Tracked
    ) -> Closed | Untaken | Refusal | None:
        """None: the document says it now."""
        uri = tracked.document.uri
        capabilities = self._editor.capabilities
        refusals = moves = stood_still = 0
        reason = "it does not offer versioned workspace edits"
        while refusals < MAX_ATTEMPTS and moves < MAX_MOVES:
            if not await tracked.rest(ANSWER_SECONDS):  # a file that changed on disk is being brought into it
                return outcome_unknown(place.requested)
            if tracked.closed:
                return Closed()
            planned = self._plan(task, place, tracked)
            if not isinstance(planned, _Planned):
                return planned
            before, changes, after = planned
            if not (capabilities.apply_edit and capabilities.document_changes):
                return Untaken(tracked.is_clean(), reason)
            moment = _moment(tracked)
            author = await self._recorder.begin(task.session, place.path, before, after, "editor")
            if isinstance(author, Refusal):
                return author
            if _moment(tracked) != moment or tracked.watch is not None:
                moves += 1
                await self._recorder.finish(author, "failed")
                continue
            if not task.session.alive:
                await self._recorder.finish(author, "failed")
                return withdrawn(place.requested)
            applied = self._recorder.live_edit(task.session, uri, author)
            sent = await self._sender.send(tracked, changes, task.session.agent, applied)
            tracked = sent.tracked
            match sent.outcome:
                case Outcome.APPLIED:
                    await self._recorder.finish(author, "done")
                    return None
                case Outcome.UNKNOWN:
                    self._hold(task, place, sent, author)
                    return outcome_unknown(place.requested)
                case Outcome.GONE:
                    await self._recorder.finish(author, "unknown")
                    if sent.unseen:
                        return unseen(place.requested)
                    if tracked.closed:
                        return Closed(self._sender.misplaced(sent))
                    return editor_refused(place.requested, sent.reason)
                case Outcome.REFUSED:
                    await self._recorder.finish(author, "failed")
                case Outcome.UNCLEAR:
                    candidates = self._candidates(task, tracked)
                    put_right = await self._put_right.put_right(task, place, sent, author, candidates)
                    if put_right is not None:
                        return put_right if isinstance(put_right, Refusal) else None
                case _:
                    assert_never(sent.outcome)
            refusals += 1
            stood_still += not sent.received
            reason = sent.reason
        if not self._sender.ever_applied or (stood_still == refusals and not moves):
            return Untaken(tracked.is_clean(), reason)
        return kept_changing(place.requested)

    def _plan(self, task: WriteTask, place: Place, tracked: Tracked) -> _Planned | Refusal | None:
        """The changes for the text as it is now; None when it says already what it should."""
        if tracked.document.desynchronised is not None:
            return desynchronised(place.requested)
        if self._state.came_from_disk(task.session, tracked, task.wanted, task.ticket.moment):
            return None
        now = Normal(str(tracked.document.snapshot()))
        plan = plan_write(self._candidates(task, tracked), now.text, task.wanted)
        match plan:
            case NoChange():
                return None
            case Conflict():
                self._tell(task, tracked, plan)
                return conflict(place.requested, plan)
            case EditText():
                changes = now.changes_in_raw(plan.changes)
                if self._editor.capabilities.keeps_lines:
                    changes = keep_final_end(now.raw, changes)
                if changes.is_empty:
                    return None
                known = plan.after if changes is plan.changes else None
                return _Planned(now.raw, changes, changes.apply(now.raw) if known is None else known)
            case _:
                assert_never(plan)

    def _tell(self, task: WriteTask, tracked: Tracked, found: Conflict) -> None:
        """The user hears of a conflict once a turn and document: the agent will read again and retry."""
        session, uri = task.session, tracked.document.uri
        if self.conflicts is not None:
            base = conflicting_base(self._candidates(task, tracked), tracked.text(), task.wanted)
            if base is not None:
                self.conflicts.found(tracked, "write", base, task.wanted, session)
        if uri in session.told or self._editor.capabilities.conflicts:
            return
        session.told.add(uri)
        line = found.hunks[0].start_line + 1
        path = to_path(uri) or uri
        self._editor.show(
            "info",
            f"{session.agent} wanted to change {path} near line {line}, where you did. Your text stands; the agent was told.",
        )

    def _candidates(self, task: WriteTask, tracked: Tracked) -> tuple[Candidate, ...]:
        """What the write may be based on."""
        return self._state.candidates(task.session, tracked.document.uri, task.ticket.moment)

    def _hold(self, task: WriteTask, place: Place, sent: Sent, author: Author) -> None:
        """The answer may still come, and the edit with it: the document's queue stays shut until it does."""
        hold = self._state.queues.hold(task.ticket)
        late = sent.late

        async def wait() -> None:
            try:
                if late is not None:
                    await late.wait()
                if sent.outcome is Outcome.UNCLEAR:
                    await self._put_right.take_back(task, place, sent, author)
                elif sent.matched_at is None:
                    await self._recorder.finish(author, "failed")
                else:
                    self._state.beliefs.wrote(
                        task.session.id, sent.tracked.document.uri, task.wanted, task.ticket.moment
                    )
                    await self._recorder.finish(author, "done")
            finally:
                hold.release()

        self.tasks.start_soon(wait)

    async def save_by_policy(
        self, tracked: Tracked, was_user_dirty: bool, *, whose: Saving = "agents"
    ) -> WriteDone:
        """Saves, or says why not. `was_user_dirty`: it had unsaved work of the user's before what is to be saved now."""
        policy = self._state.settings.after_write
        if policy == "never":
            return WriteDone(saved=False, note="saving after a write is switched off")
        if policy == "save-if-was-clean" and was_user_dirty:
            return WriteDone(
                saved=False, note="the user has unsaved changes in this file, so it was not saved"
            )
        if not self._editor.capabilities.save:
            return WriteDone(saved=False, note=LEFT_TO_THE_USER)
        return await self.save(tracked, whose=whose)


def _moment(tracked: Tracked) -> tuple[int, int, bool]:
    """Equal as long as nothing happened to the document."""
    document = tracked.document
    return document.incarnation, document.version, tracked.closed
