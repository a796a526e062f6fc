"""diff: finds the edits between two texts, small where they can be, and in bounded time for any texts.

`diff` returns what to send to an editor: whole lines where lines were added or removed, a few characters where a line was modified, so that cursors,
folds and markers elsewhere stay. hunks.py finds the changed lines. This module compares them, first for lines whose indentation changed, then word by
word. If that takes too much work or produces too many edits, a hunk stays one replacement: nobody benefits from half a million edits. A large text with
an emoji that is more than a quarter new is replaced as a whole.

No edit begins or ends inside \\r\\n, a surrogate pair or (within reason) a character and its combining marks, neither in the old text nor in the new
one. Offsets are code points.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias
from unicodedata import category

from sidecar.core import narrow
from sidecar.core.align import Budget, align
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.hunks import (
    MAX_HUNKS,
    Grain,
    LineHunk,
    add,
    common_prefix,
    common_suffix,
    line_hunks,
    lines_of,
    scan,
    without_crumbs,
)
from sidecar.core.renamed import Guess, Renaming

Splits: TypeAlias = Callable[[Any, int, int], bool]
"""(text, offset, moved): whether a boundary at an offset of a text, which was already moved by `moved`, separates parts of one character."""

_WORK = 300_000
"""align.py's steps for all hunks together."""
_LONGEST_CLUSTER = 32
_A_WORD = 16
_COMPACT = 1 << 10
"""Hunks farther apart than this, in code points on average, are not looked at together."""
_AT_ONCE = 1 << 10
"""The most hunks that are looked at together."""


def diff(old: str, new: str) -> ChangeSet:
    """The edits that turn `old` into `new`: sorted, never touching, at most 10,000. None if the texts are equal."""
    found = small(old, new, line_hunks(old, new))
    if _costs_more(new) and 4 * sum(hunk.new_end - hunk.new_start for hunk in found) > len(new):
        return ChangeSet(len(old), (Edit(0, len(old), new),))
    return ChangeSet(len(old), _edits(new, found))


def _costs_more(new: str) -> bool:
    """Whether copies of parts of `new`, here and in the journal, cost more than the user gains by smaller edits: so for a large text of four bytes
    per character."""
    return len(new) >= narrow.FROM and sys.getsizeof(new) >= 4 * len(new)


def refined(old: str, new: str, hunks: Sequence[LineHunk]) -> tuple[Edit, ...]:
    """The smallest useful edits within `line_hunks`, in offsets of `old`: sorted and never touching.

    Every edit stays within its hunk, so a caller may leave out hunks or move them."""
    return _edits(new, small(old, new, hunks))


def _edits(new: str, hunks: Iterable[LineHunk]) -> tuple[Edit, ...]:
    return tuple([Edit(i, i_end, new[j:j_end]) for i, i_end, j, j_end in hunks])


def small(old: str, new: str, hunks: Sequence[LineHunk], splits: Splits | None = None) -> list[LineHunk]:
    """Like `refined`, without the texts. `splits`: decides where an edit must not begin or end."""
    # With so many hunks, hardly any of them can become two edits: not worth comparing further.
    budget = Budget(_WORK if len(hunks) <= MAX_HUNKS * 9 // 10 else 0)
    found: list[LineHunk] = []
    guess = Guess(budget, 1)
    done = 0
    while done < len(hunks):
        room = MAX_HUNKS - len(found) - (len(hunks) - done - 1)
        if (guess.size > 1 or (done and hunks[done].growth == hunks[done - 1].growth)) and guess.is_due():
            many = _renamed(old, new, hunks[done : done + guess.size], room, guess)
            if many is not None:
                found += many[0]
                done += many[1]
                continue
        parts = _refine(old, new, hunks[done], budget)
        found.extend(parts if len(parts) <= room else [_trimmed(old, new, hunks[done])])
        done += 1
    return settled(old, new, found, splits)


def _renamed(
    old: str, new: str, hunks: Sequence[LineHunk], room: int, guess: Guess
) -> tuple[list[LineHunk], int] | None:
    """The parts of the first of these hunks, as `_refine` finds them one by one, and of how many. None if not even the first is explained by one renamed
    word, and the hunk before it by the same."""
    i, _, j, _ = hunks[0]
    _, i_end, _, j_end = hunks[-1]
    equal = common_prefix(old, new, hunks[0])
    renaming = guess.at(old, i + equal, new, j + equal, equal)
    found: list[LineHunk] = []
    done = 0
    if renaming is not None and i_end - i <= _COMPACT * len(hunks):
        text = old[i:i_end]
        places = renaming.places(text)
        guess.costs(text, places)
        if places:
            renamed = renaming.applied(text, places)
            if not new.startswith(renamed, j, j_end):
                j_end = j + common_prefix(renamed, new, LineHunk(0, len(renamed), j, j_end))
            same = [hunk for hunk in hunks if hunk.new_end <= j_end]
            found, done = _parts(old, new, same, room, renaming, places)
    guess.told(done, _AT_ONCE if done == guess.size else 0)
    return (found, done) if done else None


def _parts(
    old: str, new: str, hunks: Sequence[LineHunk], room: int, renaming: Renaming, places: Sequence[int]
) -> tuple[list[LineHunk], int]:
    """The parts of the first of these hunks, in which the word that was renamed is all that differs, and of how many.

    `places`: of the word, from the start of the first hunk. `room`: the most parts of the first hunk, if each other has one."""
    begin, end = renaming.around
    end = len(renaming.was) - end
    growth = renaming.growth
    found: list[LineHunk] = []
    if not hunks:
        return found, 0
    first = hunks[0].old_start
    shift = hunks[0].new_start - first
    count = len(places)
    k = 0
    for done, (i, i_end, j, j_end) in enumerate(hunks):
        before = k
        while k < count and first + places[k] < i_end:
            k += 1
        if (
            j != i + shift
            or j_end != i_end + shift + (k - before) * growth
            or k == before
            or first + places[before] < i
        ):
            return found, done
        parts: list[LineHunk] = []
        for place in places[before:k]:
            at = first + place
            parts.append(LineHunk(at + begin, at + end, at + begin + shift, at + end + shift + growth))
            shift += growth
        if len(parts) > 1:
            whole = LineHunk(parts[0].old_start, parts[-1].old_end, parts[0].new_start, parts[-1].new_end)
            if whole.extent <= _A_WORD and _lines(old, new, hunks[done]) <= 2:
                parts = [whole]
            else:
                parts = without_crumbs(old, parts, 4, min)
                parts = parts if len(parts) <= room else [whole]
            room -= len(parts) - 1
        found += parts
    return found, len(hunks)


def _lines(old: str, new: str, hunk: LineHunk) -> int:
    return old.count("\n", hunk.old_start, hunk.old_end) + new.count("\n", hunk.new_start, hunk.new_end)


def _refine(old: str, new: str, hunk: LineHunk, budget: Budget) -> list[LineHunk]:
    """Divide a hunk into edits within its lines: first by lines whose indentation changed, then by words in the rest; all or nothing."""
    if hunk.old_start == hunk.old_end or hunk.new_start == hunk.new_end:
        return [hunk]
    whole = _trimmed(old, new, hunk)
    lines = _lines(old, new, hunk)
    if budget.left <= 0 or lines > 4 * MAX_HUNKS or (lines <= 2 and whole.extent <= _A_WORD):
        return [whole]
    parts: list[LineHunk] = []
    for part in _indented(old, new, hunk, budget) if lines > 2 else [whole]:
        for words in scan(old, new, part, _WORDS, budget):
            add(parts, _trimmed(old, new, words))
    return without_crumbs(old, parts, 4, min) if budget.left > 0 else [whole]


def _indented(old: str, new: str, hunk: LineHunk, budget: Budget) -> list[LineHunk]:
    """The hunk in parts. A line and the same line with other blanks around it form one part."""
    a = lines_of(old[hunk.old_start : hunk.old_end])
    b = lines_of(new[hunk.new_start : hunk.new_end])
    i, j = hunk.old_start, hunk.new_start
    x0 = y0 = 0
    parts: list[LineHunk] = []
    for x, y, n in align([line.strip() for line in a], [line.strip() for line in b], budget):
        for x1, y1 in ((x, y), *((x + t + 1, y + t + 1) for t in range(n))):
            i_end, j_end = i + sum(map(len, a[x0:x1])), j + sum(map(len, b[y0:y1]))
            parts.append(LineHunk(i, i_end, j, j_end))
            i, j, x0, y0 = i_end, j_end, x1, y1
    parts.append(LineHunk(i, hunk.old_end, j, hunk.new_end))
    return parts


def _trimmed(old: str, new: str, hunk: LineHunk) -> LineHunk:
    i, i_end, j, j_end = hunk
    n = common_prefix(old, new, hunk)
    i, j = i + n, j + n
    n = common_suffix(old, new, LineHunk(i, i_end, j, j_end))
    return LineHunk(i, i_end - n, j, j_end - n)


def settled(
    old: Sequence[str], new: Sequence[str], hunks: Sequence[LineHunk], splits: Splits | None = None
) -> list[LineHunk]:
    """Hunks extended until none begins or ends inside a character, in either text. Hunks that then touch are joined."""
    found: list[LineHunk] = []
    if splits is None and len(old) < 1000 * len(hunks) and _is_plain(old) and _is_plain(new):
        for hunk in hunks:
            add(found, hunk)
        return found
    splits = splits or _splits
    for index, (i, i_end, j, j_end) in enumerate(hunks):
        floor = found[-1].old_end if found else 0
        ceiling = hunks[index + 1].old_start if index + 1 < len(hunks) else len(old)
        grown = 0
        while i > floor and (splits(old, i, grown) or splits(new, j, grown)):
            i, j, grown = i - 1, j - 1, grown + 1
        grown = 0
        while i_end < ceiling and (splits(old, i_end, grown) or splits(new, j_end, grown)):
            i_end, j_end, grown = i_end + 1, j_end + 1, grown + 1
        add(found, LineHunk(i, i_end, j, j_end))
    return found


def _is_plain(text: Sequence[str]) -> bool:
    """Whether every code point of it is a character of its own."""
    return isinstance(text, str) and text.isascii() and "\r" not in text


def _splits(text: Sequence[str], at: int, grown: int) -> bool:
    """Whether a boundary at `at` separates parts of one character. Long clusters are checked only up to a limit."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if right < "\u0300" or left in "\r\n":
        return right == "\n" and left == "\r"
    if "\udc00" <= right <= "\udfff":
        return "\ud800" <= left <= "\udbff"
    if grown >= _LONGEST_CLUSTER:
        return False
    return (
        category(right).startswith("M")
        or _ZERO_WIDTH_JOINER in (left, right)
        or "\U0001f3fb" <= right <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= left <= "\U0001f1ff" and "\U0001f1e6" <= right <= "\U0001f1ff")  # flags
    )


_ZERO_WIDTH_JOINER = "\u200d"
_WORD = re.compile(r"\w+|[^\S\r\n]+|\r\n|.", re.DOTALL)
_WORDS = Grain(_WORD.findall, by_line=False, window=256, solid=12, dense=1 << 15)
