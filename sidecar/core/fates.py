"""Fates: what became of hunks that are not under review any more. Pure.

Whoever noted hunks earlier, such as a question to the user, asks with the numbers from that time. Since then the user may have kept a hunk, or an
agent's later edit may have joined it with others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from itertools import islice
from typing import Any, Literal

from sidecar.core.hunk import Hunk
from sidecar.core.versions import Author, AuthorFilter

MAX_KEPT = 1000
"""The number of kept changes that are noted besides those of the newest decision. They matter to whoever noted the hunks before the user kept them."""
MAX_ABSORBED = 10_000
"""The number of hunks that went into others of which it is noted into which: as many as a write can have."""

Became = Literal["open", "kept", "taken back"]
"""`open`: still under review. `kept`: kept by the user. `taken back`: no longer in the text, whoever removed it."""


class Fates:
    """The hunks of one document that were kept or went into others."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], None] = {}
        """The hunk's number and the write, oldest first."""
        self._absorbed: dict[int, int] = {}
        """Maps the number of a hunk to the number of the hunk that now holds its changes."""

    def __len__(self) -> int:
        return len(self._kept) + len(self._absorbed)

    def elsewhere(self) -> Fates:
        """For hunks in a text other than the document's: the user's decisions count in both, joined hunks only where they are joined."""
        other = copy(self)
        other._absorbed = dict(self._absorbed)
        return other

    def keep(self, hunks: Iterable[Hunk], whose: AuthorFilter) -> None:
        """The user kept these hunks, as far as they are by such authors."""
        older = len(self._kept)
        for hunk in hunks:
            self._kept |= {(hunk.id, v.author.write): None for v in hunk.versions if whose(v.author)}
        _only_newest(self._kept, MAX_KEPT + len(self._kept) - older)

    def join(self, hunks: Iterable[Hunk], into: Hunk) -> None:
        """An agent's edit joined these hunks with another one."""
        self._absorbed.update((hunk.id, into.id) for hunk in hunks)
        _only_newest(self._absorbed, MAX_ABSORBED)

    def is_kept(self, hunk: Hunk, author: Author) -> bool:
        """Whether the user kept this author's work in the hunk."""
        return (hunk.id, author.write) in self._kept

    def is_any_kept(self, hunks: Iterable[Hunk]) -> bool:
        """Whether the user kept the work of any author in any of these hunks."""
        return bool(self._kept) and any(
            self.is_kept(h, version.author) for h in hunks for version in h.versions
        )

    def of(self, ids: Iterable[int], open_ones: Collection[int]) -> dict[int, Became]:
        """What became of the hunks with these numbers. `open_ones`: the numbers of those under review."""
        kept = {number for number, _ in self._kept}
        fates: dict[int, Became] = {}
        for number in ids:
            now = number
            while now not in open_ones and now not in kept and now in self._absorbed:
                now = self._absorbed[now]
            fates[number] = "open" if now in open_ones else "kept" if now in kept else "taken back"
        return fates


def _only_newest(noted: dict[Any, Any], most: int) -> None:
    for key in list(islice(noted, max(0, len(noted) - most))):
        del noted[key]
