"""A change of one text that is made in another one, too, of which it is not known what led from one to the other."""

from __future__ import annotations

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.merge import Merged, merge
from sidecar.core.normal import Normal, normal


def made_too(before: str, after: str, text: str) -> str:
    """`text` (all raw) with what led from `before` to `after`, as far as it says the same in that place. What stands right beside such a place,
    in `before` or in `text` only, is a conflict for `merge`, and none here."""
    before, after, now = normal(before), normal(after), Normal(text)
    merged = merge(before, now.text, after)
    if isinstance(merged, Merged):
        return now.changes_in_raw(merged.changes).apply(text)
    between = diff(before, now.text)
    edits = [there for e in diff(before, after).edits if (there := _same_place(e, before, now.text, between))]
    return now.changes_in_raw(ChangeSet.of(len(now.text), edits)).apply(text)


def _same_place(edit: Edit, text: str, other: str, between: ChangeSet) -> Edit | None:
    """The edit of `text` where `other` says the same; `between` leads from one to the other. None: it says something else there."""
    if any(one.new and one.start <= edit.end and one.end >= edit.start for one in between.edits):
        return None
    start, end = between.map_offset(edit.start, 1), between.map_offset(edit.end, -1)
    if start > end or other[start:end] != text[edit.start : edit.end]:
        return None
    return Edit(start, end, edit.new)
