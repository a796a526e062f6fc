"""Tracked: what the workspace knows about an open document beyond its text: the text on disk, and who made the unsaved edits.

LSP has no dirty bit. Clean means: equal to the disk at didOpen or didSave, with no edit since. User-dirty means: the user made
some of the edits since then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakValueDictionary

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
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Stat
from sidecar.workspace.state.disk_texts import DiskTexts
from sidecar.workspace.state.hunks_then import HunksThen, Noted
from sidecar.workspace.state.save_history import SaveHistory
from sidecar.workspace.state.watch import News, Watch

Landing = Callable[[Text, ChangeSet, Text], None]
"""What to call when an edit was seen in its document: (the text before, the changes, the text after)."""


MAX_TAKEN_BACK = 32
"""How many rejections of one document are remembered that are not saved; the newest ones."""


class TakenBack(NamedTuple):
    """The text (raw) of a document in which the user took agents' work back, and the changes that did so."""

    before: Text
    changes: ChangeSet
    at: int = 0
    """The number (of its history) of what the document said then."""

    def out_of(self, text: str) -> str:
        """`text` (raw) once that is taken back in it, too; as it is, where others have worked in the same place."""
        return made_too(str(self.before), self.changes, text)


@dataclass(slots=True)
class Tracked:
    """One open document. Texts are in the compared form of `core.normal`."""

    document: Document
    history: SaveHistory
    saved: Kept | None = None
    """The text on disk when mirror and disk were last compared; None if there is no file or it cannot be decoded."""
    stat: Stat | None = None
    """The file's state when `saved` was read; None: the two are to be looked at again."""
    since: Stat | None = None
    """The file's state when it was first found to say `saved`, also where the two are to be looked at again."""
    before_gone: Kept | None = None
    """What `saved` was when its file was last found gone."""
    user_dirty: bool = False
    edited: bool = False
    """There were edits since the text equalled the disk's."""
    flight: InFlight | None = None
    """The edit of ours that is on its way."""
    quiet: bool = False
    """Changes that arrive now are neither the user's nor an agent's (the editor's reload, its save participants)."""
    text_at_save: Text | None = None
    """The mirror at the last didSave, raw."""
    saves: int = 0
    """The number of didSave received, to notice another one."""
    looking: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while mirror and disk are reconciled. A document that is opened again meanwhile has the same: an editor may tell that as its closing and
    opening, and what comes of it is entered before anything else is done there."""
    news: News = field(default_factory=News)
    """Of that edit: it is settled, or the document is closed."""
    closed: bool = False
    observed: anyio.Event = field(default_factory=anyio.Event)
    """Set when the disk was checked after didOpen."""

    saving: bool = False
    """The editor was asked to save it: the text on disk is about to change."""
    apart: bool = False
    """The disk changed in the same place as the mirror: only the user may save over that."""
    refused: tuple[Stat | None, int] = (None, 0)
    """How often the editor has refused to take what the file says, by the file's state."""
    together: Kept | None = None
    """The whole text on disk that was last merged into the document."""
    disk: DiskTexts | None = None
    """Called with the text found on disk."""
    not_an_agents: (
        Callable[[Tracked, Edit, int, Callable[[], Text | None], Callable[[], Text]], None] | None
    ) = None
    """Called for every edit that is known not to be an agent's, with the length that it led to, and with what gives the texts before (None: it is
    forgotten) and after it."""

    was_edited: Callable[[Tracked, bool], None] | None = None
    """Called for every edit; with whether the document was clean before it."""
    hunks: Callable[[], tuple[Hunk, ...]] = tuple
    """The ledger's current hunks."""
    hunks_then: HunksThen = field(default_factory=HunksThen)
    """The hunks in the texts that the disk may say; nothing if an agent edited since."""
    last_author: Author | None = None
    """The author of the newest write for an agent."""
    opened_with: Text | None = None
    """What it said when it was opened (raw); None: its editor did not tell."""
    review_when_opened: ReviewThen | None = None
    """What was under review when the document was opened."""
    taken_back: list[TakenBack] = field(default_factory=list[TakenBack])
    """What the user took back in it that is not saved, oldest first."""
    counted: Kept | None = None
    """What its file said when it was opened (compared form), once it is counted whose that is."""
    agents_edits: int = 0
    """The number of edits for agents, to notice another one."""

    def refuses(self, stat: Stat | None) -> int:
        """The editor has refused to take what the file says in this state; how often that was."""
        self.refused = stat, 1 + (self.refused[1] if self.refused[0] == stat else 0)
        return self.refused[1]

    def on_edit(self, document: Document, edit: Edit) -> None:
        self.history.edited(document.rope, edit)
        was_clean, self.edited = not self.edited, True
        if self.hunks_then.is_due(self.saves, is_clean=was_clean):
            self._note(was_clean=was_clean)
        if self.was_edited is not None:
            self.was_edited(self, was_clean)
        if self.flight is None:
            self.others_edit(edit, len(document.rope), self.history.before_newest, document.snapshot)
        if self.saved is not None and len(document.rope) == len(self.saved.text):
            self.is_clean()  # the editor may have taken it from the disk, and the next edit begins there

    def _note(self, *, was_clean: bool) -> None:
        """The text before the newest edit, with the hunks in it."""
        before = self.history.before_newest()
        if before is None:
            self.hunks_then.file = None
            return
        noted = Noted(before, self.hunks(), self.history.newest - 1)
        if self.flight is None:
            self.hunks_then.note(noted, self.saves, is_clean=was_clean)
        elif not self.flight.story.edits:  # of what came since it was sent, nobody knows yet whose it is
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
        """An edit by the user or by the editor itself, which led from one text to the other; `length` is that of the resulting text."""
        if is_users and not self.quiet:
            self.user_dirty = True
            self.history.users_edit()
        if self.not_an_agents is not None:
            self.not_an_agents(self, edit, length, before, after)

    def takes_back(self, made: TakenBack) -> None:
        """The user has taken agents' work back in it, which was not saved."""
        newest = [*self.taken_back, made._replace(at=self.history.newest)]
        self.taken_back = newest[-MAX_TAKEN_BACK:]

    def still_taken_back(self) -> list[TakenBack]:
        """Less what the user brought back by an undo since."""
        said = self.text()
        return [one for one in self.taken_back if one.out_of(said) == said]

    def closes(self) -> None:
        """The editor closed it."""
        self.closed = True
        self.observed.set()
        if self.flight is not None:
            self.flight.closes()
            self.news.ring()

    @property
    def said(self) -> Kept | None:
        """What its file said when the two were last compared or, where it was gone then, before."""
        return self.before_gone if self.saved is None and self.stat is None else self.saved

    @property
    def client_uri(self) -> str:
        """As the client spells it."""
        return self.document.client_uri or self.document.uri

    @property
    def name(self) -> str:
        """What the user is told it is called."""
        return to_path(self.document.uri) or self.document.uri

    def text(self) -> str:
        return normal(str(self.document.snapshot()))

    def before_it_is_back(self, known: str | None) -> str | None:
        """What the document and its file, which was gone, have in common (compared form): what the file said before, less what was taken back in the
        document meanwhile. `known`: what it said, if that is known from elsewhere; None: nobody knows."""
        text = str(self.before_gone) if known is None and self.before_gone is not None else known
        for one in self.taken_back if text is not None else ():
            text = one.out_of(text or "")
        return text

    def says(self, text: AnyText) -> bool:
        """Whether its compared form is `text`."""
        return says(self.document.snapshot(), text)

    async def becomes(self, text: AnyText, seconds: float) -> bool:
        """Whether the document's text is `text` (compared form), after waiting for it at most that long."""
        watch = Watch(self.document, as_text(text))
        try:
            return self.says(text) or await watch.wait(seconds)
        finally:
            watch.close()

    # An edit of ours on its way

    def sends(self, flight: InFlight, news: News) -> None:
        """From now on nothing is planned for the document."""
        self.flight, self.news = flight, news

    def rests(self, flight: InFlight) -> None:
        """It is not on its way to this document any more."""
        if self.flight is flight:
            self.flight = None
            self.news.ring()

    def settles(self, flight: InFlight, landing: Landing | None) -> None:
        """Whose everything was that was received since it was sent is known now. Without `landing` the edit is nobody's."""
        self.rests(flight)
        for one in flight.account(is_ours=landing is not None and flight.phase is not Phase.THERE):
            match one:
                case Ours(before, changes, after):
                    self.hunks_then.forget()
                    if landing is not None:
                        landing(before, changes, after)
                case Others(edit, was, now, is_users):
                    if not self.closed:
                        self.others_edit(
                            edit, len(now), lambda was=was: was, lambda now=now: now, is_users=is_users
                        )

    async def rest(self, seconds: float) -> bool:
        """Whether no edit of ours is on its way, after waiting for that at most that long."""
        with anyio.move_on_after(seconds):
            while self.flight is not None:
                await self.news.wait()
        return self.flight is None

    def settled_text(self) -> Text:
        """The text of which everything is known whose it is."""
        return self.document.snapshot() if self.flight is None else self.flight.story.before

    def settled_version(self) -> int:
        """Of that text."""
        return self.document.version if self.flight is None else self.flight.story.version

    # Clean or dirty

    def is_clean(self) -> bool:
        """Equal to the disk as it was last seen. Undoing every edit makes a document clean again."""
        if not self.edited:
            return self.saved is not None
        if self.saved is not None and self.saved.is_said_by(self.document.snapshot()):
            self.edited = self.user_dirty = False
            return True
        return False

    def is_user_dirty(self) -> bool:
        return not self.is_clean() and self.user_dirty

    def on_disk(self, text: str | None, stat: Stat | None) -> None:
        """The disk was read and holds `text`."""
        if text is not None and self.disk is not None:
            self.disk.seen(self.document.uri, text)
        if text is None and self.saved is not None:
            self.before_gone = self.saved
        self.saved, self.stat = self.kept(text), stat
        self.since = stat

    def not_yet(self, before: str, *, is_users: bool | None = None) -> None:
        """It is not brought together with the disk: the next look begins with `before` (compared form), as if the disk had been found to say that.
        `is_users`: whether what it says beyond that is the user's; None: as is known."""
        self.saved, self.stat = self.kept(before), None
        if is_users is not None:
            self.edited = self.user_dirty = is_users

    def on_disk_is(self, number: int, text: str, stat: Stat | None, *, by_editor: bool) -> None:
        """The disk was read and holds `text`, which is the document's text with that number; `by_editor`: that was saved. What the document
        says beyond that is not saved, whatever the editor told."""
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
        self.hunks_then.found(self.saved)

    def not_saved(self, text: Text) -> None:
        """The save that was told last, with `text` (raw), was not carried out: the disk still says what it said when it was read before."""
        self.history.untold()
        if self.disk is not None:
            self.disk.unwritten(self.document.uri, text)

    def kept(self, text: Kept | str | None) -> Kept | None:
        """`text` (compared form), to be kept beside the document, sharing what is equal with it and with the disk's text."""
        if not isinstance(text, str):
            return text
        known = None if self.disk is None else self.disk.newest(self.document.uri)
        return known if known is not None and known == text else Kept.of(text, self.document.snapshot())

    def was_saved(self, text: str) -> bool:
        """Whether the disk's text `text` (compared form) was put there by the editor's saving this document, before it was opened again."""
        return self.disk is not None and self.disk.is_editors(self.document.uri, text)

    def was_left_unsaved(self, text: str) -> bool:
        """Whether the document that was closed before it was opened said `text` (compared form) and had unsaved changes. Neovim tells an undo that goes
        back over a reload so."""
        return self.disk is not None and self.disk.was_left_unsaved(self.document.uri, text)

    def was_on_disk_before(self, text: str) -> str | None:
        """What the disk was last found to say before `text` (both in the compared form), which it says now."""
        known = () if self.disk is None else self.disk.known(self.document.uri)
        return next((one for one in known if one != text), None)

    def is_on_disk(self, text: Text) -> bool:
        """Whether `text` is what the disk was last found to say."""
        return self.disk is not None and self.disk.is_text(self.document.uri, text)

    def earlier_on_disk(self, opened: Text) -> Sequence[str]:
        """What the disk held (compared form, the newest first), on which the editor may have made an edit before it told the document
        open with `opened`. Nothing when that is what the disk says: then nothing was made of it."""
        text = str(opened)
        if self.disk is None or "\r" in text or self.is_on_disk(opened):
            return ()
        return self.disk.known(self.document.uri)

    def was_on_disk(self, text: str) -> bool:
        """Whether the disk is known to have held `text` (compared form) once."""
        return self.disk is not None and self.disk.knows(self.document.uri, text)


class Documents:
    """All tracked documents, by normalised URI."""

    def __init__(self) -> None:
        self._by_uri: dict[DocumentUri, Tracked] = {}
        self._awaited: dict[DocumentUri, list[anyio.Event]] = {}
        self._looking = WeakValueDictionary[DocumentUri, anyio.Lock]()
        self.disk = DiskTexts()

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._by_uri.values()))

    def get(self, uri: DocumentUri) -> Tracked | None:
        return self._by_uri.get(uri)

    def opened(self, document: Document) -> Tracked:
        """The document was opened: nothing is known about the disk yet. If it is opened again, the rest of its state stays."""
        known = self._by_uri.get(document.uri)
        if known is not None and known.document is document:
            known.observed = anyio.Event()
            return known
        self.closed(document.uri)
        looking = self._looking.setdefault(document.uri, anyio.Lock())
        tracked = self._by_uri[document.uri] = Tracked(
            document, SaveHistory(document.snapshot()), looking=looking, disk=self.disk
        )
        document.listeners.append(tracked.on_edit)
        for event in self._awaited.pop(document.uri, ()):
            event.set()
        return tracked

    async def appearance(self, uri: DocumentUri) -> Tracked:
        """The document, once the editor has announced it; the caller bounds the wait."""
        while (tracked := self._by_uri.get(uri)) is None:
            event = anyio.Event()
            self._awaited.setdefault(uri, []).append(event)
            await event.wait()
        return tracked

    def closed(self, uri: DocumentUri) -> Tracked | None:
        tracked = self._by_uri.pop(uri, None)
        if tracked is not None:
            tracked.closes()
            if tracked.on_edit in tracked.document.listeners:
                tracked.document.listeners.remove(tracked.on_edit)
        return tracked
