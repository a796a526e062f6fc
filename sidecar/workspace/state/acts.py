"""Acts: when an agent's tool calls and commands ran in a turn, which files they named, and what they said they did there.

A change of a file on the disk counts as an agent's only with positive evidence: one of the agent's acts explains the text, or ran at the moment when the
file changed. That moment is the file's own (its ctime, or the time when its folder changed for a file that is gone). Acts are timed by the clock that file
systems use, so the two can be compared.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sidecar.core.final_end import same_lines
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Stat

MAX_ACTS = 1024
"""The most acts of one turn that are known: the newest. What an older act changed is found while it runs, or has no known author."""
MAX_EDITS = 64
"""The most edits of one file that are noted for an act."""
_COARSE = 5
"""CLOCK_REALTIME_COARSE of Linux, the clock of file systems (clock_gettime(2)). Python has no name for it."""
_SLACK_NS = 0 if sys.platform == "linux" else 20_000_000
"""The error, in nanoseconds, when a file's time is compared with ours."""
OVER = frozenset({"completed", "failed"})
"""ACP's statuses of a tool call that is over."""
NAMES_ITS_FILES = frozenset({"edit", "delete", "move"})
"""Tool calls of these kinds change only the files that they name. Other calls may change any file."""

Edited = tuple[str | None, str]
"""A diff's old text (None: the file was created) and new text. They are parts of the file's text, or all of it."""


def now() -> int:
    """Nanoseconds since the epoch, on the clock of file times."""
    return clock()


def now_at_most() -> int:
    """The latest time that a file changed by now can have. Since Linux 6.13 a file's time may be a tick (4 to 10 ms) ahead of the clock of `now`
    (multigrain timestamps)."""
    return max(clock(), time.time_ns()) if clock is _of_the_system else clock()


def _of_the_system() -> int:
    if sys.platform == "linux":
        return time.clock_gettime_ns(_COARSE)
    return time.time_ns()


clock: Callable[[], int] = _of_the_system
"""Tests with files of their own replace the clock."""


def changed_at(stat: Stat) -> int:
    """When the file last changed, in nanoseconds since the epoch. On Windows this is its mtime, because the ctime there is the time of its creation."""
    return stat.mtime_ns if sys.platform == "win32" else stat.ctime_ns


def is_before(at: int, other: int) -> bool:
    """Whether `at` was certainly earlier, as far as the times of files can be compared with ours."""
    return at < other - _SLACK_NS


@dataclass(slots=True)
class Act:
    """One tool call, or one command in a terminal of ours."""

    call: str
    """Its id."""
    began: int
    """The earliest time at which it may have begun."""
    ended: int | None = None
    """None while it runs."""
    kind: str = ""
    """ACP's kind of tool call; "" if not known."""
    edits: dict[DocumentUri, list[Edited]] = field(default_factory=dict[DocumentUri, list[Edited]])
    """For each file that it names: the edits that it reports there, if any."""

    def ran(self, since: int, until: int) -> bool:
        """Whether it may have run at some time between `since` and `until`."""
        return self.began - _SLACK_NS <= until and (self.ended is None or since <= self.ended + _SLACK_NS)

    def may_change(self, uri: DocumentUri) -> bool:
        """Whether it may change the file. A call that edits changes only the files that it names; any other call may change every file."""
        return uri in self.edits or not (self.kind in NAMES_ITS_FILES and self.edits)

    def begins_with(self, uri: DocumentUri, text: str) -> bool:
        """Whether it reports that the whole file was `text` (compared form) before its change."""
        olds = (normal(old) for old, _ in self.edits.get(uri, ()) if old is not None)
        return any(same_lines(old, text) for old in olds)


class Acts:
    """The acts of one session's turn."""

    def __init__(self, asked: int, end_clock: Callable[[], int] = now_at_most) -> None:
        """`asked`: when the agent was given its prompt, until `asked_at` gives the exact time."""
        self._end_clock = end_clock
        self._acts: deque[Act] = deque(maxlen=MAX_ACTS)
        self._by_id: dict[str, Act] = {}
        """The newest act of each id: agents reuse ids."""
        self._asked = self._heard = asked
        """`_heard`: the earliest time at which the agent may have said the last thing that was received."""

    @property
    def asked(self) -> int:
        """When the turn began."""
        return self._asked

    def asked_at(self, at: int) -> None:
        """The agent is given its prompt at `at`: nothing of the turn began before."""
        self._asked = self._heard = at

    def heard(self, said: int) -> None:
        """The agent said something at `said` or later."""
        self._heard = max(self._asked, said)

    def told(self, call: str, said: int, kind: str = "", *, over: bool = False) -> Act:
        """The agent said, at `said` or later, that an act began, continues or is over. `kind`: "" if it does not repeat it. An act that is reported
        only when it is over may have begun at any time since the agent was last heard."""
        act = self._by_id.get(call)
        if act is None or (act.ended is not None and not over):
            act = self._by_id[call] = Act(call, self._heard if over else max(self._asked, said))
            if len(self._acts) == MAX_ACTS and self._by_id.get(self._acts[0].call) is self._acts[0]:
                del self._by_id[self._acts[0].call]
            self._acts.append(act)
        act.kind = kind or act.kind
        if over and act.ended is None:
            act.ended = self._end_clock()
        return act

    def names(self, act: Act, uri: DocumentUri, edits: Iterable[Edited]) -> None:
        known = act.edits.setdefault(uri, [])
        known += [edit for edit in edits if edit not in known][: MAX_EDITS - len(known)]

    def ended(self, call: str) -> None:
        act = self._by_id.get(call)
        if act is not None and act.ended is None:
            act.ended = self._end_clock()

    def all_ended(self) -> None:
        """The turn is over, and none of its acts still runs."""
        for call in self._by_id:
            self.ended(call)

    def at(self, uri: DocumentUri, since: int, until: int, made: str | None = None) -> str | None:
        """The last act that may have changed the file between `since` and `until`, and to `made` (compared form) if that is known. An act that names
        the file is preferred to one that does not."""
        ran = [
            act
            for act in self._acts
            if act.may_change(uri)
            and act.ran(since, until)
            and not (made is not None and act.begins_with(uri, made))
        ]
        naming = [act for act in ran if uri in act.edits]
        return (naming or ran)[-1].call if ran else None

    def names_it(self, uri: DocumentUri) -> bool:
        return any(uri in act.edits for act in self._acts)

    def explained(self, uri: DocumentUri, before: str | None, after: str) -> tuple[str, str] | None:
        """The result, by their own reports, of applying the calls that name the file to `before`, and the last call that had a part in it. None if they
        report nothing about this change. All texts are in the compared form. Something else may have led from the result to `after`."""
        text, last = before, ""
        for act in self._acts:
            for old, new in act.edits.get(uri, ()):
                made = _made(text, old, new, after)
                if made is not None:
                    text, last = made, act.call
        return (text, last) if last and text is not None and text != before else None

    def made_from(self, uri: DocumentUri, after: str) -> str | None:
        """The text of the file before the calls that name it, as far as the whole texts in their diffs lead to `after`; None if they do not. Both in
        the compared form."""
        text, edits = after, [edit for act in self._acts for edit in act.edits.get(uri, ())]
        for old, new in reversed(edits):
            is_as_long = (
                len(text) - 1 <= len(new) <= 2 * len(text) + 2
            )  # others cost nothing, however many there are
            if old is not None and old.strip() and is_as_long and same_lines(normal(new), text):
                text = normal(old)
        return None if text == after else text

    @property
    def running(self) -> Sequence[str]:
        return [act.call for act in self._acts if act.ended is None]

    def __bool__(self) -> bool:
        return bool(self._acts)


def _made(text: str | None, old: str | None, new: str, after: str) -> str | None:
    """The result of a diff on `text`. None if the diff does not fit, or was already applied."""
    old, new = None if old is None else normal(old), normal(new)
    if new in (after, after.rstrip("\n")) and (
        old is None or text is None or old.rstrip("\n") == text.rstrip("\n")
    ):
        return after
    if text is None or not old or old == new or text.count(old) != 1 or (new and new not in after):
        return None
    if old in new and new in text and new.replace(old, new, 1) not in after:
        return None  # another call has told it, too, and it was made only once
    return text.replace(old, new)
