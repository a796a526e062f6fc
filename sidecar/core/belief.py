"""Beliefs: for each agent session and document, the texts that a write of that session may be based on.

A write says "make the file this", but it means "make the changes that lead from what I saw to this". What the agent saw is
the belief: the text it was last given, or sent itself. All texts here are in the compared form of `core.normal`.

Not here: which of them a write is based on (`core.writes`), and when a text was really given (the workspace says so).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.normal import normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri

MAX_SERVED = 64
"""Reads served before the older half is worked into the belief without a write asking for it."""
MAX_EXTRA_TEXTS = 8
"""Candidates beside the belief that are kept for one session and document: the newest, the rest cannot matter much."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text a write may be based on; a larger `serial` is newer."""

    text: str
    serial: int
    from_disk: bool = False
    """Nobody gave it to the agent: it may have read it behind us."""


@dataclass(frozen=True, slots=True)
class _Served:
    """What a read gave, kept as it was until a write wants to know: reads are many, and cheap as long as nobody compares."""

    text: Text
    disk: str | None
    first: int
    count: int | None
    """None: all of it."""
    serial: int


@dataclass(slots=True)
class _Entry:
    belief: Candidate | None = None
    served: list[_Served] = field(default_factory=list[_Served])
    extra: list[Candidate] = field(default_factory=list[Candidate])


class Beliefs:
    """What every session believes. Nothing here awaits or reads anything."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, DocumentUri], _Entry] = {}
        self._serial = 0

    def served_whole(self, session: str, uri: DocumentUri, text: Text) -> None:
        """The whole text (raw) was given to the agent."""
        entry = self._entry(session, uri)
        entry.served.append(_Served(text, None, 0, None, self.moment()))
        self._bounded(entry)

    def served_slice(
        self, session: str, uri: DocumentUri, text: Text, disk: str | None, first_line: int, count: int
    ) -> None:
        """Lines `first_line` (from 0) to `first_line + count` of `text` (raw) were given; `disk` is the disk's text, if there is one.

        The rest of the belief stays what it was: the earlier belief, or, for a first read, the disk's text."""
        entry = self._entry(session, uri)
        entry.served.append(_Served(text, disk, first_line, count, self.moment()))
        self._bounded(entry)

    def wrote(self, session: str, uri: DocumentUri, content: str) -> None:
        """The agent's own write succeeded: it believes `content`, not the merged result, else its next write
        would take back what the user typed meanwhile."""
        entry = self._entry(session, uri)
        entry.belief = self._candidate(content)
        entry.served.clear()

    def mentioned(self, session: str, uri: DocumentUri, text: str) -> None:
        """The agent was shown, or showed that it knows, this whole text: embedded in a prompt, or a full `oldText`."""
        extra = self._entry(session, uri).extra
        extra[:] = [c for c in extra if c.text != text][-(MAX_EXTRA_TEXTS - 1) :]
        extra.append(self._candidate(text))

    def formatted(self, uri: DocumentUri, before: str, after: str) -> None:
        """Save participants turned `before` into `after`: map that onto what agents believe; belief wins where both changed."""
        for (_, known), entry in self._entries.items():
            if known != uri:
                continue
            _settle(entry)
            if entry.belief is None:
                continue
            match merge(before, entry.belief.text, after):
                case Merged() as merged:
                    entry.belief = Candidate(merged.changes.apply(entry.belief.text), entry.belief.serial)
                case Conflict():
                    pass

    def served(self, session: str, uri: DocumentUri) -> bool:
        """Whether this session was ever given, or wrote, this document."""
        entry = self._entries.get((session, uri))
        return entry is not None and (entry.belief is not None or bool(entry.served))

    def moment(self) -> int:
        """A new point in time, later than everything so far. What was served after a write was received is not in that write."""
        self._serial += 1
        return self._serial

    def believed_since(self, session: str, uri: DocumentUri, until: int) -> int | None:
        """When what this session believed at `until` was given to it, or sent by it; None: it believed nothing then."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return None
        _settle(entry, until)
        return None if entry.belief is None else entry.belief.serial

    def candidates(
        self, session: str, uri: DocumentUri, disk: Iterable[str] = (), until: int | None = None
    ) -> tuple[Candidate, ...]:
        """Every text that a write of this session received at the moment `until` (None: now) may be based on.

        `disk` (oldest first) counts as older than all others. Writes take effect in the order in which they were received,
        so what was served up to this one is settled now, and what was served later waits for later ones."""
        entry = self._entries.get((session, uri))
        found = [Candidate(text, i - 1_000_000, from_disk=True) for i, text in enumerate(disk)]
        if entry is not None:
            _settle(entry, until)
            found += entry.extra
            if entry.belief is not None:
                found.append(entry.belief)
        return tuple(found)

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        """The file was renamed: what was believed of the old name is believed of the new one."""
        for key in [k for k in self._entries if k[1] == old]:
            self._entries[(key[0], new)] = self._entries.pop(key)

    def known(self) -> set[DocumentUri]:
        """Every document that somebody believes something of."""
        return {uri for _, uri in self._entries}

    def forget_session(self, session: str) -> None:
        for key in [k for k in self._entries if k[0] == session]:
            del self._entries[key]

    def _entry(self, session: str, uri: DocumentUri) -> _Entry:
        return self._entries.setdefault((session, uri), _Entry())

    def _candidate(self, text: str) -> Candidate:
        return Candidate(text, self.moment())

    def _bounded(self, entry: _Entry) -> None:
        if len(entry.served) > MAX_SERVED:
            _settle(entry, entry.served[MAX_SERVED // 2].serial)


def _settle(entry: _Entry, until: int | None = None) -> None:
    """Works out what was served until then into the belief."""
    count = sum(until is None or served.serial <= until for served in entry.served)
    settled, entry.served = entry.served[:count], entry.served[count:]
    whole = max((i for i, served in enumerate(settled) if served.count is None), default=0)
    for served in settled[whole:]:
        text = normal(str(served.text))
        if served.count is not None:
            earlier = entry.belief.text if entry.belief else served.disk if served.disk is not None else text
            text = lay_over(earlier, text, served.first, served.count)
        entry.belief = Candidate(text, served.serial)


def lay_over(earlier: str, text: str, first_line: int, count: int) -> str:
    """`earlier` with the changes that lead to `text` made where they lie inside the served lines of `text`, and only there.

    A change that reaches beyond the served lines is left out unless it only inserts, when its served part is taken: a belief
    that lacks a line the agent saw leads at worst to a conflict, one that has a line it never saw loses that line."""
    if earlier == text:
        return text
    start = _line_offset(text, 0, first_line)
    end = _line_offset(text, start, count)
    taken: list[Edit] = []
    shift = 0  # offset in `text` minus offset in `earlier`, just before the edit
    for edit in diff(earlier, text).edits:
        new_start = edit.start + shift
        new_end = new_start + len(edit.new)
        shift += len(edit.new) - (edit.end - edit.start)
        if start <= new_start and new_end <= end:
            taken.append(edit)
        elif edit.start == edit.end and new_start < end and start < new_end:
            served = text[max(start, new_start) : min(end, new_end)]
            taken.append(Edit(edit.start, edit.end, served))
    return ChangeSet.of(len(earlier), tuple(taken)).apply(earlier)


def _line_offset(text: str, start: int, lines: int) -> int:
    """The offset `lines` whole lines after `start`; the text's end when there are fewer."""
    at = start
    for _ in range(lines):
        found = text.find("\n", at)
        if found < 0:
            return len(text)
        at = found + 1
    return at
