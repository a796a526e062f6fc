"""Ledger: which parts of a document agents changed and nobody has reviewed yet.

A hunk is a stretch of the current text, its content, and the text that rejecting it would restore. Everything else in the
document is the user's, or was reviewed. So the text before all unreviewed work needs no copy: it is the current text with every
hunk reverted. Typing elsewhere only shifts the hunks.

    user_edit      hunks outside the edit move along; lines changed inside a hunk become the user's and leave it; deleted lines
                   that are restored at their place are no longer a hunk
    agent_edit     creates a hunk, or a new version of the lines of another turn's hunk
    keep, reject   by hunk, turn or session; if another agent worked on top, a three-way merge decides

Undo and redo belong to the editor. They arrive as user edits. If one of them leads to a text from right before or right after an agent's edit, that
text's hunks are restored. Hunks that a user's edit took out of review come back as soon as that place says the same again (left.py). So undoing an
agent's edit takes it out of review, and redoing it puts it under review again.

Offsets are code points in the current raw text of the mirror. Nothing here knows documents, files or editors.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from sidecar.core.any_text import AnyText, part
from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.hunk import Hunk, is_put_back, isolate, parted, touches, without_edited_lines
from sidecar.core.left import Left
from sidecar.core.moving import Moving
from sidecar.core.places import Places
from sidecar.core.respelled import respelled, spelled_as
from sidecar.core.rope import Rope
from sidecar.core.sharing import one_behind_the_other
from sidecar.core.text import Text
from sidecar.core.versions import Author, AuthorFilter, Version, kept, on_top, rejected, together

MAX_REMEMBERED = 64
"""How many texts keep their hunks for undo and redo; editors remember about as many steps."""


Became = Literal["open", "kept", "taken back"]
"""Still under review; kept by the user; not in the text any more, whoever took it out."""


def _anybody(author: Author) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rejection:
    """How to revert hunks: `changes` for the current text; `impossible` are hunks that later work prevents from being reverted."""

    changes: ChangeSet
    hunks: tuple[Hunk, ...]
    """The ledger's hunks once `changes` are applied."""
    impossible: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a ledger. Edits from the editor since then can be replayed with the author that they turned out to have."""

    steps: int
    hunks: tuple[Hunk, ...]
    left: Left


class Hunks(Moving[Hunk]):
    """The hunks of one text."""

    def __init__(self, hunks: Iterable[Hunk] = (), *, are_effective: bool = False) -> None:
        """`are_effective`: they are known to be as `_effective` gives them."""
        super().__init__(hunks)
        self.are_effective = are_effective
        self.have_aftermath = any(hunk.is_aftermath for hunk in self.all())

    def put(self, numbers: range, instead: Sequence[Hunk], growth: int) -> None:
        super().put(numbers, instead, growth)
        if any(hunk.is_aftermath for hunk in instead):
            self.have_aftermath, self.are_effective = True, False

    def has_all_of(self, other: Hunks) -> bool:
        """Whether every write that has work in `other` also has some here."""
        theirs, ours = map(_writes, other.apart(self, _is_same))
        return theirs <= ours or theirs <= _writes(self.all())


def _writes(hunks: Iterable[Hunk]) -> set[str]:
    return {version.author.write for hunk in hunks for version in hunk.versions}


@dataclass(frozen=True)
class Seen:
    """A text that the document had. When it says the same again, these hunks are restored."""

    text: Text
    hunks: Hunks
    left: Left
    number: int
    """It counts up: texts that were seen earlier have lower numbers."""

    def has_parts_of(self, hunks: Sequence[Hunk]) -> bool:
        """Whether any of `hunks` was part of a larger hunk here, perhaps one with another number."""
        ours = [hunk for hunk, _ in self.hunks.places()]
        wholes = {hunk.id: hunk for hunk in ours}
        parts = [hunk for hunk in hunks if hunk.id not in wholes or _is_part(hunk, wholes[hunk.id])]
        return not _writes(parts).isdisjoint(_writes(ours))


class ReviewThen(NamedTuple):
    """What was under review in a text that a document had."""

    text: str
    """Raw."""
    hunks: tuple[Hunk, ...]
    texts_seen: int = 0
    """`Ledger.texts_seen` at that time. Which hunks later texts had is not certain."""
    left: Left = Left()


@dataclass(slots=True)
class _Ids:
    """The numbers of hunks, which copies of a ledger share."""

    newest: int


class Ledger:
    """The unreviewed work in one document."""

    def __init__(self, hunks: Iterable[Hunk] = ()) -> None:
        self.hunks = tuple(hunks)
        self._ids = _Ids(max((h.id for h in self.hunks), default=0))
        self._remembered: list[Seen] = []
        self._left = Left()
        self.texts_seen = 0
        """The number of the newest text that was remembered for undo and redo."""
        self._kept: set[tuple[int, str]] = set()
        self._absorbed: dict[int, int] = {}
        """By a hunk's number: the hunk that has its changes now, since a later edit by an agent joined the two."""
        self._steps = 0
        """The number of edits by agents and reviews."""
        self.when_seen_again: Callable[[Text], None] | None = None
        """Called when an edit has led to a text that was seen before, whose hunks are there again."""

    @property
    def is_idle(self) -> bool:
        """The ledger tracks nothing: edits need not be reported."""
        return not self._moving and not self._remembered and not self._left

    @property
    def newest_id(self) -> int:
        """No hunk has a higher number so far."""
        return self._ids.newest

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return self._moving.all()

    @hunks.setter
    def hunks(self, hunks: Iterable[Hunk]) -> None:
        self._moving = Hunks(hunks)

    def told(self, hunks: Sequence[Hunk]) -> bool:
        """Replaces the hunks by those that a better source knows of the current text. Hunks that were there before keep their numbers; all others get
        new ones. Returns whether anything changed."""
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
        """The same, but what nobody is known to have done stays."""
        ids = self.ids(lambda author: not author.unknown)
        return self.reject(len(text), ids, lambda author: not author.unknown).changes.apply(text)

    @staticmethod
    def put_back(length: int, hunks: Iterable[Hunk]) -> ChangeSet:
        return ChangeSet.of(length, tuple(Edit(h.start, h.end, h.old) for h in hunks))

    # Edits

    def user_led(self, before: Text, after: Text) -> None:
        """The text has changed from one to the other, and not by an agent. Other line ends are no edit."""
        before = self.takes_line_ends(before, after)
        self.user_edits(before, diff(str(before), str(after)))

    def user_edits(self, before: Text, changes: ChangeSet) -> None:
        """Somebody else's edits of the current text, `before`."""
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
        """Somebody else's edit of the current text; `length` and `after` describe the resulting text, `before` gives the one that it changed, if
        that is known. Both are called only where hunks lie or lay.

        Returns whether hunks appeared, disappeared or changed, apart from moving along."""
        was = self._moving
        numbers = self._looked_at(edit, after)
        may_be_seen = length in [len(seen.text) for seen in self._remembered]
        # The edit removes text around places where an agent had deleted something: only the text before shows where they were
        squeezed = was.deletions_in(edit)
        may_come_back = self._left.meets(edit)
        self._left, newest = self._left.after(edit, before), self._ids.newest
        if not numbers and not may_be_seen and not squeezed and not may_come_back:
            was.move(edit)
            return False
        self._moving = self._after(edit, numbers, after)
        gone, come = was.apart(self._moving, _is_same)
        if squeezed or _any_taken(gone, come):
            taken = _stretch((*was.some(numbers), *squeezed), {hunk.id for hunk in (*gone, *squeezed)})
            self._left = self._left.took(edit, taken, newest, before)
            may_come_back = True
        if may_be_seen:
            self._recall(after())
        if may_come_back:
            self._come_back(edit, after())
        gone, come = was.apart(self._moving, _is_same)
        return [(h.id, h.said) for h in gone] != [(h.id, h.said) for h in come]

    def _looked_at(self, edit: Edit, after: Callable[[], Text]) -> range:
        """The numbers of the hunks to which an edit that is not an agent's may do more than move them."""
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
        """The hunks after an edit that is not an agent's, of which those with these numbers are looked at."""
        hunks = self._moving.copy()
        effective = _effective(self._edited(hunks.some(numbers), edit))
        left = [hunk for hunk in effective if not is_put_back(hunk, edit, after)]
        if len(numbers) == len(hunks):
            return Hunks(left, are_effective=len(left) == len(effective))
        hunks.put(numbers, left, edit.growth)
        return hunks

    def _edited(self, hunks: Iterable[Hunk], edit: Edit) -> Iterator[Hunk]:
        for hunk in hunks:
            if hunk.end <= edit.start:
                yield hunk
            elif edit.end <= hunk.start:
                yield hunk.moved(edit.growth)
            else:
                yield from without_edited_lines(hunk, edit, self._id)

    def agent_edit(self, before: Text, changes: ChangeSet | Places, after: Text, author: Author) -> None:
        """An agent's change of the current text, from `before` to `after`."""
        self._steps += 1
        self._remember(before)
        hunks = list(self.hunks)
        if isinstance(changes, Places) and not hunks and not self._left:
            first = _effective(self._first(before, changes, after, author))
            self._moving = Hunks(first, are_effective=True)
            self._remember(after)
            return
        shift = 0
        for edit in _edits(changes, after):
            here = edit.moved(shift)
            hunks = self._with_agent_edit(hunks, here, partial(_replaced, before, edit, shift), author)
            shift += edit.growth
        self._moving = Hunks(_effective(hunks), are_effective=True)
        if self._left:
            told = changes.changes() if isinstance(changes, Places) else changes
            self._left = self._left.after_all(told, before)
        self._remember(after)

    def _first(self, before: Text, places: Places, after: Text, author: Author) -> Iterator[Hunk]:
        for start, end, new_start, new_end in places.hunks:
            version = Version(author, after.part(new_start, new_end))
            yield Hunk(self._id(), new_start, new_end, before.part(start, end), (version,))

    def mark(self) -> Mark:
        """Call this before the editor does something that may turn out not to be the user's."""
        return Mark(self._steps, self.hunks, self._left)

    def back_at(self, mark: Mark) -> None:
        """The text is again what it was at the mark."""
        self.goes_to(mark.hunks)
        self._left = mark.left

    def aftermath(self, since: Mark, before: Text, changes: ChangeSet, after: Text, author: Author) -> bool:
        """The edits since `since` that were taken for the user's were made by the editor when it saved `author`'s write. Returns False
        and changes nothing if something else happened in between."""
        if self._steps != since.steps:
            return False
        self.back_at(since)
        self.agent_edit(before, changes, after, replace(author, aftermath=True, created=False))
        return True

    # Review

    def keep(self, ids: Iterable[int], whose: AuthorFilter = _anybody) -> list[Hunk]:
        """Takes hunks out of review and leaves their text; with `whose`, only those authors' versions. Returns the hunks concerned."""
        self._steps += 1
        wanted = set(ids)
        kept: list[Hunk] = []
        hunks: list[Hunk] = []
        for hunk in self.hunks:
            if hunk.id not in wanted or not any(whose(v.author) for v in hunk.versions):
                hunks.append(hunk)
                continue
            kept.append(hunk)
            self._kept.update((hunk.id, v.author.write) for v in hunk.versions if whose(v.author))
            rest = _keep_versions(hunk, whose)
            if rest is not None:
                hunks += parted(rest, self._id)
        self._moving = Hunks(_effective(hunks), are_effective=True)
        self._left = self._left.without(kept)
        self._remembered = [seen for seen in self._remembered if not seen.has_parts_of(kept)]
        return kept

    def reject(self, length: int, ids: Iterable[int], whose: AuthorFilter = _anybody) -> Rejection:
        """How to revert hunks, in a text of `length`. Does not change the ledger: `rejected` does, after the text has changed."""
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
        return Rejection(ChangeSet.of(length, tuple(edits)), _effective(left), tuple(impossible))

    def rejected(self, before: Text, rejection: Rejection, after: Text) -> None:
        """The rejection was made: its changes led from `before`, the current text, to `after`. Hunks that were kept while the editor
        made the changes stay kept."""
        self._steps += 1
        self._remember(before)
        left = [rest for hunk in rejection.hunks if (rest := self._unkept(hunk)) is not None]
        self._moving = Hunks(_effective(left), are_effective=True)
        self._left = self._left.after_all(rejection.changes, before)
        self._remember(after)

    def _unkept(self, hunk: Hunk) -> Hunk | None:
        def kept(author: Author) -> bool:
            return (hunk.id, author.write) in self._kept

        return _keep_versions(hunk, kept) if any(kept(v.author) for v in hunk.versions) else hunk

    def ids(self, whose: AuthorFilter = _anybody) -> list[int]:
        """Hunks with a version of such an author."""
        return [h.id for h in self.hunks if any(whose(v.author) for v in h.versions)]

    def became(self, ids: Iterable[int]) -> dict[int, Became]:
        """What has become of hunks that were under review."""
        open_ones = {hunk.id for hunk in self.hunks}
        kept = {number for number, _ in self._kept}
        fates: dict[int, Became] = {}
        for number in ids:
            now = number
            while now not in open_ones and now not in kept and now in self._absorbed:
                now = self._absorbed[now]
            fates[number] = "open" if now in open_ones else "kept" if now in kept else "taken back"
        return fates

    # Undo and redo

    def may_come_back(self, text: Text) -> None:
        """The current text is about to change by edits of which only the final text is known. Remembers its hunks, so that an undo restores them."""
        if self.hunks:
            self._remember(text)

    def has_seen(self, text: Text) -> bool:
        """Whether that text restores its hunks."""
        return any(seen.text == text for seen in self._remembered)

    def _remember(self, text: Text) -> None:
        self.texts_seen += 1
        others = [one for one in self._remembered if one.text != text]
        seen = Seen(text, self._moving.copy(), self._left, self.texts_seen)
        self._remembered = [*others[-(MAX_REMEMBERED - 1) :], seen]

    def now(self, text: str) -> ReviewThen:
        """What is under review in `text` (raw), which the document says."""
        return ReviewThen(text, self.hunks, self.texts_seen, self._left)

    def back_to(self, then: ReviewThen) -> None:
        """Restores the hunks of that time, without what was kept since. Hunks that are remembered of later texts are forgotten: they may be wrong."""
        self.goes_to(then.hunks)
        self._left = then.left
        self._remembered = [one for one in self._remembered if one.number <= then.texts_seen]

    def copy(self) -> Ledger:
        """A copy on which a user's edits can be tried; see `becomes`."""
        tried = copy(self)
        tried.when_seen_again = None
        tried._moving, tried._remembered = self._moving.copy(), [*self._remembered]
        tried._left = self._left
        return tried

    def elsewhere(self, hunks: Sequence[Hunk]) -> Ledger:
        """A ledger for a text other than the document's, with these hunks. Both number new hunks from one counter, so that no number is used twice."""
        other = copy(self)
        other.hunks, other._remembered, other._absorbed = tuple(hunks), [], dict(self._absorbed)
        other._left, other.when_seen_again = Left(), None
        return other

    def becomes(self, tried: Ledger) -> None:
        """Takes over the result of the user's edits in `tried`, a copy of this ledger, in place of what they led to here."""
        self._moving, self._remembered, self.texts_seen = tried._moving, tried._remembered, tried.texts_seen
        self._left = tried._left

    def _recall(self, text: Text) -> None:
        for seen in reversed(self._remembered):
            if seen.text == text:
                self._has_again(seen.hunks)
                if self.when_seen_again is not None:
                    self.when_seen_again(text)
                return

    def _come_back(self, edit: Edit, text: Text) -> None:
        hunks = self._moving.copy()
        self._left, any_came = self._left.back(edit, text, hunks, self._unkept)
        if any_came:
            self._moving = hunks

    def left(self) -> Iterator[Seen]:
        """Remembered texts in which all that is under review now was under review, and more; newest first."""
        for seen in reversed(self._remembered):
            if not self._moving.has_all_of(seen.hunks) and seen.hunks.has_all_of(self._moving):
                yield seen

    def goes_back(self, seen: Seen) -> None:
        """The current text is that one again: restores its hunks."""
        self._left = seen.left
        self._has_again(seen.hunks)

    def _has_again(self, hunks: Hunks) -> None:
        self._moving = hunks.copy()
        if self._kept and any(self._is_kept(hunk) for hunk, _ in hunks.places()):
            self.hunks = tuple(h for h in self.hunks if not self._is_kept(h))

    def goes_to(self, hunks: Iterable[Hunk]) -> None:
        """The document now has another text, with these hunks. What was kept of them meanwhile stays kept."""
        self.hunks = tuple(rest for hunk in hunks if (rest := self._unkept(hunk)) is not None)

    def takes_line_ends(self, text: Text, like: Text) -> Text:
        """The current text, in the line ends of one that it is about to become."""
        if not self.hunks:
            return text
        was, now = str(text), str(like)
        spelled = spelled_as(was, now)
        if spelled == was:
            return text
        after = like if spelled == now else Text.of(spelled)
        self.hunks = _effective(respelled(self.hunks, was, after))
        self._left = Left()
        return after

    def _is_kept(self, hunk: Hunk) -> bool:
        """Whether the work of any of its authors was kept."""
        return any((hunk.id, version.author.write) in self._kept for version in hunk.versions)

    # Helpers

    def _id(self) -> int:
        self._ids.newest += 1
        return self._ids.newest

    def _with_aftermath(self, ids: set[int], whose: AuthorFilter) -> set[int]:
        """`ids`, and the aftermath of turns that would have nothing else left to review."""
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

    def _with_agent_edit(self, hunks: list[Hunk], edit: _Put, old: _Old, author: Author) -> list[Hunk]:
        """`edit` is in the coordinates of `hunks`."""
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
            made = _new_version(touched, edit, old, author)
            self._absorbed.update((hunk.id, made.id) for hunk in touched[1:])
        else:
            version = Version(author, edit.new)
            was = old(edit.start, edit.end)
            made = Hunk(self._id(), edit.start, edit.start + len(edit.new), was, (version,))
        return [*before, made, *(h.moved(edit.growth) for h in after)]


class _Put(NamedTuple):
    """An edit, with what it puts there as that is kept."""

    start: int
    end: int
    new: AnyText

    @property
    def growth(self) -> int:
        return len(self.new) - (self.end - self.start)

    def moved(self, by: int) -> _Put:
        return _Put(self.start + by, self.end + by, self.new)


_Old = Callable[[int, int], AnyText]
"""What an edit replaces of a stretch, in the coordinates of the text that it changes: nothing is copied that nobody wants."""


def _replaced(before: Text, edit: _Put, shift: int, start: int, end: int) -> AnyText:
    """As _Old has it. `edit` is in the coordinates of `before`, and `shift` is how far those of the stretch are ahead."""
    low = max(start - shift, edit.start)
    return before.part(low, max(low, min(end - shift, edit.end)))


def _edits(changes: ChangeSet | Places, after: Text) -> Iterator[_Put]:
    """They lead to `after`."""
    if isinstance(changes, Places) or after.is_narrow:
        places = changes if isinstance(changes, Places) else Places.of(changes, after)
        for start, end, new_start, new_end in places.hunks:
            yield _Put(start, end, after.part(new_start, new_end))
    else:
        yield from (_Put(edit.start, edit.end, edit.new) for edit in changes.edits)


def _effective(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """Without hunks whose text equals the earlier text, and without the aftermath of turns that have nothing left."""
    found = tuple(h for h in hunks if not h.changes_nothing)
    if not any(h.is_aftermath for h in found):
        return found
    turns = {(v.author.session, v.author.turn) for h in found for v in h.versions if not v.author.aftermath}
    return tuple(h for h in found if not h.is_aftermath or (h.author.session, h.author.turn) in turns)


def _is_same(hunk: Hunk, other: Hunk) -> bool:
    """Apart from where it is."""
    return hunk is other or (hunk.id, hunk.was, hunk.versions) == (other.id, other.was, other.versions)


def _stretch(hunks: Iterable[Hunk], ids: Container[int]) -> Sequence[Hunk]:
    """The hunks from the first to the last one whose number is in `ids`, in order of place."""
    in_order = sorted({hunk.id: hunk for hunk in hunks}.values(), key=lambda hunk: (hunk.start, hunk.end))
    numbers = [number for number, hunk in enumerate(in_order) if hunk.id in ids]
    return in_order[numbers[0] : numbers[-1] + 1]


def _is_part(hunk: Hunk, whole: Hunk) -> bool:
    return hunk.text != whole.text and hunk.text in whole.text and _writes([hunk]) <= _writes([whole])


def _any_taken(was: Iterable[Hunk], now: Iterable[Hunk]) -> bool:
    """Whether a hunk of `was` is gone, or has changed other than in its place."""
    left = {hunk.id: hunk for hunk in now}
    return any((there := left.get(hunk.id)) is None or not _is_same(hunk, there) for hunk in was)


def _new_version(touched: Sequence[Hunk], edit: _Put, old: _Old, author: Author) -> Hunk:
    """One hunk for everything that `edit` and the hunks it touches cover."""
    start = min(edit.start, touched[0].start)
    gaps: list[AnyText] = []
    at = start
    for hunk in touched:
        gaps.append(old(at, hunk.start))
        at = hunk.end
    gaps.append(old(at, edit.end))
    base, versions = together([(hunk.was, hunk.versions) for hunk in touched], gaps)
    before = versions[-1].said
    head, tail = part(before, 0, edit.start - start), part(before, edit.end - start, len(before))
    after = one_behind_the_other([head, edit.new, tail])
    if author.aftermath and not versions[-1].author.aftermath:
        author = versions[-1].author
    versions = on_top(versions, Version(author, after))
    return Hunk(touched[0].id, start, start + len(after), base, versions)


def _keep_versions(hunk: Hunk, whose: AuthorFilter) -> Hunk | None:
    """The hunk without those authors' versions, which now count as reviewed; None if nothing is left to review."""
    old, left = kept(hunk.was, hunk.versions, whose)
    return replace(hunk, was=old, versions=left) if left else None


def _reject_versions(hunk: Hunk, whose: AuthorFilter) -> tuple[AnyText | None, Hunk | None]:
    """The text without those authors' versions, and the remaining hunk. No text if later work prevents it. Changes by
    unknown authors beneath those of the known last author are not rejected with these: they stay, as a hunk of their own."""

    beneath = {author.write for author in hunk.unknown_beneath}

    def known(author: Author) -> bool:
        return whose(author) and author.write not in beneath

    left = rejected(hunk.old, hunk.versions, known if whose(hunk.author) else whose)
    if left is None:
        return None, None
    return (left[-1].said, replace(hunk, versions=left)) if left else (hunk.was, None)
