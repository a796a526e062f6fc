"""Rope: a text that can be edited. Its snapshots are Texts.

A snapshot is the rope's own text. The rope copies it (the list of chunks, not the chunks) before its next change.
"""

# pyright: reportPrivateUsage=false
# A rope edits the internals of a Text that nobody else holds: both are views of one structure.

from __future__ import annotations

from itertools import chain

from sidecar.core import narrow
from sidecar.core.any_text import ends_line, line_start
from sidecar.core.change import Edit
from sidecar.core.chunks import (
    MAXIMUM,
    MINIMUM,
    ChunkIndex,
    divide,
    divide_between,
    terminators,
    terminators_gained,
)
from sidecar.core.narrow import Chunks, Narrow, difference, put_together, runs, size_at, sizes, takes_wide
from sidecar.core.text import FIRST_LINE, NOT_FAR, Position, Range, Text
from sidecar.core.units import Encoding, halves, is_high, is_low, join_surrogates

_SURROGATE = "\ud800"
_BMP = "\uffff"


class Rope:
    """A text that can be edited. It is not a Text, because it changes; `snapshot` returns its current state."""

    __slots__ = ("_foreseen", "_own", "_said", "_text")

    def __init__(self, text: str = "") -> None:
        self._text: Text = _Edited(text)
        self._own: _Edited | None = self._text
        """The text, while nobody else has it. None: the text is somebody's snapshot, and is copied before it changes."""
        self._foreseen: Text | None = None
        self._said: str | None = None

    @classmethod
    def of(cls, text: Text) -> Rope:
        """A rope with the text of a snapshot, sharing its chunks."""
        rope = cls.__new__(cls)
        rope._text = text
        rope._own = rope._foreseen = rope._said = None
        return rope

    def __len__(self) -> int:
        """Code points."""
        return len(self._text)

    def __str__(self) -> str:
        return str(self._text)

    def snapshot(self) -> Text:
        """The current text. The same object until the next change."""
        if self._own is not None:
            self._own._index.settle()  # from here on nothing in it changes, so other threads may read it
            self._own = None
        return self._text

    def foresees(self, text: Text | None, said: str | None = None) -> None:
        """Expect the rope to become `text`, step by step from either end. A long insertion that equals `text` at its place then shares its chunks
        and need not be divided. None: expect nothing any more. `said`: all of `text` as a string, if somebody has one."""
        self._foreseen, self._said = text, said

    def adopt(self, text: Text) -> None:
        """Share the chunks of `text`, which is equal to the rope."""
        self.snapshot().meets(text, are_equal=True)
        self._text = text

    def slice(self, start: int, end: int) -> str:
        """Like `Text.slice`, for the current text."""
        return self._text.slice(start, end)

    def apply(self, range: Range | None, new: str, encoding: Encoding) -> Edit:
        """Replace a range as a content change of LSP does. Positions are read as by `Text.offset_at`.

        Without a range, `new` is the whole text, and the edit is the difference between the texts' common start and end. If it can be seen as an
        insertion or deletion of whole lines, it is.

        In UTF-16 the range may begin or end inside a surrogate pair, and halves may meet: editors that work in UTF-16 units do so when they replace one
        emoji by another. The edit then covers the whole characters.

        Returns the edit with its offsets in the text before. Raises ValueError for negative positions, and if start is after end; the text is then
        unchanged.
        """
        if range is None:
            return self._replace(new)
        first, last = range
        if first > last:
            raise ValueError(f"range ends before it starts: {range}")
        text = self._text
        start = text.offset_at(first, encoding)
        has_pairs = encoding is Encoding.UTF_16 and not (text._ascii and new.isascii())
        # before the end is looked for: a text remembers only the last place, from which a long line is walked on
        is_cut = has_pairs and _at(text, start) > _BMP and text.position_at(start, encoding) != first
        end = start if first == last else text.offset_at(last, encoding)
        if has_pairs:
            start, end, new = self._whole_characters(start, end, new, last, starts_inside=is_cut)
        return self._splice(start, end, new)

    def splice(self, start: int, end: int, new: str) -> Edit:
        """Replace the code points start..end. Raises ValueError unless 0 <= start <= end <= len."""
        if not 0 <= start <= end <= len(self._text):
            raise ValueError(f"splice {start}..{end} of {len(self._text)}")
        return self._splice(start, end, new)

    def _splice(self, start: int, end: int, new: str) -> Edit:
        foreseen = self._foreseen
        if foreseen is not None and new is self._said and end - start == len(self._text):
            self.adopt(foreseen)
            return Edit(start, end, new)
        own = self._own
        if own is None:
            own = self._text = self._own = _Edited.copy_of(self._text)
        own.splice(start, end, new, foreseen)
        if foreseen is not None and len(own) == len(foreseen) and own.is_made_of(foreseen._chunks):
            self.adopt(foreseen)  # what that one is known to equal need not be compared again
        return Edit(start, end, new)

    def _replace(self, new: str) -> Edit:
        start, end = difference(self._text._chunks, len(self._text), new)
        replacement = new[start : len(new) - len(self._text) + end]
        if start == end and not replacement:
            return Edit(start, end, "")
        if start == end or not replacement:
            start, end, replacement = _as_lines(self._text, start, end, replacement)
        return self._splice(start, end, replacement)

    def _whole_characters(
        self, start: int, end: int, new: str, until: Position, *, starts_inside: bool
    ) -> tuple[int, int, str]:
        """The edit, of whole characters. `until`: the position for which `end` was found, and `starts_inside`: whether the one for which `start` was
        found is inside a character."""
        text = self._text
        before = _at(text, start - 1)
        first = _at(text, start)
        last = _at(text, end) if end != start else first
        if before < _SURROGATE and first < _SURROGATE and last < _SURROGATE:
            return start, end, new
        ends_inside = last > _BMP and text.position_at(end, Encoding.UTF_16) != until
        head = tail = ""
        if ends_inside:
            tail = halves(last)[1]
            end += 1
        if starts_inside:
            head = halves(first)[0]
        elif is_high(before) and is_low((new or tail or last)[:1]):
            head = before
            start -= 1
        if not ends_inside and is_high((new or head)[-1:]) and is_low(last):
            tail = last
            end += 1
        return start, end, _joined(head, new, tail)


def _joined(head: str, new: str, tail: str) -> str:
    """The three one after the other, with the halves that meet joined. In `new` itself none meet: whoever decoded its JSON has joined them. It may be
    long, and is copied only if something is added."""
    if not (head or tail):
        return new
    if len(new) < 2:
        return join_surrogates(head + new + tail)
    return join_surrogates(head + new[0]) + new[1:-1] + join_surrogates(new[-1] + tail)


class _Edited(Text):
    """A text that only its rope has and may change. Once somebody else has it, it is a Text like any other."""

    __slots__ = ()

    @staticmethod
    def copy_of(text: Text) -> _Edited:
        new = _Edited.__new__(_Edited)
        new._chunks = text._chunks.copy()
        new._lines = text._lines.copy()
        new._index = text._index.copy()
        new._length = text._length
        new._terminators = text._terminators
        new._ascii = text._ascii
        new._near = text._near
        new._far = text._far
        new._json = None if text._json is None else text._json.copy()
        new._folded = None if text._folded is None else text._folded.copy()
        new._compared = new._whole = None
        new._met = ()
        return new

    def splice(self, start: int, end: int, new: str, foreseen: Text | None) -> None:
        number, line_start, before = self._near[1]
        chunks = self._chunks
        old = chunks[number]
        if not before <= start <= end <= before + len(old):
            number, _, before = self._index.chunk_of_offset(start)
            old = chunks[number]
            line_start = len(old)
        start -= before
        end -= before
        gained = len(new) - end + start
        size = len(old) + gained
        if start > 0 and end < len(old) and size <= MAXIMUM and (size >= MINIMUM or len(chunks) == 1):
            chunks[number] = f"{old[:start]}{new}{old[end:]}"
            self._changed(number, terminators_gained(old, start, end, new), gained, new)
            # The last requested line stays known unless something before it changes or the `\r` before it
            # gets a `\n`.
            if line_start >= start and (line_start > start or old[start - 1] == "\r"):
                self._near = FIRST_LINE
            far, far_start, _, _ = self._far[2]
            if far > number or (far == number and far_start >= start):
                self._far = NOT_FAR
        else:
            self._splice_chunks(number, start, end, new, foreseen, before)
            self._near = FIRST_LINE
            self._far = NOT_FAR

    def _splice_chunks(
        self, first: int, start: int, end: int, new: str, foreseen: Text | None, offset: int
    ) -> None:
        """Splice across chunks. Offsets count from the start of chunk `first`, which is at `offset`; `end` may be in a later one."""
        chunks, gained = self._chunks, len(new) - (end - start)
        behind = self._length - offset - end
        last, before = first, 0
        while end - before > (size := size_at(chunks, last)):
            before += size
            last += 1
        head, tail = chunks[first][:start], chunks[last][end - before :]
        size = len(head) + len(new) + len(tail)
        low, high = first, last + 1
        if low and (size < MINIMUM or ((head or new or tail)[0] == "\n" and chunks[low - 1][-1] == "\r")):
            low -= 1
            head = chunks[low] + head
            size += len(chunks[low])
        if high < len(chunks) and (
            size < MINIMUM or ((tail or new or head)[-1] == "\r" and chunks[high][0] == "\n")
        ):
            tail += chunks[high]
            high += 1
        known = None
        if foreseen is not None:
            known = _pieces_at(foreseen, offset + start, new) or _pieces_at(
                foreseen, foreseen._length - behind - len(new), new
            )
        if isinstance(chunks, list) and takes_wide(new) and self._length + len(new) >= narrow.FROM:
            chunks, self._folded = Narrow(chunks), None
            self._chunks = chunks
        if known is None:
            pieces = divide_between(head, new, tail)
            fresh = list(pieces) if isinstance(chunks, list) else Narrow(pieces)
            lines = [terminators(chunk) for chunk in fresh]
        else:
            begin, between, lines_between, stop = known
            begins, stops = divide(head + begin), divide(stop + tail)
            fresh = put_together([begins, between, stops])
            lines = [*map(terminators, begins), *lines_between, *map(terminators, stops)]
            if isinstance(chunks, list) and isinstance(fresh, Narrow):
                chunks, self._folded = Narrow(chunks), None
                self._chunks = chunks
        if high - low == len(fresh) == 1:
            old = chunks[low]
            chunks[low] = fresh[0]
            self._changed(low, lines[0] - self._lines[low], len(fresh[0]) - len(old), new)
            return
        self._length += gained
        self._terminators += sum(lines) - sum(self._lines[low:high])
        self._ascii = self._ascii and new.isascii()
        chunks[low:high] = fresh  # a Narrow only into a Narrow
        self._lines[low:high] = lines
        for known in (self._json, self._folded):
            if known is not None:
                known[low:high] = [None] * len(fresh)
        self._index = ChunkIndex(self._lines, sizes(chunks))

    def _changed(self, number: int, lines: int, points: int, new: str) -> None:
        self._index.add(number, lines, points)
        self._length += points
        if lines:
            self._lines[number] += lines
            self._terminators += lines
        if self._ascii and not new.isascii():
            self._ascii = False
        for known in (self._json, self._folded):
            if known is not None:
                known[number] = None


def _as_lines(text: Text, start: int, end: int, new: str) -> tuple[int, int, str]:
    """An insertion in `text`, or a deletion, as the same edit of whole lines, if it can be seen as one. Lines with the same beginning share it with
    the lines beside them, and it is not known which of the two beginnings was there before."""
    by = start - line_start(text, start)
    begin = text.slice(start - by, start)
    moved = begin + new[: len(new) - by] if new else text.slice(start - by, max(start, end) - by)
    if not by or by > max(len(new), end - start) or not ends_line(moved):
        return start, end, new
    last = new[len(new) - by :] if new else text.slice(end - by, end)
    return (start - by, end - by, moved if new else "") if last == begin else (start, end, new)


def _at(text: Text, offset: int) -> str:
    """The character at an offset; "" outside the text."""
    number, _, before = text._near[1]
    if not before <= offset < before + len(text._chunks[number]):
        if not 0 <= offset < text._length:
            return ""
        number, _, before = text._index.chunk_of_offset(offset)
    return text._chunks[number][offset - before]


def _pieces_at(text: Text, start: int, part: str) -> tuple[str, Chunks, list[int], str] | None:
    """`part` in pieces, if it equals the text from `start` on: the part of the first chunk, the chunks between with their numbers of terminators,
    and the part of the last chunk. None if it is not equal, or too short for this to be useful."""
    end = start + len(part)
    if len(part) <= 4 * MAXIMUM or start < 0 or end > text._length:
        return None
    first, _, before = text._index.chunk_of_offset(start)
    last, _, last_before = text._index.chunk_of_offset(end - 1)
    chunks = text._chunks
    begin, between, stop = (
        chunks[first][start - before :],
        chunks[first + 1 : last],
        chunks[last][: end - last_before],
    )
    at = 0
    for piece in chain((begin,), runs(between), (stop,)):
        if not part.startswith(piece, at):
            return None
        at += len(piece)
    return begin, between, text._lines[first + 1 : last], stop
