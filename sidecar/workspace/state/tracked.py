"""Tracked: what the workspace knows about an open document besides its text: the disk's text, and who made the unsaved edits.

LSP has no dirty bit. Clean means: equal to the disk at didOpen or didSave, with no edit since. User-dirty means: the user made some of the edits since
then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.inflight import InFlight, Others, Ours, Phase
from sidecar.core.kept import Kept
from sidecar.core.ledger import Author, Hunk, ReviewThen
from sidecar.core.made_too import made_too
from sidecar.core.normal import normal, says
from sidecar.core.overlay import Document
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Stat
from sidecar.workspace.state.disk_texts import DiskTexts
from sidecar.workspace.state.hunks_then import HunksThen, Noted
from sidecar.workspace.state.save_history import SaveHistory
from sidecar.workspace.state.watch import News, Watch

Landing = Callable[[Text, ChangeSet, Text], None]
"""The callback for when an edit was seen in its document: (the text before, the changes, the text after)."""


OthersEdit = Callable[["Tracked", Edit, int, Callable[[], Text | None], Callable[[], Text]], None]
Lands = Callable[[Text, Text], AbstractContextManager[None]]
MAX_TAKEN_BACK = 32
"""How many unsaved rejections of one document are remembered: the newest."""


class TakenBack(NamedTuple):
    """A text (raw) of a document in which the user took agents' work back, and the changes that did so."""

    before: Text
    changes: ChangeSet
    at: int = 0
    """The number, in the document's history, of the text that it had then."""

    def out_of(self, text: str) -> str:
        """`text` (raw) with the same work taken back. Unchanged where others have worked in the same place."""
        return made_too(str(self.before), self.changes, text)


def out_of(text: str, taken_back: Sequence[TakenBack]) -> str:
    """`text` (raw) with all of that work taken back."""
    for one in taken_back:
        text = one.out_of(text)
    return text


@dataclass(slots=True)
class Tracked:
    """One open document. Texts are in the compared form of `core.normal`."""

    document: Document
    history: SaveHistory
    saved: Kept | None = None
    """The text on the disk when mirror and disk were last compared. None if there is no file or it cannot be decoded."""
    stat: Stat | None = None
    """The file's state when `saved` was read. None: mirror and disk must be compared again."""
    since: Stat | None = None
    """The file's state when it was first found to hold `saved`; kept even if mirror and disk must be compared again."""
    before_gone: Kept | None = None
    """The value of `saved` when the file was last found gone."""
    user_dirty: bool = False
    edited: bool = False
    """There were edits since the document's text equalled the disk's."""
    flight: InFlight | None = None
    """Our edit that is on its way."""
    quiet: bool = False
    """Changes that arrive now are neither the user's nor an agent's (the editor reloads, or its save participants run)."""
    text_at_save: Text | None = None
    """The mirror at the last didSave, raw."""
    saves: int = 0
    """The number of didSave notifications received, to notice another one."""
    looking: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while mirror and disk are reconciled. A document that is opened again meanwhile has the same lock: an editor may report the reload as
    closing and opening, and its outcome must be entered before anything else is done there."""
    news: News = field(default_factory=News)
    """Rings when the edit on its way settles, or the document is closed."""
    closed: bool = False
    observed: anyio.Event = field(default_factory=anyio.Event)
    """Set when the disk was checked after didOpen."""

    saving: bool = False
    """The editor was asked to save the document: the text on the disk is about to change."""
    apart: bool = False
    """The disk changed in the same place as the mirror: only the user may save over it."""
    refused: tuple[Stat | None, int] = (None, 0)
    """A state of the file, and how often the editor has refused to take over the file's text in that state."""
    together: Kept | None = None
    """The whole text of the disk that was last merged into the document."""
    disk: DiskTexts | None = None
    """The known texts of files on the disk, to which the text found there is added."""
    not_an_agents: OthersEdit | None = None
    """Called for every edit that is known not to be an agent's, with the length of the resulting text and with functions that return the texts
    before (None: it is forgotten) and after it."""

    was_edited: Callable[[Tracked, bool], None] | None = None
    """Called for every edit, with whether the document was clean before it."""
    lands_closed: Lands | None = None
    """Around the landing of an edit that was on its way when the document was closed; called with the texts before and after the edit."""
    hunks: Callable[[], tuple[Hunk, ...]] = tuple
    """The ledger's current hunks."""
    hunks_then: HunksThen = field(default_factory=HunksThen)
    """The hunks in the texts that the disk may have. Empty if an agent edited since."""
    last_author: Author | None = None
    """The author of the newest write by an agent."""
    opened_with: Text | None = None
    """The text with which the document was opened (raw). None if the editor did not send it."""
    review_when_opened: ReviewThen | None = None
    """The review at the time when the document was opened."""
    taken_back: list[TakenBack] = field(default_factory=list[TakenBack])
    """The unsaved rejections in the document, oldest first."""
    counted: Kept | None = None
    """The file's text when the document was opened (compared form), once its changes have been attributed."""
    agents_edits: int = 0
    """The number of edits by agents, to notice another one."""

    # Opened and closed

    def tells(
        self,
        not_an_agents: OthersEdit,
        was_edited: Callable[[Tracked, bool], None],
        hunks: Callable[[], tuple[Hunk, ...]],
    ) -> None:
        """Whom it tells of edits, and where the ledger's hunks are: see the fields."""
        self.not_an_agents, self.was_edited, self.hunks = not_an_agents, was_edited, hunks

    def begins(self, text: Text | None) -> Text:
        """Record, and return, the text with which the document was opened (raw). None: what it says now."""
        self.opened_with = self.document.snapshot() if text is None else text
        return self.opened_with

    def is_reviewed(self, review: ReviewThen) -> None:
        """Record what was under review when the document was opened."""
        self.review_when_opened = review

    def counts(self, disk: str) -> None:
        """Record that the changes in `disk` (compared form), which the file had when the document was opened, have an author."""
        self.counted = self.kept(disk)

    def lands_in(self, lands: Lands) -> None:
        """What is to be around the landing of an edit that is on its way now that the document is closed."""
        self.lands_closed = lands

    # Mirror and disk

    def refuses(self, stat: Stat | None) -> int:
        """Record that the editor refused to take over the file's text in this state. Returns how often it has."""
        self.refused = stat, 1 + (self.refused[1] if self.refused[0] == stat else 0)
        return self.refused[1]

    def on_edit(self, document: Document, edit: Edit) -> None:
        self.history.edited(document.rope, edit, document.version)
        was_clean, self.edited = not self.edited, True
        if self.hunks_then.is_due(self.saves, is_clean=was_clean):
            self._note(was_clean=was_clean)
        if self.was_edited is not None:
            self.was_edited(self, was_clean)
        if self.flight is None:
            self.others_edit(edit, len(document.rope), self.history.before_newest, document.snapshot)
        if self.saved is not None and len(document.rope) == len(self.saved.text):
            self.is_clean()  # the editor may have taken this text from the disk; the next edit starts from there

    def _note(self, *, was_clean: bool) -> None:
        """Note the text before the newest edit, with the hunks in it."""
        before = self.history.before_newest()
        if before is None:
            self.hunks_then.file = None
            return
        noted = Noted(before, self.hunks(), self.history.newest - 1)
        if self.flight is None:
            self.hunks_then.note(noted, self.saves, is_clean=was_clean)
        elif not self.flight.story.edits:  # the edits since it was sent are not attributed yet
            self.hunks_then.leaves(noted, self.saves, is_clean=was_clean)

    def others_edit(
        self,
        edit: Edit,
        length: int,
        before: Callable[[], Text | None],
        after: Callable[[], Text],
        *,
        is_users: bool = True,
    ) -> None:
        """Record an edit by the user or by the editor itself. `before` and `after` return the texts before and after it; `length` is the length of
        the resulting text in code points."""
        if is_users and not self.quiet:
            self.user_typed()
            self.history.users_edit()
        if self.not_an_agents is not None:
            self.not_an_agents(self, edit, length, before, after)

    def takes_back(self, made: TakenBack, landed: int) -> None:
        """Record that the user took agents' work back in the document, which is not saved yet. `landed`: the number of the text that this led to."""
        self.history.taken_back(landed)
        newest = [*self.taken_back, made._replace(at=landed)]
        self.taken_back = newest[-MAX_TAKEN_BACK:]

    def was_taken_back(self, earlier: Sequence[TakenBack]) -> None:
        """Record unsaved rejections in the document, made before it was opened again."""
        self.taken_back = [*(one._replace(at=0) for one in earlier), *self.taken_back]

    def agent_edits(self, author: Author) -> None:
        """Record an edit by an agent."""
        self.last_author, self.agents_edits = author, self.agents_edits + 1

    def still_taken_back(self) -> list[TakenBack]:
        """The unsaved rejections except those that the user has undone since."""
        if not self.taken_back:
            return []
        said = self.text()
        return [one for one in self.taken_back if one.out_of(said) == said]

    def closes(self) -> None:
        """Record that the editor closed the document."""
        self.closed = True
        self.observed.set()
        if self.flight is not None:
            self.flight.closes()
            self.news.ring()

    @property
    def said(self) -> Kept | None:
        """The file's text when the two were last compared or, if the file was gone then, its last text before."""
        return self.before_gone if self.saved is None and self.stat is None else self.saved

    @property
    def client_uri(self) -> str:
        """The URI in the client's spelling."""
        return self.document.client_uri or self.document.uri

    @property
    def name(self) -> str:
        """The document's name in messages to the user."""
        return to_path(self.document.uri) or self.document.uri

    def text(self) -> str:
        return normal(str(self.document.snapshot()))

    def before_it_is_back(self, known: str | None, now: str) -> str | None:
        """The common text (compared form) of the document and its file, after the file was gone: the file's earlier text without what was taken back
        in the document meanwhile, unless the file says that still. `known`: that earlier text, if it is known from elsewhere. `now`: what the file says.
        None if nobody knows the earlier text."""
        text = str(self.before_gone) if known is None and self.before_gone is not None else known
        gone = [one for one in self.taken_back if one.out_of(now) == now]
        return None if text is None else out_of(text, gone)

    def says(self, text: AnyText) -> bool:
        """Whether the compared form of the document's text is `text`."""
        return says(self.document.snapshot(), text)

    async def becomes(self, text: AnyText, seconds: float) -> bool:
        """Whether the document gets the text `text` (compared form) within that many seconds."""
        watch = Watch(self.document, as_text(text))
        try:
            return self.says(text) or await watch.wait(seconds)
        finally:
            watch.close()

    # An edit of ours on its way

    def sends(self, flight: InFlight, news: News) -> None:
        """An edit of ours is sent. Until it settles, nothing is planned for the document."""
        self.flight, self.news = flight, news

    def rests(self, flight: InFlight) -> None:
        """The edit is no longer on its way to this document."""
        if self.flight is flight:
            self.flight = None
            self.news.ring()

    def settles(self, flight: InFlight, landing: Landing | None) -> None:
        """Settle an edit: attribute every change received since it was sent. Without `landing`, the edit belongs to nobody."""
        self.rests(flight)
        for one in flight.account(is_ours=landing is not None and flight.phase is not Phase.THERE):
            match one:
                case Ours(before, changes, after):
                    self.hunks_then.forget()
                    if landing is not None:
                        closed = self.lands_closed if self.closed else None
                        with nullcontext() if closed is None else closed(before, after):
                            landing(before, changes, after)
                case Others(edit, was, now, is_users):
                    if not self.closed:
                        self.others_edit(
                            edit, len(now), lambda was=was: was, lambda now=now: now, is_users=is_users
                        )

    async def rest(self, seconds: float) -> bool:
        """Wait for at most that many seconds until no edit of ours is on its way. Returns whether none is."""
        with anyio.move_on_after(seconds):
            while self.flight is not None:
                await self.news.wait()
        return self.flight is None

    def settled_text(self) -> Text:
        """The newest text in which every change is attributed."""
        return self.document.snapshot() if self.flight is None else self.flight.story.before

    def settled_version(self) -> int:
        """The version of `settled_text`."""
        return self.document.version if self.flight is None else self.flight.story.version

    # Clean or dirty

    def was_written(self) -> None:
        """Record that the document has unsaved work of the user's."""
        self.edited = self.user_dirty = True

    def user_typed(self) -> None:
        """Record that some of the edits since the document was last equal to its file are the user's."""
        self.user_dirty = True

    def agent_alone(self) -> None:
        """Record that none of these edits is the user's."""
        self.user_dirty = False

    def is_unwritten(self) -> None:
        """Record that the document has nothing that its file lacks."""
        self.edited = self.user_dirty = False

    def is_clean(self) -> bool:
        """Whether the document equals the disk as last seen. Undoing every edit makes a document clean again."""
        if not self.edited:
            return self.saved is not None
        if self.saved is not None and self.saved.is_said_by(self.document.snapshot()):
            self.is_unwritten()
            return True
        return False

    def is_user_dirty(self) -> bool:
        return not self.is_clean() and self.user_dirty

    def stays_unsaved(self) -> None:
        """Record that the editor took the disk's text and put the user's unsaved work on top of it."""
        if not self.is_clean():
            self.was_written()
            self.history.users_edit()

    def on_disk(self, text: Kept | str | None, stat: Stat | None) -> None:
        """Record that the disk was read and holds `text` (compared form)."""
        if text is not None and self.disk is not None:
            self.disk.seen(self.document.uri, text)
        if text is None and self.saved is not None:
            self.before_gone = self.saved
        self.saved, self.stat = self.kept(text), stat
        self.since = stat

    def not_yet(self, before: str, *, is_users: bool | None = None) -> None:
        """Record that the document is not reconciled with the disk: the next comparison starts as if the disk had held `before` (compared form).
        `is_users`: whether the document's difference from it is the user's; None: as already known."""
        self.saved, self.stat = self.kept(before), None
        if is_users is not None:
            self.edited = self.user_dirty = is_users

    def begins_with(self, before: str | None, since: Stat | None) -> None:
        """Record that the next comparison starts as the last one did: as if the disk had held `before` (compared form) since it had that stat."""
        self.saved, self.since = self.kept(before), since

    def to_compare(self) -> None:
        """Record that the file may say something else now."""
        self.stat = None

    def reloaded(self, newer: int) -> None:
        """Record that the editor took the disk's text by itself, and then made that many edits."""
        self.edited = self.user_dirty = newer > 0

    def falls_apart(self) -> None:
        """Record that the disk changed in the same place as the document."""
        self.apart = True

    def fits(self) -> None:
        """Record that the document and its file are in no conflict."""
        self.apart = False

    def has(self, disk: Kept | str | None) -> None:
        """Record that the whole text of the disk, `disk` (compared form), is merged into the document."""
        self.together = self.kept(disk)

    @contextmanager
    def quietly(self) -> Generator[None]:
        """What arrives meanwhile is nobody's edit: the editor takes its file's text."""
        self.quiet = True
        try:
            yield
        finally:
            self.quiet = False

    @contextmanager
    def being_saved(self) -> Generator[None]:
        """The editor was asked to save the document."""
        self.text_at_save, self.saving = None, True
        try:
            yield
        finally:
            self.saving = False

    def told_saved(self) -> Text:
        """Record a didSave, and return the document's text (raw)."""
        text = self.document.snapshot()
        self.saves += 1
        self.history.told()
        self.taken_back = self.still_taken_back()  # who saves what they brought back wants it
        if self.flight is not None:
            self.flight.story.saved(self)
        if self.text_at_save is None:  # the user may save once more right after us
            self.text_at_save = text
        return text

    def is_known_with(self, stat: Stat | None) -> bool:
        """Whether the disk, where the file has this stat (None: there is none), was read since it was written. Of a file that was to be compared once
        more (`not_yet`), and is gone since, that is not known."""
        return stat == self.stat and (stat is not None or self.saved is None)

    def on_disk_is(self, number: int, text: str, stat: Stat | None, *, by_editor: bool) -> None:
        """Record that the disk was read and holds `text`, which is the document's text with this number. `by_editor`: the editor saved it. The
        document's later changes count as unsaved, whatever the editor reported."""
        if by_editor and self.disk is not None:
            self.disk.saved_was(self.document.uri, text)
            self.saved, self.stat = self.kept(text), stat
            self.since = stat
            self.taken_back = [one for one in self.taken_back if one.at > number]
            self.hunks_then.forget(before=number)
        else:
            self.on_disk(text, stat)
            self.hunks_then.forget()
        self.edited, self.user_dirty = self.history.is_on_disk(number, by_editor=by_editor)
        self.is_clean()  # it may have that text again
        self.hunks_then.found(self.saved)

    def not_saved(self, text: Text) -> None:
        """Record that the last reported save, of `text` (raw), was not made: the disk still has the text that was last read."""
        self.history.untold()
        if self.disk is not None:
            self.disk.unwritten(self.document.uri, text)

    def kept(self, text: Kept | str | None) -> Kept | None:
        """`text` (compared form) in the form to keep beside the document. It shares its equal parts with the document and the disk's text."""
        if not isinstance(text, str):
            return text
        known = None if self.disk is None else self.disk.newest(self.document.uri)
        return known if known is not None and known == text else Kept.of(text, self.document.snapshot())

    def was_saved(self, text: str) -> bool:
        """Whether the disk's text, `text` (compared form), was put there by the editor when it saved this document before it was opened again."""
        return self.disk is not None and self.disk.is_editors(self.document.uri, text)

    def was_left_unsaved(self, text: str) -> bool:
        """Whether the document had unsaved changes and the text `text` (compared form) when it was closed before this opening. Neovim reports an
        undo that goes back over a reload in this way."""
        return self.disk is not None and self.disk.was_left_unsaved(self.document.uri, text)

    def has_taken_back(self, text: str) -> bool:
        """Whether the document had `text` (compared form), which its file has, before it was closed and opened again with the unsaved text that it
        was closed with: the user took back what the file says. Neovim reports an undo that goes back over a reload in this way."""
        opened = self.document.snapshot() if self.opened_with is None else self.opened_with
        had = self.disk is not None and self.disk.had_when_closed(self.document.uri, text)
        return had and self.was_left_unsaved(normal(str(opened)))

    def was_on_disk_before(self, text: str) -> str | None:
        """The text that the disk was last found to have before its current `text`. Both in the compared form."""
        known = () if self.disk is None else self.disk.known(self.document.uri)
        return next((one for one in known if one != text), None)

    def is_on_disk(self, text: Text) -> bool:
        """Whether `text` is the text last found on the disk."""
        return self.disk is not None and self.disk.is_text(self.document.uri, text)

    def on_disk_texts(self) -> tuple[Text, ...]:
        """The texts that the document is compared with after each edit (compared form)."""
        newest = None if self.disk is None else self.disk.newest(self.document.uri)
        return tuple(one.text for one in (self.saved, newest) if one is not None)

    def earlier_on_disk(self, opened: Text) -> Sequence[str]:
        """The texts that the disk held (compared form, newest first) and on which the editor may have made an edit before it reported the document
        open with `opened`. Empty if the disk has `opened` itself: then no edit was made."""
        if self.disk is None or self.is_on_disk(opened):
            return ()
        return self.disk.known(self.document.uri)

    def was_on_disk(self, text: str) -> bool:
        """Whether the disk is known to have ever held `text` (compared form)."""
        return self.disk is not None and self.disk.knows(self.document.uri, text)
