"""Versions: the work of several authors on one stretch of text, each on top of the one before. Pure.

A stretch is its old text and one version per author, in the order in which they worked. An author is a turn: everything that a turn does without
another turn's work in between is one version.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sidecar.core.any_text import AnyText
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.sharing import one_behind_the_other


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a version."""

    session: str
    turn: int
    write: str
    """The write's id in the journal."""
    tool_call: str | None = None
    created: bool = False
    """The file did not exist before this write."""
    agent: str = ""
    """The agent's name, for people; "" if the journal is older than this field."""
    aftermath: bool = False
    """Not the agent's own work, but what the editor changed when it saved the write (formatting, trimming). It is never shown, and is reverted
    with the last of the turn's hunks in the document."""
    unknown: bool = False
    """The author is unknown: the change was found on the disk while agents worked. It belongs to no session."""

    def same_turn(self, other: Author) -> bool:
        return self.session == other.session and self.turn == other.turn


@dataclass(frozen=True, slots=True)
class Version:
    """The text of a hunk after one author's work on it."""

    author: Author
    said: AnyText
    """`text` in its stored form."""

    @property
    def text(self) -> str:
        return str(self.said)


AuthorFilter = Callable[[Author], bool]


def on_top(versions: Sequence[Version], version: Version) -> tuple[Version, ...]:
    """The versions with one more. It replaces the last one if both are of the same turn."""
    if not versions or not versions[-1].author.same_turn(version.author):
        return (*versions, version)
    author = versions[-1].author if version.author.aftermath else version.author
    return (*versions[:-1], Version(author, version.said))


_LARGEST, _PIECES = 8_000_000, 100_000
"""Limits for versions that are made of several stretches: their code points in all, and the pieces they are joined from. More would block the
event loop too long and take too much memory. Beyond the limits, only the last versions stay separate; those before count as part of the first of
them."""


def together(
    stretches: Sequence[tuple[AnyText, Sequence[Version]]], gaps: Sequence[AnyText]
) -> tuple[AnyText, tuple[Version, ...]]:
    """Join stretches into one: its old text and its versions. `gaps` are the texts before, between and after the stretches. Every author's work
    stays theirs and can be kept and rejected as before."""
    texts = [old for old, _ in stretches]

    def text() -> AnyText:
        return one_behind_the_other(one for row in zip(gaps, [*texts, ""], strict=True) for one in row)

    old = text()
    works = _in_order([versions for _, versions in stretches])
    longest = sum(max(map(len, (old, *(one.said for one in versions)))) for old, versions in stretches)
    most = max(1, min(_LARGEST // (longest + len(old) + 1), _PIECES // (2 * len(stretches))))
    versions: list[Version] = []
    for number, work in enumerate(works):
        for nth, version in work:
            texts[nth] = version.said
        if number >= len(works) - most:
            authors = [version.author for _, version in work]
            author = next((one for one in reversed(authors[1:]) if not one.aftermath), authors[0])
            versions.append(Version(author, text()))
    return old, tuple(versions)


def _in_order(stretches: Sequence[Sequence[Version]]) -> list[list[tuple[int, Version]]]:
    """The versions of several stretches, each with the number of its stretch, in the order in which they were written (the journal's ids give
    it). Consecutive versions of one turn are grouped."""
    found: list[list[tuple[int, Version]]] = []
    heads = [(versions[0].author.write, nth, 0) for nth, versions in enumerate(stretches) if versions]
    heapq.heapify(heads)
    while heads:
        _, nth, at = heads[0]
        version = stretches[nth][at]
        if at + 1 < len(stretches[nth]):
            heapq.heapreplace(heads, (stretches[nth][at + 1].author.write, nth, at + 1))
        else:
            heapq.heappop(heads)
        if found and found[-1][-1][1].author.same_turn(version.author):
            found[-1].append((nth, version))
        else:
            found.append([(nth, version)])
    return found


def kept(
    old: AnyText, versions: Sequence[Version], whose: AuthorFilter
) -> tuple[AnyText, tuple[Version, ...]]:
    """The stretch after those authors' versions count as reviewed."""
    left: list[Version] = []
    for version in versions:
        if not whose(version.author):
            left.append(version)
        elif left:  # on top of unreviewed work, from which it can no longer be separated
            left[-1] = Version(left[-1].author, version.said)
        else:
            old = version.said
    return old, tuple(left)


def rejected(old: str, versions: Sequence[Version], whose: AuthorFilter) -> tuple[Version, ...] | None:
    """The versions without those authors'. None if later work prevents it.

    Consecutive versions are removed one by one, the last first. If later work prevents that, they are removed together as one change. So work
    that restored a line which two of them changed in turn does not prevent removing both."""
    if all(whose(version.author) for version in versions):
        return ()
    left = tuple(versions)
    for first, last in reversed(list(_runs(versions, whose))):
        rest: tuple[Version, ...] | None = left
        for nth in reversed(range(first, last)):
            rest = rest and _without(old, rest, nth, nth + 1)
        rest = rest or _without(old, left, first, last)
        if rest is None:
            return None
        left = rest
    return left


def _runs(versions: Sequence[Version], whose: AuthorFilter) -> Iterator[tuple[int, int]]:
    """The ranges (end exclusive) in which those authors' versions follow each other."""
    at = 0
    for is_theirs, run in groupby(versions, lambda version: whose(version.author)):
        end = at + len(list(run))
        if is_theirs:
            yield at, end
        at = end


def _without(old: str, versions: Sequence[Version], first: int, last: int) -> tuple[Version, ...] | None:
    """The versions without those from `first` to `last` (exclusive). None if later work prevents it."""
    after, before = versions[last - 1].text, versions[first - 1].text if first else old
    later: list[Version] = []
    for version in versions[last:]:
        match merge(after, version.text, before):
            case Merged() as merged:
                later.append(Version(version.author, merged.changes.apply(version.text)))
            case Conflict():
                return None
    return (*versions[:first], *later)
