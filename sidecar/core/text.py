"""Text: an immutable text with lines and positions. Rope: a text that is edited; its snapshots are Texts.

Offsets are code points from 0. Positions are LSP's: line from 0, character from 0 in units of an `Encoding`. A line ends
at `\\n`, `\\r\\n` or `\\r` and at nothing else (LSP 3.17, "Text Documents"): form feed, NEL, U+2028 are ordinary
characters.

Both keep their characters in chunks (chunks.py). An edit creates one new chunk, whatever the size of the text. A snapshot is
the rope's own Text; the rope copies it (the list of chunks, not the chunks) before its next change. Finding lines and offsets
takes logarithmic time, except in a line that spans chunks *and* is not all ASCII: its chunks are walked.
"""

# pyright: reportPrivateUsage=false
# Rope edits the internals of a Text that nobody else holds: both are views of one structure.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias
from weakref import ref

from sidecar.core import narrow
from sidecar.core.change import Edit
from sidecar.core.chunks import (
    MAXIMUM,
    MINIMUM,
    ChunkIndex,
    after_terminator,
    divide,
    divide_between,
    divided,
    line_end,
    terminators,
    terminators_gained,
)
from sidecar.core.json_escape import json_escape
from sidecar.core.lineends import fold
from sidecar.core.narrow import (
    Chunks,
    Kept,
    Narrow,
    alike,
    as_kept,
    difference,
    has_return,
    is_wide,
    joined,
    pairs,
    put_together,
    runs,
    say_the_same,
    size_at,
    sizes,
    takes_more,
    takes_wide,
    unlike,
    utf_8,
)
from sidecar.core.units import Encoding, halves, is_high, is_low, join_surrogates, points_of, units_of

__all__ = [
    "AnyText",
    "Encoding",
    "Position",
    "Range",
    "Rope",
    "Text",
    "as_text",
    "forget",
    "narrowed",
    "sharing",
    "size_of",
]


class Position(NamedTuple):
    """Line from 0; character from 0, in units of an Encoding that the context defines."""

    line: int
    character: int


class Range(NamedTuple):
    """From start to end, end exclusive."""

    start: Position
    end: Position


_FIRST_LINE = (0, (0, 0, 0))
_NOT_FAR = (Encoding.UTF_32, 0, (0, 0, 0, 0))
_SURROGATE = "\ud800"
BOM = "\ufeff"
_BMP = "\uffff"


class Text:
    """An immutable text. Equal to every other Text, and to every string, with the same characters."""

    __slots__ = (
        "__weakref__",
        "_ascii",
        "_chunks",
        "_compared",
        "_far",
        "_folded",
        "_index",
        "_json",
        "_length",
        "_lines",
        "_near",
        "_terminators",
        "_whole",
    )

    def __init__(self, text: str | Chunks = "", lines: list[int] | None = None) -> None:
        """`text`: or its chunks, for this module only; `lines`: the number of terminators of each, where it is known."""
        self._chunks: Chunks = _chunks_of(text) if isinstance(text, str) else text
        self._lines: list[int] = lines or [terminators(chunk) for chunk in self._chunks]
        """The number of terminators of each chunk."""
        lengths = sizes(self._chunks)
        self._index = ChunkIndex(self._lines, lengths)
        self._length = sum(lengths)
        self._terminators = sum(self._lines)
        self._ascii = all(kept.isascii() for kept in as_kept(self._chunks))
        """True only if all characters are ASCII: then one unit is one code point in every encoding."""
        self._near = _FIRST_LINE
        """The line requested last, and its start (chunk, offset in it, offset of the chunk): typing stays in one line."""
        self._far = _NOT_FAR
        """The same inside a line that spans chunks (encoding, line, then as `_way_into`)."""
        self._json: list[bytes | None] | None = None
        """What `json_escaped` made of each chunk."""
        self._folded: list[Kept | None] | None = None
        """What `folded` made of each chunk."""
        self._compared: Text | Literal["itself"] | None = None
        """See `compared`. (Were it the text itself, nobody would free it.)"""
        self._whole: str | None = None
        """See `remember`."""

    @staticmethod
    def of(text: str) -> Text:
        return Text(text)

    def __len__(self) -> int:
        """Code points."""
        return self._length

    def __str__(self) -> str:
        whole = self._whole
        if whole is not None:
            return whole
        chunks = self._chunks
        return chunks[0] if len(chunks) == 1 else joined(chunks)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.says(other)
        if not isinstance(other, Text):
            return NotImplemented
        if self is other:
            return True
        return self._length == other._length and self.is_made_of(other._chunks)

    def says(self, text: str) -> bool:
        """Whether the text equals this string; compared without joining the chunks."""
        if len(text) != self._length:
            return False
        if (whole := self._whole) is not None:
            return whole == text
        at = 0
        for piece in runs(self._chunks):
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        return True

    def remember(self, whole: str) -> None:
        """`whole` equals this text: `str` returns the same object from now on, until another text remembers its own. A string is as long as
        the text, so that only who is asked again soon should have one."""
        global _remembering  # one text in the whole process
        if self._whole is None:
            forget()
            _remembering = ref(self)
        self._whole = whole

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        start = self._chunks[0][:40]
        return f"Text.of({start!r}{'…' if len(start) < self._length else ''})"

    @property
    def line_count(self) -> int:
        """Number of terminators + 1: the empty text has one line, "a\\n" has two."""
        return self._terminators + 1

    @property
    def chunks(self) -> tuple[str, ...] | Narrow:
        """The text in pieces. Texts from one rope share equal pieces (`is`, but for those that are kept as UTF-8)."""
        return tuple(self._chunks) if isinstance(self._chunks, list) else self._chunks.copy()

    @property
    def runs(self) -> Iterable[str]:
        """The same, some at a time: faster than one by one."""
        return runs(self._chunks)

    @property
    def is_narrow(self) -> bool:
        """It is large, and a string of it takes two or four bytes for each character. To make that takes time, and to keep it memory."""
        return isinstance(self._chunks, Narrow)

    @property
    def sizes(self) -> list[int]:
        """The code points of each of its chunks."""
        return sizes(self._chunks)

    @property
    def as_string(self) -> int:
        """Bytes that Python would keep for a string of it, at most."""
        return self._length * (4 if any(map(is_wide, as_kept(self._chunks))) else 1 if self._ascii else 2)

    @property
    def has_returns(self) -> bool:
        """Whether there is a "\r" in it."""
        return any(map(has_return, as_kept(self._chunks)))

    def utf_8(self) -> Iterator[bytes]:
        """The text as UTF-8, in pieces; lone surrogates included."""
        return utf_8(self._chunks)

    def line(self, line: int) -> str:
        """One line with its terminator. Raises IndexError when there is no such line."""
        if not 0 <= line <= self._terminators:
            raise IndexError(f"line {line} of {self.line_count}")
        return self.lines(line, 1)

    def lines(self, first: int, count: int) -> str:
        """`count` whole lines from line `first` on, terminators included; fewer, or "", where the text ends.

        Raises ValueError for negative numbers.
        """
        if first < 0 or count < 0:
            raise ValueError("negative line or count")
        if first > self._terminators:
            return ""
        start_chunk, start, _ = self._line_start(first)
        if first + count > self._terminators:
            end_chunk = len(self._chunks) - 1
            end = len(self._chunks[end_chunk])
        else:
            end_chunk, end, _ = self._line_start(first + count)
        return self._between(start_chunk, start, end_chunk, end)

    def offset_at(self, position: Position, encoding: Encoding) -> int:
        """The offset of a position.

        A character past the line's end means the line's end, before its terminator; a line past the last means the end
        of the text; a place inside a surrogate pair or a UTF-8 sequence means that character's start. Raises ValueError
        for negative numbers.
        """
        line, units = position
        if line < 0 or units < 0:
            raise ValueError(f"negative position {line}:{units}")
        if line > self._terminators:
            return self._length
        near = self._near
        if near[0] != line:
            near = self._near = (line, self._line_start(line))
        number, start, before = near[1]
        chunk = self._chunks[number]
        limit = start + units
        # No code point is less than one unit, so what lies beyond `limit` does not matter.
        end = line_end(chunk, start, limit)
        if end < 0:
            if limit > len(chunk) and number + 1 < len(self._chunks):
                return self._offset_in_long_line(line, units, encoding)
            end = min(limit, len(chunk))
        if self._ascii or encoding is Encoding.UTF_32:
            return before + end
        return before + start + points_of(chunk[start:end], units, encoding)

    def position_at(self, offset: int, encoding: Encoding) -> Position:
        """The position of an offset; between `\\r` and `\\n` it is the place before both. ValueError outside the text."""
        if not 0 <= offset <= self._length:
            raise ValueError(f"offset {offset} outside 0..{self._length}")
        number, line, before = self._index.chunk_of_offset(offset)
        chunk = self._chunks[number]
        at = offset - before
        if at and chunk[at - 1] == "\r" and chunk[at : at + 1] == "\n":
            at -= 1
        start = max(chunk.rfind("\n", 0, at), chunk.rfind("\r", 0, at)) + 1
        if start:
            line += terminators(chunk[:start])
        elif number and self._chunks[number - 1][-1] not in "\r\n":
            return Position(line, self._units_in_long_line(line, number, before, at, encoding))
        return Position(line, units_of(chunk[start:at], encoding))

    def slice(self, start: int, end: int) -> str:
        """The characters from offset `start` to `end`. Raises ValueError unless 0 <= start <= end <= len."""
        if not 0 <= start <= end <= self._length:
            raise ValueError(f"slice {start}..{end} of {self._length}")
        start_chunk, _, before = self._index.chunk_of_offset(start)
        if end - before <= len(self._chunks[start_chunk]):
            return self._chunks[start_chunk][start - before : end - before]
        end_chunk, _, end_before = self._index.chunk_of_offset(end)
        return self._between(start_chunk, start - before, end_chunk, end - end_before)

    def part(self, start: int, end: int) -> AnyText:
        """The same, as it is kept: in the chunks of this text where a string of it would take much more memory."""
        if (start, end) == (0, self._length) and self.is_narrow:
            return self
        large = end - start >= max(narrow.FROM, 1) and self.is_narrow
        return Text(*self._part(start, end)) if large else self.slice(start, end)

    def in_narrow(self) -> Text:
        """The same text, for which `is_narrow` holds."""
        return self if self.is_narrow else Text(Narrow(self._chunks), self._lines.copy())

    def shared_ends(self, other: Text) -> tuple[int, int]:
        """How many code points both texts have in common at their start and, behind that, at their end.

        Only whole chunks are compared, so the true numbers may be larger. For two texts from one rope, it is the part outside the
        edited chunks, found without looking at the characters."""
        mine, others = self._chunks, other._chunks
        first = alike(mine, others)
        low, high = 0, min(len(mine), len(others)) - first
        while low < high:
            middle = (low + high + 1) // 2
            same = (
                mine[len(mine) - middle : len(mine) - low] == others[len(others) - middle : len(others) - low]
            )
            low, high = (middle, high) if same else (low, middle - 1)
        return self._index.points_before(first), self._length - self._index.points_before(len(mine) - low)

    def json_escaped(self) -> bytes:
        """The text as the inside of a JSON string: UTF-8, without the quotes. Line ends of any kind are escaped, Unicode's too.

        Kept per chunk and shared between snapshots like the chunks, until these change: asking costs about as much memory
        as the text itself."""
        return b"".join(self.json_pieces())

    def json_pieces(self) -> list[bytes]:
        """The same in pieces, not joined."""
        known = self._json or [None] * len(self._chunks)
        escaped = [old or json_escape(chunk) for old, chunk in zip(known, self._chunks, strict=True)]
        self._json = [*escaped]
        return escaped

    def folded(self) -> Chunks:
        """The text in pieces, with every line end as "\\n". Kept per chunk, as above; the chunk itself where nothing changes."""
        chunks, known = self._chunks, self._folded or [None] * len(self._chunks)
        if isinstance(chunks, list):
            pieces = [
                fold(chunk) if old is None else str(old) for old, chunk in zip(known, chunks, strict=True)
            ]
            self._folded = [*pieces]
            return pieces
        found = chunks.copy()
        for number, (old, kept) in enumerate(zip(known, chunks.kept, strict=True)):
            if old is None and has_return(kept):
                found[number] = fold(chunks[number])
            elif old is not None and old is not kept:
                found.keep(number, old, chunks.sizes[number] - pairs(kept))
        self._folded = [*found.kept]
        return found

    def expanded(self, terminator: str) -> Text:
        """The text, whose line ends are all "\n", with this one instead. What is compared of that is this one."""
        if terminator == "\n" or not self._terminators:
            return self
        chunks = self._chunks
        pieces = (chunk.replace("\n", terminator) for chunk in chunks)
        expanded = Text(list(pieces) if isinstance(chunks, list) else Narrow(pieces), self._lines.copy())
        expanded._compared = self
        return expanded

    def is_made_of(self, pieces: Chunks) -> bool:
        """Whether the text says what these do."""
        return self._chunks == pieces or say_the_same(*unlike(self._chunks, pieces))

    def compared(self) -> Text:
        """The text in the form that is compared (core/normal.py): this very text, where that is the same, else another one, kept as long as this one."""
        if self._compared is None:
            pieces = self.folded()
            if pieces[0].startswith(BOM):
                pieces[0] = pieces[0].removeprefix(BOM)
            same = all(
                piece is chunk for piece, chunk in zip(as_kept(pieces), as_kept(self._chunks), strict=True)
            )
            self._compared = "itself" if same else self._saying(pieces)
        return self if isinstance(self._compared, str) else self._compared

    def _saying(self, pieces: Chunks) -> Text:
        """The text in pieces that say of its lines what its own chunks do, perhaps with other line ends."""
        said = [number for number, kept in enumerate(as_kept(pieces)) if kept]
        lines = [self._lines[number] for number in said]
        if isinstance(pieces, list):
            found = Text([pieces[number] for number in said] or [""], lines)
        else:
            found = Text(pieces.only(said) if said else [""], lines)
        found._compared = "itself"
        return found

    def _line_start(self, line: int) -> tuple[int, int, int]:
        """Of an existing line: its chunk, its offset in that chunk, the offset of that chunk."""
        if line == 0:
            return 0, 0, 0
        number, lines, before = self._index.chunk_of_terminator(line)
        chunk = self._chunks[number]
        start = after_terminator(chunk, line - lines, self._lines[number])
        if start == len(chunk) and number + 1 < len(self._chunks):
            return number + 1, 0, before + start
        return number, start, before

    def _at(self, offset: int) -> str:
        """The character at an offset; "" outside the text."""
        number, _, before = self._near[1]
        if not before <= offset < before + len(self._chunks[number]):
            if not 0 <= offset < self._length:
                return ""
            number, _, before = self._index.chunk_of_offset(offset)
        return self._chunks[number][offset - before]

    def _between(self, start_chunk: int, start: int, end_chunk: int, end: int) -> str:
        chunks = self._chunks
        if start_chunk == end_chunk:
            return chunks[start_chunk][start:end]
        first, middle, last = (
            chunks[start_chunk][start:],
            chunks[start_chunk + 1 : end_chunk],
            chunks[end_chunk][:end],
        )
        return joined(put_together([[first], middle, [last]]))

    def _offset_in_long_line(self, line: int, units: int, encoding: Encoding) -> int:
        number, start, before = self._line_start(line)
        if self._ascii or encoding is Encoding.UTF_32:
            if line == self._terminators:
                return min(before + start + units, self._length)
            end = sum(self._line_start(line + 1)[1:]) - 1
            if self.slice(end - 1, end + 1) == "\r\n":
                end -= 1
            return min(before + start + units, end)
        number, start, before, passed = self._way_into(line, encoding, units, len(self._chunks))
        while True:
            chunk = self._chunks[number]
            end = line_end(chunk, start, len(chunk))
            piece = chunk[start:] if end < 0 else chunk[start:end]
            size = units_of(piece, encoding)
            if units <= passed + size or end >= 0 or number + 1 == len(self._chunks):
                self._far = (encoding, line, (number, start, before, passed))
                return before + start + points_of(piece, units - passed, encoding)
            passed += size
            before += len(chunk)
            number, start = number + 1, 0

    def _units_in_long_line(self, line: int, last: int, before: int, at: int, encoding: Encoding) -> int:
        if self._ascii or encoding is Encoding.UTF_32:
            _, first, first_before = self._line_start(line)
            return before + at - first_before - first
        number, start, _, passed = self._way_into(line, encoding, None, last)
        for chunk in self._chunks[number:last]:
            passed += units_of(chunk[start:], encoding)
            start = 0
        self._far = (encoding, line, (last, 0, before, passed))
        return passed + units_of(self._chunks[last][start:at], encoding)

    def _way_into(
        self, line: int, encoding: Encoding, units: int | None, last: int
    ) -> tuple[int, int, int, int]:
        """Where to start walking a long line, not after `units` nor chunk `last`: its start, or the place where the last walk ended.

        A chunk, where in it to start, the offset of the chunk, and the units of the line before the start.
        """
        known_encoding, known_line, known = self._far
        if (
            (known_encoding, known_line) == (encoding, line)
            and known[0] <= last
            and (units is None or known[3] <= units)
        ):
            return known
        return (*self._line_start(line), 0)

    # What follows is for Rope alone, on a Text that nobody else has.

    def _copy(self) -> Text:
        new = Text.__new__(Text)
        new._chunks = self._chunks.copy()
        new._lines = self._lines.copy()
        new._index = self._index.copy()
        new._length = self._length
        new._terminators = self._terminators
        new._ascii = self._ascii
        new._near = self._near
        new._far = self._far
        new._json = None if self._json is None else self._json.copy()
        new._folded = None if self._folded is None else self._folded.copy()
        new._compared = new._whole = None
        return new

    def _splice(self, start: int, end: int, new: str, foreseen: Text | None) -> None:
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
            # The line last asked for stays known unless something before it changes or the `\r` before it gets a `\n`.
            if line_start >= start and (line_start > start or old[start - 1] == "\r"):
                self._near = _FIRST_LINE
            far, far_start, _, _ = self._far[2]
            if far > number or (far == number and far_start >= start):
                self._far = _NOT_FAR
        else:
            self._splice_chunks(number, start, end, new, foreseen, before)
            self._near = _FIRST_LINE
            self._far = _NOT_FAR

    def _splice_chunks(
        self, first: int, start: int, end: int, new: str, foreseen: Text | None, offset: int
    ) -> None:
        """Offsets count from the start of chunk `first`, which is at `offset`; `end` may be in a later one."""
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
            known = foreseen._pieces_at(offset + start, new) or foreseen._pieces_at(
                foreseen._length - behind - len(new), new
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
        chunks[low:high] = fresh  # pyright: ignore[reportArgumentType,reportCallIssue]  # a Narrow only into a Narrow
        self._lines[low:high] = lines
        for known in (self._json, self._folded):
            if known is not None:
                known[low:high] = [None] * len(fresh)
        self._index = ChunkIndex(self._lines, sizes(chunks))

    def _part(self, start: int, end: int) -> tuple[Chunks, list[int]]:
        """What it says from `start` to `end`, which is not nothing, in its own chunks but for the first and the last; and their terminators."""
        first, _, before = self._index.chunk_of_offset(start)
        last, _, last_before = self._index.chunk_of_offset(end - 1)
        chunks = self._chunks
        if first == last:
            pieces = divide(chunks[first][start - before : end - before])
            return put_together([chunks[:0], pieces]), [*map(terminators, pieces)]
        begin, stop = chunks[first][start - before :], chunks[last][: end - last_before]
        lines = [terminators(begin), *self._lines[first + 1 : last], terminators(stop)]
        return put_together([chunks[:0], [begin], chunks[first + 1 : last], [stop]]), lines

    def _pieces_at(self, start: int, part: str) -> tuple[str, Chunks, list[int], str] | None:
        """`part` in pieces, if it is what the text says from `start` on: what it has of the first chunk that it is in, the chunks between with their
        terminators, and what it has of the last one. None: it is not, or too short for that to be of use."""
        end = start + len(part)
        if len(part) <= 4 * MAXIMUM or start < 0 or end > self._length:
            return None
        first, _, before = self._index.chunk_of_offset(start)
        last, _, last_before = self._index.chunk_of_offset(end - 1)
        chunks = self._chunks
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
        return begin, between, self._lines[first + 1 : last], stop

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


_remembering: ref[Text] | None = None
"""Which text remembers its string."""


def forget() -> None:
    """No text remembers its string any more: nobody will ask for it soon."""
    text = None if _remembering is None else _remembering()
    if text is not None:
        text._whole = None


class Rope:
    """A text that is edited. It is not a Text, because it changes; `snapshot` keeps its current state."""

    __slots__ = ("_foreseen", "_said", "_shared", "_text")

    def __init__(self, text: str = "") -> None:
        self._text = Text(text)
        self._shared = False
        self._foreseen: Text | None = None
        self._said: str | None = None

    @classmethod
    def of(cls, text: Text) -> Rope:
        """A rope with the text of a snapshot, sharing its chunks."""
        rope = cls.__new__(cls)
        rope._text = text
        rope._shared = True
        rope._foreseen = rope._said = None
        return rope

    def __len__(self) -> int:
        """Code points."""
        return len(self._text)

    def __str__(self) -> str:
        return str(self._text)

    def snapshot(self) -> Text:
        """The current text; the same object until the next change."""
        if not self._shared:
            self._text._index.settle()  # from here on nothing of it changes, so that other threads may read it
            self._shared = True
        return self._text

    def foresees(self, text: Text | None, said: str | None = None) -> None:
        """It will probably say `text`, one end after the other: what is long and put where `text` says the same is in the same chunks, and needs not be
        divided. None: nobody knows any more. `said`: a string of all of `text`, where somebody has one."""
        self._foreseen, self._said = text, said

    def adopt(self, text: Text) -> None:
        """`text` says the same: from now on both are in the same chunks."""
        self._text, self._shared = text, True

    def slice(self, start: int, end: int) -> str:
        """As `Text.slice`, of what it says now."""
        return self._text.slice(start, end)

    def apply(self, range: Range | None, new: str, encoding: Encoding) -> Edit:
        """Replaces a range as a content change of LSP does; positions are read as by `Text.offset_at`.

        Without a range `new` is the whole text, and the edit is what differs between the texts' common start and end. In
        UTF-16 the range may begin or end inside a surrogate pair, and halves may meet: editors that think in UTF-16
        units do so when they replace one emoji by another. The edit then covers the whole characters.

        Returns the edit with its offsets in the text before. Raises ValueError for negative positions and where start
        is after end; the text is then unchanged.
        """
        if range is None:
            return self._replace(new)
        first, last = range
        if first > last:
            raise ValueError(f"range ends before it starts: {range}")
        text = self._text
        start = text.offset_at(first, encoding)
        end = start if first == last else text.offset_at(last, encoding)
        if encoding is Encoding.UTF_16 and not (text._ascii and new.isascii()):
            start, end, new = self._whole_characters(range, start, end, new)
        return self._splice(start, end, new)

    def splice(self, start: int, end: int, new: str) -> Edit:
        """Replaces the code points start..end. Raises ValueError unless 0 <= start <= end <= len."""
        if not 0 <= start <= end <= len(self._text):
            raise ValueError(f"splice {start}..{end} of {len(self._text)}")
        return self._splice(start, end, new)

    def _splice(self, start: int, end: int, new: str) -> Edit:
        foreseen = self._foreseen
        if foreseen is not None and new is self._said and end - start == len(self._text):
            self.adopt(foreseen)
            return Edit(start, end, new)
        if self._shared:
            self._text = self._text._copy()
            self._shared = False
        self._text._splice(start, end, new, foreseen)
        return Edit(start, end, new)

    def _replace(self, new: str) -> Edit:
        start, end = difference(self._text._chunks, len(self._text), new)
        replacement = new[start : len(new) - len(self._text) + end]
        if start == end and not replacement:
            return Edit(start, end, "")
        return self._splice(start, end, replacement)

    def _whole_characters(self, range: Range, start: int, end: int, new: str) -> tuple[int, int, str]:
        text = self._text
        before = text._at(start - 1)
        first = text._at(start)
        last = text._at(end) if end != start else first
        if before < _SURROGATE and first < _SURROGATE and last < _SURROGATE:
            return start, end, new
        ends_inside = last > _BMP and text.position_at(end, Encoding.UTF_16) != range.end
        starts_inside = first > _BMP and text.position_at(start, Encoding.UTF_16) != range.start
        if (
            ends_inside
        ):  # before the start is looked at: what is left of that character may complete the one before
            new += halves(last)[1]
            end += 1
        if starts_inside:
            new = halves(first)[0] + new
        elif is_high(before) and is_low((new or last)[:1]):
            new = before + new
            start -= 1
        if not ends_inside and is_high(new[-1:]) and is_low(last):
            new += last
            end += 1
        return start, end, join_surrogates(new)


class _Sliced:
    """A text, as `difference` looks at a string."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, at: int | slice) -> str:
        start, end, _ = (at if isinstance(at, slice) else slice(at, at + 1)).indices(len(self.text))
        return self.text.slice(start, max(start, end))

    def startswith(self, piece: str, start: int) -> bool:
        return self[start : start + len(piece)] == piece

    def endswith(self, piece: str, start: int, end: int) -> bool:
        return end - len(piece) >= start and self[end - len(piece) : end] == piece


def sharing(text: AnyText, like: Text) -> Text:
    """The text, in the chunks of `like` where both begin or end in the same way: what is equal is there once."""
    if like == text:
        return like
    if not len(like):
        return as_text(text)
    chunks = like._chunks
    said = text if isinstance(text, str) else _Sliced(text)
    start, end = difference(chunks, len(like), said)
    most, head, begin = start, 0, 0
    while head < len(chunks) and begin + len(chunks[head]) <= most:
        begin += len(chunks[head])
        head += 1
    if head and said[begin - 1] == "\r" and said[begin : begin + 1] == "\n":
        head -= 1
        begin -= len(chunks[head])
    most, tail, stop = len(like) - end, 0, len(said)
    while tail < len(chunks) - head and len(said) - stop + len(chunks[-1 - tail]) <= most:
        tail += 1
        stop -= len(chunks[-tail])
    if tail and said[stop] == "\n" and said[stop - 1 : stop] == "\r":
        stop += len(chunks[-tail])
        tail -= 1
    middle: Chunks = []
    if begin < stop:
        middle = _chunks_of(text, begin, stop) if isinstance(text, str) else text._part(begin, stop)[0]
    return Text(put_together([chunks[:head], middle, chunks[len(chunks) - tail :]]) or [""])


AnyText: TypeAlias = str | Text
"""A string, or a Text where the string would take much more memory than the text has bytes (`narrowed`). Both have a length, and are equal
where they say the same."""


def narrowed(text: AnyText) -> AnyText:
    """A text as it is handed on."""
    if isinstance(text, Text) or len(text) < narrow.FROM or not takes_more(text):
        return text
    return Text(Narrow(divided(text)))


def as_text(text: AnyText) -> Text:
    return text if isinstance(text, Text) else Text.of(text)


def size_of(text: AnyText) -> int:
    """Bytes of a text as UTF-8; a lone surrogate counts as three."""
    if isinstance(text, Text):
        return sum(map(len, text.utf_8()))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _chunks_of(text: str, start: int = 0, end: int | None = None) -> Chunks:
    """A text, or a part of it, in chunks."""
    pieces = divided(text, start, end)
    return Narrow(pieces) if len(text) >= narrow.FROM and takes_wide(text) else list(pieces)
