"""sharing: stores a text in the chunks of another one that is nearly the same, so that both take little more memory than
one."""

# pyright: reportPrivateUsage=false
# Only code that joins texts knows the chunks of a Text.

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.chunks import divide, terminators
from sidecar.core.narrow import Chunks, chunks_of, difference, put_together
from sidecar.core.text import Text


def sharing(text: AnyText, like: Text) -> Text:
    """The text, in the chunks of `like` where both have the same start or end. Equal parts are stored once."""
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
        middle = chunks_of(text, begin, stop) if isinstance(text, str) else text._part(begin, stop)[0]
    return Text(put_together([chunks[:head], middle, chunks[len(chunks) - tail :]]) or [""])


def one_behind_the_other(texts: Iterable[AnyText]) -> AnyText:
    """The texts joined, in their own chunks if one of them is a Text. If only one is not empty, it is returned itself."""
    some = [text for text in texts if len(text)]
    if all(isinstance(text, str) for text in some) and len(some) != 1:
        return "".join(map(str, some))
    return reduce(_behind, some)


def _behind(one: AnyText, other: AnyText) -> Text:
    first, second = as_text(one), as_text(other)
    if first.chunks[-1].endswith("\r") and second.chunks[0].startswith("\n"):  # chunks never divide a \r\n
        end, rest = first.chunks[-1] + second.chunks[0], 1
    else:
        end, rest = first.chunks[-1], 0
    pieces = divide(end)
    lines = [*first._lines[:-1], *map(terminators, pieces), *second._lines[rest:]]
    return Text(put_together([first._chunks[:-1], pieces, second._chunks[rest:]]), lines)


class _Sliced:
    """A Text with the methods of a string that `difference` uses."""

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
