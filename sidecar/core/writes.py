"""plan_write: what an agent's whole-file write means for the text as it is now.

Pure: given the candidates for its base, the true text and the new one, all in the compared form of `core.normal`, it
returns the plan. Carrying it out (which door, journal, verification, saving) is `workspace.writes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sidecar.core.align import Budget, align
from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.hunks import Hunk, common_prefix, common_suffix, line_hunks
from sidecar.core.merge import Conflict, ConflictHunk, Merged, merge

_WORK = 100_000
"""align.py's steps for measuring one candidate."""
_BY_WORDS = 50_000
"""Characters on both sides up to which differences are measured by words."""
_WORDS = re.compile(r"\w")
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoChange:
    """The text already says what the agent wants."""


@dataclass(frozen=True, slots=True)
class EditText:
    """Apply `changes` to the current text; `base` is the text the agent's change was measured from."""

    changes: ChangeSet
    base: str
    after: str | None = None
    """The text it leads to, where that is known without making it."""


Plan = NoChange | EditText | Conflict


def plan_write(candidates: Iterable[Candidate], current: str, new: str) -> Plan:
    """The smallest set of edits that brings the agent's change into `current` and keeps everybody else's.

    Without any candidate the agent never saw the document: then everything in it counts as somebody else's work. When what
    the agent sent does not tell for certain which of two texts it had seen, and one of them means a conflict, or that lines stay
    which go with the other, it is one."""
    if new == current:
        return NoChange()
    candidates = list(candidates)
    if _is_meant(candidates, current, new):
        return EditText(diff(current, new), current, new)
    # What the disk said already tells nothing about what was changed to get there: agents write there themselves and send
    # the same through us. Then what others put there since is nothing they had seen.
    known = sorted(candidates, key=lambda c: c.serial)
    itself = max((i for i, c in enumerate(known) if c.from_disk and c.text == new), default=len(known))
    # Nor does any line of it tell what they were shown.
    telling = "" if itself < len(known) else new
    known = [c for i, c in enumerate(known) if (i < itself and c.text != new) or not c.from_disk]
    base = closest(known, new)
    given = next((c.text for c in reversed(known) if not c.from_disk), None)
    disk = next((c.text for c in reversed(known) if c.from_disk), None)
    for other in (given, disk):
        if other is not None and _is_proof(other, base, telling) and not _is_proof(base, other, telling):
            base = other
    plan = _plan(base, current, new)
    if isinstance(plan, EditText):
        for other in _doubtful(known, base, telling):
            otherwise = _plan(other, current, new)
            if isinstance(otherwise, Conflict):
                return otherwise
            if isinstance(otherwise, NoChange):
                otherwise = EditText(ChangeSet(len(current)), other)
            found = _more_taken(current, plan, otherwise)
            if found is not None:
                return found
            if other != given:
                continue
            found = _more_taken(current, otherwise, plan)
            if found is None:
                plan = otherwise  # nothing tells them apart, and this we know it had
            elif _back(other, base, telling)[0]:
                return found
    if isinstance(plan, EditText) and plan.changes.is_empty:
        return NoChange()
    return plan


def conflicting_base(candidates: Sequence[Candidate], current: str, new: str) -> str | None:
    """The base from which `new` is a conflict with `current`, when `plan_write` says that it is one."""
    newest = sorted(candidates, key=lambda c: -c.serial)
    texts = _different([closest(candidates, new), *(c.text for c in newest)])
    return next((text for text in texts if isinstance(merge(text, current, new), Conflict)), None)


def closest(candidates: Iterable[Candidate], new: str) -> str:
    """The candidate with the smallest difference to `new`, the newest among equals; "" when there is none.

    An agent that read through its shell sends the disk's text plus its edit, one that read through us sends the buffer's:
    the smaller difference tells which."""
    different: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: -c.serial):
        if all(candidate.text != newer.text for newer in different):
            different.append(candidate)
    if len(different) < 2:  # the usual case, and a difference costs as much as the plan
        return different[0].text if different else ""
    return min(different, key=lambda c: (_distance(c.text, new), -c.serial)).text


def _is_meant(candidates: Sequence[Candidate], current: str, new: str) -> bool:
    """Whether the agent, which was shown the text as it is now, wants exactly a text that it knows from before: nobody writes what they
    were given, unchanged, so it is not measured from that. A write of its own it may repeat, unaware of what was done to it: only
    where the lines that go are those it had replaced then, somebody has taken it back and it is made again."""
    shown = max((c for c in candidates if not c.from_disk), key=lambda c: c.serial, default=None)
    if shown is None or shown.text != current:
        return False
    known = [c for c in candidates if not c.from_disk and c.text == new]
    own = [line for c in known for text in c.replaced or () for line in _lines(text)]
    if not any(c.replaced is not None for c in known):
        return bool(known)
    return set(_lines(current)).difference(_lines(new)) <= {*own, ""}


def _plan(base: str, current: str, new: str) -> Plan:
    if base == current:
        return EditText(diff(current, new), base, new)
    merged = merge(base, current, new)
    match merged:
        case Merged():
            return NoChange() if merged.changes.is_empty else EditText(merged.changes, base)
        case Conflict():
            return merged


def _doubtful(known: Sequence[Candidate], base: str, new: str) -> list[str]:
    """The newest text we gave and those on the disk, where the agent may have seen that and not `base`.

    A line of `base` that the other lacks, and that came back, is proof. Length alone is not: a line that was replaced
    says nothing about whose it was."""
    given = [c.text for c in known if not c.from_disk][-1:]
    texts = _different(given + [c.text for c in reversed(known) if c.from_disk])
    return [text for text in texts if text != base and not _is_proof(base, text, new)]


def _different(texts: Iterable[str]) -> list[str]:
    """Each once, in their order. There are few, and to compare them costs less than to hash them: mostly their lengths tell."""
    found: list[str] = []
    for text in texts:
        if text not in found:
            found.append(text)
    return found


def _is_proof(base: str, other: str, new: str) -> bool:
    """Whether lines of `base` that `other` lacks are in `new`, and not more of them are gone: a single one may be chance. Lines without
    words are no proof, nor are those that only have other blanks around them: agents indent. Nor are those that stand elsewhere, or
    that `new` has more often than `base`: such lines the agent writes itself."""
    back, own = _back(base, other, new)
    return 0 < own <= 2 * back


def _back(base: str, other: str, new: str) -> tuple[int, int]:
    """How many of the lines of `base` that `other` lacks are in `new`, and how many there are."""
    own = _changed_lines(other, base)
    own = {line for line in own.difference(_lines(other)) if _WORDS.search(line)} if own else own
    if not own:
        return 0, 0
    before, after = _lines(base), _lines(new)
    there, came = Counter(before), Counter(after)
    beside = _neighbours(before) & _neighbours(after)
    stands = {line for pair in beside for line in pair}
    return sum(line in stands and came[line] <= there[line] for line in own), len(own)


def _neighbours(lines: Sequence[str]) -> set[tuple[str, str]]:
    """Which line follows on which, of those with words; what is first and what is last has a neighbour there, too."""
    worded = [line for line in lines if _WORDS.search(line)]
    return set(pairwise(["", *worded, ""]))


def _more_taken(current: str, plan: EditText, otherwise: EditText) -> Conflict | None:
    """Where `plan` takes lines out of `current` that `otherwise` leaves there."""
    rest, left = plan.changes.apply(current), otherwise.changes.apply(current)
    gone = set(_lines(current)).intersection(_lines(left)).difference(_lines(rest), ("",))
    if not gone:
        return None
    found: list[ConflictHunk] = []
    for hunk in line_hunks(current, rest):
        ours = current[hunk.old_start : hunk.old_end]
        if not gone.isdisjoint(_lines(ours)):
            line = current.count("\n", 0, hunk.old_start)
            found.append(ConflictHunk(ours, ours, rest[hunk.new_start : hunk.new_end], line))
    return Conflict(tuple(found)) if found else None


def _changed_lines(old: str, new: str) -> set[str]:
    """The lines of `new` in which it differs from `old`: no other line of it can be one that `old` lacks."""
    lines: set[str] = set()
    shift = 0
    for edit in diff(old, new).edits:
        start = new.rfind("\n", 0, edit.start + shift) + 1
        shift += edit.growth
        end = new.find("\n", edit.end + shift) + 1 or len(new)
        lines.update(_lines(new[start:end]))
    return lines


def _lines(text: str) -> list[str]:
    """Without their ends and the blanks around them: the last line of a text may have no end, and be the same line with one in
    another; and agents indent."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]


def _distance(text: str, new: str) -> int:
    """Characters that went or came: by words where that is not too much work, for a line that moved sideways has not changed."""
    whole = Hunk(0, len(text), 0, len(new))
    start = common_prefix(text, new, whole)
    end = common_suffix(text, new, Hunk(start, len(text), start, len(new)))
    old, new_ = text[start : len(text) - end], new[start : len(new) - end]
    if old and new_ and len(old) + len(new_) <= _BY_WORDS:
        a = _WORD.findall(old)
        runs = align(a, _WORD.findall(new_), Budget(_WORK))
        return len(old) + len(new_) - 2 * sum(sum(map(len, a[x : x + n])) for x, _, n in runs)
    return sum(e.end - e.start + len(e.new) for e in diff(old, new_).edits)
