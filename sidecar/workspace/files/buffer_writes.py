"""BufferWriter: agents' writes to documents that the editor has open. A document is first brought together with the disk, then edited (door.py),
and then saved by policy (saving.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.merge import Conflict
from sidecar.core.refusal import Refusal
from sidecar.core.uri import to_path
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.conflicts import Conflicts
from sidecar.workspace.edits.door import Door
from sidecar.workspace.edits.ends import Gone, Landed, LeftAstray, NotTaken, TakenOut, Unanswered, refusal
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Sender, Stop
from sidecar.workspace.edits.write_task import (
    WriteDone,
    WriteTask,
    kept_changing,
)
from sidecar.workspace.files.agent_edit import AgentEdit
from sidecar.workspace.files.saving import COULD_NOT_SAVE, Saver
from sidecar.workspace.ports.ports import Editor, Opens
from sidecar.workspace.state.places import Named
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

_LOOKS = 3
"""How often a look is repeated if the document is closed and opened again meanwhile."""


@dataclass(frozen=True, slots=True)
class Untaken:
    """The editor accepts no edits at all. `clean`: the document had no unsaved text."""

    clean: bool
    reason: str


class BufferWriter:
    """Writes through the editor."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        sender: Sender,
        reconciler: Reconciler,
        recorder: Recorder,
        door: Door,
        conflicts: Conflicts,
        saver: Saver,
    ) -> None:
        """`conflicts` is told of writes that were refused because the user changed the same lines, and of writes that were made."""
        self._state = state
        self._editor = editor
        self._sender = sender
        self._door = door
        self._reconciler = reconciler
        self._recorder = recorder
        self._conflicts = conflicts
        self._saver = saver

    async def write(
        self, task: WriteTask, place: Named, tracked: Tracked
    ) -> WriteDone | Gone | Untaken | Refusal:
        """Makes the open document say what the agent wants, and saves it by policy. Gone: the document was closed
        meanwhile, and the disk is the truth now."""
        tracked = await self._looked_at(tracked)
        was_user_dirty = tracked.is_user_dirty()
        intent = AgentEdit(self._state, self._recorder, self._tell, task, place)
        result = await self._door.edit(tracked, intent, task.ticket)
        landed = False
        match result:
            case Stop():
                if result.end is not None:
                    return result.end
            case Landed():
                landed = True
            case NotTaken():
                if self._sender.ever_applied and not result.stood_still:
                    return kept_changing(place.requested)
                return Untaken(result.tracked.is_clean(), result.reason)
            case TakenOut():
                return kept_changing(place.requested)
            case Gone(may_be_made=False):
                return result
            case LeftAstray() | Unanswered() | Gone():
                return refusal(place.requested, result)
        uri = tracked.document.uri
        now = self._state.documents.get(uri)
        snapshot = None if now is None else now.document.snapshot()
        await task.believe(self._state.beliefs, uri, snapshot, intent.said_by(snapshot) if landed else None)
        self._conflicts.written(task.session, uri)
        said = task.result
        if snapshot is not None and not snapshot.is_narrow and isinstance(said, str) and snapshot.says(said):
            snapshot.remember(said)  # the next write starts from it
        if landed and self._state.settings.writes == "confirm":
            return self._saver.undecided(intent.write, uri, place, was_user_dirty=was_user_dirty)
        done = await self._saver.settle(tracked, was_user_dirty)
        if done.note == COULD_NOT_SAVE:
            task.session.unsaved.add(tracked.document.uri)
        return done

    async def _looked_at(self, tracked: Tracked) -> Tracked:
        """The document after mirror and disk were brought together. Neovim closes and reopens it for that."""
        for _ in range(_LOOKS):
            await self._reconciler.look(tracked)
            now = self._state.documents.get(tracked.document.uri)
            if now is None or now is tracked:
                break
            tracked = now
        return tracked

    def _tell(
        self, task: WriteTask, tracked: Tracked, found: Conflict, against: tuple[str, Conflict] | None
    ) -> None:
        """Tells the user of a conflict, once for each turn and document: the agent will read again and retry."""
        session, uri = task.session, tracked.document.uri
        if against is not None:
            base, places = against
            self._conflicts.found(tracked, "write", base, str(task.wanted), session, places=places)
        if uri in session.told or self._editor.capabilities.conflicts:
            return
        session.told.add(uri)
        line = found.hunks[0].start_line + 1
        path = to_path(uri) or uri
        self._editor.show(
            "info",
            f"{session.agent} wanted to change {path} near line {line}, where you did. Your text stays; the agent was told.",
            Opens.file(tracked.client_uri, line - 1),
        )
