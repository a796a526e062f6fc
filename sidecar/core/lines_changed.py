"""lines_changed: counts the lines that a change adds and removes, as a diff of whole lines does: a word inserted into a line counts as
one of each.

The count uses the edits only. No text is compared or joined, however long it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sidecar.core.change import ChangeSet
from sidecar.core.chunks import terminators
from sidecar.core.places import Places
from sidecar.core.text import Encoding, Text


def lines_changed(before: Text | str, changes: ChangeSet | Places) -> tuple[int, int]:
    """The numbers of lines added and removed. `before`: the text that `changes` apply to."""
    line_of = _lines_of(before)
    added = removed = 0
    shared = -1
    """The line in which the last edit ended, if the edit ended inside it; otherwise -1."""
    for start, end, put, last_put in _puts(changes):
        first, last = line_of(start), line_of(end)
        ends_line = _starts_line(before, end)
        then_ends_line = last_put in "\r\n" if last_put else _starts_line(before, start)
        at_end = end == len(before)
        # behind both, a line begins that this edit does not touch; where the text ends, there is none
        beside = ends_line and then_ends_line
        removed += last - first + (not beside and not (at_end and ends_line))
        added += put + (not beside and not (at_end and then_ends_line))
        if first == shared:
            added, removed = added - 1, removed - 1
        shared = -1 if beside else last
    return added, removed


def _puts(changes: ChangeSet | Places) -> Iterator[tuple[int, int, int, str]]:
    """For each edit: its start and end, the number of line ends in its new text, and the last character of that."""
    if not isinstance(changes, Places):
        yield from ((e.start, e.end, terminators(e.new), e.new[-1:]) for e in changes.edits)
        return
    new, line_of = changes.new, _lines_of(changes.new)
    for start, end, new_start, new_end in changes.hunks:
        yield (
            start,
            end,
            line_of(new_end) - line_of(new_start),
            new.slice(max(new_start, new_end - 1), new_end),
        )


def _lines_of(text: Text | str) -> Callable[[int], int]:
    """Returns a function from offset to line. For a string, offsets must be asked for in ascending order."""
    if isinstance(text, Text):
        return lambda offset: text.position_at(offset, Encoding.UTF_32).line
    line = reached = 0

    def counted(offset: int) -> int:
        nonlocal line, reached
        line += text.count("\n", reached, offset)
        returns = text.count("\r", reached, offset)
        if returns:
            line += returns - text.count("\r\n", reached, offset)
        reached = offset
        return line

    return counted


def _starts_line(text: Text | str, offset: int) -> bool:
    if not offset:
        return True
    return (text.slice(offset - 1, offset) if isinstance(text, Text) else text[offset - 1]) in "\r\n"
