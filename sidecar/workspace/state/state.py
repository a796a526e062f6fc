"""State: everything mutable of one workspace in one place. Nothing here awaits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from sidecar.config import Settings
from sidecar.core.any_text import AnyText
from sidecar.core.belief import Beliefs, Candidate
from sidecar.core.change import Edit
from sidecar.core.led_to import steps
from sidecar.core.ledger import Hunk
from sidecar.core.normal import normal
from sidecar.core.overlay import Document, Modification, Notified, Overlay
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled, to_path
from sidecar.workspace.state.documents import Documents
from sidecar.workspace.state.ledgers import Ledgers, Reviewed
from sidecar.workspace.state.opaque import Opaque
from sidecar.workspace.state.queues import Queues
from sidecar.workspace.state.saved_as import SavedAs
from sidecar.workspace.state.sessions import Session, Sessions
from sidecar.workspace.state.storage import Storage
from sidecar.workspace.state.tracked import Tracked


@dataclass(slots=True)
class State:
    """Overlay, beliefs, sessions, queues."""

    settings: Settings
    storage: Storage
    overlay: Overlay = field(default_factory=Overlay)
    documents: Documents = field(default_factory=Documents)
    beliefs: Beliefs = field(default_factory=Beliefs)
    sessions: Sessions = field(default_factory=Sessions)
    ledgers: Ledgers = field(default_factory=Ledgers)
    queues: Queues = field(default_factory=Queues)
    reopened: Callable[[Tracked, Text, Sequence[Edit]], None] = lambda tracked, text, edits: None
    """Called for every opened document, with its text and the changes that arrived before the opening."""

    made_folders: set[str] = field(default_factory=set[str])
    """Folders that were made for agents' files (canonical paths). A folder that is empty without these files is removed with them."""
    gapped: Callable[[Document], None] = lambda document: None
    """Called for every document with changes that wait for an earlier one."""
    edited: Callable[[Tracked, bool], None] = lambda tracked, was_clean: None
    """Called for every edit of a document, with whether the document was clean before it."""

    opaque: Opaque = field(init=False)
    saved_as: SavedAs = field(init=False)

    def __post_init__(self) -> None:
        self.opaque = Opaque(self.storage)
        self.saved_as = SavedAs(self.documents, self.ledgers, self.beliefs)
        self.documents.disk.moment = self.beliefs.moment
        self.overlay.like = self._like

    def _like(self, uri: DocumentUri) -> Text | None:
        """The text that a document probably has when it is opened: the file's last known text, including the work under review."""
        reviewed, newest = self.ledgers.get(uri), self.documents.disk.newest(uri)
        if reviewed is not None:
            return reviewed.text
        return None if newest is None else newest.text

    def apply(self, modification: Modification) -> tuple[Tracked | None, str | None]:
        """Apply one change from the editor. Returns the document to check on the disk, and an oddity to log."""
        uri, told = modification.uri, modification
        if modification.action is Notified.SAVE:
            modification = self._of_its_own_text(modification)
        with self._in_one(modification):
            applied = self.overlay.apply(modification)
        match modification.action:
            case Notified.OPEN if applied.document is not None:
                if applied.document.early:
                    self.gapped(applied.document)
                text = None
                if applied.early:
                    text = Text.of(modification.text or "")
                return self._opened(applied.document, text, applied.early), applied.note
            case Notified.CLOSE:
                self._closed(uri)
                return None, applied.note
            case Notified.SAVE:
                tracked = self.documents.get(uri)
                if tracked is not None:
                    tracked.told_saved()
                    if self._may_be_written(tracked):
                        saved = self.text_saved(tracked, told)
                        self.documents.disk.written(uri, saved, self.beliefs.moment(), by_editor=True)
                return tracked, applied.note
            case Notified.CHANGE if applied.document is not None and self.documents.get(uri) is None:
                # Changed before it was opened (Helix): it is known to be open, but its text is not known.
                self._opened(applied.document)
                return None, applied.note
            case Notified.CHANGE if applied.document is not None and applied.document.early:
                self.gapped(applied.document)
                return None, applied.note
            case _:
                return None, applied.note

    def _in_one(self, modification: Modification) -> AbstractContextManager[None]:
        """Make several changes that arrive together one step for the review."""
        tracked, reviewed = self.documents.get(modification.uri), self.ledgers.get(modification.uri)
        if tracked is None or tracked.flight is not None or len(modification.changes) < 2:
            return nullcontext()
        if reviewed is None or not reviewed.live or reviewed.ledger.is_idle:
            return nullcontext()
        return reviewed.in_one(tracked.document.snapshot)

    def _of_its_own_text(self, save: Modification) -> Modification:
        """The save without its text, if the document has had that text since its last known save. Then the mirror is right, and the text only says which
        version was saved. Helix reports it late, with keys typed since. The disk is looked at, as for every save.
        """
        tracked = self.documents.get(save.uri)
        if tracked is None or save.text is None or tracked.document.desynchronised is not None:
            return save
        if tracked.says(normal(save.text)):  # the usual case
            return save
        return save._replace(text=None) if tracked.history.had(save.text) else save

    def text_saved(self, tracked: Tracked, save: Modification) -> Text:
        """The text that a reported save most likely wrote: the document's or, while changes of it wait for an earlier one, the one that came with the
        save, which may include them (Helix). The document may be closed before they are applied."""
        is_ahead = save.text is not None and bool(tracked.document.early)
        return Text.of(save.text or "") if is_ahead else tracked.document.snapshot()

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        """Move what is known about the old names to the new ones, after a file or folder was renamed."""
        known = self.beliefs.known() | {reviewed.uri for reviewed in self.ledgers}
        for uri in known:
            if uri != old and not uri.startswith(old.rstrip("/") + "/"):
                continue
            name = DocumentUri(new + uri[len(old) :])
            self.beliefs.renamed(uri, name)
            self.documents.disk.renamed(uri, name)
            reviewed = self.ledgers.renamed(uri, name)
            if reviewed is not None:
                was, tracked = self.documents.get(uri), self.documents.get(name)
                if reviewed.live and was is not None:
                    reviewed.closed(was.document.snapshot())
                reviewed.live = False
                if tracked is not None:
                    reviewed.opened(tracked.document.snapshot())
                self.ledgers.moved(reviewed)

    def back_under(self, old: DocumentUri, new: DocumentUri, text: str) -> None:
        """Prepare for a renamed file to be created anew under its old name: what was under review in it when it was renamed from `old` to `new`, with
        `text` (raw), is then under review under both names, independently. While there is no file, nothing is listed. A document that is open under the
        old name has its own review."""
        reviewed, tracked = self.ledgers.get(new), self.documents.get(new)
        if reviewed is None or not reviewed.ledger.hunks:
            return
        if self.ledgers.get(old) is not None or self.documents.get(old) is not None:
            return
        now = tracked.document.snapshot() if reviewed.live and tracked is not None else reviewed.text
        copy = self.ledgers.restore(old, str(now), reviewed.ledger.hunks)
        copy.seen(Text.of(text))
        copy.gone()
        self.ledgers.moved(copy)

    def candidates(
        self, session: Session, uri: DocumentUri, moment: int, like: AnyText | None = None
    ) -> tuple[Candidate, ...]:
        """The texts that a write received at `moment` may be based on: what the session believed then and, if it may have read the disk without us,
        what the disk held then and before. `like`: the document's text, in the compared form."""
        since = self.beliefs.believed_since(session.id, uri, moment)
        texts: Sequence[AnyText] = ()
        # Whoever was only ever given parts had the rest from elsewhere
        has_asked_us = bool(since) and session.has_asked_us(uri, since or 0, moment)
        if since is None or session.may_have_read_behind(uri, since, moment):
            own = self.beliefs.own(session.id, uri, moment)
            again = None if own is None else session.behind_again(uri, own.done, moment)
            texts = self.documents.disk.between(
                uri, session.behind_since(uri, since or 0, moment), moment, own, again
            )
        return self.beliefs.candidates(session.id, uri, texts, moment, like=like, has_asked_us=has_asked_us)

    def came_from_disk(self, session: Session, tracked: Tracked, wanted: AnyText, moment: int) -> bool:
        """Whether the document already equals `wanted` because this very text was put on the disk since the session last saw the document, and was
        then merged into it. Agents that write the disk themselves send the same text through us."""
        since = self.beliefs.believed_since(session.id, tracked.document.uri, moment) or 0
        since = session.behind_since(tracked.document.uri, since, moment)
        was_put = self.documents.disk.was_put_after(tracked.document.uri, wanted, since)
        return was_put and tracked.saved == tracked.together == wanted

    def _opened(self, document: Document, text: Text | None = None, early: Sequence[Edit] = ()) -> Tracked:
        tracked = self.documents.opened(document)
        tracked.tells(self._others_edit, self.edited, lambda: self._hunks(document.uri))
        if document.desynchronised is None:
            self.documents.disk.guessed(document.uri, document.snapshot() if text is None else text)
        if document.desynchronised is None:
            text = tracked.begins(text)
            self.reopened(tracked, text, early)
            reviewed = self.ledgers.get(document.uri)
            if reviewed is not None:
                if not reviewed.live:
                    tracked.is_reviewed(reviewed.ledger.now(str(reviewed.text)))
                # The ledger learns of what came while an edit of ours is on its way when the edit is settled.
                now = text if tracked.flight is None else tracked.settled_text()
                is_known = self.documents.disk.was_taken_back(document.uri, reviewed.text, now)
                reviewed.opened(now, is_known=is_known)
                if tracked.flight is None:
                    for edit, before, after in steps(text, early):
                        reviewed.user_edit(edit, len(after), lambda now=after: now, lambda was=before: was)
                self.ledgers.moved(reviewed)
        return tracked

    def _may_be_written(self, tracked: Tracked) -> bool:
        """Whether the file has changed since it was last seen. Neovim also reports a save that the user declined."""
        path = to_path(tracked.document.uri)
        return path is None or tracked.stat is None or self.storage.stat(path) != tracked.stat

    def _closed(self, uri: DocumentUri) -> None:
        tracked = self.documents.closed(uri)
        if tracked is not None:
            self.documents.disk.closed(uri, tracked.history.said_at)
            if not tracked.is_clean():
                self.documents.disk.closed_with(uri, tracked.text(), tracked.history.edited_at)
        reviewed = self.ledgers.get(uri)
        if tracked is not None and reviewed is not None:
            # The ledger learns of what came while an edit of ours is on its way when the edit is settled.
            closed = tracked.settled_text()
            reviewed.closed(closed)
            tracked.lands_in(partial(self._lands, reviewed, closed))
            file = None if tracked.history.is_told else tracked.hunks_then.file
            if file is not None and not tracked.is_clean():
                reviewed.thrown_away(file.text, file.hunks)
                self.ledgers.moved(reviewed)
        if is_untitled(uri):
            if tracked is not None:
                self.saved_as.ends(uri, tracked.settled_text())
            self._thrown_away(uri)

    def _lands(
        self, reviewed: Reviewed, closed: Text, before: Text, after: Text
    ) -> AbstractContextManager[None]:
        """As `Reviewed.lands`, unless the document is open again or its review was forgotten."""
        is_its = self.ledgers.get(reviewed.uri) is reviewed and not reviewed.live
        return reviewed.lands(closed, before, after) if is_its else nullcontext()

    def is_reviewed(self, tracked: Tracked) -> bool:
        """Whether nothing is under review in a document that was just closed. If the editor had taken something from the disk that nobody has looked
        at yet, the earlier review is still needed, and this is False."""
        reviewed = self.ledgers.get(tracked.document.uri)
        return reviewed is not None and not reviewed.ledger.hunks and tracked.is_clean()

    def forget_review(self, uri: DocumentUri) -> int:
        """Forget the review of a document that was closed a while ago, if still nothing in it is under review; after that, no undo brings hunks back.
        Returns the number of code points of the text that is released."""
        reviewed = self.ledgers.get(uri)
        if reviewed is None or reviewed.live or reviewed.ledger.hunks:
            return 0
        self.ledgers.forget(uri)
        return len(reviewed.text)

    def _thrown_away(self, uri: DocumentUri) -> None:
        """Forget a document without a file that was closed: it is gone, and the editor gives its name to another one."""
        self.beliefs.forget(uri)
        for session in self.sessions:
            session.went_along.discard(uri)
        if self.ledgers.get(uri) is not None:
            self.ledgers.forget(uri)
            self.ledgers.moved(Reviewed(uri, Text.of("")))  # nothing is left to review

    def _hunks(self, uri: DocumentUri) -> tuple[Hunk, ...]:
        reviewed = self.ledgers.get(uri)
        return () if reviewed is None else reviewed.ledger.hunks

    def _others_edit(
        self,
        tracked: Tracked,
        edit: Edit,
        length: int,
        before: Callable[[], Text | None],
        after: Callable[[], Text],
    ) -> None:
        uri = tracked.document.uri
        self.saved_as.edited(tracked, edit, length)
        if length == 0 and is_untitled(uri):
            was = before()
            if was is not None and self.saved_as.ends(uri, was):
                return
        reviewed = self.ledgers.get(uri)
        if reviewed is None or not reviewed.live:
            return  # it is brought up to the whole text once that is known
        has_moved = reviewed.user_edit(edit, length, after, before)
        file = tracked.hunks_then.file
        if file is not None and len(file.text) == length and file.text == after():
            has_moved |= reviewed.goes_to(file.hunks)  # the unsaved work was thrown away, or undone
        if has_moved:
            self.ledgers.moved(reviewed)
