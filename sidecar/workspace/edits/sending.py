"""Sender: sends one edit to the editor and finds out what became of it. It makes one attempt; the door decides whether to plan again.

`core/inflight.py` decides what follows from what. The sender reports to it the answer, the document's changes and the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.coordinates import TextEdit
from sidecar.core.diff import diff
from sidecar.core.inflight import (
    SECONDS,
    Action,
    Astray,
    Event,
    InFlight,
    Phase,
    is_same,
    made_untold,
)
from sidecar.core.led_to import led_to
from sidecar.core.misapplied import Separated
from sidecar.core.overlay import Document
from sidecar.core.text import Text
from sidecar.journal.entry import EntryState
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import DocumentEdit, EditAnswer, Editor, EditorGone, Opens
from sidecar.workspace.state.tracked import Landing, Tracked
from sidecar.workspace.state.watch import News, Watch

ANSWER_SECONDS = SECONDS[Phase.ASKED]
MIRROR_SECONDS = SECONDS[Phase.GRANTED]
RELOAD_SECONDS = 0.5
"""Seconds that an editor gets to reload a changed file by itself."""
_CORRECTIONS = 5
"""How often an edit at a wrong place is put right if newer typing keeps it there."""
_LATE_SECONDS = 600.0
"""Seconds to wait for an answer when the document already has the expected text."""
_MAX_UNSEEN = 8
"""How many edits of unknown whereabouts are remembered: the newest."""


class Request:
    """An applyEdit on its way. Several callers can await its answer."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: EditAnswer | None = None
        """After `answered` is set, None means that the editor is gone."""


@dataclass(slots=True)
class Sent:
    """An edit that was sent. `flight` says what became of it."""

    flight: InFlight
    tracked: Tracked
    """The document that the edit is in. It is another one if the document was closed and opened again on the way."""
    watch: Watch
    request: Request
    landing: Landing | None
    label: str = ""
    """The editor's name for the undo step."""
    what: str = "an edit"
    """What it is, in words for the user: "Claude's edit"."""
    disk: Text | None = None
    """The text on the disk that the edit is to bring into the document."""
    is_doors: bool = False
    """The door decides what becomes of it, however late it ends."""
    left: int = 0
    """How many edits of ours may still be at a wrong place in the document, after all that was tried."""
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set when an overdue edit has ended, and what must not stay of it was taken out, unless the door does that. Set also if that failed."""

    @property
    def landed(self) -> bool:
        return self.flight.phase in (Phase.EXACT, Phase.THERE)

    @property
    def is_unwanted(self) -> bool:
        """Whether the document has something of the edit that must not stay: at a wrong place, or of a text on the disk that the user has saved over. They want
        their own then, even if the change was already on its way."""
        is_outdated = (
            self.disk is not None and self.watch.saved_over and not self.tracked.is_on_disk(self.disk)
        )
        return self.flight.phase is Phase.DISPLACED or (self.landed and is_outdated)

    @property
    def was_saved_astray(self) -> bool:
        """Whether the edit was at a wrong place in a document that was saved and closed with it."""
        return self.tracked.closed and self.watch.saved_over and self.flight.without() is not None

    @property
    def reason(self) -> str:
        """Why the edit did not land, in words."""
        answer = self.request.answer
        if answer is None:
            return "the editor's connection ended"
        if not answer.applied:
            return answer.reason
        if self.flight.closed:
            return "the document was closed"
        return "the editor said that it applied the edit, but its text does not show it"

    def event(self) -> Event | None:
        """The answer, if there is one that `flight` has not been told yet."""
        if self.flight.phase not in (Phase.ASKED, Phase.OVERDUE) or not self.request.answered.is_set():
            return None
        answer = self.request.answer
        if answer is None:
            return Event.HUNG_UP
        return Event.YES if answer.applied else Event.NO

    def moves_to(self, tracked: Tracked, text: Text, edits: Sequence[Edit], known: Sequence[str]) -> None:
        """The document is open again as `tracked`. The other parameters are those of `InFlight.opens_again`."""
        self.tracked.rests(self.flight)
        self.watch.close()
        self.tracked = tracked
        self.watch = Watch(tracked.document, self.flight.expected, text, edits, self.watch.news)
        self.flight.opens_again(self.watch, known)
        tracked.sends(self.flight, self.watch.news)


class Reload:
    """A change on the disk that the editor may take over by itself."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    async def wait(self, seconds: float) -> bool:
        """Whether the editor took the change over within that many seconds. Ends the reload."""
        try:
            return await self._sent.watch.wait(seconds)
        finally:
            self.end()

    def end(self) -> None:
        self._sent.watch.close()
        self._sent.tracked.settles(self._sent.flight, self._sent.landing)


@dataclass(slots=True)
class Followed:
    """A document that is followed while the editor is asked for something other than an edit."""

    tracked: Tracked
    waiting: Watch
    """The watch of that document. Whoever waits for it is woken when the document is opened again."""
    watch: Watch | None = None
    """The watch of the document that was opened under the same name since, from its opening on. It continues if that document is closed and opened again
    too, as editors report a reload."""

    def opened_again(self, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> None:
        """The document is open again with `text`; `edits` of it have already been reported."""
        before, told = text, tuple(edits)
        if self.watch is not None:
            last = self.tracked.document.snapshot()
            before, told = self.watch.before, (*self.watch.edits, *_one_edit(str(last), str(text)), *edits)
            self.watch.close()
        self.tracked, self.watch = tracked, Watch(tracked.document, text, before, told)
        self.waiting.news.ring()


End = TypeVar("End")


@dataclass(frozen=True, slots=True)
class Stop(Generic[End]):
    """Send nothing more. `end` is the answer to whoever wanted the edit."""

    end: End


@dataclass(frozen=True, slots=True)
class Right(Generic[End]):
    """The text that a document should have after an edit came to a wrong place."""

    wanted: str
    landing: Landing | None = None
    end: Stop[End] | None = None
    """The answer then. None: plan again."""
    journal: EntryState = "failed"
    """The final state of the edit's journal entry."""


@dataclass(frozen=True, slots=True)
class Corrected(Generic[End]):
    """How the correction of an edit at a wrong place ended."""

    is_undone: bool = False
    """The user took the edit back."""
    right: Right[End] | None = None
    """What the document says now. None if nothing of the edit is in it."""
    reached_into: bool = False
    """Somebody typed into the edit, so a person should look at the result."""


class Sender:
    """Sends edits. Tasks of `tasks` collect the editor's answers."""

    def __init__(self, editor: Editor, tasks: Background) -> None:
        self._editor = editor
        self._tasks = tasks
        self.ever_applied = False
        """This editor has accepted an edit at least once. That distinguishes an editor that never does (Kate) from one in which the user is typing."""
        self._misplaces = False
        """This editor has applied an edit at a wrong place."""
        self._under_way: list[Sent] = []
        self._unseen: deque[Sent] = deque(maxlen=_MAX_UNSEEN)
        """Edits that the editor says it made and that nobody has seen: they may be in a buffer that it shows later."""
        self._followed: list[Followed] = []

    async def send(
        self,
        tracked: Tracked,
        changes: ChangeSet,
        label: str,
        landing: Landing | None = None,
        after: Text | None = None,
        *,
        what: str = "an edit",
        disk: Text | None = None,
        is_doors: bool = False,
    ) -> Sent:
        """Send `changes` to the current text of the document. Nothing is awaited before the request is out.

        `landing` is called when the expected text was seen, even if that is late, and before anything newer is looked at. Without it, the edit counts like
        one of the editor's own. `after`: the resulting text, if somebody has already made it. The other parameters are those of `Sent`. If the answer does
        not come in time, the returned edit has not ended."""
        document = tracked.document
        before = document.snapshot()
        edits = self._editor.capabilities.coordinates.edits(before, changes)
        sent = self._begin(
            tracked, led_to(before, changes) if after is None else after, landing, changes, edits
        )
        sent.label, sent.what, sent.disk, sent.is_doors = label, what, disk, is_doors
        edit = DocumentEdit(document.client_uri, document.version, edits)
        sent.request = self.dispatch(label, edit, sent.watch.news)
        self._under_way.append(sent)
        ended = False
        try:
            ended = await self._follow(sent)
        finally:
            if ended:
                self._settle(sent)
            else:
                self._tasks.start_soon(self._late, sent)
        return sent

    async def put(
        self, tracked: Tracked, changes: ChangeSet, label: str, what: str, disk: Text | None = None
    ) -> Sent:
        """Like `send`, for an edit that is not planned again: what must not stay of it is taken out at once, or as soon as an overdue edit has ended."""
        sent = await self.send(tracked, changes, label, what=what, disk=disk)
        if sent.flight.has_ended:
            await self._clear(sent)
        return sent

    def reload(self, tracked: Tracked, text: Text, landing: Landing) -> Reload:
        """The disk is about to get `text`. If the editor takes that over by itself, `landing` is called as for an edit that was sent."""
        return Reload(self._begin(tracked, text, landing, ChangeSet(0)))

    def _begin(
        self,
        tracked: Tracked,
        expected: Text,
        landing: Landing | None,
        changes: ChangeSet,
        edits: Sequence[TextEdit] = (),
    ) -> Sent:
        first = changes.edits[0] if len(changes.edits) == 1 else None
        whole = None if first is None or first.end - first.start < changes.length else first.new
        watch = Watch(tracked.document, expected, sent=[edit.new_text for edit in edits], said=whole)
        coordinates = self._editor.capabilities.coordinates
        is_disks = tracked.is_on_disk(expected)
        flight = InFlight(watch, edits, changes, coordinates, is_disks=is_disks, misplaces=self._misplaces)
        tracked.sends(flight, watch.news)
        return Sent(flight, tracked, watch, Request(), landing)

    def dispatch(self, label: str, edit: DocumentEdit, news: News | None = None) -> Request:
        """Put the request on the wire before returning."""
        answer = self._editor.apply_edit(label, edit)
        request = Request()

        async def collect() -> None:
            try:
                request.answer = await answer
            except EditorGone:
                request.answer = None
            finally:
                request.answered.set()
                if news is not None:
                    news.ring()

        self._tasks.start_soon(collect)
        return request

    async def _follow(self, sent: Sent) -> bool:
        """Follow the edit. Returns whether it has ended; False if its answer is overdue. The next call continues from there, without a time limit."""
        flight = sent.flight
        while not flight.has_ended:
            phase = flight.phase
            with anyio.move_on_after(SECONDS.get(phase)):
                while flight.phase is phase:
                    if sent.event() is None:
                        await sent.watch.news.wait()
                    flight.on(sent.event() or Event.MOVED, sent.tracked)
            if flight.phase is phase and flight.on(Event.TIME, sent.tracked) is Action.TELL:
                return False
        return True

    async def _late(self, sent: Sent) -> None:
        """Follow an edit whose answer was given up, and note what it did all the same."""
        try:
            await self._follow(sent)
            self._settle(sent)
            if not sent.is_doors:
                await self._clear(sent)
        finally:
            sent.settled.set()

    def _settle(self, sent: Sent) -> None:
        flight = sent.flight
        self._under_way.remove(sent)
        self.ever_applied = self.ever_applied or sent.landed or flight.phase is Phase.DISPLACED
        self._misplaces = self._misplaces or flight.phase is Phase.DISPLACED
        sent.watch.close()
        sent.tracked.settles(flight, sent.landing)
        if flight.is_unseen:
            self._unseen.append(sent)
        if flight.phase is Phase.EXACT and not sent.request.answered.is_set():
            self._tasks.start_soon(self._until_answered, sent)

    async def _until_answered(self, sent: Sent) -> None:
        """Wait for the answer to an edit although the document already has the expected text. Another edit may have led to that text, such as the user's
        undo of what this one was to take out, and this one may still arrive. If it then comes to a wrong place, it is taken out."""
        tracked, newer = sent.tracked, list[Edit]()
        there = tracked.document.snapshot()

        def listen(document: Document, edit: Edit) -> None:
            newer.append(edit)

        tracked.document.listeners.append(listen)
        try:
            with anyio.move_on_after(_LATE_SECONDS):
                await sent.request.answered.wait()
                await anyio.sleep(MIRROR_SECONDS)
            answer = sent.request.answer
            while answer is not None and answer.applied and not tracked.closed:
                if await tracked.rest(ANSWER_SECONDS):
                    if sent.flight.comes_late(there, newer):
                        self._misplaces = True
                        await self._take_out(sent)
                    break
        finally:
            tracked.document.listeners.remove(listen)

    # Documents that are closed and opened again

    def reopened(self, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> None:
        """A document was opened with `text`; `edits` of it have already been reported."""
        uri = tracked.document.uri
        under_way = [s for s in self._under_way if s.tracked.closed and s.tracked.document.uri == uri]
        unseen = [s for s in self._unseen if s.tracked.document.uri == uri]
        known = tracked.earlier_on_disk(text) if under_way or unseen else ()
        for sent in under_way:
            sent.moves_to(tracked, text, edits, known)
        for sent in unseen:
            self._unseen.remove(sent)
            self._seen_at_last(sent, tracked, text, edits, known)
        for followed in self._followed:
            if followed.tracked.closed and followed.tracked.document.uri == uri:
                followed.opened_again(tracked, text, edits)

    def _seen_at_last(
        self, sent: Sent, tracked: Tracked, text: Text, edits: Sequence[Edit], known: Sequence[str]
    ) -> None:
        """The document is open again, after an edit that nobody saw. If the edit was made where it was meant, it is the agent's. Elsewhere it is taken out:
        the agent was told to read again, or somebody else had made the same text before the document was closed."""
        flight, coordinates = sent.flight, self._editor.capabilities.coordinates
        found = made_untold(text, flight.edits, known, coordinates)
        if found is None:
            return
        there, made = found
        if is_same(there, flight.made_for):
            if sent.landing is not None and not sent.landed:
                sent.landing(there, made, text)
            return
        sent.tracked = tracked
        sent.watch = Watch(tracked.document, flight.expected, there, [*reversed(made.edits), *edits])
        flight.story = sent.watch

        async def take_out() -> None:
            await tracked.rest(ANSWER_SECONDS)
            sent.watch.close()
            await self._take_out(sent)

        self._tasks.start_soon(take_out)

    @contextmanager
    def following(self, tracked: Tracked, watch: Watch) -> Generator[Followed]:
        """Note whether the document of `watch` is closed and opened again meanwhile. Its versions then start again and may be equal by chance."""
        followed = Followed(tracked, watch)
        self._followed.append(followed)
        try:
            yield followed
        finally:
            self._followed.remove(followed)
            if followed.watch is not None:
                followed.watch.close()

    # Edits at wrong places

    async def _clear(self, sent: Sent) -> None:
        """Take out what must not stay of an edit that has ended. In a file that was saved and closed with it, only its user can do that."""
        if sent.is_unwanted:
            await self._take_out(sent)
        elif sent.was_saved_astray:
            self.tell_saved_astray(sent, sent.tracked.name)

    def tell_saved_astray(self, sent: Sent, path: str) -> None:
        """Tell the user of an edit at a wrong place in a file that was saved and closed with it. `path`: the file's path as shown to the user."""
        self._editor.show(
            "warning",
            f"The editor applied {sent.what} in the wrong place in {path}, which was saved and closed. "
            "Compare the file with what you had.",
            Opens.file(sent.tracked.client_uri),
        )

    async def _take_out(self, sent: Sent) -> None:
        def right(found: Separated) -> Right[None]:
            return Right(found.without)

        await self.correct(sent, "taken back", right)

    async def correct(self, sent: Sent, how: str, right: Callable[[Separated], Right[End]]) -> Corrected[End]:
        """Give the document the text that `right` makes of its text without the misplaced edit. `how`: what that is, for the undo step's name. If that text
        cannot be determined, nothing more is tried, `sent.left` says so, and the user is told."""
        astray = Astray(sent.flight.attempt, self._editor.capabilities.coordinates)
        tracked = sent.tracked
        for _ in range(_CORRECTIONS):
            if tracked.closed or tracked.flight is not None:
                break
            now = tracked.document.snapshot()
            found = astray.without(now)
            if found is None:
                if len(astray) == 1 and not sent.flight.looks_made:
                    return Corrected()
                break
            if found.is_undone and len(astray) == 1:
                return Corrected(is_undone=True)
            to_say = right(found)
            if to_say.wanted == str(now):
                if to_say.landing is not None:
                    to_say.landing(now, ChangeSet(len(now)), now)
                return Corrected(right=to_say, reached_into=found.reached_into)
            changes, label = diff(str(now), to_say.wanted), f"{sent.label}, {how}"
            then = await self.send(tracked, changes, label, to_say.landing, what=sent.what)
            tracked = then.tracked
            if then.landed:
                return Corrected(right=to_say, reached_into=found.reached_into)
            if then.flight.phase not in (Phase.DISPLACED, Phase.REFUSED):
                break
            astray.followed_by(then.flight)
            if not len(astray):
                return Corrected()
        sent.left = len(astray)
        words = at_a_wrong_place(sent.what, tracked.name, sent.left)
        self._editor.show("warning", words, Opens.file(tracked.client_uri))
        return Corrected()


def _one_edit(old: str, new: str) -> tuple[Edit, ...]:
    """The one edit that leads from `old` to `new`; none if they are equal."""
    edits = diff(old, new).edits
    if not edits:
        return ()
    start, kept = edits[0].start, len(old) - edits[-1].end
    return (Edit(start, len(old) - kept, new[start : len(new) - kept]),)


def at_a_wrong_place(what: str, path: str, edits: int = 1) -> str:
    """The message to the user about `edits` of ours that only the user can take out with certainty."""
    times = "once" if edits == 1 else f"{edits} times"
    return (
        f"The editor applied {what} in the wrong place in {path}. "
        f"Your own text is complete: undo {times} to take the edit back."
    )
