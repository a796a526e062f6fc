"""plan_write: what an agent's whole-file write means for the text as it is now.

Pure: given the candidates for its base, the true text and the new one, all in the compared form of `core.normal`, it
returns the plan. Carrying it out (which door, journal, verification, saving) is `workspace.writes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.merge import Conflict, Merged, merge


@dataclass(frozen=True, slots=True)
class NoChange:
    """The text already says what the agent wants."""


@dataclass(frozen=True, slots=True)
class EditText:
    """Apply `changes` to the current text; `base` is the text the agent's change was measured from."""

    changes: ChangeSet
    base: str


Plan = NoChange | EditText | Conflict


def plan_write(candidates: Iterable[Candidate], current: str, new: str) -> Plan:
    """The smallest set of edits that brings the agent's change into `current` and keeps everybody else's.

    Without any candidate the agent never saw the document: then everything in it counts as somebody else's work."""
    if new == current:
        return NoChange()
    base = closest(candidates, new)
    if base == current:
        return EditText(diff(current, new), base)
    merged = merge(base, current, new)
    match merged:
        case Merged():
            return NoChange() if merged.changes.is_empty else EditText(merged.changes, base)
        case Conflict():
            return merged


def closest(candidates: Iterable[Candidate], new: str) -> str:
    """The candidate with the smallest difference to `new`, the newest among equals; "" when there is none.

    An agent that read through its shell sends the disk's text plus its edit, one that read through us sends the buffer's:
    the smaller difference tells which."""
    best: tuple[int, int] | None = None
    text = ""
    seen: set[str] = set()
    for candidate in sorted(candidates, key=lambda c: -c.serial):
        if candidate.text in seen:
            continue
        seen.add(candidate.text)
        rank = (_size(diff(candidate.text, new)), -candidate.serial)
        if best is None or rank < best:
            best, text = rank, candidate.text
    return text


def _size(changes: ChangeSet) -> int:
    return sum(e.end - e.start + len(e.new) for e in changes.edits)
