"""Acts: when an agent's tool calls and commands ran in a turn, which files they named, and what they said they did there.

A change of a file on the disk is an agent's only with positive evidence: one of its acts explains the text, or one of them ran at the
moment the file changed. That moment is the file's own (its ctime, or when its folder changed for a file that is gone), and acts are timed
by the clock that file systems use, so that the two can be compared.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sidecar.core.final_end import same_lines
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Stat

MAX_ACTS = 1024
"""Acts of one turn that are known: the newest. What an older one changed is found while it runs, or nobody's."""
MAX_EDITS = 64
"""Edits of one file that an act tells of."""
_COARSE = 5
"""CLOCK_REALTIME_COARSE of Linux: file systems take their times from it (clock_gettime(2)); Python has no name for it."""
_SLACK_NS = 0 if sys.platform == "linux" else 20_000_000
"""How exactly a file's time can be compared with ours."""
OVER = frozenset({"completed", "failed"})
"""ACP's statuses of a tool call that has ended."""
NAMES_ITS_FILES = frozenset({"edit", "delete", "move"})
"""Tool calls of these kinds change the files that they name. Others may change any."""

Edited = tuple[str | None, str]
"""A diff's old text (None: the file was made) and new text; parts of the file's or all of it."""


def now() -> int:
    """Nanoseconds since the epoch, on the clock that files have their times from."""
    return clock()


def now_at_most() -> int:
    """The same, for what is over. Since Linux 6.13 a file's time may be a tick (4 to 10 ms) ahead of that clock (multigrain timestamps)."""
    return max(clock(), time.time_ns()) if clock is _of_the_system else clock()


def _of_the_system() -> int:
    if sys.platform == "linux":
        return time.clock_gettime_ns(_COARSE)
    return time.time_ns()


clock: Callable[[], int] = _of_the_system
"""Tests with files of their own have a clock of their own."""


def changed_at(stat: Stat) -> int:
    """When the file changed last, in nanoseconds since the epoch. Windows' ctime is when it was made."""
    return stat.mtime_ns if sys.platform == "win32" else stat.ctime_ns


def is_before(at: int, other: int) -> bool:
    """Whether it was certainly earlier, as far as the times of files can be compared with ours."""
    return at < other - _SLACK_NS


@dataclass(slots=True)
class Act:
    """One tool call, or one command in a terminal of ours."""

    began: int
    """The earliest that it may have begun."""
    ended: int | None = None
    """None: it runs."""
    kind: str = ""
    """ACP's kind of tool call; "" when that is not known."""
    edits: dict[DocumentUri, list[Edited]] = field(default_factory=dict[DocumentUri, list[Edited]])
    """By file that it names: what it says that it does there, if it says so."""

    def ran(self, since: int, until: int) -> bool:
        """Whether it may have run at some time from `since` to `until`."""
        return self.began - _SLACK_NS <= until and (self.ended is None or since <= self.ended + _SLACK_NS)

    def may_change(self, uri: DocumentUri) -> bool:
        """A call that edits changes the files that it names; any other one may change all there are."""
        return uri in self.edits or not (self.kind in NAMES_ITS_FILES and self.edits)

    def begins_with(self, uri: DocumentUri, text: str) -> bool:
        """Whether it says that the whole file was `text` (compared form) before it changed that."""
        olds = (normal(old) for old, _ in self.edits.get(uri, ()) if old is not None)
        return any(same_lines(old, text) for old in olds)


class Acts:
    """Of one session's turn."""

    def __init__(self, asked: int, end_clock: Callable[[], int] = now_at_most) -> None:
        """`asked`: when the agent was given its prompt, as long as `asked_at` does not say it better."""
        self._end_clock = end_clock
        self._acts: OrderedDict[str, Act] = OrderedDict()
        self._asked = self._heard = asked
        """`_heard`: the earliest that the agent may have said what was heard of it last."""

    def asked_at(self, at: int) -> None:
        """The agent is given its prompt: nothing of the turn began before."""
        self._asked = self._heard = at

    def heard(self, said: int) -> None:
        """The agent said something, at `said` or later."""
        self._heard = max(self._asked, said)

    def told(self, call: str, said: int, kind: str = "", *, over: bool = False) -> Act:
        """The agent said, at `said` or later, that an act began, goes on or is over. `kind`: "" where it is not told again. What it tells
        of only when it is over began at any time since it was heard of."""
        act = self._acts.get(call)
        if act is None or (act.ended is not None and not over):  # ids are used again
            act = self._acts[call] = Act(self._heard if over else max(self._asked, said))
            if len(self._acts) > MAX_ACTS:
                self._acts.popitem(last=False)
        act.kind = kind or act.kind
        if over and act.ended is None:
            act.ended = self._end_clock()
        return act

    def names(self, act: Act, uri: DocumentUri, edits: Iterable[Edited]) -> None:
        known = act.edits.setdefault(uri, [])
        known += [edit for edit in edits if edit not in known][: MAX_EDITS - len(known)]

    def ended(self, call: str) -> None:
        act = self._acts.get(call)
        if act is not None and act.ended is None:
            act.ended = self._end_clock()

    def all_ended(self) -> None:
        """The turn is over, and nothing of it is left running."""
        for call in self._acts:
            self.ended(call)

    def at(self, uri: DocumentUri, since: int, until: int, made: str | None = None) -> str | None:
        """The last act that may have changed the file from `since` to `until`, to `made` (compared form) where that is known; one that names it before one
        that does not."""
        ran = [
            (call, act)
            for call, act in self._acts.items()
            if act.may_change(uri)
            and act.ran(since, until)
            and not (made is not None and act.begins_with(uri, made))
        ]
        naming = [call for call, act in ran if uri in act.edits]
        return naming[-1] if naming else ran[-1][0] if ran else None

    def names_it(self, uri: DocumentUri) -> bool:
        return any(uri in act.edits for act in self._acts.values())

    def explained(self, uri: DocumentUri, before: str | None, after: str) -> tuple[str, str] | None:
        """The text (compared form, as `before` and `after`) that the calls which name the file say they made of `before`, and the last call
        that had a part in it; None when they say nothing of this change. Something else may have led from there to `after`."""
        text, last = before, ""
        for call, act in self._acts.items():
            for old, new in act.edits.get(uri, ()):
                made = _made(text, old, new, after)
                if made is not None:
                    text, last = made, call
        return (text, last) if last and text is not None and text != before else None

    def made_from(self, uri: DocumentUri, after: str) -> str | None:
        """What the file said before the calls that name it, by what they say, where their whole texts lead to `after`; both in the compared form."""
        text, edits = after, [edit for act in self._acts.values() for edit in act.edits.get(uri, ())]
        for old, new in reversed(edits):
            is_as_long = (
                len(text) - 1 <= len(new) <= 2 * len(text) + 2
            )  # others cost nothing, however many they are
            if old is not None and old.strip() and is_as_long and same_lines(normal(new), text):
                text = normal(old)
        return None if text == after else text

    @property
    def running(self) -> Sequence[str]:
        return [call for call, act in self._acts.items() if act.ended is None]

    def __bool__(self) -> bool:
        return bool(self._acts)


def _made(text: str | None, old: str | None, new: str, after: str) -> str | None:
    """What a diff makes of `text`; None when it does not fit, or was made already."""
    old, new = None if old is None else normal(old), normal(new)
    if new in (after, after.rstrip("\n")) and (
        old is None or text is None or old.rstrip("\n") == text.rstrip("\n")
    ):
        return after
    if text is None or not old or old == new or text.count(old) != 1 or (new and new not in after):
        return None
    return text.replace(old, new)
