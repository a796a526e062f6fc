"""Narrow: stores the chunks of a large text, each in as few bytes as its own characters need.

Python stores four bytes per character for a string with one emoji, and two for one with a dash. A chunk whose UTF-8 takes at most two thirds of that
is stored as UTF-8, and is a string only while somebody looks at it. The only visible difference is the memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Protocol, TypeAlias, cast, overload

from sidecar.core.chunks import common_prefix, common_suffix, divided, same_pieces
from sidecar.core.units import Encoding, units_of

FROM = 1024 * 1024
"""The fewest code points of a text whose chunks are stored in this way: for a smaller text it is not worth the time."""

_RUN = 64
"""The number of chunks that are made strings at a time."""

Kept: TypeAlias = str | bytes
"""A chunk in its stored form. Equal chunks have equal stored forms."""


class Narrow:
    """A list of chunks."""

    __slots__ = ("kept", "sizes")

    def __init__(self, chunks: Iterable[str] = ()) -> None:
        self.kept: list[Kept] = []
        self.sizes: list[int] = []
        """The number of code points of each chunk."""
        for chunk in chunks:
            self.kept.append(_kept(chunk))
            self.sizes.append(len(chunk))

    @staticmethod
    def of(kept: list[Kept], sizes: list[int]) -> Narrow:
        found = Narrow()
        found.kept, found.sizes = kept, sizes
        return found

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[str]:
        return map(_chunk, self.kept)

    def __reversed__(self) -> Iterator[str]:
        return map(_chunk, reversed(self.kept))

    def runs(self) -> Iterator[str]:
        """The text in strings of several chunks: faster than one by one."""
        for are_narrow, run in groupby(self.kept, lambda kept: isinstance(kept, bytes)):
            if not are_narrow:
                yield from cast("Iterator[str]", run)
                continue
            size = 1  # a comparison often needs only one
            while some := [*islice(run, size)]:
                yield _decoded(b"".join(cast("list[bytes]", some)))
                size = _RUN

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Narrow):
            return self.kept == other.kept
        return self.kept == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # it changes

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Narrow: ...
    def __getitem__(self, at: int | slice) -> str | Narrow:
        if isinstance(at, slice):
            return Narrow.of(self.kept[at], self.sizes[at])
        return _chunk(self.kept[at])

    @overload
    def __setitem__(self, at: int, new: str) -> None: ...
    @overload
    def __setitem__(self, at: slice, new: Chunks) -> None: ...
    def __setitem__(self, at: int | slice, new: str | Chunks) -> None:
        if isinstance(at, slice):
            new = new if isinstance(new, Narrow) else Narrow(new)
            self.kept[at], self.sizes[at] = new.kept, new.sizes
        else:
            self.kept[at], self.sizes[at] = _kept(new), len(new)  # pyright: ignore[reportArgumentType]

    def copy(self) -> Narrow:
        return self[:]

    def keep(self, at: int, kept: Kept, size: int) -> None:
        """Store a chunk in the stored form that another Narrow has for it. `size` is its number of code points."""
        self.kept[at], self.sizes[at] = kept, size

    def only(self, numbers: Iterable[int]) -> Narrow:
        numbers = list(numbers)
        return Narrow.of([self.kept[at] for at in numbers], [self.sizes[at] for at in numbers])


Chunks: TypeAlias = list[str] | Narrow


def chunks_of(text: str, start: int = 0, end: int | None = None) -> Chunks:
    """The chunks of a text, or of a part of it."""
    pieces = divided(text, start, end)
    return Narrow(pieces) if len(text) >= FROM and takes_wide(text) else list(pieces)


def takes_wide(text: str) -> bool:
    """Whether the chunks of a text that contains this string are worth storing in this way, if it is long enough: it takes four bytes per
    character."""
    return not text.isascii() and sys.getsizeof(text) >= 4 * len(text)


def takes_more(text: str) -> bool:
    """Like `takes_wide`, for a text that is held for a while beside others of its kind: it takes two or four bytes per character."""
    return not text.isascii() and sys.getsizeof(text) >= 2 * len(text)


def is_wide(kept: Kept) -> bool:
    """Whether a string that contains this chunk takes four bytes per character."""
    if isinstance(kept, bytes):
        # the first bytes of characters that take four bytes in UTF-8; a loop would take several times as long
        return 0xF0 in kept or 0xF1 in kept or 0xF2 in kept or 0xF3 in kept or 0xF4 in kept
    return (
        not kept.isascii() and max(kept) > "\uffff"
        if len(kept) < _RUN
        else sys.getsizeof(kept) >= 4 * len(kept)
    )


def put_together(lists: Iterable[Chunks]) -> Chunks:
    """The chunks of all lists, in one list."""
    lists = list(lists)
    if not any(isinstance(one, Narrow) for one in lists):
        return [chunk for one in lists for chunk in one]
    found = Narrow()
    for one in lists:
        found[len(found) :] = one
    return found


def joined(chunks: Chunks) -> str:
    """The text of the chunks. It avoids making a string of each chunk."""
    if isinstance(chunks, list):
        return "".join(chunks)
    wide = sum(size for kept, size in zip(chunks.kept, chunks.sizes, strict=True) if isinstance(kept, bytes))
    if 8 * wide < sum(chunks.sizes):
        return "".join(chunks)
    return _decoded(b"".join(utf_8(chunks)))


def alike(one: Chunks, other: Chunks) -> int:
    """The number of chunks at the beginning that are the same in both."""
    mine, others = as_kept(one), as_kept(other)
    low, high = 0, min(len(mine), len(others))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if mine[low:middle] == others[low:middle] else (low, middle - 1)
    return low


def unlike(one: Chunks, other: Chunks) -> tuple[Chunks, Chunks]:
    """Both lists without the chunks at either end that are the same."""
    first = alike(one, other)
    last = alike(one[first:][::-1], other[first:][::-1])
    return one[first : len(one) - last], other[first : len(other) - last]


def runs(chunks: Chunks) -> Iterable[str]:
    """The text of the chunks, in pieces of any size."""
    return chunks if isinstance(chunks, list) else chunks.runs()


def sizes(chunks: Chunks) -> list[int]:
    """The number of code points of each chunk."""
    return chunks.sizes if isinstance(chunks, Narrow) else [len(chunk) for chunk in chunks]


def size_at(chunks: Chunks, at: int) -> int:
    """The number of code points of one chunk."""
    return chunks.sizes[at] if isinstance(chunks, Narrow) else len(chunks[at])


def units_at(chunks: Chunks, at: int, encoding: Encoding) -> int:
    """The number of units of one chunk."""
    if isinstance(chunks, Narrow) and isinstance(kept := chunks.kept[at], bytes):
        size = chunks.sizes[at]
        if encoding is Encoding.UTF_8:
            return len(kept)
        if encoding is Encoding.UTF_32 or not is_wide(kept):
            return size
        if len(kept) == 4 * size:
            return 2 * size
    return units_of(chunks[at], encoding)


def as_kept(chunks: Chunks | tuple[str, ...]) -> list[Kept]:
    """The chunks in their stored form. If the same object is in two lists, both have the same chunk there."""
    return chunks.kept if isinstance(chunks, Narrow) else [*chunks]


def utf_8(chunks: Chunks) -> Iterator[bytes]:
    """The UTF-8 of each chunk, including lone surrogates."""
    for one in as_kept(chunks):
        yield one if isinstance(one, bytes) else _encoded(one)


def say_the_same(one: Chunks, other: Chunks) -> bool:
    """Whether the texts of the chunks are equal. The chunks may be cut at different places; nothing is joined."""
    if _are_bytes(one) and _are_bytes(other):
        return same_pieces(utf_8(one), utf_8(other))
    return same_pieces(runs(one), runs(other))


def _are_bytes(chunks: Chunks) -> bool:
    """Whether most chunks are stored as UTF-8: encoding the others would take longer than comparing strings."""
    return 2 * sum(isinstance(kept, bytes) for kept in as_kept(chunks)) > len(chunks)


def has_return(kept: Kept) -> bool:
    """Whether it contains a "\\r"."""
    return b"\r" in kept if isinstance(kept, bytes) else "\r" in kept


def pairs(kept: Kept) -> int:
    """The number of "\\r\\n" in it."""
    return kept.count(b"\r\n") if isinstance(kept, bytes) else kept.count("\r\n")


def _kept(chunk: str) -> Kept:
    if not takes_more(chunk):
        return chunk
    narrow = _encoded(chunk)
    # A copy: the encoder's result occupies room for the longest UTF-8, and nothing else fits into the rest.
    return bytes(memoryview(narrow)) if 3 * len(narrow) <= 2 * sys.getsizeof(chunk) else chunk


def _chunk(kept: Kept) -> str:
    return _decoded(kept) if isinstance(kept, bytes) else kept


def _encoded(chunk: str) -> bytes:
    try:
        return chunk.encode()  # several times as fast
    except UnicodeEncodeError:
        return chunk.encode("utf-8", "surrogatepass")


def _decoded(kept: bytes) -> str:
    try:
        return kept.decode()  # likewise
    except UnicodeDecodeError:
        return kept.decode("utf-8", "surrogatepass")


class Compared(Protocol):
    """A string, or an object with the same methods."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int | slice, /) -> str: ...
    def startswith(self, piece: str, start: int, /) -> bool: ...
    def endswith(self, piece: str, start: int, end: int, /) -> bool: ...


def difference(chunks: Chunks, length: int, new: Compared) -> tuple[int, int]:
    """The start and end, in the old text, of the stretch in which it differs from the new one. Never between `\\r` and `\\n`."""
    start = 0
    for chunk in chunks:
        if not new.startswith(chunk, start):
            start += common_prefix(chunk, new[start : start + len(chunk)])
            break
        start += len(chunk)
    if start and new[start - 1] == "\r":
        start -= 1
    same = 0
    most = min(length, len(new)) - start
    for chunk in reversed(chunks):
        if same + len(chunk) > most or not new.endswith(chunk, 0, len(new) - same):
            rest = most - same
            tail = new[max(0, len(new) - same - len(chunk)) : len(new) - same]
            same += min(rest, common_suffix(chunk, tail))
            break
        same += len(chunk)
    if same and new[len(new) - same] == "\n":
        same -= 1
    return start, length - same
