"""settle: resolves a conflict after the user has decided whose lines to keep.

Changes that do not clash are combined as in any merge; the decision applies only where they clash. Texts are in the compared form
of `core.normal`; offsets are code points.
"""

from __future__ import annotations

from typing import Literal

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.hunks import lines_of
from sidecar.core.merge import Conflict, ConflictHunk, Merged, merge

Side = Literal["ours", "theirs"]

_MAX_ROUNDS = 8
"""Replaced lines can touch hunks that they did not touch before, and clash with them. The same decision then applies to those
hunks."""


def settle(base: str, ours: str, theirs: str, take: Side) -> ChangeSet | None:
    """The changes that turn `ours` into the text of both sides, with the lines of `take` where they clash. None if new clashes
    keep appearing."""
    mine, other = (ours, theirs) if take == "theirs" else (theirs, ours)
    for _ in range(_MAX_ROUNDS):
        match merge(base, mine, other):
            case Merged() as merged:
                return diff(ours, merged.apply(mine))
            case Conflict() as found:
                mine = _replaced(mine, found.hunks)
    return None


def _replaced(text: str, hunks: tuple[ConflictHunk, ...]) -> str:
    """`text` (a merge's ours) with the other side's lines in each clash."""
    lines = lines_of(text)
    for hunk in reversed(hunks):
        end = hunk.start_line + len(lines_of(hunk.ours))
        lines[hunk.start_line : end] = _decided(hunk)
    return "".join(lines)


def _decided(hunk: ConflictHunk) -> list[str]:
    """The other side's lines. If all three texts have the same number of lines, only the lines that the other side changed;
    the rest stays."""
    base, mine, other = lines_of(hunk.base), lines_of(hunk.ours), lines_of(hunk.theirs)
    if len(base) == len(mine) == len(other):
        return [m if o == b else o for b, m, o in zip(base, mine, other, strict=True)]
    return other
