"""Normal: a text in the compared form (no byte order mark, one symbol for every line end), and the way back to the raw text.

Editors and agents disagree about line ends and byte order marks: Emacs and Kate hand CRLF files over as LF, VS Code unifies
mixed ones and strips the mark, agents usually send LF. Compared as raw texts, every line would be a change. So base, ours and
theirs are compared in this form, and only real changes are carried back to the raw text. Its untouched lines keep their
terminators.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from typing import overload

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.lineends import dominant, expand, fold
from sidecar.core.text import BOM, Text


@overload
def normal(raw: str) -> str: ...
@overload
def normal(raw: Text) -> Text: ...
@overload
def normal(raw: AnyText) -> AnyText: ...
def normal(raw: AnyText) -> AnyText:
    """`raw` without a leading byte order mark and with every LSP line end as one "\\n"."""
    if isinstance(raw, str):
        return fold(raw.removeprefix(BOM))
    return raw.compared()


def has_mark(raw: Text) -> bool:
    return raw.slice(0, min(1, len(raw))) == BOM


def without_mark(raw: AnyText) -> AnyText:
    """`raw` without a leading byte order mark."""
    if isinstance(raw, str):
        return raw.removeprefix(BOM)
    return raw.part(1, len(raw)) if has_mark(raw) else raw


def says(text: Text, compared: AnyText) -> bool:
    """Whether `compared` is the compared form of `text`."""
    return text.compared() == compared


def say_the_same(one: Text, other: Text) -> bool:
    """Whether two raw texts have the same compared form."""
    return one == other or one.compared() == other.compared()


class Normal:
    """A raw text with its compared form. Offsets are code points."""

    __slots__ = ("_marks", "_shift", "raw", "terminator", "text")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = normal(raw)
        self.terminator = "\n" if self.text is raw else dominant(raw)
        self._shift = 1 if raw.startswith(BOM) else 0
        self._marks: array[int] | None = None

    @property
    def _has_lone_returns(self) -> bool:
        """Whether the raw text has a "\\r" that is not part of "\\r\\n". Without one, every change is the same in both forms,
        because none begins or ends inside "\\r\\n"."""
        return self.raw.count("\r") != self.raw.count("\r\n")

    def offset_in_raw(self, offset: int) -> int:
        """The offset in the raw text for `offset` in the compared form; never between "\\r" and "\\n"."""
        if self._marks is None:
            # the offset in `text` of each "\n" that stands for two characters of `raw`
            pairs = re.finditer("\r\n", "" if self.text is self.raw else self.raw)
            self._marks = array("Q", (m.start() - self._shift - i for i, m in enumerate(pairs)))
        return offset + self._shift + bisect_left(self._marks, offset)

    def changes_in_raw(self, changes: ChangeSet) -> ChangeSet:
        """The same changes for the raw text. New lines get the raw text's most frequent terminator."""
        if changes.length != len(self.text):
            raise ValueError(f"changes for a text of {changes.length}, this one has {len(self.text)}")
        if self.text is self.raw:
            return changes
        edits = tuple(
            Edit(self.offset_in_raw(e.start), self.offset_in_raw(e.end), expand(e.new, self.terminator))
            for e in changes.edits
        )
        mapped = ChangeSet.of(len(self.raw), edits)
        if not self._has_lone_returns:
            return mapped
        wanted = changes.apply(self.text)
        if normal(mapped.apply(self.raw)) == wanted:
            return mapped
        # A lone "\r" next to an inserted "\n" would become one line end (only in files with mixed line ends).
        whole = Edit(self._shift, len(self.raw), expand(wanted, self.terminator))
        return ChangeSet.of(len(self.raw), (whole,))
