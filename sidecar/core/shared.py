"""What two texts that were made of a third one have in common beyond it."""

from __future__ import annotations

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.hunks import line_hunks


def with_shared(base: str, first: str, second: str) -> str:
    """`base` with those lines of the change to `first` that `second` has, too: somebody made them before, and whoever wrote `second` has not,
    whatever they had read. Equal to `base` where `second` has nothing of it."""
    if base in (first, second):
        return base
    changed = [(hunk.old_start, hunk.old_end) for hunk in line_hunks(first, second)]
    removed = [(hunk.old_start, hunk.old_end) for hunk in line_hunks(base, second)]
    edits: list[Edit] = []
    for hunk in line_hunks(base, first):
        new = _without(first, hunk.new_start, hunk.new_end, changed)
        is_gone = any(start <= hunk.old_start and hunk.old_end <= end for start, end in removed)
        edit = Edit(hunk.old_start if is_gone else hunk.old_end, hunk.old_end, new)
        if edit.new or edit.start < edit.end:
            edits.append(edit)
    return ChangeSet.of(len(base), edits).apply(base)


def _without(text: str, start: int, end: int, stretches: list[tuple[int, int]]) -> str:
    """What lies between two places and in none of the stretches, which are in order."""
    kept: list[str] = []
    for low, high in stretches:
        if high > start and low < end:
            kept.append(text[start:low])
            start = max(start, min(high, end))
    return "".join([*kept, text[start:end]])
