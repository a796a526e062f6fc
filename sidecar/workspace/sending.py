"""send: one edit on its way to the editor, and what became of it.

One attempt only; whether to plan again is the caller's to decide. Never trusts the answer: looks at the mirror.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto

import anyio

from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.lf_lines import places
from sidecar.core.lineends import fold
from sidecar.core.misapplied import (
    Attempt,
    SentEdit,
    Separated,
    looks_applied,
    made_on,
    overwrites,
    separate,
    separate_all,
)
from sidecar.core.normal import normal
from sidecar.core.text import Encoding, Rope, Text
from sidecar.workspace.background import Background
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ports import DocumentEdit, EditAnswer, Editor, EditorGone, TextEdit
from sidecar.workspace.watch import Watch

ANSWER_SECONDS = 60.0
"""How long an editor may take to answer: it may be asking the user."""
MIRROR_SECONDS = 2.0
"""How long after its answer an editor may take to report the change (Neovim 150 ms, eglot 500 ms: docs/clients.md)."""
SILENT_SECONDS = 30.0
"""How long after that one may tell nothing at all before it counts as not made. eglot tells what it did half a second after its user
stopped typing."""
REFUSED_SECONDS = 1.0
"""How long after a refusal the typing that caused it may take to arrive."""


_SOON = 2_000_000
"""Characters up to which every change that comes is looked at for an edit of ours at a wrong place; in larger texts once, at the end."""
_TAKE_BACKS = 3
"""How often an edit at a wrong place is taken out again that newer typing keeps there."""
_MAX_UNSEEN = 8
"""The newest edits of unknown whereabouts that are remembered."""
RELOAD_SECONDS = 0.5
"""How long an editor gets to reload a changed file by itself."""


Applied = Callable[[Text, ChangeSet, Text], None]
"""(before, changes, after)"""


class Outcome(Enum):
    APPLIED = auto()
    """The expected text was seen in the mirror."""
    REFUSED = auto()
    """Not applied. The mirror may have moved on: plan again."""
    UNCLEAR = auto()
    """The editor says applied, changes arrived, none of the states was the expected one."""
    UNKNOWN = auto()
    """No answer in time. Nothing may be planned on this document until there is one."""
    GONE = auto()
    """The editor, or the document in it, is gone."""


@dataclass(slots=True)
class Sent:
    """One attempt's end."""

    outcome: Outcome
    reason: str
    before: Text
    edits: tuple[TextEdit, ...]
    """As they were sent."""
    received: list[Edit]
    """What the mirror received since sending."""
    matched_at: int | None
    """How many of `received` are ours when APPLIED."""
    tracked: Tracked
    """The document at the end. It is a different one if it was closed and opened again meanwhile."""
    late: anyio.Event | None = None
    """With UNKNOWN: set when the answer has come after all."""
    saved_over: bool = False
    """The document was saved since sending, before the edit came."""
    unseen: bool = False
    """With GONE: the editor says it made the edit, and nothing of it was told before the document was closed or since. It may be in a
    buffer that nobody sees (lsp-mode)."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A text with an edit of ours at a wrong place in it, and what it would be without; both in the compared form."""

    text: str
    without: str


def text_edits(
    text: Text, changes: ChangeSet, encoding: Encoding, lf_lines: bool = False
) -> tuple[TextEdit, ...]:
    """Changes of `text` as an editor takes them: positions as it counts, in the text before the change. What touches is one edit:
    VS Code tells it as one, which would look like an edit over newer typing."""
    edits: list[TextEdit] = []
    place = places(text, encoding, lf_lines)
    done = 0
    for edit in _joined(changes.edits):
        start, end, new = _off_the_last_line(text, edit)
        if start < done:
            start, end, new = edit.start, edit.end, edit.new
        done = end
        edits.append(TextEdit(place(start), place(end), new))
    return tuple(edits)


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    joined: list[Edit] = []
    for edit in edits:
        if joined and joined[-1].end == edit.start:
            last = joined.pop()
            edit = Edit(last.start, edit.end, last.new + edit.new)
        joined.append(edit)
    return joined


def _off_the_last_line(text: Text, edit: Edit) -> tuple[int, int, str]:
    """Text added behind the final line end, as text added before it: the line behind it does not exist in every editor
    (Neovim would save an extra blank line)."""
    size = len(text)
    if edit.start != size or not size or not edit.new:
        return edit.start, edit.end, edit.new
    tail = text.slice(max(size - 2, 0), size)
    terminator = tail if tail == "\r\n" else tail[-1:]
    if terminator not in ("\n", "\r\n", "\r"):
        return edit.start, edit.end, edit.new
    start = size - len(terminator)
    if edit.new.endswith(terminator) and (terminator != "\n" or not edit.new.endswith("\r\n")):
        return start, start, terminator + edit.new.removesuffix(terminator)
    return start, size, terminator + edit.new


class Request:
    """An applyEdit under way; its answer can be awaited several times, by whoever is still interested."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: EditAnswer | None = None
        """None once answered: the editor is gone."""


@dataclass(slots=True)
class _Sending:
    tracked: Tracked
    watch: Watch
    request: Request
    edits: tuple[TextEdit, ...]
    changes: ChangeSet
    """Of `before`, leading to `expected`."""
    before: Text
    expected: Text
    applied: Applied | None
    moved: bool = False
    """Since sending, the document was closed and opened again."""

    @property
    def meant(self) -> Text | None:
        """The text that the edits were made for, where it is not the one that what was received begins with."""
        return self.before if self.moved else None

    def sent(self, outcome: Outcome, reason: str, late: anyio.Event | None = None) -> Sent:
        watch = self.watch
        received = list(watch.edits)
        sent = Sent(outcome, reason, watch.before, self.edits, received, watch.matched_at, self.tracked, late)
        sent.saved_over = watch.saved_over
        return sent

    async def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Whether the expected text was seen, waiting for it at most that long, in whatever document it comes, or until
        `is_enough` of what came."""
        with anyio.move_on_after(seconds):
            while True:
                watch = self.watch
                if await watch.wait(seconds, is_enough) or watch is self.watch:
                    break
        if self.moved and not self.watch.edits and self.watch.is_there():
            self.applied = None  # told as part of the opening: nothing says whose it is
        return self.watch.matched

    def goes_on_in(self, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> bool:
        """The same where the document was saved before it was closed, and nothing else came between: what was received before is part of
        its story, and perhaps our edit at a wrong place is in it."""
        was = self.watch
        if not was.edits or text != self.tracked.document.snapshot():
            return False
        self.moves_to(tracked, was.before, [*was.edits, *edits])
        self.watch.matched_at, self.watch.reached = was.matched_at, was.reached
        return True

    def moves_to(self, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> None:
        """The document was closed and is open again, with `text`, to which `edits` were told already: some editors do that to make
        the edit (VS Code compares no versions of closed documents), and what they make of it is to be seen there."""
        self.tracked.watch = None
        self.tracked.at_rest.set()
        self.watch.close()
        was, self.tracked = self.watch, tracked
        self.watch = tracked.watch = Watch(tracked.document, self.expected, text, edits)
        self.watch.saved_over = was.saved_over
        self.moved = True


class Reload:
    """A change on the disk that the editor may take over."""

    def __init__(self, sending: _Sending) -> None:
        self._sending = sending

    async def wait(self, seconds: float) -> bool:
        """Whether the editor did so, in that time. Ends it."""
        try:
            return await self._sending.watch.wait(seconds)
        finally:
            self.end()

    def end(self) -> None:
        _settle(self._sending)


@dataclass(slots=True)
class Followed:
    """A document while something else than an edit is asked of the editor."""

    tracked: Tracked
    waiting: Watch
    """Of that document; who waits for it is woken when the document is opened again."""
    watch: Watch | None = None
    """Of the document that was opened under the same name since, from its opening on."""


class Sender:
    """Sends edits; the editor's answers are collected by tasks of `tasks`."""

    def __init__(self, editor: Editor, tasks: Background) -> None:
        self._editor = editor
        self._tasks = tasks
        self.ever_applied = False
        """This editor has taken an edit at least once. One that never does (Kate) is told from one that is being typed in."""
        self._under_way: list[_Sending] = []
        self._unseen: deque[_Sending] = deque(maxlen=_MAX_UNSEEN)
        """Made, says the editor, and nobody has seen where: perhaps in a buffer that it shows later."""
        self._followed: list[Followed] = []

    async def send(
        self, tracked: Tracked, changes: ChangeSet, label: str, applied: Applied | None = None
    ) -> Sent:
        """Sends `changes` of the document's text as it is in this moment: nothing is awaited before the request is out.

        `applied` is called once the expected text was seen, before anything newer is looked at; also when that is late.
        Without it the edit is like one of the editor's own."""
        document = tracked.document
        before = document.snapshot()
        can = self._editor.capabilities
        edits = text_edits(before, changes, can.encoding, can.lf_lines)
        expected = _after(before, changes)
        watch = tracked.watch = Watch(document, expected)
        request = self.dispatch(label, DocumentEdit(document.client_uri, document.version, edits))
        sending = _Sending(tracked, watch, request, edits, changes, before, expected, applied)
        self._under_way.append(sending)
        sent: Sent | None = None
        try:
            sent = await self._outcome(sending)
            self.ever_applied = self.ever_applied or sent.outcome in (Outcome.APPLIED, Outcome.UNCLEAR)
            return sent
        finally:
            if sent is not None and sent.outcome is Outcome.UNKNOWN:
                self._tasks.start_soon(self._late, sending, sent)
            else:
                self._settle(sending)
            if sent is not None and sent.unseen:
                self._unseen.append(sending)

    def reopened(self, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> None:
        """A document was opened, with `text`; `edits` of it were told already."""
        for sending in self._under_way:
            same = sending.tracked.closed and sending.tracked.document.uri == tracked.document.uri
            if same and not sending.goes_on_in(tracked, text, edits):
                sending.moves_to(tracked, *self._opened_with(sending, tracked, text, edits))
        for sending in [s for s in self._unseen if s.tracked.document.uri == tracked.document.uri]:
            self._unseen.remove(sending)
            self._seen_at_last(sending, tracked, text, edits)
        for followed in self._followed:
            if followed.tracked.closed and followed.tracked.document.uri == tracked.document.uri:
                followed.tracked = tracked
                followed.watch = Watch(tracked.document, text, text, edits)
                followed.waiting.look()

    @contextmanager
    def following(self, tracked: Tracked, watch: Watch) -> Generator[Followed]:
        """`watch` is of the document. Notes whether the document is closed and opened again meanwhile. Its versions then start
        again and may be equal by chance.
        """
        followed = Followed(tracked, watch)
        self._followed.append(followed)
        try:
            yield followed
        finally:
            self._followed.remove(followed)
            if followed.watch is not None:
                followed.watch.close()

    def _opened_with(
        self, sending: _Sending, tracked: Tracked, text: Text, edits: Sequence[Edit]
    ) -> tuple[Text, Sequence[Edit]]:
        """`text` and `edits`, or, when the edit was made before the document was told open, the text before it and all edits since."""
        found = self._made_untold(sending, tracked, text)
        if found is None:
            return text, edits
        known, made = found
        return known, [*reversed(made.edits), *edits]

    def _made_untold(self, sending: _Sending, tracked: Tracked, text: Text) -> tuple[Text, ChangeSet] | None:
        """The text that the disk had once and the edit was made on, and what that made of it, when that is `text`."""
        can, now = self._editor.capabilities, str(text)
        if tracked.disk is None or "\r" in now or tracked.disk.says(tracked.document.uri, now):
            return None  # opened with what the disk says, before anything was made of it
        for known in tracked.disk.known(tracked.document.uri):
            there = Text.of(known)
            made = made_on(there, _as_sent(sending.edits), can.encoding, can.lf_lines)
            if made is not None and known != now and made.apply(known) == now:
                return there, made
        return None

    def _seen_at_last(self, sending: _Sending, tracked: Tracked, text: Text, edits: Sequence[Edit]) -> None:
        """The document is open again, long after an edit of which nobody knew what had become. Made where it was meant, it is the
        agent's; elsewhere it goes, for the agent was told to read again."""
        found = self._made_untold(sending, tracked, text)
        if found is None:
            return
        known, made = found
        if fold(str(known)) == fold(str(sending.before)):
            if sending.applied is not None:
                sending.applied(known, made, text)
            return
        watch = Watch(tracked.document, sending.expected, known, [*reversed(made.edits), *edits])

        async def take_back() -> None:
            await tracked.rest(ANSWER_SECONDS)
            watch.close()
            reason = "the editor applied the edit to a text that it had not reported"
            sent = Sent(Outcome.UNCLEAR, reason, known, sending.edits, watch.edits, None, tracked)
            await self.take_back(sent, "taken back")

        self._tasks.start_soon(take_back)

    def reload(self, tracked: Tracked, text: Text, applied: Applied) -> Reload:
        """The disk is about to say `text`: when the editor takes that over by itself, `applied` is called as for an edit sent."""
        watch = tracked.watch = Watch(tracked.document, text)
        return Reload(_Sending(tracked, watch, Request(), (), ChangeSet(0), watch.before, text, applied))

    def dispatch(self, label: str, edit: DocumentEdit) -> Request:
        """Puts the request on the wire before it returns."""
        answer = self._editor.apply_edit(label, edit)
        request = Request()

        async def collect() -> None:
            try:
                request.answer = await answer
            except EditorGone:
                request.answer = None
            finally:
                request.answered.set()

        self._tasks.start_soon(collect)
        return request

    async def _outcome(self, sending: _Sending) -> Sent:
        request = sending.request
        with anyio.move_on_after(ANSWER_SECONDS):
            await request.answered.wait()
        if not request.answered.is_set():
            return sending.sent(Outcome.UNKNOWN, "the editor did not answer", anyio.Event())
        if request.answer is None:
            return sending.sent(Outcome.GONE, "the editor's connection ended")
        if not request.answer.applied:
            if not sending.watch.matched:
                # The typing that made the version stale is on its way: planning again without it is refused again.
                await sending.watch.wait_for_any(REFUSED_SECONDS)
            outcome = Outcome.APPLIED if sending.watch.matched else Outcome.REFUSED
            return sending.sent(outcome, request.answer.reason)
        if await self._mirrored(sending):
            if self._overwrote(sending):
                return sending.sent(Outcome.UNCLEAR, "the editor applied the edit over newer typing")
            if self._was_there_already(sending):
                return sending.sent(
                    Outcome.UNCLEAR, "the editor applied the edit to a text that already had it"
                )
            return sending.sent(Outcome.APPLIED, "")
        if sending.tracked.closed:
            gone = sending.sent(Outcome.GONE, "the document was closed")
            can = self._editor.capabilities
            seen = separate(gone.before, _as_sent(gone.edits), gone.received, can.encoding, can.lf_lines)
            gone.unseen = seen is None
            return gone
        outcome = Outcome.UNCLEAR if sending.watch.edits else Outcome.REFUSED
        return sending.sent(
            outcome, "the editor said that it applied the edit, but its text does not show it"
        )

    async def _mirrored(self, sending: _Sending) -> bool:
        """Whether the expected text was seen, once the editor has said that it made the edit. An editor that tells nothing at all may
        be waiting for its user to pause (eglot): to send the edit again would be to make it twice."""

        def misplaced() -> bool:
            return self._is_misplaced(sending)

        if await sending.wait(MIRROR_SECONDS, misplaced):
            return True
        tracked, watch = sending.tracked, sending.watch
        if watch.edits or tracked.closed:
            return False
        if not await watch.wait_for_any(SILENT_SECONDS, lambda: tracked.closed) and sending.watch is watch:
            return False
        return await sending.wait(MIRROR_SECONDS, misplaced)

    async def _late(self, sending: _Sending, sent: Sent) -> None:
        """The answer to an edit that was given up: what it did is noted all the same."""
        await sending.request.answered.wait()
        if sending.request.answer is not None and sending.request.answer.applied:
            matched = (
                await self._mirrored(sending)
                and not self._overwrote(sending)
                and not self._was_there_already(sending)
            )
            if not matched and sending.watch.edits:
                sent.outcome = Outcome.UNCLEAR
        sent.matched_at = sending.watch.matched_at
        sent.received, sent.before, sent.tracked = (
            list(sending.watch.edits),
            sending.watch.before,
            sending.tracked,
        )
        self._settle(sending)
        if sent.late is not None:
            sent.late.set()

    def misplaced(self, sent: Sent) -> Misplaced | None:
        """Whether the edit came at a wrong place before the document was closed."""
        can = self._editor.capabilities
        found = separate(sent.before, _as_sent(sent.edits), sent.received, can.encoding, can.lf_lines)
        if found is None or found.is_undone:
            return None
        return Misplaced(normal(str(sent.tracked.document.snapshot())), normal(found.without))

    async def take_back(self, sent: Sent, label: str) -> int:
        """Takes an edit that the editor made at a wrong place out again. 0 when it is out, for certain; else how many edits of ours may
        still be there, with those that were to take it out."""
        made = [sent]
        for _ in range(_TAKE_BACKS):
            tracked = made[-1].tracked
            found = None if tracked.closed or tracked.watch is not None else self.without(made)
            if found is None:
                break
            now = str(tracked.document.snapshot())
            if now == found.without:
                return 0
            back = await self.send(tracked, diff(now, found.without), label)
            if back.outcome is Outcome.APPLIED:
                return 0
            if back.outcome not in (Outcome.UNCLEAR, Outcome.REFUSED):
                break
            made = followed_by(made, back)
            if not made:
                return 0
        return len(made)

    async def take_back_or_tell(self, sent: Sent, label: str, what: str, path: str) -> bool:
        """Whether it is out. When it cannot be taken out, nothing more is tried, and the user is told what came to a wrong place."""
        left = await self.take_back(sent, label)
        if left and not sent.tracked.closed and self.looks_made(sent):
            self._editor.show("warning", at_a_wrong_place(what, path, left))
        return not left

    def looks_made(self, sent: Sent) -> bool:
        """Whether the edit seems to be among what was received, though perhaps nobody can say where."""
        can, edits = self._editor.capabilities, _as_sent(sent.edits)
        found = separate(sent.before, edits, sent.received, can.encoding, can.lf_lines)
        return looks_applied(edits, sent.received) if found is None else not found.is_undone

    def without(self, made: Sequence[Sent]) -> Separated | None:
        """What the text would be without any of these edits, which came to wrong places one after the other; None when one of them is not
        found, or something else happened since."""
        can = self._editor.capabilities
        attempts = [Attempt(sent.before, _as_sent(sent.edits), sent.received) for sent in made]
        last, now = _after_all(made[-1].before, made[-1].received), made[-1].tracked.document.snapshot()
        if last != now:  # typed between the end of the attempt and now
            since = changes_as_steps(diff(str(last), str(now)))
            attempts[-1] = replace(attempts[-1], received=[*attempts[-1].received, *since])
        return separate_all(attempts, can.encoding, can.lf_lines)

    def _is_misplaced(self, sending: _Sending) -> bool:
        """Our edits arrived, but on another text than they were made for. The sooner they are corrected, the less the user types
        into them.
        """
        watch, can = sending.watch, self._editor.capabilities
        if len(watch.before) > _SOON:
            return False
        return overwrites(
            watch.before,
            _as_sent(sending.edits),
            watch.edits,
            can.encoding,
            can.lf_lines,
            meant=sending.meant,
        )

    def _overwrote(self, sending: _Sending) -> bool:
        """The text is as expected because what made the difference lay where the edit was made, and is gone: typing that the editor
        had not told yet, or the disk's text of a document that was closed without saving, or edited after it was opened again.
        Then it counts as made at a wrong place."""
        watch, can = sending.watch, self._editor.capabilities
        received = watch.edits[: watch.matched_at]
        if not overwrites(
            watch.before,
            _as_sent(sending.edits),
            received,
            can.encoding,
            can.lf_lines,
            meant=sending.meant,
        ):
            return False
        watch.matched_at, watch.reached = None, sending.expected
        return True

    def _was_there_already(self, sending: _Sending) -> bool:
        """The text was as expected before the edit came, because the editor had taken the same change from the disk; then the edit made it
        once more, and came to a wrong place."""
        watch, can, tracked = sending.watch, self._editor.capabilities, sending.tracked
        newer = watch.edits[watch.matched_at :]
        if watch.matched_at is None or not newer or tracked.disk is None:
            return False
        if not tracked.disk.says(tracked.document.uri, normal(str(watch.reached))):
            return False
        again = separate(watch.reached, _as_sent(sending.edits), newer, can.encoding, can.lf_lines)
        undone = (_after_all(watch.reached, newer[:count]) == watch.before for count in range(len(newer)))
        if again is None or again.is_undone or any(undone):
            return False  # or undone by the user, and redone
        length = len(watch.before)
        for edit in () if tracked.closed else watch.edits[: watch.matched_at]:
            length += edit.growth
            tracked.others_edit(edit, length, is_users=False)
        watch.before, watch.edits[:] = watch.reached, newer
        watch.matched_at, watch.reached = None, sending.expected
        return True

    def _settle(self, sending: _Sending) -> None:
        self._under_way.remove(sending)
        _settle(sending)


def followed_by(made: Sequence[Sent], sent: Sent) -> list[Sent]:
    """What there is to take out now, when `sent` was to take `made` out. One that the editor refused is not there, only what was typed
    meanwhile. In a document that was closed without saving and opened again by this very edit, nothing else is left."""
    last = made[-1]
    if sent.before != _after_all(last.before, last.received):
        return [] if sent.outcome is Outcome.REFUSED else [sent]
    if sent.outcome is Outcome.REFUSED:
        return [*made[:-1], replace(last, received=[*last.received, *sent.received], tracked=sent.tracked)]
    return [*made, sent]


def at_a_wrong_place(what: str, path: str, edits: int = 1) -> str:
    """Tells the user about `edits` of ours that only the user can take out with certainty."""
    times = "once" if edits == 1 else f"{edits} times"
    return (
        f"The editor applied {what} in the wrong place in {path}. "
        f"Your own text is complete: undo {times} to take the edit back."
    )


def _after_all(before: Text, received: Sequence[Edit]) -> Text:
    rope = Rope.of(before)
    for edit in received:
        rope.splice(edit.start, edit.end, edit.new)
    return rope.snapshot()


def _after(before: Text, changes: ChangeSet) -> Text:
    """The text that `changes` lead to, sharing with `before` what is the same."""
    rope = Rope.of(before)
    for edit in reversed(changes.edits):
        rope.splice(edit.start, edit.end, edit.new)
    return rope.snapshot()


def _as_sent(edits: Sequence[TextEdit]) -> list[SentEdit]:
    return [SentEdit(e.start, e.end, e.new_text) for e in edits]


def _settle(sending: _Sending) -> None:
    """Whose the received changes were is known now."""
    tracked, watch = sending.tracked, sending.watch
    watch.close()
    if tracked.watch is watch:
        tracked.watch = None
        tracked.at_rest.set()
    length = len(watch.before)
    ours = watch.matched_at or 0
    if sending.applied is None:
        for edit in () if tracked.closed else watch.edits[:ours]:
            length += edit.growth
            tracked.others_edit(edit, length, is_users=False)
    elif watch.matched:
        # Reached otherwise than expected (other line ends): the changes are those that were really made.
        as_sent = (
            watch.reached is sending.expected
            and watch.before == sending.before
            and not sending.changes.is_empty
        )
        tracked.agents_edits += 1
        tracked.hunks_when_clean = None
        changes = sending.changes if as_sent else diff(str(watch.before), str(watch.reached))
        sending.applied(watch.before, changes, watch.reached)
        length = len(watch.reached)
    for edit in () if tracked.closed else watch.edits[ours:]:
        length += edit.growth
        tracked.others_edit(edit, length)
