"""The final line end, in editors whose buffers are lines (Neovim).

There it is no text but a setting of the buffer: nothing that a change can add or take away, and what is saved has one as a
rule ('fixendofline'). An edit that removes it is made without that; one that adds it leaves a blank line on the disk. So a
change for such an editor leaves the text's end as it is: with a line end where there was one; where not, with one less than
is wanted (an empty last line is a line end too many there).
"""

from __future__ import annotations

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.lineends import dominant

_ENDS = ("\r\n", "\n", "\r")


def keep_final_end(text: str, changes: ChangeSet) -> ChangeSet:
    """`changes` of the raw `text`, without what they do to its final line end. To be asked once for a change."""
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
    """Without the end that the last edit takes away and puts back."""
    if not edits:
        return edits
    *others, last = edits
    end = _end_of(last.new)
    if end and last.end == len(text) and text.endswith(end) and last.end - len(end) >= last.start:
        last = Edit(last.start, last.end - len(end), last.new.removesuffix(end))
    return (*others, last) if last.start < last.end or last.new else tuple(others)


def _end_of(text: str) -> str:
    return next((end for end in _ENDS if text.endswith(end)), "")
