"""made_too: makes the changes of one text in another text as well, when it is not known how the one became the other."""

from __future__ import annotations

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.merge import Merged, merge
from sidecar.core.normal import Normal, normal


def made_too(before: str, changes: ChangeSet, text: str) -> str:
    """`text` with these changes of `before` (all raw), as far as both texts are equal at the places that change. `merge` finds a conflict if they
    differ right beside such a place; here the change is made if it is one of whole lines and the line before or behind it is the same in both."""
    after, now = normal(changes.apply(before)), Normal(text)
    compared = _compared(before, changes)
    before = normal(before)
    if compared.apply(before) != after:  # a change inside a line end
        compared = diff(before, after)
    merged = merge(before, now.text, after)
    if isinstance(merged, Merged):
        return now.changes_in_raw(merged.changes).apply(text)
    between = diff(before, now.text)
    edits = [there for edit in compared.edits if (there := _same_place(edit, before, now.text, between))]
    return now.changes_in_raw(ChangeSet.of(len(now.text), edits)).apply(text)


def _compared(before: str, changes: ChangeSet) -> ChangeSet:
    """Changes of `before` (raw) as changes of its compared form, if none of them lies inside a line end."""
    edits: list[Edit] = []
    raw = at = 0
    for edit in changes.edits:
        at += len(normal(before[raw : edit.start]))
        start, raw = at, edit.end
        at += len(normal(before[edit.start : raw]))
        edits.append(Edit(start, at, normal(edit.new)))
    return ChangeSet.of(at + len(normal(before[raw:])), edits)


def _same_place(edit: Edit, text: str, other: str, between: ChangeSet) -> Edit | None:
    """The edit of `text` at the matching place in `other`; None if `other` differs there. `between` leads from `text` to `other`."""
    start, end = between.map_offset(edit.start, 1), between.map_offset(edit.end, -1)
    if start > end or other[start:end] != text[edit.start : edit.end]:
        return None
    beside = any(one.new and one.start <= edit.end and one.end >= edit.start for one in between.edits)
    both = (text, edit.start, edit.end), (other, start, end)
    if beside and not (
        edit.new[-1:] in ("", "\n")
        and all(_are_lines(*one) for one in both)
        and _beside(*both[0]) & _beside(*both[1])
    ):
        return None
    return Edit(start, end, edit.new)


def _are_lines(text: str, start: int, end: int) -> bool:
    return start < end and text[start - 1 : start] in ("", "\n") and text[end - 1] == "\n"


def _beside(text: str, start: int, end: int) -> set[tuple[str, str]]:
    """The line before `start` and the one behind `end`, if there is more in them than a line end."""
    before = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start]
    behind = text[end : text.find("\n", end) + 1 or len(text)]
    return {(side, line) for side, line in (("before", before), ("behind", behind)) if line.strip()}
