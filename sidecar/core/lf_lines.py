"""lf_lines: positions in editors for which only "\\n" ends a line: Neovim, Emacs, Helix.

In LSP, "\\r" ends a line too (3.17, "Text Documents"). For these editors, a lone "\\r" is an ordinary character, and in files with
both kinds of line ends a position can lie between "\\r" and "\\n". So in a text with a lone "\\r", all later lines have other
numbers than in LSP. An edit sent with LSP's numbers lands in the wrong line, and nobody notices: both sides use the same number for
different places. Such texts are rare. This module counts lines only for them, at a cost proportional to their length; Text handles
all other texts.

`LfLines` accompanies a rope that is edited; `places` and `offset_at` are for a text that does not change. `Coordinates` knows for
which editors these rules apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sidecar.core.change import Edit
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Range, Text
from sidecar.core.units import points_of, units_of

_LONE = re.compile("\r(?!\n)")


def has_lone_return(text: Text) -> bool:
    """Whether LSP's line numbers differ from those of an editor that ends lines only at "\\n"."""
    return any("\r" in chunk and _LONE.search(chunk) is not None for chunk in text.chunks)


def places(text: Text, encoding: Encoding) -> Callable[[int], Position]:
    """A function that returns the position of an offset in `text`."""
    if has_lone_return(text):
        whole = str(text)
        return lambda offset: _position(whole, offset, encoding)
    return lambda offset: text.position_at(offset, encoding)


def offset_at(text: Text, position: Position, encoding: Encoding) -> int:
    """The offset of a position in `text`."""
    if has_lone_return(text):
        return _offset(str(text), position, encoding)
    return _behind_the_return(text, position, encoding)


class LfLines:
    """Applies the changes that such an editor reports for one text."""

    __slots__ = ("_lone", "_returns")

    def __init__(self, text: str) -> None:
        self._whole(text)

    def apply(self, rope: Rope, range: Range | None, new: str, encoding: Encoding) -> Edit:
        """Like `Rope.apply`."""
        if range is None:
            self._whole(new)
            return rope.apply(None, new, encoding)
        if not self._returns:
            edit = rope.apply(range, new, encoding)
            self._look_at(rope, edit)
            return edit
        if range.start > range.end:
            raise ValueError(f"range ends before it starts: {range}")
        if self._lone:
            text = str(rope)
            start, end = (_offset(text, place, encoding) for place in range)
        else:
            snapshot = rope.snapshot()
            start, end = (_behind_the_return(snapshot, place, encoding) for place in range)
            if (start, end) == tuple(snapshot.offset_at(place, encoding) for place in range):
                edit = rope.apply(range, new, encoding)  # it also handles halves of characters
                self._look_at(rope, edit)
                return edit
        edit = rope.splice(start, end, new)
        self._look_at(rope, edit)
        return edit

    def _whole(self, text: str) -> None:
        self._returns = "\r" in text
        self._lone = self._returns and _LONE.search(text) is not None

    def _look_at(self, rope: Rope, edit: Edit) -> None:
        """Check an edit for a lone "\\r". Once there was one, it is assumed to be there until the whole text arrives."""
        if self._lone or not (self._returns or "\r" in edit.new):
            return
        self._returns = True
        text = rope.snapshot()
        around = text.slice(max(edit.start - 1, 0), min(edit.start + len(edit.new) + 1, len(text)))
        last = _LONE.search(around)
        if last is not None:
            end = max(edit.start - 1, 0) + last.end()
            self._lone = text.slice(end, min(end + 1, len(text))) != "\n"


def _behind_the_return(text: Text, position: Position, encoding: Encoding) -> int:
    """The offset of a position. A line that ends with CRLF has one position more than in LSP: between the two characters."""
    offset = text.offset_at(position, encoding)
    if text.slice(offset, min(offset + 2, len(text))) != "\r\n":
        return offset
    end = text.position_at(offset, encoding)
    return offset + 1 if (end.line, end.character + 1) == position else offset


def _offset(text: str, position: Position, encoding: Encoding) -> int:
    line, units = position
    if line < 0 or units < 0:
        raise ValueError(f"negative position {line}:{units}")
    start = 0
    for _ in range(line):
        end = text.find("\n", start)
        if end < 0:
            return len(text)
        start = end + 1
    end = text.find("\n", start)
    limit = min(len(text) if end < 0 else end, start + units)  # a code point is at least one unit
    return start + points_of(text[start:limit], units, encoding)


def _position(text: str, offset: int, encoding: Encoding) -> Position:
    start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset), units_of(text[start:offset], encoding))
