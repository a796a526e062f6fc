"""misapplied: finds an edit of ours that an editor made at the wrong place, and the text without it.

Some editors do not compare versions (lsp-mode), or compare with a version they have not announced yet (eglot 1.17, within its 500 ms). They apply the
positions that were sent to the text they have at that moment. The mirror then receives the user's typing and, later, our edits at exactly the lines and
columns that were sent. This module looks for that run of edits and inverts it over everything that came after it.

A run is recognised by its effect, not by the number of steps in which the editor reports it. Changes that together turn one state into what our edits
make of it are ours, provided that they lose nothing on the way: text that one of them inserts and a later one removes is somebody's typing, and then
they are not all ours. (Neovim reports the deletion of a file's last lines as two changes: the lines' text, then the line end.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecar.core.change import ChangeSet, Edit, changes_as_steps
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.led_to import states
from sidecar.core.lineends import expand, fold
from sidecar.core.text import Position, Text


@dataclass(frozen=True, slots=True)
class Separated:
    """The result of taking our edits out. `without` is the current text without our edits and with everything else."""

    without: str
    is_undone: bool = False
    """The user has already taken our edits back: `without` is the current text."""
    reached_into: bool = False
    """Later changes touched the same lines as our edits, so a person should look at the result."""


def separate(
    before: Text,
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
) -> Separated | None:
    """The text without our edits; None if they are not found.

    `received`: all edits since `before`, each on the text that the one before left. What our edits removed comes back, what they inserted goes, and
    everything inserted later stays, even in the middle of it."""
    texts = states(before, received)
    run = _run(texts, sent, received, coordinates)
    if run is None:
        return None
    # The user may have undone and redone them: the last state counts.
    around = texts[run.first], texts[run.end]
    stood = max(i for i in range(run.end, len(texts)) if texts[i] in around)
    if texts[stood] == texts[run.first]:
        return Separated(str(texts[-1]), is_undone=True)
    return taken_out(str(texts[run.first]), run.edits, received[stood:])


@dataclass(frozen=True, slots=True)
class Attempt:
    """The edits of one request and what followed: the edits `received`, starting from `before`."""

    before: Text
    sent: Sequence[TextEdit]
    received: Sequence[Edit]


def separate_all(attempts: Sequence[Attempt], coordinates: Coordinates) -> Separated | None:
    """The text without any of our edits, for when the edits that were to put the first one right were made at a wrong place too. None if one of them
    is not found. Each attempt began with the text that the one before it left.

    Works backwards from the last attempt: the text without it is what followed on the attempt before."""
    later: Sequence[Edit] = ()
    found: Separated | None = None
    reached_into = False
    for attempt in reversed(attempts):
        found = separate(attempt.before, attempt.sent, [*attempt.received, *later], coordinates)
        if found is None:
            return None
        reached_into = reached_into or found.reached_into
        later = changes_as_steps(diff(str(attempt.before), found.without))
    return None if found is None else Separated(found.without, found.is_undone, reached_into)


def overwrites(
    before: Text,
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
    *,
    meant: Text | None = None,
) -> bool:
    """Whether our edits were made on another text than they were `meant` for (by default `before`). If `received` leads to the expected text all the
    same, our edits overwrote the difference: somebody's typing or, in a document that was closed and opened again meanwhile, the text on the disk."""
    meant = before if meant is None else meant
    if not received or (len(received) < 2 and meant is before):
        return False
    texts = states(before, received)
    run = _run(texts, sent, received, coordinates)
    if run is None or (run.first == 0 and meant is before):
        return False
    there = texts[run.first]
    return there != meant and fold(str(there)) != fold(str(meant))


def puts_back(
    there: Text,
    made: ChangeSet,
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
    *,
    meant: Text,
) -> bool:
    """Whether `received` has our edits, on the lines that they were `meant` for, only after everything that `made`, the same edits, had done in `there`
    was taken out: the user undid and redid it, or the editor took the file's text and we gave back what that lacked."""
    texts = states(there, received)
    run = _run(texts, sent, received, coordinates)
    if run is None or not _has_lines(texts[run.first], sent, meant):
        return False
    left, growth = list[tuple[int, int]](), 0
    for edit in made.edits:
        left.append((edit.start + growth, edit.start + growth + len(edit.new)))
        growth += edit.growth
    for newer in received[: run.first]:
        left = [moved for span in left if (moved := _untouched(*span, newer)) is not None]
    return not left


def _has_lines(text: Text, sent: Sequence[TextEdit], meant: Text) -> bool:
    """Whether the lines that our edits are on are the same in both texts."""
    lines = {line for edit in sent for line in range(edit.start.line, edit.end.line + 1)}
    most = min(text.line_count, meant.line_count)
    return all(line < most and text.line(line) == meant.line(line) for line in lines)


def _untouched(start: int, end: int, edit: Edit) -> tuple[int, int] | None:
    """Where that part of a text is after the edit; None if the edit has touched it."""
    if start == end == edit.start == edit.end:
        return None  # what stood there before it was deleted is back
    if edit.end <= start:
        return start + edit.growth, end + edit.growth
    return (start, end) if edit.start >= end else None


def made_on(text: Text, sent: Sequence[TextEdit], coordinates: Coordinates) -> ChangeSet | None:
    """The changes that an editor makes when it applies our edits to `text`. None if they would overlap there."""
    edits = [
        Edit(
            coordinates.offset_at(text, edit.start),
            coordinates.offset_at(text, edit.end),
            edit.new_text,
        )
        for edit in sent
    ]
    try:
        return ChangeSet.of(len(text), sorted(edits, key=lambda e: (e.start, e.end)))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Run:
    """Our edits are `received[first:end]`. `edits` are the same edits one after the other, as they were made."""

    first: int
    end: int
    edits: Sequence[Edit]


def _run(
    texts: Sequence[Text],
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
) -> _Run | None:
    """Where our edits are in `received`: one after the other, in either order, or reported in any other number of steps. Edits that only remove text
    look like many others. If they may be at several places, the last one counts, because an editor reports its own earlier changes before our edit."""
    takes_away = not any(edit.new_text for edit in sent)
    found = _run_from(0, texts, sent, received, coordinates)
    while takes_away and found is not None:
        later = _run_from(found.end, texts, sent, received, coordinates)
        if later is None:
            break
        found = later
    return found


def _run_from(
    start: int,
    texts: Sequence[Text],
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
) -> _Run | None:
    """The first such place at or after `start`."""
    for first in range(start, len(received)):
        end = first + len(sent)
        for order in (list(reversed(sent)), list(sent)) if end <= len(received) else ():
            run = received[first:end]
            if all(_same(texts[first + i], order[i], edit, coordinates) for i, edit in enumerate(run)):
                return _Run(first, end, run)
        found = _made_in_steps(texts, first, sent, received, coordinates)
        if found is not None:
            return found
    return None


def _made_in_steps(
    texts: Sequence[Text],
    first: int,
    sent: Sequence[TextEdit],
    received: Sequence[Edit],
    coordinates: Coordinates,
) -> _Run | None:
    """The fewest changes from `first` on that together do what our edits do and lose nothing on the way."""
    text = texts[first]
    made = _made(text, sent, coordinates)
    for end in range(first + 1, len(received) + 1):
        for changes in made:
            if (
                changes.new_length == len(texts[end])
                and _is_put(text, changes, texts[end])
                and texts[end].says(changes.apply(text))
                and not _loses(len(text), received[first:end])
            ):
                return _Run(first, end, tuple(reversed(changes.edits)))
    return None


_NEAR = 16
"""Code points behind a change that are compared first."""


def _is_put(text: Text, changes: ChangeSet, after: Text) -> bool:
    """Whether `after` has the results of `changes` at their places. This costs less than comparing whole texts."""
    grown = 0
    nexts = [*(edit.start for edit in changes.edits[1:]), len(text)]
    for edit, then in zip(changes.edits, nexts, strict=False):
        there = edit.new + text.slice(edit.end, min(edit.end + _NEAR, then))
        start = edit.start + grown
        if after.slice(start, min(start + len(there), len(after))) != there:
            return False
        grown += edit.growth
    return True


def _made(text: Text, sent: Sequence[TextEdit], coordinates: Coordinates) -> list[ChangeSet]:
    """The changes that editors may make when they apply our edits to `text`. Some insert their own line ends."""
    spelled = [
        sent,
        *([replace(e, new_text=expand(e.new_text, end)) for e in sent] for end in ("\n", "\r\n")),
    ]
    different = {tuple(edit.new_text for edit in edits): edits for edits in reversed(spelled)}.values()
    made = (made_on(text, edits, coordinates) for edits in different)
    return [changes for changes in made if changes is not None]


def _loses(length: int, steps: Sequence[Edit]) -> bool:
    """Whether a later one of `steps` removes text that an earlier one inserted, even if it stood there before: an undo does that. `length`: of the
    text before the first one, in code points."""
    left = sum(len(edit.new) for edit in _composed(length, steps).edits)
    return left < sum(len(step.new) for step in steps)


_TOGETHER = 50_000
"""Code points. What was typed into our edit is looked for in a stretch of the text up to this long."""


def typed_into(before: Text, changes: ChangeSet, received: Sequence[Edit]) -> list[Edit] | None:
    """What was typed into the result of `changes`, if `received` is exactly that together: an editor that sends whole texts after a pause tells both as
    one change. None if it may be anything else: something of ours is missing, or we inserted too little to be recognised."""
    if sum(len(edit.new) for edit in (*changes.edits, *received)) > _TOGETHER:
        return None
    if not any(len(edit.new.strip()) > 1 for edit in changes.edits):
        return None
    told = _composed(len(before), received)
    if told.is_empty:
        return None
    start = min(told.edits[0].start, changes.edits[0].start)
    end = max(told.edits[-1].end, changes.edits[-1].end)
    length = end - start
    if length > _TOGETHER:
        return None
    ours, both = (
        ChangeSet.of(length, [Edit(e.start - start, e.end - start, e.new) for e in one.edits]).apply(
            before.slice(start, end)
        )
        for one in (changes, told)
    )
    typed = diff(ours, both).edits
    if any(edit.start != edit.end for edit in typed):
        return None
    return [Edit(start + edit.start, start + edit.end, edit.new) for edit in reversed(typed)]


def looks_applied(sent: Sequence[TextEdit], received: Sequence[Edit]) -> bool:
    """Whether some of our text seems to be among what was received, even if not as we sent it."""
    arrived = fold("".join(edit.new for edit in received))
    return any(
        len(new) > 1 and new in arrived for new in (fold(edit.new_text).strip() for edit in sent)
    ) or any(not edit.new_text and any(not r.new for r in received) for edit in sent)


def _same(text: Text, sent: TextEdit, edit: Edit, coordinates: Coordinates) -> bool:
    return (
        fold(sent.new_text) == fold(edit.new)
        and _is_at(text, edit.start, sent.start, coordinates)
        and _is_at(text, edit.end, sent.end, coordinates)
    )


def _is_at(text: Text, offset: int, place: Position, coordinates: Coordinates) -> bool:
    """Whether an editor may take `place` for `offset`. If it lies behind the end of a line, that end is meant. For an editor to which "\r" is an
    ordinary character, the end is one character further."""
    at = coordinates.offset_at(text, place)
    if offset == at:
        return True
    return (
        coordinates.lf_lines
        and offset == at + 1
        and text.slice(at, min(at + 2, len(text))) == "\r\n"
        and text.position_at(at, coordinates.encoding).character < place.character
    )


def taken_out(text: str, ours: Sequence[Edit], later: Sequence[Edit]) -> Separated:
    """The text with `later` and without `ours`. `ours` were made on `text`, then `later`, each edit on the text that the one before left."""
    changes = _composed(len(text), ours)
    after = changes.apply(text)
    inverse = changes.invert(text)
    newer = _smallest(after, _composed(len(after), later))
    now = newer.apply(after)
    taken = ChangeSet.of(len(after), [Edit(e.start, e.end, "") for e in inverse.edits if e.start < e.end])
    lines = [(_moved(y, newer), edit) for edit in inverse.edits for y in _lines_in_a_tear(after, edit, newer)]
    taken = _and_those(taken.map(newer), [line for line, _ in lines])
    without = taken.apply(now)
    back: list[Edit] = []
    for line, edit in lines:
        torn = taken.map_offset(newer.map_offset(edit.start, -1), -1)
        at = max(without.rfind(end, 0, torn) for end in "\r\n") + 1
        back.append(Edit(at, at, line.new))
    for edit in inverse.edits:
        # If a line was torn in the middle, the part that comes back stays beside the part that was left.
        behind = _goes_on(after, edit.end, edit.new) and not _goes_on(edit.new, 0, after[: edit.start])
        at = newer.map_offset(edit.end, 1) if behind else newer.map_offset(edit.start, -1)
        at = taken.map_offset(at, 1 if behind else -1)
        if edit.new:
            back.append(Edit(at, at, edit.new))
    for edit in sorted(back, key=lambda e: e.start)[::-1]:
        without = without[: edit.start] + edit.new + without[edit.end :]
    return Separated(without, reached_into=any(_meet(x, y) for x in inverse.edits for y in newer.edits))


def _lines_in_a_tear(after: str, inverse: Edit, newer: ChangeSet) -> list[Edit]:
    """The whole lines that the user typed between the two parts of a line that our edit tore apart. `inverse` joins the parts again; these lines
    then stand before the joined line."""
    head, tail = after[: inverse.start], after[inverse.end :]
    if not (_goes_on(tail, 0, inverse.new or head) and _goes_on(inverse.new or tail, 0, head)):
        return []
    return [
        edit
        for edit in newer.edits
        if inverse.start < edit.start == edit.end <= inverse.end
        and after[edit.start - 1] in "\r\n"
        and edit.new[-1] in "\r\n"
    ]


def _moved(edit: Edit, changes: ChangeSet) -> Edit:
    """The text inserted by `edit`, one of `changes`, at its place after all of them."""
    at = edit.start + sum(one.growth for one in changes.edits if one.start < edit.start)
    return Edit(at, at + len(edit.new), edit.new)


def _and_those(taken: ChangeSet, places: Sequence[Edit]) -> ChangeSet:
    """`taken`, which only removes text, extended by these places."""
    if not places:
        return taken
    kept = bytearray(b"\1") * taken.length
    for edit in (*taken.edits, *places):
        kept[edit.start : edit.end] = bytes(edit.end - edit.start)
    return ChangeSet.of(taken.length, [Edit(m.start(), m.end(), "") for m in re.finditer(rb"\0+", kept)])


def _goes_on(text: str, at: int, before: str) -> bool:
    """Whether `text` from `at` on continues the line that `before` ends with."""
    return bool(before) and before[-1] not in "\r\n" and at < len(text) and text[at] not in "\r\n"


def _meet(x: Edit, y: Edit) -> bool:
    if y.start == y.end:
        return x.start < y.start < x.end
    return x.start < y.end and y.start < x.end


def _smallest(text: str, changes: ChangeSet) -> ChangeSet:
    """The same changes without text that is removed and inserted again."""
    edits = [
        Edit(edit.start + small.start, edit.start + small.end, small.new)
        for edit in changes.edits
        for small in diff(text[edit.start : edit.end], edit.new).edits
    ]
    return ChangeSet.of(len(text), edits)


def _composed(length: int, edits: Sequence[Edit]) -> ChangeSet:
    changes = ChangeSet.of(length, ())
    for edit in edits:
        changes = changes.compose(ChangeSet.of(changes.new_length, (edit,)))
    return changes
