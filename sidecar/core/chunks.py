"""Chunks: the pieces of a few KB in which a Text keeps its characters, and the index that finds the right one.

A chunk is a plain `str`, which is immutable, so texts share chunks. Chunks end at a line's end if one is near enough, so that
most lines are in one chunk; this affects only speed. Two things always hold: no chunk is empty unless it is the only one, and
`\\r\\n` is never divided.

Sizes were measured for typing and for reading lines in 10 MB (benchmarks/text_store.py): a smaller chunk makes an insertion
cheaper and the copy of the chunk list at a snapshot more expensive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import AnyStr

TARGET = 4096
"""The most code points of a new chunk."""
MAXIMUM = 2 * TARGET
"""A chunk that becomes larger is divided."""
MINIMUM = TARGET // 8
"""A chunk that becomes smaller is joined to a neighbour."""


def divide(text: str) -> list[str]:
    """The chunks of a text."""
    return list(divided(text))


def divided(text: str, start: int = 0, end: int | None = None) -> Iterator[str]:
    """Yield the chunks of a text, or of its part from `start` to `end`. The part is not copied as a whole."""
    end = len(text) if end is None else end
    while end - start > MAXIMUM:
        stop = _chunk_end(text, start)
        yield text[start:stop]
        start = stop
    yield text[start:end]


def divide_between(head: str, text: str, tail: str) -> Iterator[str]:
    """Yield the chunks of `head + text + tail`. A long `text` is not copied to join them."""
    if len(text) <= 4 * MAXIMUM:
        yield from divided(head + text + tail)
        return
    start = _chunk_end(text, 0)
    yield from divided(head + text[:start])
    while len(text) - start > MAXIMUM:
        end = _chunk_end(text, start)
        yield text[start:end]
        start = end
    yield from divided(text[start:] + tail)


def _chunk_end(text: str, start: int) -> int:
    limit = start + TARGET
    end = text.rfind("\n", start, limit) + 1 or text.rfind("\r", start, limit) + 1 or limit
    return end + 1 if text[end - 1] == "\r" and text[end] == "\n" else end


def terminators(text: str) -> int:
    """The number of line ends in a text."""
    newlines = text.count("\n")
    return newlines + text.count("\r") - text.count("\r\n") if "\r" in text else newlines


def after_terminator(chunk: str, number: int, total: int) -> int:
    """The offset behind terminator `number` (from 1) of the `total` terminators in a chunk."""
    if (
        "\r" in chunk and chunk.count("\n") < total
    ):  # some `\r` stands alone: replace by one kind of terminator with the same offsets
        chunk = chunk.replace("\r\n", " \n").replace("\r", "\n")
    if 2 * number <= total:
        return len(chunk) - len(chunk.split("\n", number)[number])
    return len(chunk.rsplit("\n", total - number + 1)[0]) + 1


def common_prefix(one: str, other: str) -> int:
    """The number of characters that two strings have in common at the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[low:middle], low) else (low, middle - 1)
    return low


def common_suffix(one: str, other: str) -> int:
    """The number of characters that two strings have in common at the end."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def same_pieces(one: Iterable[AnyStr], other: Iterable[AnyStr]) -> bool:
    """Whether two texts, cut into pieces at different places, are equal. Joins nothing."""
    others = iter(other)
    b, in_b = next(others, None), 0
    for a in one:
        in_a = 0
        while in_a < len(a):
            if b is None:
                return False
            if in_b == len(b):
                b, in_b = next(others, None), 0
                continue
            size = min(len(a) - in_a, len(b) - in_b)
            if size == len(a) - in_a:
                same = b.startswith(a[in_a:] if in_a else a, in_b)
            else:
                same = a.startswith(b[in_b:] if in_b else b, in_a)
            if not same:
                return False
            in_a += size
            in_b += size
    return b is None or (in_b == len(b) and not any(others))


class ChunkIndex:
    """The number of terminators and of code points before each chunk.

    Two Fenwick trees, so that finding a chunk and changing one cost the logarithm of their number: the sums over the first `k`
    chunks are `tree[k]` plus the sums over the first `k` without its lowest bit. While the user types in one chunk, its growth
    is kept apart.
    """

    __slots__ = ("_late", "_late_lines", "_late_points", "_lines", "_points", "_size", "_top")

    def __init__(self, lines: list[int], points: list[int]) -> None:
        """From the number of terminators and of code points of each chunk."""
        self._size = len(lines)
        self._lines = _tree(lines)
        self._points = _tree(points)
        self._top = 1 << (self._size.bit_length() - 1)
        self._late = self._late_lines = self._late_points = 0

    def copy(self) -> ChunkIndex:
        self.settle()
        new = ChunkIndex.__new__(ChunkIndex)
        new._size = self._size
        new._lines = self._lines.copy()
        new._points = self._points.copy()
        new._top = self._top
        new._late = new._late_lines = new._late_points = 0
        return new

    def add(self, chunk: int, lines: int, points: int) -> None:
        """Record that a chunk has gained this many terminators and code points."""
        if chunk != self._late:
            self.settle()
            self._late = chunk
        self._late_lines += lines
        self._late_points += points

    def settle(self) -> None:
        """Bring the trees up to date. Every look-up does this, so only a caller that gives the index away has to call it."""
        size = self._size
        if points := self._late_points:
            tree = self._points
            at = self._late + 1
            while at <= size:
                tree[at] += points
                at += at & -at
            self._late_points = 0
        if lines := self._late_lines:
            tree = self._lines
            at = self._late + 1
            while at <= size:
                tree[at] += lines
                at += at & -at
            self._late_lines = 0

    def chunk_of_terminator(self, number: int) -> tuple[int, int, int]:
        """The chunk with terminator `number` (from 1; it exists), and the terminators and code points before that chunk."""
        self.settle()
        lines_tree, points_tree, size = self._lines, self._points, self._size
        at, lines, points, step = 0, 0, 0, self._top
        while step:
            next = at + step
            if next <= size and lines + lines_tree[next] < number:
                at = next
                lines += lines_tree[next]
                points += points_tree[next]
            step >>= 1
        return at, lines, points

    def chunk_of_offset(self, offset: int) -> tuple[int, int, int]:
        """The chunk that contains an offset: at a border the chunk after it, at the text's end the last chunk. Then the
        terminators and code points before it."""
        self.settle()
        lines_tree, points_tree, size = self._lines, self._points, self._size
        at, lines, points, step = 0, 0, 0, self._top
        while step:
            next = at + step
            if next < size and points + points_tree[next] <= offset:
                at = next
                lines += lines_tree[next]
                points += points_tree[next]
            step >>= 1
        return at, lines, points

    def points_before(self, chunk: int) -> int:
        """The code points before a chunk; all of them for the number of chunks."""
        self.settle()
        tree, points = self._points, 0
        while chunk:
            points += tree[chunk]
            chunk &= chunk - 1
        return points


def _tree(values: list[int]) -> list[int]:
    sums = [0, *accumulate(values)]
    return [0, *(sums[at] - sums[at & (at - 1)] for at in range(1, len(sums)))]


def line_end(chunk: str, start: int, limit: int) -> int:
    """The offset of the first terminator in chunk[start:limit], or -1."""
    newline = chunk.find("\n", start, limit)
    carriage = chunk.find("\r", start, limit if newline < 0 else newline)
    return newline if carriage < 0 else carriage


def terminators_gained(old: str, start: int, end: int, new: str) -> int:
    """The number of terminators gained when old[start:end] becomes `new`, for 0 < start and end < len(old)."""
    before = old[start - 1]
    removed = old[start:end]
    if before != "\r" and "\n" not in new and "\r" not in new and "\n" not in removed and "\r" not in removed:
        return 0
    # One character on either side: a `\r\n` may be made or broken there.
    after = old[end]
    return terminators(before + new + after) - terminators(before + removed + after)
