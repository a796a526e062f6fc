"""Legs: the steps in which a file's text changed on the disk, each with its author, and what they change in a mirror
that also has unsaved work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, ReviewThen
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.workspace.behind.whose import Part
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.sessions import Session


@dataclass(frozen=True, slots=True)
class Leg:
    """One step of a change. All legs together lead from what the file said before to what it says now.

    A leg has a text and no edits. What changed is found by comparing texts, because an editor may reload a whole text,
    or many lines at once.
    """

    after: str
    """What the file said after this step (compared form)."""
    at: int
    """Since when the file said that; see acts.py."""
    part: Part | None = None
    """Who made it; None: there is nothing to review."""
    author: Author | None = None
    """None until the leg is journalled."""
    is_ours: bool = False
    """The sidecar wrote it, and it is already journalled."""

    @property
    def is_somebodys(self) -> bool:
        return self.part is not None

    @property
    def session(self) -> Session | None:
        return None if self.part is None else self.part.session

    def is_with(self, later: Leg) -> bool:
        """Whether both have the same author: the same session, an unknown author, or nobody."""
        return self.is_somebodys == later.is_somebodys and self.session == later.session


@dataclass(slots=True)
class SeenChange:
    """A change of an open document's file, with its authors."""

    legs: Sequence[Leg]
    start: str
    """What the file said before the change (compared form)."""
    taken: str
    """The text of the file that the editor already has (compared form): `start`, or a later one. Where the mirror
    differs from it, that is the user's work."""
    review: ReviewThen
    """The mirror's text before the change, and what was under review there."""
    changes: Sequence[ChangeSet] | None
    """The changes of each leg; the first one applies to the text of `review`. None: they conflict with the user's
    unsaved work."""
    writes: int
    """How many edits agents had made through the editor when the change was seen."""
    saves: int
    """How many saves of the document the editor had reported then."""
    passed: Sequence[tuple[str, int]] = ()
    """What the file said after `start` (compared form), and since when; the last text is its current one."""
    saved: str | None = None
    """What the file said right before the change (compared form), if somebody saved that on top of `start` and the
    change's author had not read it."""
    file: Noted | None = None
    """What the file said before the change and what was under review there, if the document said something else."""
    was_told: bool = False
    """The editor reported a save of the mirror's text, but nobody saw its bytes on the disk: somebody has overwritten
    them."""
    counted: bool = False
    """The document was opened again meanwhile with the file's text after the change, and the whole change was recorded
    then."""
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set once the change is entered in the ledger, or cannot be."""
    until: float = 0.0
    """Until when others wait for that (the loop's time, in seconds)."""

    @property
    def last(self) -> Leg:
        """The last leg that is under review; if there is none, the last leg."""
        return next((leg for leg in reversed(self.legs) if leg.author is not None), self.legs[-1])

    @property
    def is_nobody_knowns(self) -> bool:
        """Whether no part of the change has a known author."""
        return all(leg.session is None for leg in self.legs)

    def in_file(self) -> tuple[str, Sequence[Leg]]:
        """The change of the file itself: the text before it, and its legs. For callers that do not start from the
        mirror's text."""
        return (self.start, self.legs) if self.saved is None else (self.saved, [self.last])

    def left(self) -> list[Leg]:
        """The legs that the editor does not have yet."""
        taken = max((n + 1 for n, leg in enumerate(self.legs) if leg.after == self.taken), default=0)
        return list(self.legs[taken:])


@dataclass(frozen=True, slots=True)
class Apart:
    """The changes of a file that its open document, which has unsaved work, could not take, with their authors. Texts are in the compared form."""

    start: str = ""
    """The text from which they start."""
    legs: Sequence[Leg] = ()
    saved: str | None = None
    """As in `SeenChange`."""

    def since(self, before: str) -> Sequence[Leg]:
        """The changes since the file said `before`. If the editor takes the last one over, it replaces what was saved on top of `start`, too: measured
        from that, it is the same author's, but has to be journalled again."""
        if before == self.start:
            return self.legs
        return [replace(leg, author=None) for leg in self.legs[-1:]] if before == self.saved else ()


@dataclass(frozen=True, slots=True)
class WrittenOver:
    """The disk said `saved`, and its next writer had read only `had_read`. Both are in the compared form. What is new
    in `saved` must stay."""

    had_read: str
    saved: str


def has(before: str, now: str, texts: Sequence[str]) -> bool:
    """Whether the mirror, which says `now`, has one of `texts` beside what the user typed. The file said these texts
    after `before`. All are in the compared form."""
    found = (merge(before, now, text) for text in texts)
    return any(not isinstance(merged, Conflict) and merged.changes.is_empty for merged in found)


def taken_from(before: str, now: str, texts: Iterable[str]) -> str:
    """The last of `texts` that the mirror has (see `has`); `before` if it has none of them."""
    return next((text for text in reversed(list(texts)) if has(before, now, [text])), before)


def on_top(raw: str, before: str, legs: Sequence[Leg]) -> list[ChangeSet] | None:
    """What the legs, which start from `before` (compared form), change in a mirror that says `raw`; None: they conflict
    with it."""
    changes: list[ChangeSet] = []
    for leg in legs:
        now = Normal(raw)
        match merge(before, now.text, leg.after):
            case Conflict():
                return None
            case merged:
                changes.append(now.changes_in_raw(merged.changes))
        raw, before = changes[-1].apply(raw), leg.after
    return changes


def as_one(legs: Sequence[Leg]) -> Leg:
    """Combines legs that cannot be told apart. If the author of one of them is unknown, the author of the whole is
    unknown."""
    unknown = (leg for leg in legs if leg.part is not None and leg.part.session is None)
    known = (leg for leg in reversed(legs) if leg.part is not None)
    leg = next(unknown, None) or next(known, legs[-1])
    return replace(leg, after=legs[-1].after, at=legs[-1].at)


def changes_of(before: str, after: str) -> ChangeSet:
    """The changes from one raw text to another."""
    if before:
        return diff(before, after)
    return ChangeSet.of(0, (Edit(0, 0, after),) if after else ())


def raw_before(text: str, now: str) -> str:
    """`text` with the line ends of `now` (raw), a later text of the file."""
    return without(diff(normal(text), normal(now)), Normal(now), normal(text))


def without(changes: ChangeSet, now: Normal, before: str) -> str:
    """The raw text before `changes`, which led from `before` to `now` (both in the compared form)."""
    back = now.changes_in_raw(changes.invert(before))
    return back.apply(now.raw)
