"""split: divides a stretch of text that several authors changed in turn, so that each part gets the changes made in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from sidecar.core.any_text import begins_line, line_end, line_start
from sidecar.core.diff import diff
from sidecar.core.hunks import lines_of
from sidecar.core.versions import Version


class HunkPart(NamedTuple):
    """One part of a stretch. `old` is its text before the first version."""

    old: str
    versions: tuple[Version, ...]
    """Only those of authors who changed this part."""


def split(old: str, versions: Sequence[Version], at: int) -> tuple[HunkPart, HunkPart] | None:
    """Divide a stretch at the offset `at` (code points) of the newest version's text, which is the start of a line or the end of the text. If `at` lies
    within lines that an author put in place of others, all of the replaced lines go to the first part. None if an earlier text has no line start at the
    matching place."""
    texts = [old, *(version.text for version in versions)]
    places = [at]
    for before, after in reversed(list(pairwise(texts))):
        places.append(_before(before, after, places[-1]))
    places.reverse()
    pairs = list(zip(texts, places, strict=True))
    if any(place < len(text) and not begins_line(text, place) for text, place in pairs):
        return None
    first, second = [text[:place] for text, place in pairs], [text[place:] for text, place in pairs]
    return _part(first, versions), _part(second, versions)


def _part(texts: Sequence[str], versions: Sequence[Version]) -> HunkPart:
    return HunkPart(texts[0], tuple(_changed(texts, versions)))


def _changed(texts: Sequence[str], versions: Sequence[Version]) -> Iterator[Version]:
    for (before, after), version in zip(pairwise(texts), versions, strict=True):
        if before != after:
            yield Version(version.author, after)


def _before(before: str, after: str, at: int) -> int:
    """The place in `before` that matches `at` in `after`. For a place within new lines, that is behind the lines they replaced, but before a final
    replaced line without a line end, which would run into the text that follows."""
    shift = 0
    for edit in diff(before, after).edits:
        if at <= edit.start + shift:
            break
        if at < edit.start + shift + len(edit.new):
            end = line_end(before, max(edit.end - 1, 0))
            return end if begins_line(before, end) else line_start(before, end)
        shift += edit.growth
    return at - shift


def shared_lines(texts: Sequence[str]) -> tuple[int, int]:
    """How many code points all of these texts have in common at their start and, in the rest, at their end. Counts whole lines only."""
    begin = _shared([lines_of(text) for text in texts])
    return begin, _shared([lines_of(text[begin:])[::-1] for text in texts])


def _shared(texts: Sequence[Sequence[str]]) -> int:
    lines = takewhile(lambda row: len(set(row)) == 1, zip(*texts, strict=False))
    return sum(len(row[0]) for row in lines)
