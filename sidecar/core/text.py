"""Text: an immutable text with lines and positions. A `Rope` (rope.py) edits; its snapshots are Texts.

Offsets are code points from 0. Positions are LSP's: line from 0, character from 0 in units of an `Encoding`. A line ends at `\\n`, `\\r\\n` or `\\r` and
nowhere else (LSP 3.17, "Text Documents"): form feed, NEL and U+2028 are ordinary characters.

The characters are in chunks (chunks.py), which may be stored as UTF-8 if the text is large (narrow.py). Texts share equal parts: an edit creates one new
chunk, whatever the size of the text. Finding lines and offsets takes logarithmic time, except in a line that spans chunks *and* is not all ASCII: its
chunks are walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, NamedTuple
from weakref import ref

from sidecar.core import narrow
from sidecar.core.chunks import ChunkIndex, after_terminator, divide, line_end, terminators
from sidecar.core.json_escape import json_escape
from sidecar.core.lineends import fold
from sidecar.core.narrow import (
    Chunks,
    Kept,
    Narrow,
    alike,
    as_kept,
    chunks_of,
    has_return,
    is_wide,
    joined,
    pairs,
    put_together,
    runs,
    say_the_same,
    size_at,
    sizes,
    units_at,
    unlike,
    utf_8,
)
from sidecar.core.units import Encoding, points_of, units_of

__all__ = ["Encoding", "Position", "Range", "Text"]


class Position(NamedTuple):
    """Line from 0; character from 0, in units of an Encoding that the context defines."""

    line: int
    character: int


class Range(NamedTuple):
    """From start to end, end exclusive."""

    start: Position
    end: Position


FIRST_LINE = (0, (0, 0, 0))
NOT_FAR = (Encoding.UTF_32, 0, (0, 0, 0, 0))
BOM = "\ufeff"
_MET = 3
"""How many texts a large text remembers as equal or not."""


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
        "_met",
        "_near",
        "_terminators",
        "_whole",
    )

    _remembering: ClassVar[ref[Text] | None] = None
    """The text that remembers its string: one in the whole process."""

    def __init__(self, text: str | Chunks = "", lines: list[int] | None = None) -> None:
        """`text`: a string, or chunks for code that works only on chunks. `lines`: the number of terminators of each chunk, if known."""
        self._chunks: Chunks = chunks_of(text) if isinstance(text, str) else text
        self._lines: list[int] = lines or [terminators(chunk) for chunk in self._chunks]
        """The number of terminators of each chunk."""
        lengths = sizes(self._chunks)
        self._index = ChunkIndex(self._lines, lengths)
        self._length = sum(lengths)
        self._terminators = sum(self._lines)
        self._ascii = all(kept.isascii() for kept in as_kept(self._chunks))
        """True only if all characters are ASCII: then one unit is one code point in every encoding."""
        self._near = FIRST_LINE
        """The last requested line, and its start (chunk, offset in it, offset of the chunk): typing stays in one line."""
        self._far = NOT_FAR
        """The last place reached inside a line that spans chunks (encoding, line, then as in `_way_into`)."""
        self._json: list[bytes | None] | None = None
        """The result of `json_escaped` for each chunk."""
        self._folded: list[Kept | None] | None = None
        """The result of `folded` for each chunk."""
        self._compared: Text | Literal["itself"] | None = None
        """See `compared`. "itself" stands for the text itself, because a reference to itself would keep it alive."""
        self._met: tuple[tuple[ref[Text], bool], ...] = ()
        """The large texts with which it was compared last, newest first, and whether they are equal: with chunks of another kind, a comparison takes a
        while."""
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
        if self._length != other._length:
            return False
        for met, are_equal in self._met:
            if met() is other:
                return are_equal
        found = self.is_made_of(other._chunks)
        if self._length >= narrow.FROM:
            self.meets(other, are_equal=found)
        return found

    def meets(self, other: Text, *, are_equal: bool) -> None:
        """Remember whether both texts are equal: nobody compares the two again until one of them has met a few others. A document, for one, is
        compared with the file and with what an agent knows, over and over."""
        self._met = ((ref(other), are_equal), *self._met[: _MET - 1])
        other._met = ((ref(self), are_equal), *other._met[: _MET - 1])

    def says(self, text: str) -> bool:
        """Whether the text equals this string. Compares without joining the chunks."""
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
        """Remember `whole`, which equals this text: `str` returns this object from now on, until another text remembers its own. A string is as long
        as the text, so only a text whose string is needed again soon should have one."""
        if self._whole is None:
            Text.forget()
            Text._remembering = ref(self)
        self._whole = whole

    @staticmethod
    def forget() -> None:
        """Forget the remembered string: nobody will ask for it soon."""
        text = None if Text._remembering is None else Text._remembering()
        if text is not None:
            text._whole = None

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        start = self._chunks[0][:40]
        return f"Text.of({start!r}{'…' if len(start) < self._length else ''})"

    @property
    def line_count(self) -> int:
        """The number of terminators + 1: the empty text has one line, "a\\n" has two."""
        return self._terminators + 1

    @property
    def chunks(self) -> tuple[str, ...] | Narrow:
        """The text in pieces. Texts from one rope share equal pieces (`is`, except for pieces stored as UTF-8)."""
        return tuple(self._chunks) if isinstance(self._chunks, list) else self._chunks.copy()

    @property
    def runs(self) -> Iterable[str]:
        """The text in larger pieces: faster than one chunk at a time."""
        return runs(self._chunks)

    @property
    def is_narrow(self) -> bool:
        """Whether the text is large and its string would take two or four bytes per character. Such a string takes time to build and memory to keep."""
        return isinstance(self._chunks, Narrow)

    @property
    def sizes(self) -> list[int]:
        """The number of code points of each chunk."""
        return sizes(self._chunks)

    @property
    def as_string(self) -> int:
        """The most bytes that Python would need for its string."""
        return self._length * (4 if any(map(is_wide, as_kept(self._chunks))) else 1 if self._ascii else 2)

    @property
    def has_returns(self) -> bool:
        """Whether it contains a "\\r"."""
        return any(map(has_return, as_kept(self._chunks)))

    def utf_8(self) -> Iterator[bytes]:
        """The text as UTF-8, in pieces, including lone surrogates."""
        return utf_8(self._chunks)

    def line(self, line: int) -> str:
        """One line with its terminator. Raises IndexError if there is no such line."""
        if not 0 <= line <= self._terminators:
            raise IndexError(f"line {line} of {self.line_count}")
        return self.lines(line, 1)

    def lines(self, first: int, count: int) -> str:
        """`count` whole lines from line `first` on, with their terminators; fewer, or "", where the text ends.

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

    def size_of_lines(self, first: int, count: int) -> int:
        """How many characters `lines` returns for the same numbers, not negative."""
        if first > self._terminators:
            return 0
        _, start, before = self._line_start(first)
        if first + count > self._terminators:
            return self._length - before - start
        _, end, end_before = self._line_start(first + count)
        return end_before + end - before - start

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
        # A code point is at least one unit, so what lies beyond `limit` does not matter.
        end = line_end(chunk, start, limit)
        if end < 0:
            if limit > len(chunk) and number + 1 < len(self._chunks):
                return self._offset_in_long_line(line, units, encoding)
            end = min(limit, len(chunk))
        if self._ascii or encoding is Encoding.UTF_32:
            return before + end
        return before + start + points_of(chunk[start:end], units, encoding)

    def position_at(self, offset: int, encoding: Encoding) -> Position:
        """The position of an offset. Between `\\r` and `\\n`, it is the place before both. Raises ValueError outside the text."""
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

    def part(self, start: int, end: int) -> str | Text:
        """Like `slice`, but what is large is returned as a Text with the chunks of this one, and so not copied."""
        if (start, end) == (0, self._length) and self.is_narrow:
            return self
        return Text(*self._part(start, end)) if end - start >= max(narrow.FROM, 1) else self.slice(start, end)

    def find(self, character: str, start: int) -> int:
        """The offset of the first such character at or after `start`; -1 if there is none."""
        number, _, before = self._index.chunk_of_offset(start)
        for chunk in self._chunks[number:]:
            at = chunk.find(character, max(0, start - before))
            if at >= 0:
                return before + at
            before += len(chunk)
        return -1

    def rfind(self, character: str, start: int, end: int) -> int:
        """The offset of the last such character between `start` and `end`; -1 if there is none."""
        number, _, before = self._index.chunk_of_offset(end)
        at = self._chunks[number].rfind(character, 0, end - before)
        while at < 0 and before > start:
            number -= 1
            chunk = self._chunks[number]
            before -= len(chunk)
            at = chunk.rfind(character)
        return before + at if at >= 0 and before + at >= start else -1

    def in_narrow(self) -> Text:
        """The same text in a form for which `is_narrow` holds."""
        return self if self.is_narrow else Text(Narrow(self._chunks), self._lines.copy())

    def shared_ends(self, other: Text) -> tuple[int, int]:
        """The number of code points that both texts have in common at their start and, behind that, at their end.

        Only whole chunks are compared, so the true numbers may be larger. For two texts from one rope, the result is the part outside the edited
        chunks, found without looking at the characters."""
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

    def shared_around(self, other: Text, start: int, end: int) -> tuple[int, int, int, int]:
        """Where all that differs between `start` and `end` of `other` begins and ends here, and where in `other`: what lies between the nearest chunks that
        both texts share.

        For two texts from one rope, this is the edited chunks, found without looking at the characters."""
        mine, others = as_kept(self._chunks), as_kept(other._chunks)
        # Python keeps one object for each single character, so a chunk of one does not tell where it is
        here = {id(chunk): number for number, chunk in enumerate(mine) if len(chunk) > 1}
        first = other._index.chunk_of_offset(start)[0]
        # What was deleted at the end of the text lies behind its last chunk
        last = len(others) if end == len(other) else other._index.chunk_of_offset(end)[0]
        while first and id(others[first - 1]) not in here:
            first -= 1
        while last < len(others) and id(others[last]) not in here:
            last += 1
        begin = here[id(others[first - 1])] + 1 if first else 0
        stop = here[id(others[last])] if last < len(others) else len(mine)
        if stop < begin:  # they are in another order here
            begin, stop, first, last = 0, len(mine), 0, len(others)
        points, points_there = self._index.points_before, other._index.points_before
        return points(begin), points(stop), points_there(first), points_there(last)

    def json_escaped(self) -> bytes:
        """The text as the inside of a JSON string: UTF-8, without the quotes. Line ends of any kind are escaped, including Unicode's.

        The result is kept per chunk and shared between snapshots, like the chunks, until these change: calling this costs about as much memory as the
        text itself."""
        return b"".join(self.json_pieces())

    def json_pieces(self) -> list[bytes]:
        """Like `json_escaped`, in pieces that are not joined."""
        known = self._json or [None] * len(self._chunks)
        escaped = [old or json_escape(chunk) for old, chunk in zip(known, self._chunks, strict=True)]
        self._json = [*escaped]
        return escaped

    def folded(self) -> Chunks:
        """The text in pieces, with every line end as "\\n". Kept per chunk, as in `json_escaped`; the chunk itself if nothing changes in it."""
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
        """The text, whose line ends are all "\\n", with `terminator` instead. Both have the same compared form."""
        if terminator == "\n" or not self._terminators:
            return self
        chunks = self._chunks
        pieces = (chunk.replace("\n", terminator) for chunk in chunks)
        expanded = Text(list(pieces) if isinstance(chunks, list) else Narrow(pieces), self._lines.copy())
        expanded._compared = self.compared()
        return expanded

    def is_made_of(self, pieces: Chunks) -> bool:
        """Whether the text equals the text of these pieces."""
        return self._chunks == pieces or say_the_same(*unlike(self._chunks, pieces))

    def compared(self) -> Text:
        """The text in the compared form (core/normal.py). It is this text itself if both are the same; otherwise another one, kept as long as this
        one."""
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
        """A text made of these pieces, which equal its own chunks except perhaps for line ends and the mark."""
        said = [number for number, kept in enumerate(as_kept(pieces)) if kept]
        lines = [self._lines[number] for number in said]
        if isinstance(pieces, list):
            found = Text([pieces[number] for number in said] or [""], lines)
        else:
            found = Text(pieces.only(said) if said else [""], lines)
        if not found._chunks[0].startswith(BOM):  # only the first mark is left out
            found._compared = "itself"
        return found

    def _line_start(self, line: int) -> tuple[int, int, int]:
        """For an existing line: its chunk, its offset in that chunk, and the offset of that chunk."""
        if line == 0:
            return 0, 0, 0
        number, lines, before = self._index.chunk_of_terminator(line)
        chunk = self._chunks[number]
        start = after_terminator(chunk, line - lines, self._lines[number])
        if start == len(chunk) and number + 1 < len(self._chunks):
            return number + 1, 0, before + start
        return number, start, before

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
            if not start and not self._lines[number]:
                size = units_at(self._chunks, number, encoding)
                if passed + size < units and number + 1 < len(self._chunks):
                    passed += size
                    before += size_at(self._chunks, number)
                    number += 1
                    continue
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
        if start and number < last:
            passed += units_of(self._chunks[number][start:], encoding)
            number, start = number + 1, 0
        passed += sum(units_at(self._chunks, at, encoding) for at in range(number, last))
        self._far = (encoding, line, (last, 0, before, passed))
        return passed + units_of(self._chunks[last][start:at], encoding)

    def _way_into(
        self, line: int, encoding: Encoding, units: int | None, last: int
    ) -> tuple[int, int, int, int]:
        """Where to start walking a long line, not after `units` nor after chunk `last`: its start, or the place where the last walk ended.

        Returns a chunk, where in it to start, the offset of the chunk, and the units of the line before the start.
        """
        known_encoding, known_line, known = self._far
        if (
            (known_encoding, known_line) == (encoding, line)
            and known[0] <= last
            and (units is None or known[3] <= units)
        ):
            return known
        return (*self._line_start(line), 0)

    def _part(self, start: int, end: int) -> tuple[Chunks, list[int]]:
        """The chunks of the text from `start` to `end`, which must not be empty, and their numbers of terminators. All but the first and the last are
        the text's own chunks."""
        first, _, before = self._index.chunk_of_offset(start)
        last, _, last_before = self._index.chunk_of_offset(end - 1)
        chunks = self._chunks
        if first == last:
            pieces = divide(chunks[first][start - before : end - before])
            return put_together([chunks[:0], pieces]), [*map(terminators, pieces)]
        begin, stop = chunks[first][start - before :], chunks[last][: end - last_before]
        lines = [terminators(begin), *self._lines[first + 1 : last], terminators(stop)]
        return put_together([chunks[:0], [begin], chunks[first + 1 : last], [stop]]), lines
