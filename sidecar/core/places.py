"""Places: where two Texts differ, found without building strings of them, each of whose characters may take four bytes.

It compares their UTF-8 as a string with one character for each byte, in which lines and line ends are recognised as usual. The result is what `diff`
would find; no place begins or ends inside a character.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import settled, small
from sidecar.core.hunks import LineHunk, line_hunks
from sidecar.core.text import Text
from sidecar.core.text_parts import TextParts


@dataclass(frozen=True, slots=True)
class Places:
    """The edits that turn a text of `length` code points into `new`. The inserted text is a part of `new`."""

    length: int
    hunks: tuple[LineHunk, ...]
    new: Text

    @staticmethod
    def between(old: Text, new: Text) -> Places:
        """Like `diff`, but returns all of `new` as one edit if too much of it is new: more than a quarter if its string takes four bytes per
        character, otherwise more than three quarters. Copies of so many parts would take more memory than the user gains from smaller edits."""
        found = settled(_Characters(old), _Characters(new), _found(old, new))
        places = Places(len(old), tuple(found), new)
        if 4 * places.added <= (1 if new.as_string >= 4 * len(new) else 3) * len(new):
            return places
        return replace(places, hunks=(LineHunk(0, len(old), 0, len(new)),))

    @staticmethod
    def of(changes: ChangeSet, new: Text) -> Places:
        """The places of these changes, which lead to `new`."""
        hunks, shift = list[LineHunk](), 0
        for edit in changes.edits:
            start = edit.start + shift
            hunks.append(LineHunk(edit.start, edit.end, start, start + len(edit.new)))
            shift += edit.growth
        return Places(changes.length, tuple(hunks), new)

    @staticmethod
    def made(new: Text) -> Places:
        """The place that turns an empty text into `new`."""
        return Places(0, (LineHunk(0, 0, 0, len(new)),) if len(new) else (), new)

    @property
    def added(self) -> int:
        """The number of code points inserted."""
        return sum(hunk.new_end - hunk.new_start for hunk in self.hunks)

    @property
    def is_everything(self) -> bool:
        return self.hunks == (LineHunk(0, self.length, 0, len(self.new)),)

    def changes(self) -> ChangeSet:
        """The same edits, with their texts."""
        edits = (Edit(h.old_start, h.old_end, self.new.slice(h.new_start, h.new_end)) for h in self.hunks)
        return ChangeSet(self.length, tuple(edits))


def _found(old: Text, new: Text) -> list[LineHunk]:
    a, b = _as_bytes(old), _as_bytes(new)
    found = small(a, b, line_hunks(a, b), _cuts)
    in_old, in_new = _Points(old), _Points(new)
    return [LineHunk(in_old(i), in_old(i_end), in_new(j), in_new(j_end)) for i, i_end, j, j_end in found]


def _as_bytes(text: Text) -> str:
    """The UTF-8 of the text, with one character for each byte."""
    parts = TextParts()
    for piece in text.utf_8():
        parts.add(piece.decode("latin-1"))
    return parts.whole()


def _cuts(text: str, at: int, grown: int) -> bool:
    """Whether a boundary at `at` in such a string would divide a character."""
    return 0 < at < len(text) and "\x80" <= text[at] <= "\xbf"


class _Points:
    """Converts an offset in the UTF-8 of a text (bytes) to an offset in the text (code points)."""

    def __init__(self, text: Text) -> None:
        self._pieces = [*text.utf_8()]
        self._bytes = [0, *accumulate(map(len, self._pieces))]
        self._points = [0, *accumulate(text.sizes)]

    def __call__(self, at: int) -> int:
        number = min(bisect_right(self._bytes, at), len(self._pieces)) - 1
        piece = self._pieces[number][: at - self._bytes[number]]
        return self._points[number] + len(piece.decode("utf-8", "surrogatepass"))


class _Characters(Sequence[str]):
    """A text as a sequence of characters, for `settled`."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __len__(self) -> int:
        return len(self._text)

    def __getitem__(self, at: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._text.slice(at, at + 1)
