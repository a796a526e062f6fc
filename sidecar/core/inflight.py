"""InFlight: one edit on its way to the editor, as a value. Nothing here waits, reads a clock or calls anybody.

An editor's answer proves nothing: some answer `true` and apply nothing, or apply the edit in the wrong place (docs/clients.md). The didChange may
come before or after the answer, alone or followed by newer typing. So two things decide: the *answer*, and what the *document shows*. `TABLE` says
what follows from both; `python -m sidecar.core.inflight` prints it. The caller reports what arrives (`received`, `saved`, `closes`,
`opens_again`), asks for the next step (`on`), and does what it says (`ACTIONS`).

An edit that takes out a misplaced one is itself an edit on its way. `Astray` keeps both until nothing of either is left.
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
from sidecar.core.led_to import states, steps, text_after
from sidecar.core.lineends import fold
from sidecar.core.misapplied import (
    Attempt,
    Separated,
    looks_applied,
    made_on,
    overwrites,
    puts_back,
    separate,
    separate_all,
    typed_into,
)
from sidecar.core.normal import Normal, normal, say_the_same
from sidecar.core.overlay import Document
from sidecar.core.text import Text

_SOON = 2_000_000
"""Code points. In texts up to this size, every change is searched for our edit at a wrong place; in larger texts only once, at the end."""


class Phase(Enum):
    """The phase of an edit. The phases from EXACT on are ends."""

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
"""The action for each end."""

SECONDS: Mapping[Phase, float] = {
    Phase.ASKED: 60.0,
    Phase.GRANTED: 2.0,
    Phase.SILENT: 30.0,
    Phase.DENIED: 1.0,
}
"""The most seconds that each other phase lasts; OVERDUE has no limit. An editor may ask its user before it answers. Neovim reports changes
after 0.15 s, eglot after 0.5 s, or 0.5 s after its user stopped typing (docs/clients.md)."""


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
"""The next phase for a phase and an event: one phase for everything, or one for each thing that the document may show. Nothing else is planned
for a document before an end is reached. Some editors never answer (docs/clients.md), so what the document shows decides alone after the time
for the answer is over."""


class Disk(Protocol):
    """What is known about the file."""

    def is_on_disk(self, text: Text) -> bool:
        """Whether `text`, apart from line ends, is the text last found on the disk."""
        ...

    def was_on_disk(self, text: str) -> bool:
        """Whether the file ever held `text` (compared form of `core.normal`)."""
        ...


class Story:
    """The texts of a document since some moment, and whether it reached the expected text."""

    def __init__(
        self, document: Document, expected: Text, before: Text | None = None, edits: Sequence[Edit] = ()
    ) -> None:
        """`before`, `edits`: the text at that moment and the edits received since, if any were received already."""
        self.document = document
        self.before = document.snapshot() if before is None else before
        self.edits: list[Edit] = list(edits)
        """The edits received since, each on the text that the one before left."""
        self.matched_at: int | None = None
        """How many of `edits` led to the expected text; the edits after these are somebody's newer work. None: not reached yet."""
        self.reached = expected
        """The expected text. After it was matched: the same text as the editor really has it."""
        self.version = document.version - len(self.edits)
        """The document's version with the text `before`. If edits had already been received, an estimate: one version per edit."""
        self.saved_over = False
        """The document was saved before it had the expected text: the disk may no longer hold the text that the edit was made for."""
        self.saved_anothers = False
        """The document was saved with the expected text when somebody else may have put it there."""
        self.saved_it = False
        """The document was saved with the expected text while the disk held another one. That the disk holds it since then is no sign of
        anybody else's work."""

    @property
    def matched(self) -> bool:
        return self.matched_at is not None

    def received(self, edit: Edit) -> None:
        """Record an edit that the document already contains."""
        self.edits.append(edit)
        rope = self.document.rope
        if self.matched_at is None and len(rope) == len(self.reached) and rope.snapshot() == self.reached:
            self.matched_at = len(self.edits)

    def saved(self, disk: Disk) -> None:
        """Record a save. `disk` is in its state from before the save."""
        if not self.is_matched():
            self.saved_over = True
        elif self.may_be_anothers(disk):
            self.saved_anothers = True
        else:
            self.saved_it = True

    def may_be_anothers(self, disk: Disk) -> bool:
        """Whether the expected text was seen, but also was on the disk: somebody put it there, and the editor may have taken it over from
        there."""
        return self.saved_anothers or (not self.saved_it and disk.is_on_disk(self.reached))

    def is_matched(self) -> bool:
        """Whether the expected text was reached. Also true if the last state differs from it only in line ends: some editors give an edit their
        own line ends."""
        if self.edits and self.matched_at is None:
            now = self.document.snapshot()
            if (now.has_returns or self.reached.has_returns) and say_the_same(now, self.reached):
                self.matched_at, self.reached = len(self.edits), now
        return self.matched

    def is_there(self) -> bool:
        """Whether the document has the expected text, however it got there."""
        return say_the_same(self.document.snapshot(), self.reached)

    def begins_with(self, before: Text, edits: Iterable[Edit]) -> None:
        """Extend the story backwards: its first text was made from `before` by `edits`."""
        earlier = list(edits)
        self.before, self.edits[:0] = before, earlier
        self.version -= len(earlier)


@dataclass(frozen=True, slots=True)
class Others:
    """An edit other than the one on its way, with the texts before and after it."""

    edit: Edit
    before: Text
    after: Text
    is_users: bool = True


def _others(before: Text, edits: Sequence[Edit], *, is_users: bool = True) -> Iterator[Others]:
    for edit, was, now in steps(before, edits):
        yield Others(edit, was, now, is_users)


@dataclass(frozen=True, slots=True)
class Ours:
    """What our edit did in the document."""

    before: Text
    changes: ChangeSet
    after: Text


class InFlight:
    """The edit: `changes` to the text that the document of `story` has when this is created."""

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
        """`edits`: `changes` as they are sent. `is_disks`: the disk already holds the expected text. `misplaces`: this editor has before
        applied one of our edits to another text than it was made for."""
        self.story = story
        self.edits = tuple(edits)
        self.phase = Phase.ASKED
        self.closed = False
        """The document that the edit was sent for is closed."""
        self.moved = False
        """The document was closed and opened again since the edit was sent."""
        self._granted = False
        self._changes = changes
        self._coordinates = coordinates
        self._is_disks = is_disks
        self._misplaces = misplaces
        self.made_for, self.expected = story.before, story.reached
        self._begun = story.before
        self._foreign: list[Edit] = []
        """The edits received before anything that may be ours: they led from `_begun` to the story's `before`."""

    @property
    def has_ended(self) -> bool:
        return self.phase in ACTIONS

    def on(self, event: Event, disk: Disk) -> Action:
        """Take in an event and return the next step."""
        row = TABLE.get((self.phase, event))
        self._granted = self._granted or event is Event.YES
        if row is None:  # cannot happen: the user's text stays as it is, and whoever asked is told
            warnings.warn(f"{event} in {self.phase}", RuntimeWarning, stacklevel=2)
            row = Phase.LOST
        self.phase = row if isinstance(row, Phase) else row[self.shows(disk)]
        if self.phase is Phase.OVERDUE and event is Event.TIME:
            return Action.TELL
        return ACTIONS.get(self.phase, Action.WAIT)

    def shows(self, disk: Disk) -> Shows:
        """What the document shows of the edit now."""
        story = self.story
        if story.is_matched():
            if self._overwrote() or self._was_there_already(disk):
                # If the document is closed and was saved with this very text, the edit is put right on the
                # disk, or in the document after it is opened again.
                return (
                    Shows.CLOSED
                    if self.closed and disk.is_on_disk(story.document.snapshot())
                    else Shows.ASTRAY
                )
            return self._seen(disk)
        if self.closed:
            return Shows.CLOSED
        if not story.edits:
            return Shows.OPENED if self.moved and story.is_there() else Shows.NOTHING
        small = len(story.before) <= _SOON
        if small and self._is_astray(story.edits):
            return Shows.ASTRAY
        return self._seen(disk) if self._granted and self._is_told_with_typing() else Shows.OTHER

    def _seen(self, disk: Disk) -> Shows:
        """What it shows once the expected text was reached."""
        doubtful = not self._is_disks and self.story.may_be_anothers(disk)
        return Shows.ANOTHERS if doubtful else Shows.EXPECTED

    def _is_told_with_typing(self) -> bool:
        """Whether the edit and what was typed into it came as one change. If so, the story has them one after the other from now on."""
        story = self.story
        typed = None if self.moved else typed_into(story.before, self._changes, story.edits)
        if typed is None:
            return False
        ours = changes_as_steps(self._changes)
        story.edits[:], story.matched_at = [*ours, *typed], len(ours)
        return True

    def closes(self) -> None:
        """Record that the editor closed the document."""
        self.closed = True

    def opens_again(self, story: Story, known: Sequence[str] = ()) -> None:
        """Record that the editor opened the document again, with the text that `story` begins with. Some editors do that to make the edit (VS
        Code compares no versions of closed documents), so its effect shows there. If the document had this text before, the story continues
        with what led to it. `known`: texts that the disk is known to have held, in case the edit was made on one of them before the document
        was reported open."""
        was, self.story = self.story, story
        self.closed, self.moved = False, True
        story.saved_over = was.saved_over
        for count, text in reversed(list(enumerate(states(was.before, was.edits)))[1:]):
            if (
                text == story.before
            ):  # it was saved then; our edit may be in it, at a wrong place or the right one
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
        """Whether the edit may be in a buffer that nobody sees (lsp-mode): the document was closed before the editor said that it made the edit,
        and the editor reported no such change. If the document had the expected text before, that may have been somebody else's doing, such as the
        user's undo."""
        if not (self._granted and self.closed):
            return False
        return self.phase is Phase.EXACT or (self.phase is Phase.LOST and self._separated() is None)

    @property
    def looks_made(self) -> bool:
        """Whether the edit seems to be among what was received, even if nobody can say where."""
        found = self._separated()
        return looks_applied(self.edits, self.story.edits) if found is None else not found.is_undone

    def without(self) -> str | None:
        """The text without the edit, if the edit is at a wrong place and still there; otherwise None."""
        found = self._separated()
        return None if found is None or found.is_undone else found.without

    def account(self, *, is_ours: bool) -> Iterator[Others | Ours]:
        """All changes that the document received, in order, attributed to the user or the editor (`Others`) or to us (`Ours`). `is_ours` False:
        the edit counts like one of the editor's own."""
        story = self.story
        yield from _others(self._begun, self._foreign, is_users=False)
        ours = story.matched_at or 0
        if is_ours and story.matched:
            # The text was reached in another way than expected (other line ends): these are the changes that
            # were really made.
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
        """Whether our edits were made on another text than they were meant for. The sooner they are put right, the less is typed into them."""
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
        """True if the text was as expected before the edit arrived: the editor had taken the same change from the disk, or the user had undone
        what the edit was to take out. Then the edit came on top, at a wrong place."""
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
        """Whether our edit is among `newer`, the edits that followed on `there`, the expected text."""
        again = separate(there, self.edits, newer, self._coordinates)
        if again is None or again.is_undone:
            return False
        if there == self.expected and puts_back(
            there, self._changes, self.edits, newer, self._coordinates, meant=self.made_for
        ):
            return False
        return overwrites(there, self.edits, newer, self._coordinates, meant=self.made_for)

    def comes_late(self, there: Text, newer: Sequence[Edit]) -> bool:
        """Whether the edit arrived only now. It was noted without an answer because the document had the expected text, `there`; now it is
        among `newer`, on top of that text. If so, this becomes the story of the edit."""
        if not self._is_on_top(there, newer):
            return False
        self.story = Story(self.story.document, self.expected, there, newer)
        return True


class Astray:
    """Edits of ours that were made at wrong places one after the other: the first, then those that were to take it out."""

    def __init__(self, first: Attempt, coordinates: Coordinates) -> None:
        self._made = [first]
        self._coordinates = coordinates

    def __len__(self) -> int:
        """How many of the edits may be in the document."""
        return len(self._made)

    def without(self, now: Text) -> Separated | None:
        """What the text of the document, now `now`, would be without any of these edits. None if one of them is not found."""
        last = self._made[-1]
        since = text_after(last.before, last.received)
        if since != now:  # typed since the attempt ended
            more = changes_as_steps(diff(str(since), str(now)))
            self._made[-1] = replace(last, received=[*last.received, *more])
        return separate_all(self._made, self._coordinates)

    def followed_by(self, correction: InFlight) -> None:
        """Record `correction`, which was to take the edits out and ended refused or displaced. A refused one is not in the document, only what
        was typed meanwhile. A document that was closed without saving and opened again by this very edit continues from its saved text."""
        then = correction.attempt
        is_there = correction.phase is not Phase.REFUSED
        self._goes_back_to(then.before)
        if is_there:
            self._made.append(then)
        elif self._made:
            last = self._made[-1]
            self._made[-1] = replace(last, received=[*last.received, *then.received])

    def _goes_back_to(self, text: Text) -> None:
        """Forget what was made since the document had `text`; everything if it never had it."""
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
    """The text among `known` (texts that the disk held, in the compared form) on which the edits were made, and the changes they made there, if these
    lead to `text`; otherwise None. Both are raw, with the line ends of `text`."""
    now = Normal(str(text))
    folded = [replace(edit, new_text=fold(edit.new_text)) for edit in edits]
    for one in known:
        made = made_on(Text.of(one), folded, coordinates)
        if made is not None and one != now.text and made.apply(one) == now.text:
            back = now.changes_in_raw(made.invert(one))
            return Text.of(back.apply(now.raw)), back.invert(now.raw)
    return None


def is_same(one: Text, other: Text) -> bool:
    """Whether both texts are equal apart from line ends."""
    return fold(str(one)) == fold(str(other))


def printed() -> str:
    """The table in readable form: a row for each phase and event, a column for each thing that the document may show."""
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
