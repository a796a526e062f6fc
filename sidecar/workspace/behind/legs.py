"""Legs: the way of a file's text from what it said to what it says, in pieces of which each is somebody's or nobody's; and what they change
in a mirror that has unsaved work besides.
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
    """One after the other, they lead from what the file said to what it says."""

    after: str
    """Compared form."""
    at: int
    """When the file had become so; see acts.py."""
    part: Part | None = None
    """None: it is nobody's to review. An editor may reload all of a text, or many lines at once: what was changed there is told by the texts."""
    author: Author | None = None
    """Once it is journalled."""

    @property
    def is_somebodys(self) -> bool:
        return self.part is not None

    @property
    def session(self) -> Session | None:
        return None if self.part is None else self.part.session

    def is_with(self, later: Leg) -> bool:
        """Whether both are the same one's."""
        return self.is_somebodys == later.is_somebodys and self.session == later.session


@dataclass(slots=True)
class Seen:
    """A change on the disk of an open document, and whose it is."""

    legs: Sequence[Leg]
    start: str
    """What the file said before it, compared form."""
    taken: str
    """What the editor has of the file by now, compared form: `start`, or what it has taken from there since. What differs from that in the mirror
    is the user's."""
    review: ReviewThen
    """The mirror before it, and what was under review there."""
    changes: Sequence[ChangeSet] | None
    """A leg's each, the first of that; None: they do not go together with what the user has not saved."""
    writes: int
    """Agents' edits through the editor at that time."""
    saves: int
    """The document's saves until then."""
    passed: Sequence[tuple[str, int]] = ()
    """What the file said after `start` (compared form), and when it had become so; the last is what it says."""
    saved: str | None = None
    """What the file said last, where that was saved on top of `start`, and its author had not read it (compared form)."""
    file: Noted | None = None
    """What the file said before it where the document did not, and what was under review there."""

    @property
    def last(self) -> Leg:
        """The last that is somebody's to review; the last, when none is."""
        return next((leg for leg in reversed(self.legs) if leg.author is not None), self.legs[-1])

    def in_file(self) -> tuple[str, Sequence[Leg]]:
        """From what on, and whose the change of the file itself is, for whoever does not go on with what the mirror says."""
        return (self.start, self.legs) if self.saved is None else (self.saved, [self.last])

    def left(self) -> list[Leg]:
        """The legs of what the editor has not taken."""
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
    """What the legs from `before` (compared form) change in a mirror that says `raw`; None: it does not go together."""
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
    """Where they cannot be told apart, it is not known whose they are as soon as that is so of one of them."""
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
