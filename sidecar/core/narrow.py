"""Narrow: the chunks of a large text, each in as few bytes as its own characters need.

Python keeps four bytes for every character of a string with one emoji, and two for every one of a string with a dash. A chunk that takes much
less as UTF-8 is kept so, and is a string only while somebody looks at it. Nobody can see the difference, but for the memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeAlias, overload

from sidecar.core.text_parts import TextParts

FROM = 1024 * 1024
"""Code points of a text whose chunks are kept so, at least: in a smaller one they are not worth the time."""

Kept: TypeAlias = str | bytes
"""A chunk as it is kept. The same chunk is always kept in the same way."""


class Narrow:
    """A list of chunks."""

    __slots__ = ("kept", "sizes")

    def __init__(self, chunks: Iterable[str] = ()) -> None:
        self.kept: list[Kept] = []
        self.sizes: list[int] = []
        """The code points of each."""
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

    def keep(self, at: int, kept: Kept) -> None:
        """Puts a chunk there that another one of these keeps so."""
        self.kept[at], self.sizes[at] = kept, len(_chunk(kept))

    def only(self, numbers: Iterable[int]) -> Narrow:
        numbers = list(numbers)
        return Narrow.of([self.kept[at] for at in numbers], [self.sizes[at] for at in numbers])


Chunks: TypeAlias = list[str] | Narrow


def takes_wide(text: str) -> bool:
    """Whether the chunks of a text with this in it are worth keeping so, if it is long enough: it takes more than a byte for a character."""
    return not text.isascii() and sys.getsizeof(text) >= 2 * len(text)


def put_together(lists: Iterable[Chunks]) -> Chunks:
    """The chunks of all of them."""
    lists = list(lists)
    if not any(isinstance(one, Narrow) for one in lists):
        return [chunk for one in lists for chunk in one]
    found = Narrow()
    for one in lists:
        found[len(found) :] = one
    return found


def joined(chunks: Chunks) -> str:
    """What they say. Not all that are made strings are there beside it."""
    if isinstance(chunks, list):
        return "".join(chunks)
    wide = sum(size for kept, size in zip(chunks.kept, chunks.sizes, strict=True) if isinstance(kept, bytes))
    if 8 * wide < sum(chunks.sizes):
        return "".join(chunks)
    whole = TextParts()
    for chunk in chunks:
        whole.add(chunk)
    return whole.whole()


def sizes(chunks: Chunks) -> list[int]:
    """The code points of each."""
    return chunks.sizes if isinstance(chunks, Narrow) else [len(chunk) for chunk in chunks]


def as_kept(chunks: Chunks | tuple[str, ...]) -> list[Kept]:
    """As they are kept: where one object is in two lists, both have the same chunk there."""
    return chunks.kept if isinstance(chunks, Narrow) else [*chunks]


def utf_8(chunks: Chunks) -> Iterator[bytes]:
    """The UTF-8 of each, lone surrogates included."""
    for one in as_kept(chunks):
        yield one if isinstance(one, bytes) else one.encode("utf-8", "surrogatepass")


def has_return(kept: Kept) -> bool:
    """Whether there is a "\r" in it."""
    return b"\r" in kept if isinstance(kept, bytes) else "\r" in kept


def _kept(chunk: str) -> Kept:
    if chunk.isascii():
        return chunk
    narrow = chunk.encode("utf-8", "surrogatepass")
    # A copy: what the encoder returns stands at the beginning of room for the longest UTF-8, and nobody else fits into the rest.
    return bytes(memoryview(narrow)) if 3 * len(narrow) <= 2 * sys.getsizeof(chunk) else chunk


def _chunk(kept: Kept) -> str:
    return kept.decode("utf-8", "surrogatepass") if isinstance(kept, bytes) else kept
