"""plan: reverts writes of one file, as texts. Pure.

Only writes that are still in the file count. They are reverted one after another, newest first: merge(base = text after the write, ours = current
text, theirs = text before it). Later work stays. If later work overlaps a write, the write is combined with the one that it follows, and so on; if
that overlaps too, nothing is reverted. Files that a write created or removed are reverted only if nobody has worked in them since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecar.core.change import ChangeSet
from sidecar.core.merge import Conflict, ConflictHunk, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.taken_back import Write, as_one, take_out
from sidecar.journal.entry import Texts


@dataclass(frozen=True, slots=True)
class Becomes:
    """The file's text after the revert. None: remove the file."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Already:
    """The file already has the reverted text."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Later work overlaps. The `start_line` of each place counts in the file's current text."""

    places: tuple[ConflictHunk, ...]


@dataclass(frozen=True, slots=True)
class Stands:
    """The writes cannot be reverted automatically. `why` is the reason, as a message."""

    why: str


RevertPlan = Becomes | Already | Clash | Stands


def take_back(now: str | None, writes: Sequence[Texts]) -> RevertPlan:
    """Plan the revert of `writes` (raw texts, newest first) in a file whose text is `now` (None: it does not exist)."""
    exact = as_one(now, writes)
    if exact is not None:
        before = exact[0]
        return Becomes(before) if now != before else Already()
    text = _Text(now)
    stopped = take_out(writes, text.says, text.without)
    if stopped is not None:
        return stopped
    after = text.says()
    return Already() if after == now else Becomes(after)


class _Text:
    """The text of a file in which writes are being reverted."""

    def __init__(self, raw: str | None) -> None:
        self.now = None if raw is None else Normal(raw)
        self._first = self.now
        self._changes = ChangeSet(0 if self.now is None else len(self.now.text))
        """The changes from the first text to the current one, in the compared form. Used only to find line numbers."""

    def says(self) -> str | None:
        return None if self.now is None else self.now.raw

    def without(self, write: Write) -> Clash | Stands | None:
        """Revert one write, or several combined. Returns None on success, otherwise why not."""
        now = None if self.now is None else self.now.text
        before, after = (None if text is None else normal(text) for text in write)
        if now == before:
            return None
        if before is None:  # the write created the file
            if now != after:
                return Stands(
                    "the agent created it and it was edited since; remove it yourself if you do not need it"
                )
            self._is_another(None)
        elif self.now is None:
            if after is not None:
                return Stands("it was removed since")
            self._is_another(write[0])
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
        """Return the hunk with its line number in the file as the user sees it."""
        if self.now is None or self._first is None or self._changes.is_empty:
            return hunk
        offset = sum(len(line) + 1 for line in self.now.text.split("\n")[: hunk.start_line])
        back = self._changes.invert(self._first.text)
        offset = back.map_offset(min(offset, back.length))
        return replace(hunk, start_line=self._first.text.count("\n", 0, offset))
