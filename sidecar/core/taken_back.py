"""taken_back: which writes of one file are still in it, which of them are taken back as one, and what that leads to. Pure.

A write is a pair of texts, before and after it, raw; None where there was no file. Writes come newest first. Texts are compared in the
form of core.normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal

Write = tuple[str | None, str | None]
T = TypeVar("T")


def still_in(now: str | None, writes: Sequence[Write]) -> Sequence[Write]:
    """`writes` without the newest ones that never got into the file or are out of it already.

    The texts after and before each write, newest first, are what the file has said. The first of them that it says now tells which writes
    are in it. If it says none of them, somebody has worked in it since, and every write counts. This matters for writes whose outcome is
    unknown, such as an edit that was on its way when the sidecar ended: taken back although it was never made, it would be a conflict."""
    current = None if now is None else normal(now)
    for number, (before, after) in enumerate(writes):
        if _says(after, current):
            return writes[number:]
        if _says(before, current):
            return writes[number + 1 :]
    return writes


def without_gone(write: Write, gone: Sequence[Write]) -> Write:
    """The write as it would have been made had those before it not been, which are taken back by now. `gone`: these writes, newest first. Those that
    were out of the text before this write was made do not count.

    What is taken back stays so: a write that had replaced or removed another's work, which was taken back since, does not bring that work back. One
    that made a file where another had removed one, which was taken back since, has changed that one."""
    before, after = write
    without = before
    for older in gone:
        if without is None:
            without = older[0] if older[1] is None else None
        elif _has(without, older):
            without = None if older[0] is None or older[1] is None else less(without, older[1], older[0])
    if before is None or without is None or after is None:
        return without, after
    return without, less(after, before, without)


def less(text: str, after: str, before: str) -> str:
    """`text` (raw) without what led from `before` to `after`; as it is, where others have replaced that."""
    if text == after:
        return before
    now = Normal(text)
    merged = merge(normal(after), now.text, normal(before))
    return text if isinstance(merged, Conflict) else now.changes_in_raw(merged.changes).apply(text)


def joined(writes: Sequence[Write], apart: int = 0) -> list[Write]:
    """Writes that begin with the text that the one before them left, as one; the newest `apart` of them stand alone."""
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
    """Takes the writes that are still in a text out of it, one after another: each where it is there. One on which others' work lies is taken out as one
    with the one before it that it follows, and so on.

    `now`: what the text says; `less`: takes one write out of it, or says why it cannot. → why not; then some may be out."""
    for run in _runs(still_in(now(), writes)):
        after, stopped = None, None
        for write in still_in(now(), run):
            after = write[1] if stopped is None else after
            stopped = less((write[0], after))
        if stopped is not None:
            return stopped
    return None


def _runs(writes: Sequence[Write]) -> list[list[Write]]:
    """Those that follow one another.

    Two that begin with the same text were both made on top of what had led to it: the older one was out by then, or its editor had it unsaved. So it does
    not follow what is beneath it."""
    found: list[list[Write]] = []
    for write in writes:
        begins = [run[-1][0] for run in found[-2:]]
        if begins and _same(begins[-1], write[1]) and not (len(begins) == 2 and _same(*begins)):
            found[-1].append(write)
        else:
            found.append([write])
    return found


def _has(text: str, write: Write) -> bool:
    """Whether what the write made is in `text`."""
    before, after = write
    if before is None or after is None:
        return after is not None and _same(
            text, after
        )  # else others have worked in the file, which is theirs, too
    merged = merge(normal(before), normal(text), normal(after))
    return not isinstance(merged, Conflict) and merged.changes.is_empty


def _says(text: str | None, current: str | None) -> bool:
    return current is None if text is None else text == current or normal(text) == current


def _same(a: str | None, b: str | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or normal(a) == normal(b)
