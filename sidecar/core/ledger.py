"""Ledger: the parts of a document that agents changed and that the user has not reviewed yet.

A hunk is a stretch of the current text with the text that rejecting the hunk restores. Everything outside the hunks is the user's or already reviewed.
So the text before all unreviewed work needs no copy: it is the current text with every hunk reverted. Typing outside the hunks only moves them.

    user_edit      Hunks outside the edit move. Lines that the edit changes inside a hunk become the user's and leave the hunk.
                   A deletion whose lines are restored in place is no longer a hunk.
    agent_edit     Creates a hunk, or adds a version to a hunk of another turn.
    keep, reject   Apply to a hunk, a turn or a session. If another agent worked on top, a three-way merge decides.

Undo and redo belong to the editor and arrive as user edits. If one leads to the text from right before or right after an agent's edit, in whatever
line ends, the hunks of that text are restored (remembered.py). Hunks that an edit took out of review or changed come back as soon as their place
has its old text again (left.py). So undoing an agent's edit takes it out of review, and redoing it puts it back.

Offsets are code points in the current raw text of the mirror. The ledger knows nothing of documents, files or editors.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.fates import Became, Fates
from sidecar.core.hunk import (
    Hunk,
    effective,
    is_put_back,
    isolate,
    lines_around,
    may_restore,
    parted,
    touches,
    without_edited_lines,
    without_restored_lines,
    writes_of,
)
from sidecar.core.left import MAX_PLACES, Left
from sidecar.core.places import Places
from sidecar.core.remembered import Hunks, Remembered, SeenText
from sidecar.core.respelled import respelled, spelled_as
from sidecar.core.rope import Rope
from sidecar.core.shared_edit import ReplacedPart, SharedEdit, edits_of, new_version, replaced
from sidecar.core.text import Text
from sidecar.core.versions import Author, AuthorFilter, Version, kept, rejected


def _anybody(author: Author) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rejection:
    """How to revert hunks. `changes` apply to the current text. `impossible` are the hunks that later work prevents from being reverted."""

    changes: ChangeSet
    hunks: tuple[Hunk, ...]
    """The ledger's hunks after `changes` are applied."""
    impossible: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A saved state of a ledger. The editor's later edits can be replayed from it once their true author is known."""

    steps: int
    hunks: tuple[Hunk, ...]
    left: Left


class ReviewThen(NamedTuple):
    """What was under review in a text that the document had."""

    text: str
    """Raw."""
    hunks: tuple[Hunk, ...]
    texts_seen: int = 0
    """`Ledger.texts_seen` at that time. The hunks remembered for later texts are not certain."""
    left: Left = Left()


@dataclass(slots=True)
class _Ids:
    """The counter for hunk numbers. Copies of a ledger share it."""

    newest: int


class Ledger:
    """The unreviewed work in one document."""

    def __init__(self, hunks: Iterable[Hunk] = ()) -> None:
        self.hunks = tuple(hunks)
        self._ids = _Ids(max((h.id for h in self.hunks), default=0))
        self._remembered = Remembered()
        self._fates = Fates()
        self._left = Left()
        self._steps = 0
        """The number of agent edits and reviews so far."""
        self.when_seen_again: Callable[[Text], None] | None = None
        """Called after an edit led to a text that was seen before and the hunks of that text were restored."""

    @property
    def is_idle(self) -> bool:
        """True if the ledger tracks nothing, so that edits need not be reported."""
        return not self._moving and not self._remembered and not self._left

    @property
    def texts_seen(self) -> int:
        """The number of the newest text that was remembered for undo and redo."""
        return self._remembered.newest

    @property
    def newest_id(self) -> int:
        """The highest number that any hunk has had so far."""
        return self._ids.newest

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return self._moving.all()

    @hunks.setter
    def hunks(self, hunks: Iterable[Hunk]) -> None:
        self._moving = Hunks(hunks)

    def told(self, hunks: Sequence[Hunk]) -> bool:
        """Replace the hunks with those that a better source knows for the current text. A hunk that was already here keeps its number; all others
        get new numbers. Returns whether anything changed."""
        was = self.hunks
        numbers = {(h.start, h.end, h.was, h.versions): h.id for h in was}
        known = [numbers.get((h.start, h.end, h.was, h.versions)) for h in hunks]
        now = tuple(
            replace(h, id=self._id() if number is None else number)
            for h, number in zip(hunks, known, strict=True)
        )
        if now != was:
            self.hunks = now
        return now != was

    def meets(self, edit: Edit) -> bool:
        """Whether an edit of the current text lies on a hunk."""
        return bool(self._moving.met(edit))

    def base(self, text: str) -> str:
        """`text` with every hunk reverted."""
        return self.put_back(len(text), self.hunks).apply(text)

    def base_of_known(self, text: str) -> str:
        """Like `base`, but changes by unknown authors stay in the text."""
        ids = self.ids(lambda author: not author.unknown)
        return self.reject(len(text), ids, lambda author: not author.unknown).changes.apply(text)

    @staticmethod
    def put_back(length: int, hunks: Iterable[Hunk]) -> ChangeSet:
        return ChangeSet.of(length, tuple(Edit(h.start, h.end, h.old) for h in hunks))

    # Edits

    def user_led(self, before: Text, after: Text) -> None:
        """Record a change from `before` to `after` that no agent made. A change of line ends alone is not an edit."""
        before = self.takes_line_ends(before, after)
        self.user_edits(before, diff(str(before), str(after)))

    def misplaced(self, before: Text, proper: Text, author: Author) -> None:
        """Record that an agent's edit at a wrong place was taken out: that led from `before` to `proper`. The user may undo it, and then that edit
        is there again and under review, although nobody knew whose it was when it arrived."""
        self.user_led(before, proper)
        there = self.elsewhere(self.hunks)
        there.agent_edit(proper, diff(str(proper), str(before)), before, author)
        self._remember(before, there._moving, there._left)

    def user_edits(self, before: Text, changes: ChangeSet) -> None:
        """Record edits of the current text, `before`, that no agent made."""
        rope = Rope.of(before)
        for step in changes_as_steps(changes):
            was = rope.snapshot()
            rope.splice(step.start, step.end, step.new)
            self.user_edit(step, len(rope), rope.snapshot, lambda was=was: was)

    def user_edit(
        self,
        edit: Edit,
        length: int,
        after: Callable[[], Text],
        before: Callable[[], Text | None] = lambda: None,
    ) -> bool:
        """Record an edit of the current text that no agent made. `length` and `after` describe the resulting text; `before` returns the text that
        the edit changed, or None if it is not known. `after` and `before` are called only if hunks are or were near the edit.

        Returns whether hunks appeared, disappeared or changed in any way other than moving."""
        was = self._moving
        numbers = self._looked_at(edit, after)
        may_be_seen = self._remembered.may_be(length)
        # The edit removes text around deletions by an agent: only the text before the edit shows where they
        # were.
        squeezed = was.deletions_in(edit)
        may_come_back = self._left.meets(edit)
        self._left, newest = self._left.after(edit, before), self._ids.newest
        if not numbers and not may_be_seen and not squeezed and not may_come_back:
            was.move(edit)
            return False
        self._moving = edited = self._after(edit, numbers, after)
        gone, come = was.apart(edited, Hunk.is_same, numbers)
        # A line typed at the end of a hunk's last line counts as one beside the hunk, but its undo deletes the hunk's own line end.
        around = [hunk for hunk in was.some(numbers) if hunk.start < edit.start and edit.end < hunk.end]
        if squeezed or around or _any_taken(gone, come):
            ids = {hunk.id for hunk in (*gone, *squeezed, *around)}
            taken = _stretch((*was.some(numbers), *squeezed), ids)
            self._left = self._left.took(edit, taken, newest, before)
            may_come_back = True
        if may_be_seen:
            self._recall(after())
        if may_come_back:
            self._come_back(edit, after())
        if self._moving is not edited:
            gone, come = was.apart(self._moving, Hunk.is_same)
        return [(h.id, h.said) for h in gone] != [(h.id, h.said) for h in come]

    def _looked_at(self, edit: Edit, after: Callable[[], Text]) -> range:
        """The positions in `_moving` of the hunks that an edit by anyone but an agent may do more than move."""
        hunks = self._moving
        met = hunks.met(edit)
        if (
            not hunks.are_effective
            or (met and hunks.have_aftermath)
            or any(
                is_put_back(hunk if hunk.end <= edit.start else hunk.moved(edit.growth), edit, after)
                for hunk in hunks.deletions_near(edit)
            )
        ):
            return range(len(hunks))
        return met

    def _after(self, edit: Edit, numbers: range, after: Callable[[], Text]) -> Hunks:
        """The hunks after an edit that no agent made. Only the hunks at the positions `numbers` are looked at; the others move."""
        hunks = self._moving.copy()
        there = effective(self._edited(hunks.some(numbers), edit, after))
        left = [hunk for hunk in there if not is_put_back(hunk, edit, after)]
        if len(numbers) == len(hunks):
            return Hunks(left, are_effective=len(left) == len(there))
        hunks.put(numbers, left, edit.growth)
        return hunks

    def _edited(
        self, hunks: Iterable[Hunk], edit: Edit, after: Callable[[], Text] | None = None
    ) -> Iterator[Hunk]:
        for hunk in hunks:
            if hunk.end <= edit.start:
                yield hunk
            elif edit.end <= hunk.start:
                yield hunk.moved(edit.growth)
            else:
                left = None if after is None else self._less_restored(hunk, edit, after)
                yield from without_edited_lines(hunk, edit, self._id) if left is None else left

    def _less_restored(self, hunk: Hunk, edit: Edit, after: Callable[[], Text]) -> list[Hunk] | None:
        """As `without_restored_lines`; None too where other hunks lie on the same lines."""
        if not may_restore(hunk, edit):
            return None
        text = after()
        lines = lines_around(text, hunk.start, hunk.end + edit.growth)
        numbers = self._moving.touched(lines.start, lines.stop - edit.growth)
        others = (one for one in self._moving.some(numbers) if one.id != hunk.id)
        if any(
            (one.start < lines.stop - edit.growth and lines.start < one.end) or one.start == one.end
            for one in others
        ):
            return None
        return without_restored_lines(hunk, edit, text, lines)

    def agent_edit(self, before: Text, changes: ChangeSet | Places, after: Text, author: Author) -> None:
        """Record an agent's change of the current text, from `before` to `after`."""
        self._steps += 1
        self._remember(before)
        hunks = list(self.hunks)
        if isinstance(changes, Places) and not hunks and not self._left:
            first = effective(self._first(before, changes, after, author))
            self._moving = Hunks(first, are_effective=True)
            self._remember(after)
            return
        shift, all_touched = 0, list[Sequence[Hunk]]()
        for edit in edits_of(changes, after):
            here = edit.moved(shift)
            old = partial(replaced, before, edit, shift)
            hunks, touched = self._with_agent_edit(hunks, here, old, author)
            all_touched.append(touched)
            shift += edit.growth
        self._moving = Hunks(effective(hunks), are_effective=True)
        if self._left or any(all_touched):
            told = changes.changes() if isinstance(changes, Places) else changes
            self._left = self._left_by(told, before, all_touched, author.write)
        self._remember(after)

    def _left_by(
        self,
        changes: ChangeSet,
        before: Text,
        touched: Sequence[Sequence[Hunk]],
        write: str,
    ) -> Left:
        """The places after an agent's change of the text `before`. `touched`: for each edit of it, the hunks that it changes or takes out of review, where they
        are then. Of a change with more edits than places are kept, none is kept."""
        if len(changes.edits) > MAX_PLACES:
            return self._left.after_all(changes, before)
        left, rope = self._left, Rope.of(before)
        for step, hunks in zip(changes_as_steps(changes), touched, strict=True):
            left = left.after(step, rope.snapshot)
            if hunks:
                left = left.took(step, hunks, self._ids.newest, rope.snapshot, write)
            rope.splice(step.start, step.end, step.new)
        return left

    def _first(self, before: Text, places: Places, after: Text, author: Author) -> Iterator[Hunk]:
        for start, end, new_start, new_end in places.hunks:
            version = Version(author, after.part(new_start, new_end))
            yield Hunk(self._id(), new_start, new_end, before.part(start, end), (version,))

    def mark(self) -> Mark:
        """Save the state. Call this before the editor does something that may turn out not to be the user's work."""
        return Mark(self._steps, self.hunks, self._left)

    def back_at(self, mark: Mark) -> None:
        """Restore the state of the mark, because the text is again what it was then."""
        self.goes_to(mark.hunks)
        self._left = mark.left

    def aftermath(self, since: Mark, before: Text, changes: ChangeSet, after: Text, author: Author) -> bool:
        """Attribute the edits since `since` to `author`: they were recorded as the user's, but the editor made them when it saved the author's
        write. If an agent's edit or a review happened in between, returns False and changes nothing."""
        if self._steps != since.steps:
            return False
        self.back_at(since)
        self.agent_edit(before, changes, after, replace(author, aftermath=True, created=False))
        return True

    # Review

    def keep(self, ids: Iterable[int], whose: AuthorFilter = _anybody) -> list[Hunk]:
        """Take hunks out of review and leave their text as it is; with `whose`, only those authors' versions. Returns the hunks that were affected,
        as they were before."""
        self._steps += 1
        wanted = set(ids)
        kept: list[Hunk] = []
        hunks: list[Hunk] = []
        for hunk in self.hunks:
            if hunk.id not in wanted or not any(whose(v.author) for v in hunk.versions):
                hunks.append(hunk)
                continue
            kept.append(hunk)
            rest = _keep_versions(hunk, whose)
            if rest is not None:
                hunks += parted(rest, self._id)
        self._fates.keep(kept, whose)
        self._moving = Hunks(effective(hunks), are_effective=True)
        self._left = self._left.without(kept)
        self._remembered.forget_parts(kept)
        return kept

    def reject(self, length: int, ids: Iterable[int], whose: AuthorFilter = _anybody) -> Rejection:
        """How to revert hunks in a text of `length` code points. Does not change the ledger; call `rejected` after the text has changed."""
        wanted = self._with_aftermath(set(ids), whose)
        edits: list[Edit] = []
        left: list[Hunk] = []
        impossible: list[Hunk] = []
        shift = 0
        for hunk in self.hunks:
            text: AnyText | None = hunk.said
            rest: Hunk | None = hunk
            if hunk.id in wanted and any(whose(v.author) for v in hunk.versions):
                text, rest = _reject_versions(hunk, whose)
                if text is None:
                    impossible.append(hunk)
                    text, rest = hunk.said, hunk
            if text != hunk.said:
                edits.append(Edit(hunk.start, hunk.end, str(text)))
            if rest is not None:
                rest = replace(rest, start=hunk.start + shift, end=hunk.start + shift + len(text))
                left += [rest] if text == hunk.said else parted(rest, self._id)
            shift += len(text) - (hunk.end - hunk.start)
        return Rejection(ChangeSet.of(length, tuple(edits)), effective(left), tuple(impossible))

    def rejected(self, before: Text, rejection: Rejection, after: Text) -> None:
        """Record a rejection whose changes led from `before`, the current text, to `after`. Hunks that the user kept while the editor made the
        changes stay kept."""
        self._steps += 1
        self._remember(before)
        left = [rest for hunk in rejection.hunks if (rest := self._unkept(hunk)) is not None]
        self._moving = Hunks(effective(left), are_effective=True)
        # No places: what the user writes there later may say the same as what was rejected, and is the user's
        self._left = self._left.after_all(rejection.changes, before)
        self._remember(after)

    def _unkept(self, hunk: Hunk) -> Hunk | None:
        if not self._fates.is_any_kept([hunk]):
            return hunk
        return _keep_versions(hunk, partial(self._fates.is_kept, hunk))

    @property
    def remembers(self) -> int:
        """How many hunks it remembers that are under review no longer, because they were kept or went into others."""
        return len(self._fates)

    def ids(self, whose: AuthorFilter = _anybody) -> list[int]:
        """The numbers of the hunks that have a version by such an author."""
        return [h.id for h in self.hunks if any(whose(v.author) for v in h.versions)]

    def became(self, ids: Iterable[int]) -> dict[int, Became]:
        """What became of hunks that were under review, by their numbers."""
        return self._fates.of(ids, {hunk.id for hunk in self.hunks})

    def undecided(self) -> set[str]:
        """The writes (the journal's ids) with anything under review, or with something that an undo may put under review again."""
        then = [*self._remembered.hunks(), *self._left.hunks()]
        writes = {
            version.author.write
            for hunk in then
            for version in hunk.versions
            if not self._fates.is_kept(hunk, version.author)
        }
        return writes | writes_of(self.hunks)

    # Undo and redo

    def may_come_back(self, text: Text) -> None:
        """Remember the current hunks, so that an undo restores them. Call this when the current text is about to change by edits of which only the
        final text is known."""
        if self.hunks:
            self._remember(text)

    def has_seen(self, text: Text) -> bool:
        """Whether going back to this text restores its hunks."""
        return self._remembered.find(text) is not None

    def _remember(self, text: Text, hunks: Hunks | None = None, left: Left | None = None) -> None:
        """Remember the hunks of a text, by default the current ones."""
        hunks = self._moving.copy() if hunks is None else hunks
        self._remembered.add(text, hunks, self._left if left is None else left)

    def now(self, text: str) -> ReviewThen:
        """What is under review in `text` (raw), the document's current text."""
        return ReviewThen(text, self.hunks, self.texts_seen, self._left)

    def back_to(self, then: ReviewThen) -> None:
        """Restore the hunks of that time, without those kept since. The hunks remembered for later texts are forgotten, because they may be wrong."""
        self.goes_to(then.hunks)
        self._left = then.left
        self._remembered.only_up_to(then.texts_seen)

    def copy(self) -> Ledger:
        """A copy on which to try a user's edits; see `becomes`."""
        tried = copy(self)
        tried.when_seen_again = None
        tried._moving, tried._remembered = self._moving.copy(), self._remembered.copy()
        tried._left = self._left
        return tried

    def elsewhere(self, hunks: Sequence[Hunk]) -> Ledger:
        """A ledger with these hunks for a text other than the document's. Both ledgers take new numbers from one counter, so no number is used
        twice."""
        other = copy(self)
        other.hunks, other._remembered, other._fates = tuple(hunks), Remembered(), self._fates.elsewhere()
        other._left, other.when_seen_again = Left(), None
        return other

    def numbered(self, now: Text, elsewhere: Text, hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
        """The hunks of `elsewhere`, a text other than the document's, which is `now`. A change that is in both has the number that it has here, so that
        the user's decision counts in both."""
        tried = self.elsewhere(hunks)
        tried.user_led(elsewhere, now)
        here = {(h.start, h.end, h.was, h.versions): h.id for h in self.hunks}
        same = {h.id: here.get((h.start, h.end, h.was, h.versions), h.id) for h in tried.hunks}
        taken = {hunk.id for hunk in hunks}
        return tuple(
            hunk if (number := same.get(hunk.id, hunk.id)) in taken else replace(hunk, id=number)
            for hunk in hunks
        )

    def becomes(self, tried: Ledger) -> None:
        """Take over the result of the user's edits in `tried`, a copy of this ledger, in place of what they led to here."""
        self._moving, self._remembered, self._left = tried._moving, tried._remembered, tried._left

    def _recall(self, text: Text) -> None:
        seen = self._remembered.find(text)
        if seen is not None:
            self._has_again(seen.hunks)
            if self.when_seen_again is not None:
                self.when_seen_again(text)

    def _come_back(self, edit: Edit, text: Text) -> None:
        hunks = self._moving.copy()
        self._left, any_came = self._left.back(edit, text, hunks, self._unkept)
        if any_came:
            self._moving = hunks

    def left(self) -> Iterator[SeenText]:
        """The remembered texts, newest first, in which everything that is under review now was under review, and something more."""
        for seen in self._remembered.newest_first():
            if not self._moving.has_all_of(seen.hunks) and seen.hunks.has_all_of(self._moving):
                yield seen

    def goes_back(self, seen: SeenText) -> None:
        """Restore the hunks of `seen`, because the current text is that text again."""
        self._left = seen.left
        self._has_again(seen.hunks)

    def _has_again(self, hunks: Hunks) -> None:
        self._moving = hunks.copy()
        if self._fates.is_any_kept(hunks.unplaced()):
            self.hunks = tuple(hunk for hunk in self.hunks if not self._fates.is_any_kept([hunk]))

    def goes_to(self, hunks: Iterable[Hunk]) -> None:
        """Set the hunks of the text that the document has now. Hunks that the user kept meanwhile stay kept."""
        self.hunks = self.unkept(hunks)

    def unkept(self, hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
        """These hunks without what the user kept meanwhile."""
        return tuple(rest for hunk in hunks if (rest := self._unkept(hunk)) is not None)

    def takes_line_ends(self, text: Text, like: Text) -> Text:
        """The current text with the line ends of `like`, a text that it is about to become. Also adapts the hunks."""
        if not self.hunks:
            return text
        was, now = str(text), str(like)
        spelled = spelled_as(was, now)
        if spelled == was:
            return text
        after = like if spelled == now else Text.of(spelled)
        self.hunks = effective(respelled(self.hunks, was, after))
        self._left = Left()
        return after

    # Helpers

    def _id(self) -> int:
        self._ids.newest += 1
        return self._ids.newest

    def _with_aftermath(self, ids: set[int], whose: AuthorFilter) -> set[int]:
        """`ids`, plus the aftermath of turns that would have nothing else left to review."""
        if not self._moving.have_aftermath:
            return ids
        gone: set[tuple[str, int]] = set()
        left: set[tuple[str, int]] = set()
        for hunk in self.hunks:
            for author in (version.author for version in hunk.versions if not version.author.aftermath):
                (gone if hunk.id in ids and whose(author) else left).add((author.session, author.turn))
        done = gone - left
        return ids | {
            h.id for h in self.hunks if h.is_aftermath and (h.author.session, h.author.turn) in done
        }

    def _with_agent_edit(
        self, hunks: list[Hunk], edit: SharedEdit, old: ReplacedPart, author: Author
    ) -> tuple[list[Hunk], list[Hunk]]:
        """Add an agent's edit to `hunks`. `edit` is in their coordinates. Also returns the hunks, or their parts, that it changes, as they were."""
        before: list[Hunk] = []
        touched: list[Hunk] = []
        after: list[Hunk] = []
        for hunk in hunks:
            if touches(hunk, edit):
                left, middle, right = isolate(hunk, edit, self._id)
                before += left
                touched.append(middle)
                after += right
            else:
                (before if hunk.end <= edit.start else after).append(hunk)
        if touched:
            made = new_version(touched, edit, old, author)
            self._fates.join(touched[1:], made)
        else:
            version = Version(author, edit.new)
            was = old(edit.start, edit.end)
            made = Hunk(self._id(), edit.start, edit.start + len(edit.new), was, (version,))
        return [*before, made, *(h.moved(edit.growth) for h in after)], touched


def _stretch(hunks: Iterable[Hunk], ids: Container[int]) -> Sequence[Hunk]:
    """The hunks from the first to the last one whose number is in `ids`, in order of place."""
    in_order = sorted({hunk.id: hunk for hunk in hunks}.values(), key=lambda hunk: (hunk.start, hunk.end))
    numbers = [number for number, hunk in enumerate(in_order) if hunk.id in ids]
    return in_order[numbers[0] : numbers[-1] + 1]


def _any_taken(was: Iterable[Hunk], now: Iterable[Hunk]) -> bool:
    """Whether a hunk of `was` is gone, or changed in more than its place."""
    left = {hunk.id: hunk for hunk in now}
    return any((there := left.get(hunk.id)) is None or not hunk.is_same(there) for hunk in was)


def _keep_versions(hunk: Hunk, whose: AuthorFilter) -> Hunk | None:
    """The hunk without those authors' versions, which now count as reviewed. None if nothing is left to review."""
    old, left = kept(hunk.was, hunk.versions, whose)
    return replace(hunk, was=old, versions=left) if left else None


def _reject_versions(hunk: Hunk, whose: AuthorFilter) -> tuple[AnyText | None, Hunk | None]:
    """The text without those authors' versions, and the remaining hunk. The text is None if later work prevents the rejection. If the last author
    is known, versions by unknown authors beneath are not rejected: they stay as a hunk of their own."""

    beneath = {author.write for author in hunk.unknown_beneath}

    def known(author: Author) -> bool:
        return whose(author) and author.write not in beneath

    left = rejected(hunk.old, hunk.versions, known if whose(hunk.author) else whose)
    if left is None:
        return None, None
    return (left[-1].said, replace(hunk, versions=left)) if left else (hunk.was, None)
