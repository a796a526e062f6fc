"""plan: reverts writes of one file, as texts. Pure.

Only writes that are still in the file count. Consecutive writes with nothing in between are reverted as one run, newest
run first: merge(base = text after the run, ours = text now, theirs = text before the run). Later work stays. If it
overlaps, nothing is reverted. Files that a write created or removed are reverted only if nobody has worked in them since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecar.core.change import ChangeSet
from sidecar.core.merge import Conflict, ConflictHunk, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.taken_back import joined, still_in
from sidecar.journal.entry import Texts


@dataclass(frozen=True, slots=True)
class Becomes:
    """The file's text after the revert; None: remove the file."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Already:
    """The file already has the reverted text."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Later work overlaps. `start_line` of each place counts in the file's current text."""

    places: tuple[ConflictHunk, ...]


@dataclass(frozen=True, slots=True)
class Stands:
    """The writes cannot be reverted automatically; `why` says the reason in words."""

    why: str


Plan = Becomes | Already | Clash | Stands


def take_back(now: str | None, writes: Sequence[Texts]) -> Plan:
    """Plans the revert of `writes` (raw texts, newest first) in a file whose text is `now` (None: it does not exist)."""
    runs = [Texts(*run) for run in joined(still_in(now, writes))]
    if len(runs) == 1 and now is not None and now == runs[0].after:
        return Becomes(runs[0].before) if now != runs[0].before else Already()  # exact, line ends included
    text = _Text(now)
    for run in runs:
        stopped = text.without(run)
        if stopped is not None:
            return stopped
    after = None if text.now is None else text.now.raw
    return Already() if after == now else Becomes(after)


class _Text:
    """A file's text while writes are being reverted in it."""

    def __init__(self, raw: str | None) -> None:
        self.now = None if raw is None else Normal(raw)
        self._first = self.now
        self._changes = ChangeSet(0 if self.now is None else len(self.now.text))
        """From the first text to the current one, in the compared form. Used only to find line numbers."""

    def without(self, run: Texts) -> Clash | Stands | None:
        """Reverts one run. Returns None on success, otherwise why not."""
        now = None if self.now is None else self.now.text
        before = None if run.before is None else normal(run.before)
        after = None if run.after is None else normal(run.after)
        if now == before:
            return None
        if before is None:  # the run created the file
            if now != after:
                return Stands(
                    "the agent created it and it was edited since; remove it yourself if you do not need it"
                )
            self._is_another(None)
        elif self.now is None:
            if after is not None:
                return Stands("it was removed since")
            self._is_another(run.before)
        elif after is None:
            return Stands("the agent removed it, and a file of that name exists again")
        else:
            merged = merge(after, self.now.text, before)
            if isinstance(merged, Conflict):
                return Clash(tuple(self._in_first(hunk) for hunk in merged.hunks))
            self._changes = self._changes.compose(merged.changes)
            self.now = Normal(self.now.changes_in_raw(merged.changes).apply(self.now.raw))
        return None

    def _is_another(self, raw: str | None) -> None:
        self.now = self._first = None if raw is None else Normal(raw)
        self._changes = ChangeSet(0 if self.now is None else len(self.now.text))

    def _in_first(self, hunk: ConflictHunk) -> ConflictHunk:
        """The hunk with its line number in the file as the user sees it."""
        if self.now is None or self._first is None or self._changes.is_empty:
            return hunk
        offset = sum(len(line) + 1 for line in self.now.text.split("\n")[: hunk.start_line])
        back = self._changes.invert(self._first.text)
        offset = back.map_offset(min(offset, back.length))
        return replace(hunk, start_line=self._first.text.count("\n", 0, offset))
