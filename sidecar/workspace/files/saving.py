"""Saver: saves documents, and decides whether: the one place of the save policy.

A file that was clean before an agent's write is saved with it, so that the agent's own programs find there what it wrote. What the user has not saved stays
unsaved, unless the settings say otherwise.
"""

from __future__ import annotations

from typing import Literal

from sidecar.core.diff import diff
from sidecar.core.ledger import Mark
from sidecar.core.normal import normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled, to_path
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.write_task import Undecided, WriteDone
from sidecar.workspace.files.opening import Opener
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, EditorTimeout, Opens, Saved
from sidecar.workspace.state.places import Named
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

Saving = Literal["agents", "users", "typing", "rejection"]
"""What is saved: an agent's write, the user's own text, the user's text while they may be typing, or a text that was
put back. The last two are saved exactly as they are, without what else runs at every save (formatting, trimming)."""

LEFT_TO_THE_USER = "this editor leaves saving to the user"
NO_FILE = "it has no file yet; the user saves it"
COULD_NOT_SAVE = "the editor could not save the file; it has the new text unsaved"
SWITCHED_OFF = "saving after a write is switched off"
USERS_CHANGES = "the user has unsaved changes in this file, so it was not saved"


class Saver:
    """Saves through the editor."""

    def __init__(self, state: State, editor: Editor, reconciler: Reconciler, opener: Opener) -> None:
        self._state = state
        self._editor = editor
        self._reconciler = reconciler
        self._opener = opener

    def why_not(self, tracked: Tracked, *, user_dirty: bool) -> str | None:
        """Why the document is not saved after an edit of ours, by policy; None: it is. `user_dirty`: it has, or had before the edit, unsaved work of
        the user's."""
        policy = self._state.settings.after_write
        if is_untitled(tracked.document.uri):
            return NO_FILE
        if policy == "never":
            return SWITCHED_OFF
        if policy == "save-if-was-clean" and user_dirty:
            return USERS_CHANGES
        return None if self._editor.capabilities.save else LEFT_TO_THE_USER

    async def save_by_policy(
        self, tracked: Tracked, was_user_dirty: bool, *, whose: Saving = "agents"
    ) -> WriteDone:
        """Saves, or says why not. `was_user_dirty`: the document already had unsaved work of the user's before the text
        that is to be saved."""
        why = self.why_not(tracked, user_dirty=was_user_dirty)
        return await self.save(tracked, whose=whose) if why is None else WriteDone(saved=False, note=why)

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
            await self._opener.close(now)
        return done

    def undecided(self, write: str, uri: DocumentUri, place: Named, *, was_user_dirty: bool) -> WriteDone:
        """The result of a write that is saved after the user has decided about it."""

        async def save() -> WriteDone:
            tracked = self._state.documents.get(uri)
            if tracked is None or tracked.is_clean():
                return WriteDone(saved=True)
            return await self.save_by_policy(tracked, was_user_dirty or tracked.is_user_dirty())

        return WriteDone(saved=False, undecided=Undecided(write, uri, place.requested, save))

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
        try:
            with tracked.being_saved():
                answer = await self._editor.save(document.client_uri, document.version, exact=exact)
        except (EditorGone, EditorRefused, EditorTimeout):
            answer = Saved(False)
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
