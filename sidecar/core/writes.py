"""plan_write: turns an agent's whole-file write into a change of the current text.

A write says "make the file this", but it means "make the changes that lead from what I saw to this". `plan_write` finds the text that the agent
saw, the base, and merges the change into the current text. The rule, in full:

1. If the current text equals the sent text, there is nothing to do.
2. The base is the newest text that the agent's model was shown or sent itself, whatever it knew before: an agent that is
   shown a text and then sends a change of it means that change. A text that the model only may have seen is *doubtful*: the agent's
   program read it just before the write, or the disk held it and a tool may have read it there. Without doubtful texts the rule ends here.
3. Nobody sends unchanged what they read, so a doubtful text that equals the sent text is not the base. If the disk held it, the
   agent most likely put it there itself. Then texts that came to the disk only later are not the base either, and the sent text
   is no evidence for rule 4.
4. Knowledge has a direction. The agent knows lines and parts of lines that only one of two texts has from that text. They count as
   *known* if the sent text has them at the same place: next to something else that it has from this text. If at least half of
   what only one text has is known, in lines and in characters, and less than half of what only the other has, the
   other is not the base. A text that only the program read, or that a call which asked us for some of its lines may have read on the disk, is not
   the base if nothing that only it has was sent.
5. If several texts are left, all of them count. A conflict from one of them is a conflict. Otherwise the plan that removes no line
   which another plan leaves is used. If there are several, the one that repeats the fewest lines of the current text is used: an agent that
   sends a line has most likely read it. There may be no such plan, or it may not be the plan of the text from rule 2 although some of what
   only that text has is known. Then what the agent meant cannot be decided: a conflict.

An agent without any base never saw the document: everything in it counts as somebody else's work.

Pure: candidates and texts are in the compared form of `core.normal`. `core.belief` knows which texts are candidates; `workspace/files` carries
the plan out (which door, journal, verification, saving).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.hunks import line_hunks
from sidecar.core.knowledge import SentText
from sidecar.core.merge import Conflict, ConflictHunk, Merged, merge
from sidecar.core.places import Places
from sidecar.core.text import Text


@dataclass(frozen=True, slots=True)
class NoChange:
    """The text already is what the agent wants."""


@dataclass(frozen=True, slots=True)
class EditText:
    """Change the current text. `base` is the text from which the agent's change was measured."""

    made: ChangeSet | Places
    base: AnyText
    after: AnyText | None = None
    """The resulting text, if it is known without computing it."""

    @property
    def changes(self) -> ChangeSet:
        """The changes to apply to the current text."""
        return self.made.changes() if isinstance(self.made, Places) else self.made

    def places(self, current: Text) -> Places:
        """The same changes as places in `current`."""
        if isinstance(self.made, Places):
            return self.made
        after = as_text(self.made.apply(current)) if self.after is None else as_text(self.after)
        return Places.of(self.made, after)


Plan = NoChange | EditText | Conflict


def plan_write(candidates: Iterable[Candidate], current: AnyText, new: AnyText) -> Plan:
    """The smallest set of edits that makes the agent's change in `current` and keeps everybody else's work."""
    if new == current:
        return NoChange()
    shown, doubtful = _sorted(candidates)
    if not doubtful:
        return _plan(shown or "", current, new)
    sent, texts = _left(shown, doubtful, new)
    if len(texts) == 1:
        return _plan(texts[0], current, new)
    plan = _decided(sent, texts, shown, current, new)
    return NoChange() if isinstance(plan, EditText) and plan.changes.is_empty else plan


def base_of(candidates: Iterable[Candidate], current: AnyText, new: AnyText) -> AnyText:
    """The text from which `plan_write` measures `new`. If it cannot decide between several, the oldest one, which removes the least. Empty if
    there is none."""
    shown, doubtful = _sorted(candidates)
    sent, texts = _left(shown, doubtful, new)
    if len(texts) == 1:
        return texts[0]
    plan = _decided(sent, texts, shown, current, new)
    return texts[-1] if isinstance(plan, Conflict) else plan.base


def conflict_of(
    candidates: Iterable[Candidate], current: AnyText, new: AnyText
) -> tuple[str, Conflict] | None:
    """If `plan_write` finds a conflict: the base from which `new` conflicts with `current`, and the conflict. Otherwise None."""
    shown, doubtful = _sorted(candidates)
    for text in map(str, _left(shown, doubtful, new)[1]):
        merged = merge(text, str(current), str(new))
        if isinstance(merged, Conflict):
            return text, merged
    return None


def _sorted(candidates: Iterable[Candidate]) -> tuple[AnyText | None, list[Candidate]]:
    """Rule 2: the newest text that the model was shown, and the doubtful texts, newest first. A text that the disk held appears as often as it
    came there."""
    shown: AnyText | None = None
    doubtful: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: c.serial, reverse=True):
        if candidate.is_certain:
            shown = candidate.text if shown is None else shown
        elif candidate.from_disk or all(one.from_disk or candidate.text != one.text for one in doubtful):
            doubtful.append(candidate)
    return shown, doubtful


def _left(
    shown: AnyText | None, doubtful: Sequence[Candidate], new: AnyText
) -> tuple[SentText | None, list[AnyText]]:
    """Rules 3 and 4: the texts that may be the base, the one from rule 2 first, and the evidence about them."""
    itself = next((i for i, c in enumerate(doubtful) if c.from_disk and c.text == new), None)
    sent = SentText(new)
    texts = [] if shown is None else [shown]
    texts += [
        c.text
        for i, c in enumerate(doubtful)
        if c.text not in (shown, new)
        and not (c.from_disk and itself is not None and i < itself)
        and ((c.from_disk and not c.has_asked_us) or shown is None or sent.hints_at(c.text, shown))
    ]
    texts = [text for i, text in enumerate(texts) if text not in texts[:i]]
    if itself is not None or len(texts) < 2:
        return None, texts or [""]
    proven = {(a, b): sent.shows(a, b) for a in texts for b in texts if a is not b}
    left = [b for b in texts if not any(a is not b and proven[a, b] and not proven[b, a] for a in texts)]
    return sent, left or texts


def _decided(
    sent: SentText | None, texts: Sequence[AnyText], shown: AnyText | None, current: AnyText, new: AnyText
) -> EditText | Conflict:
    """Rule 5. The plan it returns may change nothing."""
    plans: list[EditText] = []
    for text in texts:
        match _plan(text, current, new):
            case Conflict() as conflict:
                return conflict
            case NoChange():
                plans.append(EditText(ChangeSet(len(current)), text))
            case EditText() as plan:
                plans.append(plan)
    taken = [[_more_taken(current, plan, other) for other in plans] for plan in plans]
    leaving = [i for i, more in enumerate(taken) if not any(more)]
    if not leaving:
        return next(more for more in taken[0] if more)
    best = leaving[0] if len(leaving) == 1 else min(leaving, key=lambda i: _repeated(current, plans[i]))
    dropped = taken[0][best]
    if dropped and sent and texts[0] == shown and sent.hints_at(texts[0], texts[best]):
        return dropped
    return plans[best]


def _plan(base: AnyText, current: AnyText, new: AnyText) -> Plan:
    if base == current:
        return EditText(_difference(current, new), base, new)
    merged = merge(str(base), str(current), str(new))
    match merged:
        case Merged():
            return NoChange() if merged.changes.is_empty else EditText(merged.changes, base)
        case Conflict():
            return merged


def _difference(old: AnyText, new: AnyText) -> ChangeSet | Places:
    if isinstance(old, str) and isinstance(new, str):
        return diff(old, new)
    return Places.between(as_text(old), as_text(new))


def _more_taken(current: AnyText, plan: EditText, otherwise: EditText) -> Conflict | None:
    """The places where `plan` removes lines from `current` that `otherwise` leaves there; None if there are none."""
    current = str(current)
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


def _repeated(current: AnyText, plan: EditText) -> int:
    """How many lines `plan` adds that `current` already has."""
    was = Counter(_lines(str(current)))
    more = Counter(_lines(str(plan.changes.apply(current)))) - was
    return sum(count for line, count in more.items() if line and line in was)


def _lines(text: str) -> list[str]:
    """The lines without their ends and the blanks around them. The last line of a text may have no end and still be the same line as one with
    an end in another text; and agents change indentation."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]
