"""NormalText: like `Normal`, for a Text, without building strings of it."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.hunks import LineHunk
from sidecar.core.lineends import dominant, expand
from sidecar.core.narrow import pairs
from sidecar.core.normal import BOM, Normal, has_mark, normal, says
from sidecar.core.places import Places
from sidecar.core.rope import Rope
from sidecar.core.text import Text


class NormalText:
    """A raw text with its compared form. Offsets are code points."""

    __slots__ = ("_marks", "_shift", "raw", "terminator", "text")

    def __init__(self, raw: Text) -> None:
        self.raw = raw
        self.text = normal(raw)
        self.terminator = "\n" if self.text is raw else dominant(raw.chunks)
        self._shift = 1 if has_mark(raw) else 0
        self._marks: array[int] | None = None

    def offset_in_raw(self, offset: int) -> int:
        """Like `Normal.offset_in_raw`."""
        if self._marks is None:
            self._marks = array("Q")
            at = -self._shift
            for piece in () if self.text is self.raw else self.raw.chunks:
                found = (match.start() for match in re.finditer("\r\n", piece))
                self._marks.extend(at + start - i for i, start in enumerate(found, len(self._marks)))
                at += len(piece)
        return offset + self._shift + bisect_left(self._marks, offset)

    def in_raw(self, places: Places) -> Places:
        """The same places in the raw text. New lines get its most frequent terminator. The resulting text shares its equal
        parts with the raw one."""
        raw, new = self.raw, places.new
        if not places.is_everything:
            rope, edits = Rope.of(raw), list[Edit]()
            for start, end, new_start, new_end in places.hunks:
                put = expand(new.slice(new_start, new_end), self.terminator)
                edits.append(Edit(self.offset_in_raw(start), self.offset_in_raw(end), put))
            for edit in reversed(edits):
                rope.splice(edit.start, edit.end, edit.new)
            after = rope.snapshot()
            # A lone "\r" next to an inserted "\n" would become one line end (only in files with mixed line ends).
            if not self._has_lone_returns or says(after, new):
                return Places.of(ChangeSet.of(len(raw), edits), after)
        after = new.expanded(self.terminator)
        after = Text.of(BOM + str(after)) if self._shift else after
        return Places(len(raw), (LineHunk(self._shift, len(raw), self._shift, len(after)),), after)

    @property
    def _has_lone_returns(self) -> bool:
        return any(piece.count("\r") != pairs(piece) for piece in self.raw.chunks)


def normal_of(text: Text, *others: AnyText) -> Normal | NormalText:
    """The compared form of a text. It is a NormalText if `text` or one of the `others`, with which it will be compared, is held
    as a Text."""
    if text.is_narrow or any(isinstance(one, Text) for one in others):
        return NormalText(text.in_narrow())
    return Normal(str(text))
