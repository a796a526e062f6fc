"""with_shared: finds the changes that two texts made from one base have in common."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.hunks import LineHunk, line_hunks
from sidecar.core.in_word import is_in_word


def with_shared(base: str, first: str, second: str) -> str:
    """`base` with the changed lines of `first` that `second` has too. `first` was written first, so these changes are not the work of the author
    of `second`, whatever that author had read. In a line that `second` changed once more, an insertion counts only if all of it is still there,
    and a removal only of whole words. The result equals `base` if `second` has none of the changes."""
    if base in (first, second):
        return base
    later = line_hunks(first, second)
    changed = [(hunk.old_start, hunk.old_end) for hunk in later]
    removed = [(hunk.old_start, hunk.old_end) for hunk in line_hunks(base, second)]
    edits: list[Edit] = []
    for hunk in line_hunks(base, first):
        new = _without(first, hunk.new_start, hunk.new_end, changed)
        is_gone = any(start <= hunk.old_start and hunk.old_end <= end for start, end in removed)
        if is_gone and not new and hunk.new_start < hunk.new_end:
            new = _words(
                base[hunk.old_start : hunk.old_end],
                first[hunk.new_start : hunk.new_end],
                second[slice(*_in_second(later, hunk))],
            )
        edit = Edit(hunk.old_start if is_gone else hunk.old_end, hunk.old_end, new)
        if edit.new or edit.start < edit.end:
            edits.append(edit)
    return ChangeSet.of(len(base), edits).apply(base)


def _words(base: str, first: str, second: str) -> str:
    """Like `with_shared`, within lines, for insertions and removals. An insertion that `second` changed in any part does not count."""
    changed = [(edit.start, edit.end) for edit in diff(first, second).edits]
    removed = [(edit.start, edit.end) for edit in diff(base, second).edits]
    edits: list[Edit] = []
    shift = 0
    for edit in diff(base, first).edits:
        start = edit.start + shift
        shift += edit.growth
        is_there = not any(low < start + len(edit.new) and high > start for low, high in changed)
        new = edit.new if is_there else ""
        gone = (_whole_words(base, edit.start, edit.end, low, high) for low, high in removed)
        edits += [Edit(low, high, "") for low, high in gone if low < high]
        edits.append(Edit(edit.end, edit.end, new))
    return ChangeSet.of(len(base), edits).apply(base)


def _whole_words(text: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """What lies between `low` and `high` of the range from `start` to `end`, without words of the range that lie there only in part."""
    while start < low < end and is_in_word(text, low):
        low += 1
    while start < high < end and is_in_word(text, high):
        high -= 1
    return max(low, start), min(high, end)


def _in_second(later: Sequence[LineHunk], hunk: LineHunk) -> tuple[int, int]:
    """The place in `second` of the lines that `hunk` put into `first`. The `later` hunks changed all of them once more."""
    met = [one for one in later if one.old_start < hunk.new_end and hunk.new_start < one.old_end]
    return met[0].new_start, met[-1].new_end


def _without(text: str, start: int, end: int, stretches: list[tuple[int, int]]) -> str:
    """The text from `start` to `end` without the stretches, which are in order."""
    kept: list[str] = []
    for low, high in stretches:
        if high > start and low < end:
            kept.append(text[start:low])
            start = max(start, min(high, end))
    return "".join([*kept, text[start:end]])
