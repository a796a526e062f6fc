"""split: a stretch of text that several authors changed, one after the other, as two: each with what they did in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from sidecar.core.diff import diff
from sidecar.core.hunks import lines_of
from sidecar.core.versions import Version


class Part(NamedTuple):
    """`old`: what it said before the first version."""

    old: str
    versions: tuple[Version, ...]
    """Of those who changed it; none: it says what it did."""


def split(old: str, versions: Sequence[Version], at: int) -> tuple[Part, Part] | None:
    """`at`: a line's start in the newest version's text, or its end, in code points. What somebody put in the place of several lines stays with the first part
    where its own lines are divided. None: an earlier text has no line's start there."""
    texts = [old, *(version.text for version in versions)]
    places = [at]
    for before, after in reversed(list(pairwise(texts))):
        places.append(_before(before, after, places[-1]))
    places.reverse()
    pairs = list(zip(texts, places, strict=True))
    if any(0 < place < len(text) and text[place - 1] != "\n" for text, place in pairs):
        return None
    first, second = [text[:place] for text, place in pairs], [text[place:] for text, place in pairs]
    return _part(first, versions), _part(second, versions)


def _part(texts: Sequence[str], versions: Sequence[Version]) -> Part:
    return Part(texts[0], tuple(_changed(texts, versions)))


def _changed(texts: Sequence[str], versions: Sequence[Version]) -> Iterator[Version]:
    for (before, after), version in zip(pairwise(texts), versions, strict=True):
        if before != after:
            yield Version(version.author, after)


def _before(before: str, after: str, at: int) -> int:
    """The place in `before` of one in `after`: behind the lines that were replaced, if it lies within that, but for one that has no end: that would run
    into what follows."""
    shift = 0
    for edit in diff(before, after).edits:
        if at <= edit.start + shift:
            break
        if at < edit.start + shift + len(edit.new):
            return before.find("\n", max(edit.end - 1, 0)) + 1 or before.rfind("\n") + 1
        shift += edit.growth
    return at - shift


def shared_lines(texts: Sequence[str]) -> tuple[int, int]:
    """The length of the whole lines with which all of these texts begin, and of those with which what is left of them ends, in code points."""
    begin = _shared([lines_of(text) for text in texts])
    return begin, _shared([lines_of(text[begin:])[::-1] for text in texts])


def _shared(texts: Sequence[Sequence[str]]) -> int:
    lines = takewhile(lambda row: len(set(row)) == 1, zip(*texts, strict=False))
    return sum(len(row[0]) for row in lines)
