"""Places: where a text differs from another one, both of them Texts: found without making strings of them, each of whose characters may take four bytes.

Compared is their UTF-8: as a string of one byte for each of its own, in which lines and line ends are what they are. What is found there is found as
`diff` finds it; no place begins or ends within a character.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import settled, small
from sidecar.core.hunks import Hunk, line_hunks
from sidecar.core.text import Text
from sidecar.core.text_parts import TextParts


@dataclass(frozen=True, slots=True)
class Places:
    """The edits from a text of `length` code points to `new`, which has what they put in."""

    length: int
    hunks: tuple[Hunk, ...]
    new: Text

    @staticmethod
    def between(old: Text, new: Text) -> Places:
        """As `diff`. All of `new` is new where more than a quarter of it is and a string of it takes four bytes for each character, and else where more
        than three quarters are: copies of parts of it take more than the user gains by edits that leave the rest alone."""
        found = settled(_Characters(old), _Characters(new), _found(old, new))
        places = Places(len(old), tuple(found), new)
        if 4 * places.added <= (1 if new.as_string >= 4 * len(new) else 3) * len(new):
            return places
        return replace(places, hunks=(Hunk(0, len(old), 0, len(new)),))

    @staticmethod
    def of(changes: ChangeSet, new: Text) -> Places:
        """Where these changes, which lead to `new`, are."""
        hunks, shift = list[Hunk](), 0
        for edit in changes.edits:
            start = edit.start + shift
            hunks.append(Hunk(edit.start, edit.end, start, start + len(edit.new)))
            shift += edit.growth
        return Places(changes.length, tuple(hunks), new)

    @staticmethod
    def made(new: Text) -> Places:
        """Where there was nothing."""
        return Places(0, (Hunk(0, 0, 0, len(new)),) if len(new) else (), new)

    @property
    def added(self) -> int:
        """Code points that they put in."""
        return sum(hunk.new_end - hunk.new_start for hunk in self.hunks)

    @property
    def is_everything(self) -> bool:
        return self.hunks == (Hunk(0, self.length, 0, len(self.new)),)

    def changes(self) -> ChangeSet:
        """The same with the texts."""
        edits = (Edit(h.old_start, h.old_end, self.new.slice(h.new_start, h.new_end)) for h in self.hunks)
        return ChangeSet(self.length, tuple(edits))


def _found(old: Text, new: Text) -> list[Hunk]:
    a, b = _as_bytes(old), _as_bytes(new)
    found = small(a, b, line_hunks(a, b), _cuts)
    in_old, in_new = _Points(old), _Points(new)
    return [Hunk(in_old(i), in_old(i_end), in_new(j), in_new(j_end)) for i, i_end, j, j_end in found]


def _as_bytes(text: Text) -> str:
    """Its UTF-8, each byte a character."""
    parts = TextParts()
    for piece in text.utf_8():
        parts.add(piece.decode("latin-1"))
    return parts.whole()


def _cuts(text: str, at: int, grown: int) -> bool:
    """Whether a boundary at `at` of such a string separates parts of one character."""
    return 0 < at < len(text) and "\x80" <= text[at] <= "\xbf"


class _Points:
    """The offset in a text, from that in its UTF-8."""

    def __init__(self, text: Text) -> None:
        self._pieces = [*text.utf_8()]
        self._bytes = [0, *accumulate(map(len, self._pieces))]
        self._points = [0, *accumulate(text.sizes)]

    def __call__(self, at: int) -> int:
        number = min(bisect_right(self._bytes, at), len(self._pieces)) - 1
        piece = self._pieces[number][: at - self._bytes[number]]
        return self._points[number] + len(piece.decode("utf-8", "surrogatepass"))


class _Characters(Sequence[str]):
    """A text as `settled` looks at it."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __len__(self) -> int:
        return len(self._text)

    def __getitem__(self, at: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._text.slice(at, at + 1)
