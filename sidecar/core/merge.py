"""Three-way merge by lines: combines what two sides made of one text, or returns the places that only a person can decide.

`merge(base, ours, theirs)` never guesses. The rule, in full:

1. Both sides are compared with `base` line by line (hunks.py). A hunk is a stretch of base lines (empty for
   an insertion) and the text that one side has in its place.
2. A hunk of ours and one of theirs *clash* when
   a. they share a base line, or an insertion lies strictly inside the other's stretch;
   b. they touch (one ends where the other begins, or both insert at the same place), one of them adds lines, and the
      other adds or removes lines. Changed lines next to changed lines do not clash. Lines added next to lines that
      were added or removed do clash, because their order, or whether they belong together, is unknown.
   A hunk that only inserts or only deletes counts as lying at every place to which it could be moved without changing its
   side's text: nobody knows which of two equal lines was deleted.
3. Hunks that clash, directly or through others, form a group. If both sides are equal over the group, they made the same
   change, and it is taken once. If every hunk in the group keeps the number of lines, and no line was changed by both sides in
   different ways, the group is merged line by line. Anything else is a conflict, and then nothing at all is merged.

So it is a conflict if both sides change one line, however far apart the words are; if both append to the end of a file; and if
one side deletes what the other edited. Line ends are part of a line: callers that treat \\n and \\r\\n as equal fold them
first (lineends.fold). Texts are `str`; offsets are code points; lines count from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff, refined
from sidecar.core.hunks import LineHunk, line_hunks, lines_of, places


@dataclass(frozen=True, slots=True)
class Merged:
    """Both sides' changes fit together. `changes` turn ours into the merged text."""

    changes: ChangeSet

    def apply(self, ours: str) -> str:
        return self.changes.apply(ours)


@dataclass(frozen=True, slots=True)
class ConflictHunk:
    """One place that both sides changed, as whole lines of the three texts; each may be empty."""

    base: str
    ours: str
    theirs: str
    start_line: int
    """The line number in ours where the lines are, or would be; from 0."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """At least one place cannot be merged. `hunks` are all such places, in order."""

    hunks: tuple[ConflictHunk, ...]


def merge(base: str, ours: str, theirs: str) -> Merged | Conflict:
    """The changes that turn `ours` into a text with both sides' changes to `base`, or every place where they conflict."""
    if theirs in (base, ours):
        return Merged(ChangeSet(len(ours)))
    if base == ours:
        return Merged(diff(ours, theirs))
    taken: list[_Taken] = []
    conflicts: list[ConflictHunk] = []
    line = counted = 0
    for group in _groups(_changes(base, ours), _changes(base, theirs)):
        resolved = _resolve(base, ours, theirs, group)
        if isinstance(resolved, _Disputed):
            line += _count_lines(ours, counted, resolved.start)[0]
            counted = resolved.start
            conflicts.append(ConflictHunk(resolved.base, resolved.ours, resolved.theirs, line))
        else:
            taken.extend(resolved)
    if conflicts:
        return Conflict(tuple(conflicts))
    return Merged(ChangeSet(len(ours), tuple(_rebased(taken, base, theirs))))


class _Change(NamedTuple):
    """One side's hunk, with the facts that the rule needs."""

    hunk: LineHunk
    low: int
    high: int
    """The stretch of base in which it could lie (rule 2, last sentence)."""
    added: int
    """Lines after minus lines before."""


class _Group(NamedTuple):
    """Hunks that clash, or a single hunk. Base offset + shift = offset in ours, for text before the group."""

    ours: Sequence[_Change]
    theirs: Sequence[_Change]
    shift: int


class _Taken(NamedTuple):
    """A hunk from base to theirs that goes into ours, at its base offsets plus `shift`."""

    hunk: LineHunk
    shift: int


class _Disputed(NamedTuple):
    """A conflict whose line has not been counted yet."""

    base: str
    ours: str
    theirs: str
    start: int
    """Offset in ours."""


def _changes(base: str, side: str) -> list[_Change]:
    hunks = line_hunks(base, side)
    return [
        _Change(hunk, low, high, _added(base, side, hunk))
        for hunk, (low, high) in zip(hunks, places(base, side, hunks), strict=True)
    ]


def _added(base: str, side: str, hunk: LineHunk) -> int:
    old_start, old_end, new_start, new_end = hunk
    found, found_open = _count_lines(base, old_start, old_end)
    left, left_open = _count_lines(side, new_start, new_end)
    # A last line without a line end cannot be followed by a line, so it counts as one line less.
    return -1 if found == left and left_open and not found_open else left - found


def _count_lines(text: str, start: int, end: int) -> tuple[int, bool]:
    """The number of lines, and whether the last one has no line end."""
    is_open = start < end and text[end - 1] not in "\r\n"
    ends = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    if returns:
        ends += returns - text.count("\r\n", start, end)
    return ends + is_open, is_open


def _clash(x: _Change, y: _Change) -> bool:
    """Rule 2."""
    if x.low > y.low or (x.low == y.low and x.high > y.high):
        x, y = y, x
    if x.high != y.low:
        return x.high > y.low
    return (x.added > 0 and y.added != 0) or (y.added > 0 and x.added != 0)


def _groups(ours: Sequence[_Change], theirs: Sequence[_Change]) -> Iterator[_Group]:
    i = j = shift = 0
    while i < len(ours) or j < len(theirs):
        i0, j0 = i, j
        if i == len(ours):
            j += 1
        elif j == len(theirs):
            i += 1
        elif _clash(ours[i], theirs[j]):
            i, j = i + 1, j + 1
            while True:
                if i < len(ours) and _clash(ours[i], theirs[j - 1]):
                    i += 1
                elif j < len(theirs) and _clash(ours[i - 1], theirs[j]):
                    j += 1
                else:
                    break
        elif ours[i].high <= theirs[j].low:
            i += 1
        else:
            j += 1
        yield _Group(ours[i0:i], theirs[j0:j], shift)
        shift += sum(len_new - len_old for len_old, len_new in map(_lengths, ours[i0:i]))


def _lengths(change: _Change) -> tuple[int, int]:
    old_start, old_end, new_start, new_end = change.hunk
    return old_end - old_start, new_end - new_start


def _resolve(base: str, ours: str, theirs: str, group: _Group) -> list[_Taken] | _Disputed:
    """Rule 3."""
    if not group.ours:
        return [_Taken(change.hunk, group.shift) for change in group.theirs]
    if not group.theirs:
        return []
    low = min(group.ours[0].hunk.old_start, group.theirs[0].hunk.old_start)
    high = max(group.ours[-1].hunk.old_end, group.theirs[-1].hunk.old_end)
    our_low, our_high = _in_side(group.ours, low, high)
    their_low, their_high = _in_side(group.theirs, low, high)
    before, mine, yours = base[low:high], ours[our_low:our_high], theirs[their_low:their_high]
    if mine == yours:
        return []
    if all(change.added == 0 for change in (*group.ours, *group.theirs)):
        taken = _line_for_line(
            before, mine, yours, _Taken(LineHunk(low, low, their_low, their_low), group.shift)
        )
        if taken is not None:
            return taken
    return _Disputed(before, mine, yours, our_low)


def _in_side(changes: Sequence[_Change], low: int, high: int) -> tuple[int, int]:
    """The offsets in one side for the base offsets low..high, which enclose exactly these hunks of it."""
    first, last = changes[0].hunk, changes[-1].hunk
    return first.new_start - (first.old_start - low), last.new_end + (high - last.old_end)


def _line_for_line(before: str, mine: str, yours: str, at: _Taken) -> list[_Taken] | None:
    """Their lines where ours has the base's, from the offsets `at` on. None if a line differs in all three."""
    taken: list[_Taken] = []
    (_, i, _, j), shift = at
    for old, my, their in zip(lines_of(before), lines_of(mine), lines_of(yours), strict=True):
        if their not in (old, my):
            if my != old:
                return None
            hunk = LineHunk(i, i + len(old), j, j + len(their))
            if taken and taken[-1].hunk.old_end == i:
                hunk = LineHunk(
                    taken[-1].hunk.old_start, hunk.old_end, taken.pop().hunk.new_start, hunk.new_end
                )
            taken.append(_Taken(hunk, shift))
        i, j, shift = i + len(old), j + len(their), shift + len(my) - len(old)
    return taken


def _rebased(taken: Sequence[_Taken], base: str, theirs: str) -> Iterator[Edit]:
    """The edits of the hunks, moved from base to ours. Between two hunks there is always an unchanged line."""
    k = 0
    for edit in refined(base, theirs, [take.hunk for take in taken]):
        while taken[k].hunk.old_end < edit.start:
            k += 1
        shift = taken[k].shift
        yield Edit(edit.start + shift, edit.end + shift, edit.new)
