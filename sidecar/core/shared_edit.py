"""SharedEdit: an edit of an agent, whose new text may share the chunks of a document's, and the hunk that it makes of those that it touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sidecar.core.any_text import AnyText, part
from sidecar.core.change import ChangeSet
from sidecar.core.hunk import Hunk
from sidecar.core.narrow import FROM
from sidecar.core.places import Places
from sidecar.core.sharing import one_behind_the_other
from sidecar.core.text import Text
from sidecar.core.versions import Author, Version, on_top, together


class SharedEdit(NamedTuple):
    """An edit whose new text may be an `AnyText`."""

    start: int
    end: int
    new: AnyText

    @property
    def growth(self) -> int:
        return len(self.new) - (self.end - self.start)

    def moved(self, by: int) -> SharedEdit:
        return SharedEdit(self.start + by, self.end + by, self.new)


ReplacedPart = Callable[[int, int], AnyText]
"""Returns the part of a stretch (start, end) that an edit replaces. The stretch is in the coordinates of the text that the edit changes. Called
only when needed, so that no text is copied in vain."""


def replaced(before: Text, edit: SharedEdit, shift: int, start: int, end: int) -> AnyText:
    """See `ReplacedPart`. `edit` is in the coordinates of `before`; the stretch's coordinates are `shift` code points ahead of them."""
    low = max(start - shift, edit.start)
    return before.part(low, max(low, min(end - shift, edit.end)))


def edits_of(changes: ChangeSet | Places, after: Text) -> Iterator[SharedEdit]:
    """The edits of `changes`, which lead to `after`. A large new text shares the chunks of that."""
    if isinstance(changes, ChangeSet) and (after.is_narrow or any(len(e.new) >= FROM for e in changes.edits)):
        changes = Places.of(changes, after)
    if isinstance(changes, Places):
        for start, end, new_start, new_end in changes.hunks:
            yield SharedEdit(start, end, after.part(new_start, new_end))
    else:
        yield from (SharedEdit(edit.start, edit.end, edit.new) for edit in changes.edits)


def new_version(touched: Sequence[Hunk], edit: SharedEdit, old: ReplacedPart, author: Author) -> Hunk:
    """One hunk that covers `edit` and all the hunks it touches."""
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
