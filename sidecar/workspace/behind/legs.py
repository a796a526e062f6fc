"""Legs: the steps in which a file's text changed on the disk, each of them somebody's or nobody's; and what they change in a mirror that also has
unsaved work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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
    """One step. All legs together lead from what the file said to what it says."""

    after: str
    """Compared form."""
    at: int
    """When the file had become so; see acts.py."""
    part: Part | None = None
    """None: there is nothing to review. An editor may reload a whole text, or many lines at once; what changed is found by comparing the texts."""
    author: Author | None = None
    """None until the leg is journalled."""
    is_ours: bool = False
    """We wrote it, and the journal says so already."""

    @property
    def is_somebodys(self) -> bool:
        return self.part is not None

    @property
    def session(self) -> Session | None:
        return None if self.part is None else self.part.session

    def is_with(self, later: Leg) -> bool:
        """Whether both have the same author: one session, somebody unknown, or nobody."""
        return self.is_somebodys == later.is_somebodys and self.session == later.session


@dataclass(slots=True)
class Seen:
    """A change on the disk of an open document, and whose it is."""

    legs: Sequence[Leg]
    start: str
    """What the file said before it, compared form."""
    taken: str
    """The file's text that the editor has taken over by now, compared form: `start`, or a later one. Where the mirror differs from it, that is
    the user's work."""
    review: ReviewThen
    """The mirror before it, and what was under review there."""
    changes: Sequence[ChangeSet] | None
    """One for each leg, the first from the text of `review`. None: they conflict with the user's unsaved work."""
    writes: int
    """Agents' edits through the editor at that time."""
    saves: int
    """The document's saves until then."""
    passed: Sequence[tuple[str, int]] = ()
    """What the file said after `start` (compared form), and when it had become so; the last is what it says."""
    saved: str | None = None
    """What the file said right before the change (compared form), if somebody had saved that on top of `start` and the change's author had not read it."""
    file: Noted | None = None
    """What the file said before the change, and what was under review there, if the document said something else."""
    was_told: bool = False
    """A save of what the mirror said then was told, and nobody saw its bytes: somebody has written over them."""
    counted: bool = False
    """The document was opened again meanwhile with what the file said after it, and all of it was counted then."""

    @property
    def last(self) -> Leg:
        """The last that is somebody's to review; the last, when none is."""
        return next((leg for leg in reversed(self.legs) if leg.author is not None), self.legs[-1])

    def in_file(self) -> tuple[str, Sequence[Leg]]:
        """The change of the file itself: the text before it, and its legs. For callers that do not start from the mirror's text."""
        return (self.start, self.legs) if self.saved is None else (self.saved, [self.last])

    def left(self) -> list[Leg]:
        """The legs that the editor has not taken over."""
        taken = max((n + 1 for n, leg in enumerate(self.legs) if leg.after == self.taken), default=0)
        return list(self.legs[taken:])


def has(before: str, now: str, texts: Sequence[str]) -> bool:
    """Whether the mirror has one of the texts that the file said after `before` (all in the compared form), with what the user typed."""
    found = (merge(before, now, text) for text in texts)
    return any(not isinstance(merged, Conflict) and merged.changes.is_empty for merged in found)


def taken_from(before: str, now: str, texts: Iterable[str]) -> str:
    """The last of these texts that the mirror has; `before` when it has none of them."""
    return next((text for text in reversed(list(texts)) if has(before, now, [text])), before)


def on_top(raw: str, before: str, legs: Sequence[Leg]) -> list[ChangeSet] | None:
    """What the legs from `before` (compared form) change in a mirror that says `raw`; None: they conflict."""
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
    """Legs that cannot be told apart, as one. If the author of one of them is unknown, so is that of the whole."""
    unknown = (leg for leg in legs if leg.part is not None and leg.part.session is None)
    known = (leg for leg in reversed(legs) if leg.part is not None)
    leg = next(unknown, None) or next(known, legs[-1])
    return replace(leg, after=legs[-1].after, at=legs[-1].at)


def changes_of(before: str, after: str) -> ChangeSet:
    """From one raw text to the other."""
    if before:
        return diff(before, after)
    return ChangeSet.of(0, (Edit(0, 0, after),) if after else ())


def raw_before(text: str, now: str) -> str:
    """`text`, in the line ends of what the file says now."""
    return without(diff(normal(text), normal(now)), Normal(now), normal(text))


def without(changes: ChangeSet, now: Normal, before: str) -> str:
    """The raw text before `changes` led from `before` to `now` (both in the compared form)."""
    back = now.changes_in_raw(changes.invert(before))
    return back.apply(now.raw)
