"""taken_back: finds which writes of one file are still in it, joins writes that are taken back as one, and computes the text without them. Pure.

A write is a pair of raw texts, before and after it; None where there was no file. Writes come newest first. Texts are compared in the form of
core.normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal

Write = tuple[str | None, str | None]
T = TypeVar("T")


def still_in(now: str | None, writes: Sequence[Write]) -> Sequence[Write]:
    """`writes` without the newest ones that never got into the file or are no longer in it.

    The texts after and before each write, newest first, are the texts that the file has had. The first of them that equals the current text tells
    which writes are in the file. If none does, somebody has worked in the file since, and every write counts. This matters for writes whose outcome is
    unknown, such as an edit that was on its way when the sidecar ended: taking it back although it was never made would be a conflict."""
    current = None if now is None else normal(now)
    for number, (before, after) in enumerate(writes):
        if _says(after, current):
            return writes[number:]
        if _says(before, current):
            return writes[number + 1 :]
    return writes


def as_one(now: str | None, writes: Sequence[Write]) -> Write | None:
    """The writes that are still in the text as one, if they led to it one after another exactly, including line ends. Otherwise only the compared form tells
    what they changed: what is found on the disk may be noted with other line ends than the file has."""
    there = still_in(now, writes)
    found = [now, *(before for before, _ in there[:-1])]
    if now is None or not there or found != [after for _, after in there]:
        return None
    return there[-1][0], now


def without_gone(write: Write, gone: Sequence[Write]) -> Write:
    """The write as it would have been made without the earlier writes that have been taken back since, `gone` (newest first). Those of them that were
    already out of the text before this write do not count.

    Work that was taken back stays out. If a write replaced or removed other work that was taken back since, taking back the write does not restore
    that work. If a write made a file where an earlier write, taken back since, had removed one, it has changed that file."""
    before, after = write
    without = before
    for older in gone:
        if without is None:
            without = older[0] if older[1] is None else None
        elif has_change(without, older):
            without = None if older[0] is None or older[1] is None else less(without, older[1], older[0])
    if before is None or without is None or after is None:
        return without, after
    return without, less(after, before, without)


def less(text: str, after: str, before: str) -> str:
    """`text` (raw) without the change from `before` to `after`. Returns `text` itself if others have replaced that change."""
    if text == after:
        return before
    now = Normal(text)
    merged = merge(normal(after), now.text, normal(before))
    return text if isinstance(merged, Conflict) else now.changes_in_raw(merged.changes).apply(text)


def joined(writes: Sequence[Write], apart: int = 0) -> list[Write]:
    """The writes, with each run of writes that begin with the text that the write before left joined into one. The newest `apart` writes stay
    separate."""
    found: list[Write] = []
    for run in _runs(writes):
        alone = min(max(apart - len(found), 0), len(run))
        found += run[:alone]
        if run[alone:]:
            found.append((run[-1][0], run[alone][1]))
    return found


def take_out(
    writes: Sequence[Write], now: Callable[[], str | None], less: Callable[[Write], T | None]
) -> T | None:
    """Take the writes that are still in a text out of it, one after another, each where it is. A write with others' work on top is taken out together
    with the write that it follows, and so on.

    `now` returns the current text. `less` takes one write out of it, or returns why it cannot. Returns None, or why a write could not be taken out;
    some may then be out."""
    for run in _runs(still_in(now(), writes)):
        after, stopped = None, None
        for write in still_in(now(), run):
            after = write[1] if stopped is None else after
            stopped = less((write[0], after))
        if stopped is not None:
            return stopped
    return None


def _runs(writes: Sequence[Write]) -> list[list[Write]]:
    """Group the writes that follow one another.

    If two writes begin with the same text, both were made on top of what had led to it: the older one was already out by then, or its editor had it
    unsaved. So the older one does not follow the write beneath it."""
    found: list[list[Write]] = []
    for write in writes:
        begins = [run[-1][0] for run in found[-2:]]
        if begins and _same(begins[-1], write[1]) and not (len(begins) == 2 and _same(*begins)):
            found[-1].append(write)
        else:
            found.append([write])
    return found


def has_change(text: str, write: Write) -> bool:
    """Whether the text contains the write's change."""
    before, after = write
    if before is None or after is None:
        return after is not None and _same(
            text, after
        )  # if not, others have worked in the file, so it is theirs too
    merged = merge(normal(before), normal(text), normal(after))
    return not isinstance(merged, Conflict) and merged.changes.is_empty


def _says(text: str | None, current: str | None) -> bool:
    return current is None if text is None else text == current or normal(text) == current


def _same(a: str | None, b: str | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or normal(a) == normal(b)
