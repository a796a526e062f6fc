"""BufferWriter: writes to documents that the editor has open or can open. A document is first brought together with the
disk, then edited (door.py), and then saved by policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import anyio

from sidecar.core.diff import diff
from sidecar.core.ledger import Mark
from sidecar.core.merge import Conflict
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled, to_path
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.conflicts import Conflicts
from sidecar.workspace.edits.door import Door
from sidecar.workspace.edits.ends import Gone, Landed, Left, NotTaken, TakenOut, Unanswered, refusal
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Sender, Stop
from sidecar.workspace.edits.write_task import (
    Undecided,
    WriteDone,
    WriteTask,
    kept_changing,
)
from sidecar.workspace.files.agent_edit import AgentEdit
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, EditorTimeout, Opens, Saved
from sidecar.workspace.state.documents import Tracked
from sidecar.workspace.state.places import Named
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

Saving = Literal["agents", "users", "typing", "rejection"]
"""What is saved: an agent's write, the user's own text, the user's text while they may be typing, or a text that was
put back. The last two are saved exactly as they are, without what else runs at every save (formatting, trimming)."""

LEFT_TO_THE_USER = "this editor leaves saving to the user"
NO_FILE = "it has no file yet; the user saves it"
COULD_NOT_SAVE = "the editor could not save the file; it has the new text unsaved"
OPEN_SECONDS = 5.0
"""How long an editor may take to open a document."""
_LOOKS = 3
"""How often a look is repeated if the document is closed and opened again meanwhile."""


@dataclass(frozen=True, slots=True)
class Untaken:
    """The editor accepts no edits at all. `clean`: the document had no unsaved text."""

    clean: bool
    reason: str


@dataclass(frozen=True, slots=True)
class NotOpened:
    """The editor did not open the file for us."""

    reason: str = ""
    """In the editor's words, if it gave any."""


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
    ) -> None:
        """`conflicts` is told of writes that were refused because the user changed the same lines, and of writes that were made."""
        self._state = state
        self._editor = editor
        self._sender = sender
        self._door = door
        self._reconciler = reconciler
        self._recorder = recorder
        self._conflicts = conflicts

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
            case Left() | Unanswered() | Gone():
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
            return self.undecided(intent.write, uri, place, was_user_dirty=was_user_dirty)
        done = await self.settle(tracked, was_user_dirty)
        if done.note == COULD_NOT_SAVE:
            task.session.unsaved.add(tracked.document.uri)
        return done

    def undecided(self, write: str, uri: DocumentUri, place: Named, *, was_user_dirty: bool) -> WriteDone:
        """The result of a write that is saved after the user has decided about it."""

        async def save() -> WriteDone:
            tracked = self._state.documents.get(uri)
            if tracked is None or tracked.is_clean():
                return WriteDone(saved=True)
            return await self.save_by_policy(tracked, was_user_dirty or tracked.is_user_dirty())

        return WriteDone(saved=False, undecided=Undecided(write, uri, place.requested, save))

    async def _looked_at(self, tracked: Tracked) -> Tracked:
        """The document after mirror and disk were brought together. Neovim closes and reopens it for that."""
        for _ in range(_LOOKS):
            await self._reconciler.look(tracked)
            now = self._state.documents.get(tracked.document.uri)
            if now is None or now is tracked:
                break
            tracked = now
        return tracked

    async def save_again(self, session: Session) -> None:
        """Saves what could not be saved after a write, unless the user has edited it since."""
        while session.unsaved:
            tracked = self._state.documents.get(session.unsaved.pop())
            if tracked is None or tracked.is_clean():
                continue
            if not tracked.is_user_dirty() and (await self.save(tracked)).saved:
                continue
            path = to_path(tracked.document.uri) or tracked.document.uri
            self._editor.show(
                "warning",
                f"{path} has changes of {session.agent} that could not be saved; save it yourself.",
                Opens.file(tracked.client_uri),
            )

    async def open(self, uri: DocumentUri) -> Tracked | NotOpened:
        """Has the editor open the file."""
        try:
            await self._editor.open(uri)
        except EditorRefused as refusal:
            return NotOpened(str(refusal.args[0]))
        except (EditorGone, EditorTimeout):
            return NotOpened()
        return await self.appearance(uri) or NotOpened()

    async def open_undecodable(self, uri: DocumentUri) -> Tracked | NotOpened:
        """As `open`, for a file whose encoding only the editor may know. If the editor reads it in a wrong encoding, it
        is closed again."""
        tracked = await self.open(uri)
        if isinstance(tracked, NotOpened) or tracked.is_clean():
            return tracked
        await self.close(tracked)
        return NotOpened()

    async def read_undecodable(self, uri: DocumentUri) -> Text | None:
        """The text that the editor reads in such a file; None: it could not be opened in the right encoding."""
        tracked = await self.open_undecodable(uri)
        if isinstance(tracked, NotOpened):
            return None
        text = tracked.document.snapshot()
        await self.close(tracked)
        return text

    async def appearance(self, uri: DocumentUri) -> Tracked | None:
        """The document, once the editor has announced it; None if that takes too long."""
        with anyio.move_on_after(OPEN_SECONDS):
            tracked = await self._state.documents.appearance(uri)
            await tracked.observed.wait()
            return tracked
        return self._state.documents.get(uri)

    async def close(self, tracked: Tracked) -> None:
        """Has the editor close a document that was opened only for a write."""
        try:
            await self._editor.close(tracked.document.client_uri)
        except (EditorGone, EditorRefused, EditorTimeout):
            pass  # one tab too many does no harm

    async def save(self, tracked: Tracked, *, whose: Saving = "agents") -> WriteDone:
        """Saves now, whatever the policy says, unless somebody's change on the disk cannot be merged."""
        document = tracked.document
        if is_untitled(document.uri):  # the editor would ask the user for a name
            return WriteDone(saved=False, note=NO_FILE)
        await self._reconciler.look(tracked)
        if tracked.apart or not self._reconciler.is_current(tracked):
            return WriteDone(saved=False, note=COULD_NOT_SAVE)
        raw = document.snapshot()
        before = normal(raw if raw.is_narrow else str(raw))
        reviewed = self._state.ledgers.get(document.uri)
        # While an edit is on its way, the ledger does not know what is in the text
        is_known = reviewed is not None and reviewed.live and tracked.flight is None
        mark = reviewed.ledger.mark() if reviewed is not None and is_known else None
        exact = whose in ("typing", "rejection")
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
        if exact and not answer.typed:
            # The text may have been put on the disk after a save that formatted it: that is no change from outside
            moment = self._state.beliefs.moment()
            self._state.documents.disk.written(document.uri, raw, moment, by_editor=True)
        if whose == "agents" and mark is not None and not answer.typed:
            self._aftermath(tracked, mark, raw)
        await self._reconciler.look(tracked)
        # The text at the save itself: the agent cannot know what the user typed before or after it.
        said = tracked.text_at_save
        after = before if said is None else normal(said if said.is_narrow else str(said))
        # A document that was closed and opened again may have the same version, and so was saved all the same.
        by_itself = not answer.typed and not tracked.closed
        put_back = exact and document.snapshot() == raw
        if after != before and by_itself and not put_back:
            self._state.beliefs.formatted(document.uri, str(before), str(after))
        return WriteDone(saved=True)

    def _aftermath(self, tracked: Tracked, since: Mark, before: Text) -> None:
        """What the save itself changed goes together with the agent's work that was saved, and is nobody's."""
        after, now = tracked.text_at_save, tracked.document.snapshot()
        reviewed = self._state.ledgers.get(tracked.document.uri)
        if (
            after is None
            or after == before
            or tracked.flight is not None
            or tracked.last_author is None
            or reviewed is None
            or not reviewed.live
        ):
            return
        done = reviewed.ledger.aftermath(
            since, before, diff(str(before), str(after)), after, tracked.last_author
        )
        if done:
            reviewed.ledger.user_led(after, now)
            self._state.ledgers.moved(reviewed)

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

    async def settle(self, tracked: Tracked, was_user_dirty: bool, *, whose: Saving = "agents") -> WriteDone:
        """Saves, by policy, the result of an edit of `tracked`. If the user closed the document meanwhile and the edit
        opened it again, it is saved and closed, as they left it."""
        now = self._state.documents.get(tracked.document.uri)
        if now is None or now is tracked:
            return await self.save_by_policy(tracked, was_user_dirty, whose=whose)
        if not self._editor.capabilities.save:
            return WriteDone(saved=False, note=LEFT_TO_THE_USER)
        done = await self.save(now, whose=whose)
        if done.saved:
            await self.close(now)
        return done

    async def save_by_policy(
        self, tracked: Tracked, was_user_dirty: bool, *, whose: Saving = "agents"
    ) -> WriteDone:
        """Saves, or says why not. `was_user_dirty`: the document already had unsaved work of the user's before the text
        that is to be saved."""
        policy = self._state.settings.after_write
        if is_untitled(tracked.document.uri):
            return WriteDone(saved=False, note=NO_FILE)
        if policy == "never":
            return WriteDone(saved=False, note="saving after a write is switched off")
        if policy == "save-if-was-clean" and was_user_dirty:
            return WriteDone(
                saved=False, note="the user has unsaved changes in this file, so it was not saved"
            )
        if not self._editor.capabilities.save:
            return WriteDone(saved=False, note=LEFT_TO_THE_USER)
        return await self.save(tracked, whose=whose)
