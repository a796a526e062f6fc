"""Coordinates: converts places in a text, and edits, to the editor's terms and back.

Offsets inside the sidecar are code points. An editor counts lines from 0, and characters from 0 in units of the negotiated encoding. For
some editors only "\\n" ends a line (lf_lines.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sidecar.core import lf_lines
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.text import Encoding, Position, Text


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TextEdit:
    """Replace start..end (in the editor's encoding) by `new_text`. The edits of one document never overlap and are sorted by start."""

    start: Position
    end: Position
    new_text: str


@dataclass(frozen=True, slots=True)
class Coordinates:
    encoding: Encoding = Encoding.UTF_16
    lf_lines: bool = False
    """Only "\\n" ends a line."""

    def places(self, text: Text) -> Callable[[int], Position]:
        """A function that returns the position of an offset in `text`."""
        if self.lf_lines:
            return lf_lines.places(text, self.encoding)
        return lambda offset: text.position_at(offset, self.encoding)

    def offset_at(self, text: Text, position: Position) -> int:
        """The offset of a position in `text`."""
        if self.lf_lines:
            return lf_lines.offset_at(text, position, self.encoding)
        return text.offset_at(position, self.encoding)

    def edits(self, text: Text, changes: ChangeSet) -> tuple[TextEdit, ...]:
        """Changes of `text` as edits for the editor, with positions in the text before the change. Edits that touch are joined: VS
        Code reports them as one, which would look like an edit over newer typing."""
        edits: list[TextEdit] = []
        place = self.places(text)
        done = 0
        for edit in _joined(changes.edits):
            start, end, new = _off_the_last_line(text, edit)
            if start < done:
                start, end, new = edit.start, edit.end, edit.new
            done = end
            edits.append(TextEdit(place(start), place(end), new))
        return tuple(edits)


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    joined: list[Edit] = []
    for edit in edits:
        if joined and joined[-1].end == edit.start:
            last = joined.pop()
            edit = Edit(last.start, edit.end, last.new + edit.new)
        joined.append(edit)
    return joined


def _off_the_last_line(text: Text, edit: Edit) -> tuple[int, int, str]:
    """An edit that adds text behind the final line end, as one that adds it before that line end. The line behind it does not exist
    in every editor (Neovim would save an extra blank line)."""
    size = len(text)
    if edit.start != size or not size or not edit.new:
        return edit.start, edit.end, edit.new
    tail = text.slice(max(size - 2, 0), size)
    terminator = tail if tail == "\r\n" else tail[-1:]
    if terminator not in ("\n", "\r\n", "\r"):
        return edit.start, edit.end, edit.new
    start = size - len(terminator)
    if edit.new.endswith(terminator) and (terminator != "\n" or not edit.new.endswith("\r\n")):
        return start, start, terminator + edit.new.removesuffix(terminator)
    return start, size, terminator + edit.new
