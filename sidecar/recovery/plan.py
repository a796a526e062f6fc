"""plan: taking writes of one file back, as texts. Pure.

Only writes that are still in the file count. Each run of writes that follow one another without anything in between is taken
back as one, newest run first: merge(base = text after it, ours = text now, theirs = text before it). Later work stays; where it
is in the way nothing at all is done. Files that a write made or removed are taken back only while nobody has worked in them since.
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
    """What the file is to say; None: it is to be removed."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Already:
    """The file says so already."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Later work is in the way. `start_line` of each place counts in the file's text now."""

    places: tuple[ConflictHunk, ...]


@dataclass(frozen=True, slots=True)
class Stands:
    """It cannot be taken back by itself, for a reason in words."""

    why: str


Plan = Becomes | Already | Clash | Stands


def take_back(now: str | None, writes: Sequence[Texts]) -> Plan:
    """What taking `writes` (raw texts, newest first) back makes of a file that says `now` (None: there is none)."""
    runs = [Texts(*run) for run in joined(still_in(now, writes))]
    if len(runs) == 1 and now is not None and now == runs[0].after:
        return Becomes(runs[0].before) if now != runs[0].before else Already()  # exact, line ends too
    text = _Text(now)
    for run in runs:
        stopped = text.without(run)
        if stopped is not None:
            return stopped
    after = None if text.now is None else text.now.raw
    return Already() if after == now else Becomes(after)


class _Text:
    """A file's text on its way back."""

    def __init__(self, raw: str | None) -> None:
        self.now = None if raw is None else Normal(raw)
        self._first = self.now
        self._changes = ChangeSet(0 if self.now is None else len(self.now.text))
        """From the first text to the one now, in the compared form; only for telling places."""

    def without(self, run: Texts) -> Clash | Stands | None:
        """Takes one run back; or says why not."""
        now = None if self.now is None else self.now.text
        before = None if run.before is None else normal(run.before)
        after = None if run.after is None else normal(run.after)
        if now == before:
            return None
        if before is None:  # it made the file
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
        """With the line as the user sees it in the file."""
        if self.now is None or self._first is None or self._changes.is_empty:
            return hunk
        offset = sum(len(line) + 1 for line in self.now.text.split("\n")[: hunk.start_line])
        back = self._changes.invert(self._first.text)
        offset = back.map_offset(min(offset, back.length))
        return replace(hunk, start_line=self._first.text.count("\n", 0, offset))
