"""LeftOnDisk: what was taken back in an open document with unsaved work, while its file still says it.

It cannot go from the file at once: the document's other work is not to be saved, and an editor whose file changes beneath unsaved text asks
about that at the next save. It is in force until a save; where the document is closed without one, its file is put right.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.kept import Kept
from sidecar.core.merge import Merged, merge


@dataclass(frozen=True, slots=True)
class LeftOnDisk:
    """Texts are in the compared form of `core.normal`."""

    disk: Kept
    """What the file said."""
    wanted: Kept
    """What it would say without what was taken back."""

    @classmethod
    def of(cls, disk: Kept, before: str, after: str, known: LeftOnDisk | None) -> LeftOnDisk | None:
        """The document's text `before` became `after`, while its file said `disk`; `known`: of what was taken back earlier. None: none of that
        is in the file, or it cannot be told from the user's work."""
        said = str(disk)
        if known is not None:
            earlier = merge(str(known.disk), said, str(known.wanted))
            said = earlier.apply(said) if isinstance(earlier, Merged) else said
        wanted = _taken_back(before, after, said)
        return None if disk == wanted else cls(disk, Kept.of(wanted, disk))

    def without(self, now: str, closed_with: str) -> str | None:
        """What the file is to say, which says `now`; the document was closed with the text `closed_with`. What the user brought back there,
        by an undo, stays. None: nothing is to be done, or somebody changed the file in the same place."""
        said = str(self.disk)
        in_force = [e for e in diff(said, str(self.wanted)).edits if not _is_undone(e, said, closed_with)]
        merged = merge(said, now, ChangeSet.of(len(said), in_force).apply(said))
        wanted = merged.apply(now) if isinstance(merged, Merged) else now
        return None if wanted == now else wanted


def _taken_back(before: str, after: str, said: str) -> str:
    """`said` without what went from `before` to `after`. Unsaved text right beside it is a conflict for `merge`, and none here: `said` does not
    have it. What the user's unsaved work is in stays."""
    whole = merge(before, said, after)
    if isinstance(whole, Merged):
        return whole.apply(said)
    unsaved = diff(before, said)
    edits = [
        there for edit in diff(before, after).edits if (there := _same_place(edit, before, said, unsaved))
    ]
    return ChangeSet.of(len(said), edits).apply(said)


def _same_place(edit: Edit, text: str, other: str, between: ChangeSet) -> Edit | None:
    """The edit of `text` where `other` says the same; `between` leads from one to the other. None: it says something else there."""
    if any(one.new and one.start <= edit.end and one.end >= edit.start for one in between.edits):
        return None
    start, end = between.map_offset(edit.start, 1), between.map_offset(edit.end, -1)
    if start > end or other[start:end] != text[edit.start : edit.end]:
        return None
    return Edit(start, end, edit.new)


def _is_undone(edit: Edit, said: str, closed_with: str) -> bool:
    """Whether the document does not have the edit, which takes something out of `said`, any more."""
    merged = merge(said, closed_with, ChangeSet.of(len(said), [edit]).apply(said))
    if isinstance(merged, Merged):
        return merged.apply(closed_with) != closed_with
    return _same_place(edit, said, closed_with, diff(said, closed_with)) is not None
