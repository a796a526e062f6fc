"""final_end: adapts changes for editors whose buffers are lists of lines (Neovim), which treat the final line end specially.

There, the final line end is not text but a setting of the buffer. A change can neither add nor remove it, and saving normally
writes one ('fixendofline'). An edit that removes it is made without the removal. An edit that adds one leaves a blank line on
the disk. So a change for such an editor leaves the end of the text alone: if there was a line end, it stays; if not, the
change has one line end less than wanted, because the editor counts an empty last line as one more.
"""

from __future__ import annotations

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.lineends import dominant

_ENDS = ("\r\n", "\n", "\r")


def same_lines(one: str, other: str) -> bool:
    """Whether two texts in the compared form are equal, apart from their final line end."""
    return one == other or one.removesuffix("\n") == other.removesuffix("\n")


def ended_as(text: str, other: str) -> str:
    """`text` with a final line end if `other` has one, otherwise without one (both in the compared form)."""
    bare = text.removesuffix("\n")
    return bare + "\n" if other.endswith("\n") else bare


def keep_final_end(text: str, changes: ChangeSet) -> ChangeSet:
    """`changes` of the raw `text`, without their effect on its final line end. Call it once per change."""
    if not changes.edits or changes.edits[-1].end < len(text):
        return changes
    new = changes.apply(text)
    ended, ends = _end_of(text), _end_of(new)
    if bool(ended) == bool(ends):
        return changes
    if ended:
        added = Edit(len(new), len(new), ended if ended != "\r" else dominant(text))
    else:
        added = Edit(len(new) - len(ends), len(new), "")
    whole = changes.compose(ChangeSet.of(len(new), (added,)))
    kept = tuple(edit for edit in whole.edits if text[edit.start : edit.end] != edit.new)
    return ChangeSet.of(len(text), _trimmed(text, kept))


def _trimmed(text: str, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits without the line end that the last edit removes and adds again."""
    if not edits:
        return edits
    *others, last = edits
    end = _end_of(last.new)
    if end and last.end == len(text) and text.endswith(end) and last.end - len(end) >= last.start:
        last = Edit(last.start, last.end - len(end), last.new.removesuffix(end))
    return (*others, last) if last.start < last.end or last.new else tuple(others)


def _end_of(text: str) -> str:
    return next((end for end in _ENDS if text.endswith(end)), "")
