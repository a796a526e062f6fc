"""InFlight: one edit on its way to the editor, as a value. Nothing here waits, no clock runs, nobody is called.

An editor's answer proves nothing: some say `true` and apply nothing, or apply in the wrong place (docs/clients.md). Its didChange may
come before or after the answer, alone or followed by newer typing. So two things decide: the *answer*, and what the *document shows*.
`TABLE` says what follows from both; `python -m sidecar.core.inflight` prints it. The caller tells the edit what arrives (`received`,
`saved`, `closes`, `opens_again`), then asks for the next step (`on`) and does what that says (`ACTIONS`).

An edit that takes a misplaced one out again is itself an edit on its way: `Astray` keeps both, until nothing of either is left.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.lineends import fold
from sidecar.core.misapplied import (
    Attempt,
    Separated,
    looks_applied,
    made_on,
    overwrites,
    separate,
    separate_all,
    states,
    steps,
)
from sidecar.core.normal import normal, say_the_same
from sidecar.core.overlay import Document
from sidecar.core.rope import Rope
from sidecar.core.text import Text

_SOON = 2_000_000
"""Code points up to which every change is searched for an edit of ours at a wrong place; in larger texts once, at the end."""


class Phase(Enum):
    """Where an edit is. Those from EXACT on are ends."""

    ASKED = "the editor has not answered"
    OVERDUE = "it has not answered in time; whoever asked was told that nobody knows"
    GRANTED = "it says that it made the edit; the document does not show it yet"
    SILENT = "it says so and tells nothing at all; it may be waiting for its user to pause (eglot)"
    DENIED = "it says that it did not; the typing that made the edit outdated is on its way"
    EXACT = "the expected text was seen"
    THERE = "the document was opened again with the expected text; nothing says whose that is"
    DISPLACED = "made at another place, or over a text it was not meant for"
    REFUSED = "not made"
    LOST = "the document or the editor is gone"


class Event(Enum):
    YES = "the editor says that it made the edit"
    NO = "it says that it did not"
    HUNG_UP = "its connection ended"
    MOVED = "the document was changed, closed or opened again"
    TIME = "the seconds of this phase are over"


class Shows(Enum):
    """What the document shows of the edit."""

    NOTHING = "nothing was received"
    OTHER = "changes, none of which is known to be ours"
    ASTRAY = "our edit, where it was not meant to be"
    EXPECTED = "the expected text, reached by changes"
    ANOTHERS = "the same, and since it was sent the disk came to say it, too: perhaps that led to it"
    OPENED = "the expected text, with which it was opened again"
    CLOSED = "the document is closed"


class Action(Enum):
    WAIT = "go on waiting"
    TELL = "say that nobody knows, and go on waiting"
    LAND = "note it as its author's"
    LEAVE = "note it as nobody's"
    CORRECT = "take it out, or make it right, with another edit"
    PLAN_AGAIN = "plan it again"
    GIVE_UP = "what it did is not in the document"


ACTIONS: Mapping[Phase, Action] = {
    Phase.EXACT: Action.LAND,
    Phase.THERE: Action.LEAVE,
    Phase.DISPLACED: Action.CORRECT,
    Phase.REFUSED: Action.PLAN_AGAIN,
    Phase.LOST: Action.GIVE_UP,
}
"""Of the ends."""

SECONDS: Mapping[Phase, float] = {
    Phase.ASKED: 60.0,
    Phase.GRANTED: 2.0,
    Phase.SILENT: 30.0,
    Phase.DENIED: 1.0,
}
"""How long each other phase lasts at most; OVERDUE has no end in time. An editor may ask its user before it answers; Neovim tells changes
after 0.15 s, eglot after 0.5 s, or that long after its user stopped typing (docs/clients.md)."""


def _row(
    nothing: Phase,
    other: Phase,
    astray: Phase,
    expected: Phase,
    anothers: Phase,
    opened: Phase,
    closed: Phase,
) -> Mapping[Shows, Phase]:
    return dict(zip(Shows, (nothing, other, astray, expected, anothers, opened, closed), strict=True))


_ASKED, _OVERDUE, _GRANTED, _SILENT, _DENIED = list(Phase)[:5]
_EXACT, _THERE, _DISPLACED, _REFUSED, _LOST = list(Phase)[5:]

TABLE: Mapping[tuple[Phase, Event], Phase | Mapping[Shows, Phase]] = {
    (_ASKED, Event.YES): _row(_GRANTED, _GRANTED, _DISPLACED, _EXACT, _GRANTED, _GRANTED, _GRANTED),
    (_ASKED, Event.NO): _row(_DENIED, _REFUSED, _REFUSED, _EXACT, _EXACT, _DENIED, _DENIED),
    (_ASKED, Event.HUNG_UP): _LOST,
    (_ASKED, Event.MOVED): _ASKED,
    (_ASKED, Event.TIME): _row(_OVERDUE, _OVERDUE, _DISPLACED, _EXACT, _OVERDUE, _OVERDUE, _OVERDUE),
    (_OVERDUE, Event.YES): _row(_GRANTED, _GRANTED, _DISPLACED, _EXACT, _GRANTED, _GRANTED, _GRANTED),
    (_OVERDUE, Event.NO): _row(_DENIED, _REFUSED, _REFUSED, _EXACT, _EXACT, _DENIED, _DENIED),
    (_OVERDUE, Event.HUNG_UP): _LOST,
    (_OVERDUE, Event.MOVED): _row(_OVERDUE, _OVERDUE, _DISPLACED, _EXACT, _OVERDUE, _OVERDUE, _OVERDUE),
    (_GRANTED, Event.MOVED): _row(_GRANTED, _GRANTED, _DISPLACED, _EXACT, _GRANTED, _GRANTED, _GRANTED),
    (_GRANTED, Event.TIME): _row(_SILENT, _DISPLACED, _DISPLACED, _EXACT, _EXACT, _THERE, _LOST),
    (_SILENT, Event.MOVED): _row(_SILENT, _GRANTED, _DISPLACED, _EXACT, _GRANTED, _GRANTED, _GRANTED),
    (_SILENT, Event.TIME): _row(_REFUSED, _DISPLACED, _DISPLACED, _EXACT, _EXACT, _THERE, _LOST),
    (_DENIED, Event.MOVED): _row(_DENIED, _REFUSED, _REFUSED, _EXACT, _EXACT, _DENIED, _DENIED),
    (_DENIED, Event.TIME): _row(_REFUSED, _REFUSED, _REFUSED, _EXACT, _EXACT, _REFUSED, _REFUSED),
}
"""Where a phase goes on an event: the same whatever the document shows, or by that. Nothing is planned for a document before the end.
Some editors never answer (docs/clients.md), so that what the document shows decides alone once the answer's time is over."""


class Disk(Protocol):
    """What is known of the file."""

    def is_on_disk(self, text: Text) -> bool:
        """Whether that is, but for line ends, the text last found there."""
        ...

    def was_on_disk(self, text: str) -> bool:
        """Whether the file held `text` (compared form of `core.normal`) once."""
        ...


class Story:
    """What a document said since some moment, and whether it came to the expected text."""

    def __init__(
        self, document: Document, expected: Text, before: Text | None = None, edits: Sequence[Edit] = ()
    ) -> None:
        """`before`, `edits`: what was received already, when that is not nothing."""
        self.document = document
        self.before = document.snapshot() if before is None else before
        self.edits: list[Edit] = list(edits)
        """Received since, each on the text that the one before left."""
        self.matched_at: int | None = None
        """How many of `edits` it took to reach the expected text; what follows is somebody's newer work."""
        self.reached = expected
        """The expected text; once matched, as the editor really has it."""
        self.version = document.version - len(self.edits)
        """Of the document, with `before`; at most."""
        self.saved_over = False
        """The document was saved before the expected text was there: the disk may not say any more what that was made from."""
        self.saved_anothers = False
        """It was saved over an expected text that may be another's."""
        self.saved_it = False
        """It was saved with the expected text, which the disk did not say before: what the disk says since is no sign of another's."""

    @property
    def matched(self) -> bool:
        return self.matched_at is not None

    def received(self, edit: Edit) -> None:
        """The document was changed so, and says the result already."""
        self.edits.append(edit)
        rope = self.document.rope
        if self.matched_at is None and len(rope) == len(self.reached) and rope.snapshot() == self.reached:
            self.matched_at = len(self.edits)

    def saved(self, disk: Disk) -> None:
        """The document was saved. `disk`: before that was noted."""
        if not self.is_matched():
            self.saved_over = True
        elif self.may_be_anothers(disk):
            self.saved_anothers = True
        else:
            self.saved_it = True

    def may_be_anothers(self, disk: Disk) -> bool:
        """The expected text was seen, and the disk said it, too: somebody put it there, and the editor may have taken it from there."""
        return self.saved_anothers or (not self.saved_it and disk.is_on_disk(self.reached))

    def is_matched(self) -> bool:
        """`matched`, or the last state is the expected text but for line ends: some editors turn those of an edit into their own."""
        if self.edits and self.matched_at is None:
            now = self.document.snapshot()
            if (now.has_returns or self.reached.has_returns) and say_the_same(now, self.reached):
                self.matched_at, self.reached = len(self.edits), now
        return self.matched

    def is_there(self) -> bool:
        """Whether the document says the expected text, however it came to that."""
        return say_the_same(self.document.snapshot(), self.reached)

    def begins_with(self, before: Text, edits: Iterable[Edit]) -> None:
        """What it began with was made of `before` by `edits`, which are part of it."""
        earlier = list(edits)
        self.before, self.edits[:0] = before, earlier
        self.version -= len(earlier)


@dataclass(frozen=True, slots=True)
class Others:
    """An edit that is not the one on its way, and the texts before and after it."""

    edit: Edit
    before: Text
    after: Text
    is_users: bool = True


def _others(before: Text, edits: Sequence[Edit], *, is_users: bool = True) -> Iterator[Others]:
    for edit, was, now in steps(before, edits):
        yield Others(edit, was, now, is_users)


@dataclass(frozen=True, slots=True)
class Ours:
    """What became of our edit in the document."""

    before: Text
    changes: ChangeSet
    after: Text


class InFlight:
    """The edit: `changes` of the text that the document of `story` has in this moment."""

    def __init__(
        self,
        story: Story,
        edits: Sequence[TextEdit],
        changes: ChangeSet,
        coordinates: Coordinates,
        *,
        is_disks: bool = False,
        misplaces: bool = False,
    ) -> None:
        """`edits`: `changes` as they are sent. `is_disks`: the disk says the expected text already. `misplaces`: this editor has made an
        edit of ours on another text before."""
        self.story = story
        self.edits = tuple(edits)
        self.phase = Phase.ASKED
        self.closed = False
        """The document it was sent for."""
        self.moved = False
        """Since sending, the document was closed and opened again."""
        self._granted = False
        self._changes = changes
        self._coordinates = coordinates
        self._is_disks = is_disks
        self._misplaces = misplaces
        self.made_for, self.expected = story.before, story.reached
        self._begun = story.before
        self._foreign: list[Edit] = []
        """Received before anything that may be ours: they led from `_begun` to the story's `before`."""

    @property
    def has_ended(self) -> bool:
        return self.phase in ACTIONS

    def on(self, event: Event, disk: Disk) -> Action:
        """The next step."""
        row = TABLE.get((self.phase, event))
        self._granted = self._granted or event is Event.YES
        if row is None:  # cannot happen: the user's text stands, and whoever asked is told
            warnings.warn(f"{event} in {self.phase}", RuntimeWarning, stacklevel=2)
            row = Phase.LOST
        self.phase = row if isinstance(row, Phase) else row[self.shows(disk)]
        if self.phase is Phase.OVERDUE and event is Event.TIME:
            return Action.TELL
        return ACTIONS.get(self.phase, Action.WAIT)

    def shows(self, disk: Disk) -> Shows:
        """What the document shows of it now."""
        story = self.story
        if story.is_matched():
            if self._overwrote() or self._was_there_already(disk):
                # What was closed is put right on the disk, or where it is opened again, if it was saved with all it says
                return (
                    Shows.CLOSED
                    if self.closed and disk.is_on_disk(story.document.snapshot())
                    else Shows.ASTRAY
                )
            doubtful = not self._is_disks and story.may_be_anothers(disk)
            return Shows.ANOTHERS if doubtful else Shows.EXPECTED
        if self.closed:
            return Shows.CLOSED
        if not story.edits:
            return Shows.OPENED if self.moved and story.is_there() else Shows.NOTHING
        small = len(story.before) <= _SOON
        return Shows.ASTRAY if small and self._is_astray(story.edits) else Shows.OTHER

    def closes(self) -> None:
        """The editor closed the document."""
        self.closed = True

    def opens_again(self, story: Story, known: Sequence[str] = ()) -> None:
        """The editor opened it again, with the text that `story` begins with: some do that to make the edit (VS Code compares no versions
        of closed documents), and what they make of it is to be seen there. A text that the document had goes on with what led to it.
        `known`: what the disk is known to have said, where the edit may have been made on it before the document was told open."""
        was, self.story = self.story, story
        self.closed, self.moved = False, True
        story.saved_over = was.saved_over
        for count, text in reversed(list(enumerate(states(was.before, was.edits)))[1:]):
            if (
                text == story.before
            ):  # saved then; perhaps our edit is in it, at a wrong place or the right one
                story.begins_with(was.before, was.edits[:count])
                if was.matched_at is not None and was.matched_at <= count:
                    story.matched_at, story.reached = was.matched_at, was.reached
                    story.saved_anothers = was.saved_anothers
                return
        found = made_untold(story.before, self.edits, known, self._coordinates)
        if found is not None:
            story.begins_with(found[0], reversed(found[1].edits))

    # What it came to

    @property
    def attempt(self) -> Attempt:
        return Attempt(self.story.before, self.edits, list(self.story.edits))

    @property
    def is_unseen(self) -> bool:
        """The editor says that it made the edit, and nothing of it was told: it may be in a buffer that nobody sees (lsp-mode)."""
        return self._granted and self.phase is Phase.LOST and self.closed and self._separated() is None

    @property
    def looks_made(self) -> bool:
        """Whether the edit seems to be among what was received, though perhaps nobody can say where."""
        found = self._separated()
        return looks_applied(self.edits, self.story.edits) if found is None else not found.is_undone

    def without(self) -> str | None:
        """The text without the edit, which came to a wrong place and is still there."""
        found = self._separated()
        return None if found is None or found.is_undone else found.without

    def account(self, *, is_ours: bool) -> Iterator[Others | Ours]:
        """Whose everything was that the document received, in order. `is_ours` False: the edit is like one of the editor's own."""
        story = self.story
        yield from _others(self._begun, self._foreign, is_users=False)
        ours = story.matched_at or 0
        if is_ours and story.matched:
            # Reached otherwise than expected (other line ends): the changes are those that were really made.
            as_sent = (
                story.reached is self.expected
                and story.before == self.made_for
                and not self._changes.is_empty
            )
            changes = self._changes if as_sent else diff(str(story.before), str(story.reached))
            yield Ours(story.before, changes, story.reached)
            now = story.reached
        else:
            now = story.before
            for one in _others(now, story.edits[:ours], is_users=False):
                yield one
                now = one.after
        yield from _others(now, story.edits[ours:])

    def _separated(self) -> Separated | None:
        return separate(self.story.before, self.edits, self.story.edits, self._coordinates)

    def _is_astray(self, received: Sequence[Edit]) -> bool:
        """Our edits came, on another text than they were made for: the sooner they are put right the less is typed into them."""
        meant = self.made_for if self.moved else None
        return overwrites(self.story.before, self.edits, received, self._coordinates, meant=meant)

    def _overwrote(self) -> bool:
        """True if our edit reached the expected text only by overwriting something that we had not seen: typing that the editor had
        not reported yet, or the disk's text of a document that was closed without saving, or edited after it was reopened."""
        story = self.story
        if not self._is_astray(story.edits[: story.matched_at]):
            return False
        story.matched_at, story.reached = None, self.expected
        return True

    def _was_there_already(self, disk: Disk) -> bool:
        """The text was as expected before the edit came: the editor had taken the same change from the disk, or the user had undone what
        the edit was to take out. Then the edit came on top, to a wrong place."""
        story = self.story
        newer = story.edits[story.matched_at :]
        if not newer or not (self._misplaces or disk.was_on_disk(normal(str(story.reached)))):
            return False
        if not self._is_on_top(story.reached, newer):
            return False
        self._foreign = story.edits[: story.matched_at]
        story.before, story.edits[:] = story.reached, newer
        story.matched_at, story.reached = None, self.expected
        return True

    def _is_on_top(self, there: Text, newer: Sequence[Edit]) -> bool:
        """Whether our edit is among `newer`, which followed on `there`, the expected text."""
        again = separate(there, self.edits, newer, self._coordinates)
        if again is None or again.is_undone:
            return False
        # else undone by the user, and redone
        return overwrites(there, self.edits, newer, self._coordinates, meant=self.made_for)

    def comes_late(self, there: Text, newer: Sequence[Edit]) -> bool:
        """Whether the edit, which was noted without an answer because the document said the expected text, came only now: among `newer`, on top of
        `there`. That is what it came to then."""
        if not self._is_on_top(there, newer):
            return False
        self.story = Story(self.story.document, self.expected, there, newer)
        return True


class Astray:
    """Edits of ours that came to wrong places one after the other: the first, then those that were to take it out."""

    def __init__(self, first: Attempt, coordinates: Coordinates) -> None:
        self._made = [first]
        self._coordinates = coordinates

    def __len__(self) -> int:
        """How many of them may be in the document."""
        return len(self._made)

    def without(self, now: Text) -> Separated | None:
        """What the document, which says `now`, would say without any of them; None when one of them is not found."""
        last = self._made[-1]
        since = _after(last.before, last.received)
        if since != now:  # typed between the end of the attempt and now
            more = changes_as_steps(diff(str(since), str(now)))
            self._made[-1] = replace(last, received=[*last.received, *more])
        return separate_all(self._made, self._coordinates)

    def followed_by(self, correction: InFlight) -> None:
        """`correction` was to take them out and ended refused or displaced. One that was refused is not there, only what was typed
        meanwhile. A document that was closed without saving and opened again by this very edit goes on with what was saved."""
        then = correction.attempt
        is_there = correction.phase is not Phase.REFUSED
        self._goes_back_to(then.before)
        if is_there:
            self._made.append(then)
        elif self._made:
            last = self._made[-1]
            self._made[-1] = replace(last, received=[*last.received, *then.received])

    def _goes_back_to(self, text: Text) -> None:
        """Forgets what was made since the document said `text`, and everything when it never did."""
        while self._made:
            last = self._made.pop()
            said = states(last.before, last.received)
            count = max((n for n, one in enumerate(said) if n and one == text), default=0)
            if count:
                self._made.append(replace(last, received=last.received[:count]))
                return


def made_untold(
    text: Text, edits: Sequence[TextEdit], known: Sequence[str], coordinates: Coordinates
) -> tuple[Text, ChangeSet] | None:
    """The one of `known`, texts that the disk held, that the edits were made on, and what that made of it, when that is `text`."""
    now = str(text)
    for one in known:
        there = Text.of(one)
        made = made_on(there, edits, coordinates)
        if made is not None and one != now and made.apply(one) == now:
            return there, made
    return None


def led_to(before: Text, changes: ChangeSet) -> Text:
    """The text that `changes` lead to, sharing with `before` what is the same."""
    return _after(before, changes.edits[::-1])


def is_same(one: Text, other: Text) -> bool:
    """But for line ends."""
    return fold(str(one)) == fold(str(other))


def _after(before: Text, received: Sequence[Edit]) -> Text:
    rope = Rope.of(before)
    for edit in received:
        rope.splice(edit.start, edit.end, edit.new)
    return rope.snapshot()


def printed() -> str:
    """The table for people: a line for each phase and event, a column for what the document shows."""
    head = ["phase", "event", *(shows.name.lower() for shows in Shows)]
    rows = [head]
    for (phase, event), row in TABLE.items():
        cells = [row] * len(Shows) if isinstance(row, Phase) else [row[shows] for shows in Shows]
        rows.append([phase.name.lower(), event.name.lower(), *(cell.name.lower() for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-|-".join("-" * w for w in widths))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(printed() + "\n")
