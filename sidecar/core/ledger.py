"""Ledger: which parts of a document agents changed and nobody has reviewed yet.

A hunk is a stretch of the current text, its content, and the text that rejecting it would restore. Everything else in the
document is the user's, or was reviewed. So the text before all unreviewed work needs no copy: it is the current text with every
hunk reverted. Typing elsewhere only shifts the hunks.

    user_edit      hunks outside the edit move along; lines changed inside a hunk become the user's and leave it; deleted lines
                   that are restored at their place are no longer a hunk
    agent_edit     creates a hunk, or a new version of the lines of another turn's hunk
    keep, reject   by hunk, turn or session; if another agent worked on top, a three-way merge decides

Undo and redo belong to the editor. They arrive as user edits that lead to a text seen before. Such a text restores its hunks: undoing
an agent's edit takes it out of review, and redoing it puts it under review again. The texts around agents' edits count as seen, and so does
every text out of which a user's edit took hunks: whoever typed on before they undo returns to a text that no agent's edit led to.

Offsets are code points in the current raw text of the mirror. Nothing here knows documents, files or editors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Literal, NamedTuple

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.hunk import Hunk, is_put_back, isolate, touches, without_edited_lines
from sidecar.core.moving import Moving
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


class Hunks(Moving[Hunk]):
    """The hunks of one text."""

    def __init__(self, hunks: Iterable[Hunk] = (), *, are_effective: bool = False) -> None:
        """`are_effective`: they are known to be as `_effective` gives them."""
        super().__init__(hunks)
        self.are_effective = are_effective
        self.have_aftermath = any(hunk.is_aftermath for hunk in self.all())

    def has_all_of(self, other: Hunks) -> bool:
        """Whether every write of which there is work in those others has some in these."""
        theirs, ours = map(_writes, other.apart(self, _is_same))
        return theirs <= ours or theirs <= _writes(self.all())


def _writes(hunks: Iterable[Hunk]) -> set[str]:
    return {version.author.write for hunk in hunks for version in hunk.versions}


def _led_to(edit: Edit, text: Text) -> bool:
    """Whether `text` can be what `edit` led to: then the text before it can be told from both."""
    end = edit.start + len(edit.new)
    return (
        end <= len(text) and edit.end <= len(text) - edit.growth and text.slice(edit.start, end) == edit.new
    )


@dataclass(frozen=True)
class Seen:
    """A text that restores its hunks: `text` itself or, with `edit`, the text from which that edit led to `text`. What such an edit
    replaced is known only where hunks lay, and nothing else of it matters to them."""

    text: Text
    hunks: Hunks
    edit: Edit | None = None
    number: int = 0
    """Those that were seen earlier have lower ones."""

    @cached_property
    def length(self) -> int:
        """Code points."""
        return len(self.text) - (self.edit.growth if self.edit else 0)

    def is_text(self, text: Text) -> bool:
        edit = self.edit
        if edit is None:
            return self.text == text
        return (
            len(text) == self.length
            and text.slice(edit.start, edit.end) != edit.new
            and text.slice(0, edit.start) == self.text.slice(0, edit.start)
            and text.slice(edit.end, len(text)) == self.text.slice(edit.end + edit.growth, len(self.text))
            and self._has_hunks(str(text))
        )

    def _has_hunks(self, text: str) -> bool:
        places = list(self.hunks.places())
        return all(map(text.startswith, [hunk.text for hunk, _ in places], [start for _, start in places]))


class ReviewThen(NamedTuple):
    """What was under review in a text that a document had."""

    text: str
    """Raw."""
    hunks: tuple[Hunk, ...]
    texts_seen: int = 0
    """The ledger's, then: what hunks lay in later texts is not known for certain."""


class Ledger:
    """The unreviewed work in one document."""

    def __init__(self, hunks: Iterable[Hunk] = ()) -> None:
        self.hunks = tuple(hunks)
        self._ids = count(max((h.id for h in self.hunks), default=0) + 1)
        self._remembered: list[Seen] = []
        self.texts_seen = 0
        """The number of the newest text that was remembered for undo and redo."""
        self._kept: set[tuple[int, str]] = set()
        self._absorbed: dict[int, int] = {}
        """Hunks that an agent's later edit joined to another one, which has their changes now."""
        self._steps = 0
        """The number of edits by agents and reviews."""

    @property
    def is_idle(self) -> bool:
        """The ledger tracks nothing: edits need not be reported."""
        return not self._moving and not self._remembered

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return self._moving.all()

    @hunks.setter
    def hunks(self, hunks: Iterable[Hunk]) -> None:
        self._moving = Hunks(hunks)

    def told(self, hunks: Sequence[Hunk]) -> bool:
        """The hunks of the current text are known better, from elsewhere. Those that were there keep their numbers, and no other one gets a number that
        was given before. Returns whether anything changed."""
        was = self.hunks
        numbers = {(h.start, h.end, h.old, h.versions): h.id for h in was}
        known = [numbers.get((h.start, h.end, h.old, h.versions)) for h in hunks]
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

    @staticmethod
    def put_back(length: int, hunks: Iterable[Hunk]) -> ChangeSet:
        return ChangeSet.of(length, tuple(Edit(h.start, h.end, h.old) for h in hunks))

    # Edits

    def user_edit(self, edit: Edit, length: int, after: Callable[[], Text]) -> bool:
        """Somebody else's edit of the current text; `length` and `after` describe the resulting text.

        `after` is called only if that text may have been seen before, contains lines again that an agent deleted there, or has other
        hunks. If one change is told as many edits, it may give the text after the last of them.

        Returns whether hunks appeared, disappeared or changed, apart from moving along."""
        was = self._moving
        numbers = self._looked_at(edit, after)
        may_be_seen = length in [seen.length for seen in self._remembered]
        # where in the text that goes what an agent deleted had been is known only from the text before
        is_squeezed = bool(was.deletions_in(edit))
        if not numbers and not may_be_seen and not is_squeezed:
            was.move(edit)
            return False
        self._moving = self._after(edit, numbers, after)
        if may_be_seen:
            self._recall(after())
        gone, come = was.apart(self._moving, _is_same)
        if is_squeezed or _any_taken(gone, come):
            self._remember(after(), was, edit)
        return [(h.id, h.text) for h in gone] != [(h.id, h.text) for h in come]

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

    def agent_edit(self, before: Text, changes: ChangeSet, after: Text, author: Author) -> None:
        """An agent's change of the current text, from `before` to `after`."""
        self._steps += 1
        self._remember(before)
        hunks = list(self.hunks)
        shift = 0
        for edit in changes.edits:
            here = Edit(edit.start + shift, edit.end + shift, edit.new)
            hunks = self._with_agent_edit(hunks, here, before.slice(edit.start, edit.end), author)
            shift += len(edit.new) - (edit.end - edit.start)
        self._moving = Hunks(_effective(hunks), are_effective=True)
        self._remember(after)

    def mark(self) -> Mark:
        """Call this before the editor does something that may turn out to be `aftermath`."""
        return Mark(self._steps, self.hunks)

    def aftermath(self, since: Mark, before: Text, changes: ChangeSet, after: Text, author: Author) -> bool:
        """The edits since `since` that were taken for the user's were made by the editor when it saved `author`'s write. Returns False
        and changes nothing if something else happened in between."""
        if self._steps != since.steps:
            return False
        self.hunks = since.hunks
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
                hunks.append(rest)
        self._moving = Hunks(_effective(hunks), are_effective=True)
        return kept

    def reject(self, length: int, ids: Iterable[int], whose: AuthorFilter = _anybody) -> Rejection:
        """How to revert hunks, in a text of `length`. Does not change the ledger: `rejected` does, after the text has changed."""
        wanted = self._with_aftermath(set(ids), whose)
        edits: list[Edit] = []
        left: list[Hunk] = []
        impossible: list[Hunk] = []
        shift = 0
        for hunk in self.hunks:
            text: str | None = hunk.text
            rest: Hunk | None = hunk
            if hunk.id in wanted and any(whose(v.author) for v in hunk.versions):
                text, rest = _reject_versions(hunk, whose)
                if text is None:
                    impossible.append(hunk)
                    text, rest = hunk.text, hunk
            if text != hunk.text:
                edits.append(Edit(hunk.start, hunk.end, text))
            if rest is not None:
                left.append(replace(rest, start=hunk.start + shift, end=hunk.start + shift + len(text)))
            shift += len(text) - (hunk.end - hunk.start)
        return Rejection(ChangeSet.of(length, tuple(edits)), _effective(left), tuple(impossible))

    def rejected(self, before: Text, rejection: Rejection, after: Text) -> None:
        """The rejection was made: its changes led from `before`, the current text, to `after`. Hunks that were kept while the editor
        made the changes stay kept."""
        self._steps += 1
        self._remember(before)
        left = [rest for hunk in rejection.hunks if (rest := self._unkept(hunk)) is not None]
        self._moving = Hunks(_effective(left), are_effective=True)
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
        """The current text is about to be left by edits of which only the last text is known: it restores its hunks."""
        if self.hunks:
            self._remember(text)

    def _remember(self, text: Text, hunks: Hunks | None = None, edit: Edit | None = None) -> None:
        if edit is not None and not _led_to(edit, text):
            return  # several edits told at once, of which only the last text is known
        self.texts_seen += 1
        seen = Seen(text, self._moving.copy() if hunks is None else hunks, edit, self.texts_seen)
        others = [one for one in self._remembered if (one.text, one.edit) != (text, edit)]
        self._remembered = [*others[-(MAX_REMEMBERED - 1) :], seen]

    def now(self, text: str) -> ReviewThen:
        """What is under review in `text` (raw), which the document says."""
        return ReviewThen(text, self.hunks, self.texts_seen)

    def back_to(self, then: ReviewThen) -> None:
        """The hunks are what they were then, less what was kept since: what they were in later texts is to be found out anew."""
        self.goes_to(then.hunks)
        self._remembered = [one for one in self._remembered if one.number <= then.texts_seen]

    def copy(self) -> Ledger:
        """On which a user's edits can be tried; see `becomes`."""
        tried = copy(self)
        tried._moving, tried._remembered = self._moving.copy(), [*self._remembered]
        return tried

    def elsewhere(self, hunks: Sequence[Hunk]) -> Ledger:
        """A ledger of another text than the document's, which has these hunks. No two get the same numbers."""
        other = copy(self)
        other.hunks, other._remembered, other._absorbed = tuple(hunks), [], dict(self._absorbed)
        return other

    def becomes(self, tried: Ledger) -> None:
        """What the user's edits led to in this copy counts, and not what they led to here since it was made."""
        self._moving, self._remembered, self.texts_seen = tried._moving, tried._remembered, tried.texts_seen

    def _recall(self, text: Text) -> None:
        for seen in reversed(self._remembered):
            if not seen.is_text(text):
                continue
            if seen.edit is not None and not seen.hunks.has_all_of(self._moving):
                continue  # what has been written since is still there, so it is another text
            self.goes_back(seen)
            return

    def left(self) -> Iterator[Seen]:
        """Texts that were seen and have hunks besides those of the current one, newest first."""
        for seen in reversed(self._remembered):
            if (
                seen.edit is None
                and not self._moving.has_all_of(seen.hunks)
                and seen.hunks.has_all_of(self._moving)
            ):
                yield seen

    def goes_back(self, seen: Seen) -> None:
        self._moving = seen.hunks.copy()
        if self._kept and any(self._is_kept(hunk) for hunk, _ in seen.hunks.places()):
            self.hunks = tuple(h for h in self.hunks if not self._is_kept(h))

    def goes_to(self, hunks: Iterable[Hunk]) -> None:
        """The text is another one, with these hunks. What was kept of them meanwhile stays so."""
        self.hunks = tuple(rest for hunk in hunks if (rest := self._unkept(hunk)) is not None)

    def _is_kept(self, hunk: Hunk) -> bool:
        """Whether an author's work in it was."""
        return any((hunk.id, version.author.write) in self._kept for version in hunk.versions)

    # Helpers

    def _id(self) -> int:
        return next(self._ids)

    def _with_aftermath(self, ids: set[int], whose: AuthorFilter) -> set[int]:
        """With the aftermath of turns that have nothing left to review without `ids`."""
        gone: set[tuple[str, int]] = set()
        left: set[tuple[str, int]] = set()
        for hunk in self.hunks:
            for author in (version.author for version in hunk.versions if not version.author.aftermath):
                (gone if hunk.id in ids and whose(author) else left).add((author.session, author.turn))
        done = gone - left
        return ids | {
            h.id for h in self.hunks if h.is_aftermath and (h.author.session, h.author.turn) in done
        }

    def _with_agent_edit(self, hunks: list[Hunk], edit: Edit, old: str, author: Author) -> list[Hunk]:
        """`edit` is in the coordinates of `hunks`; `old` is the text it replaces."""
        shift = len(edit.new) - (edit.end - edit.start)
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
            new = _new_version(touched, edit, old, author)
            self._absorbed.update((hunk.id, new.id) for hunk in touched[1:])
        else:
            new = Hunk(self._id(), edit.start, edit.start + len(edit.new), old, (Version(author, edit.new),))
        return [*before, new, *(h.moved(shift) for h in after)]


def _effective(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """Without hunks whose text equals the earlier text, and without the aftermath of turns that have nothing left."""
    found = tuple(h for h in hunks if h.text != h.old)
    if not any(h.is_aftermath for h in found):
        return found
    turns = {(v.author.session, v.author.turn) for h in found for v in h.versions if not v.author.aftermath}
    return tuple(h for h in found if not h.is_aftermath or (h.author.session, h.author.turn) in turns)


def _is_same(hunk: Hunk, other: Hunk) -> bool:
    """Apart from where it is."""
    return hunk is other or (hunk.id, hunk.old, hunk.versions) == (other.id, other.old, other.versions)


def _any_taken(was: Iterable[Hunk], now: Iterable[Hunk]) -> bool:
    """Whether a hunk that was there is gone or another now, apart from its place."""
    left = {(hunk.id, hunk.old, hunk.versions) for hunk in now}
    return any((hunk.id, hunk.old, hunk.versions) not in left for hunk in was)


def _new_version(touched: Sequence[Hunk], edit: Edit, old: str, author: Author) -> Hunk:
    """One hunk for everything that `edit` and the hunks it touches cover. `old`: the text that `edit` replaces."""
    start = min(edit.start, touched[0].start)
    gaps: list[str] = []
    at = start
    for hunk in touched:
        gaps.append(old[max(at - edit.start, 0) : max(hunk.start - edit.start, 0)])
        at = hunk.end
    gaps.append(old[max(at - edit.start, 0) :])
    base, versions = together([(hunk.old, hunk.versions) for hunk in touched], gaps)
    before = versions[-1].text
    after = before[: edit.start - start] + edit.new + before[edit.end - start :]
    if author.aftermath and not versions[-1].author.aftermath:
        author = versions[-1].author
    versions = on_top(versions, Version(author, after))
    return Hunk(touched[0].id, start, start + len(after), base, versions)


def _keep_versions(hunk: Hunk, whose: AuthorFilter) -> Hunk | None:
    """The hunk without those authors' versions, which now count as reviewed; None if nothing is left to review."""
    old, left = kept(hunk.old, hunk.versions, whose)
    return replace(hunk, old=old, versions=left) if left else None


def _reject_versions(hunk: Hunk, whose: AuthorFilter) -> tuple[str | None, Hunk | None]:
    """The text without those authors' versions, and the remaining hunk. No text if later work prevents it."""
    left = rejected(hunk.old, hunk.versions, whose)
    if left is None:
        return None, None
    return (left[-1].text, replace(hunk, versions=left)) if left else (hunk.old, None)
