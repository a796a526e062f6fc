"""unified: two texts as a unified diff, computed in bounded time for any texts (core.hunks)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator
from itertools import accumulate
from typing import Literal, NamedTuple

from sidecar.core.hunks import line_hunks, lines_of

CONTEXT = 3

Mark = Literal["@", " ", "-", "+"]


class DiffLine(NamedTuple):
    """One line of the diff. `text` has no line end; for "@" it contains the line numbers, as in `diff -u`."""

    mark: Mark
    text: str


class _Change(NamedTuple):
    """Lines old[start:end] became new[new_start:new_end]; numbers from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified(before: str | None, after: str | None) -> Generator[DiffLine]:
    """Yield the changed lines with three lines of context. None stands for a missing file."""
    old, new = lines_of(before or ""), lines_of(after or "")
    for group in _groups(before or "", after or "", old, new):
        first, last = group[0], group[-1]
        lead = min(CONTEXT, first.start)
        tail = min(CONTEXT, len(old) - last.end)
        old_at = _place(first.start - lead, last.end + tail)
        new_at = _place(first.new_start - lead, last.new_end + tail)
        yield DiffLine("@", f"@@ -{old_at} +{new_at} @@")
        reached = first.start - lead
        for change in group:
            yield from (DiffLine(" ", _bare(line)) for line in old[reached : change.start])
            yield from (DiffLine("-", _bare(line)) for line in old[change.start : change.end])
            yield from (DiffLine("+", _bare(line)) for line in new[change.new_start : change.new_end])
            reached = change.end
        yield from (DiffLine(" ", _bare(line)) for line in old[reached : reached + tail])


def _groups(before: str, after: str, old: list[str], new: list[str]) -> list[list[_Change]]:
    """Group changes whose contexts would meet."""
    old_starts = [0, *accumulate(map(len, old))]
    new_starts = [0, *accumulate(map(len, new))]
    groups: list[list[_Change]] = []
    for hunk in line_hunks(before, after):
        change = _Change(
            bisect_left(old_starts, hunk.old_start),
            bisect_left(old_starts, hunk.old_end),
            bisect_left(new_starts, hunk.new_start),
            bisect_left(new_starts, hunk.new_end),
        )
        if groups and change.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _place(start: int, end: int) -> str:
    """Return a range of lines (from 0) in the form of `diff -u`: an empty range is named by the line before it."""
    length = end - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
