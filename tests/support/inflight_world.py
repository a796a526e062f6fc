"""World: an edit of ours, an editor with a habit, and a user, in the smallest form in which every interleaving can be played.

No event loop, no fake editor: the editor is a few fields here, the sidecar is `core.inflight` and the rules of `workspace/edits/door.py` in a
dozen lines. A step is a word (`STEPS`); `can` says whether it may come next. Everything of a world is in `key`: worlds with one key have
the same future, so that each is played on only once.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from sidecar.core.change import Edit
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.inflight import SECONDS, Action, Astray, Event, InFlight, Others, Ours, Story
from sidecar.core.ledger import Author, Ledger
from sidecar.core.moving import Moving
from sidecar.core.overlay import Document
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Text
from sidecar.core.uri import DocumentUri

Request = tuple[int, int, tuple[TextEdit, ...]]
"""Its number, the document's version, the edit."""
Copied = TypeVar("Copied", Ledger, Astray | None)

STEPS = ("takes", "answers", "tells", "types", "undoes", "saves", "reloads", "closes", "opens", "time")
ONCE = ("types", "undoes", "saves", "reloads", "closes", "opens")
"""What the user, or somebody on the disk, does at most once; `time` passes at most twice."""
CORRECTIONS = 5
HERE = Coordinates(Encoding.UTF_32)
BASE = "one\ntwo\nthree\n"
_TOKENS = re.compile("one|two|three|OURS|X")


@dataclass(frozen=True, slots=True)
class Habit:
    """How an editor was seen to differ from the book; the names are those of `editor_habits.py`."""

    name: str
    lags: bool = False
    """What is done is told later, as a step of its own. Otherwise at once."""
    version_when_told: bool = False
    """Versions count what was told, not what was done."""
    checks: bool = True
    """Edits for another version are not made."""
    stale_is_yes: bool = False
    """It says yes to these all the same."""
    told_before_edit: bool = False
    full_text: bool = False
    """Every change is told as the whole text."""
    in_two: bool = False
    """An edit is told as two changes: what goes, then what comes."""
    undo_joins: bool = False
    """One undo takes typing along with an edit of ours."""
    unopened: Literal["refused", "opened", "untold"] = "opened"
    """An edit of a closed document: refused; opens it, and compares no version; made in a buffer that nobody is told of."""
    never_answers: bool = False


HABITS = (
    Habit("vs code"),
    Habit("neovim", lags=True, stale_is_yes=True),
    Habit("neovim, version 0", lags=True, checks=False, in_two=True),
    Habit("eglot 1.17", lags=True, version_when_told=True, undo_joins=True),
    Habit("eglot, ours", lags=True, version_when_told=True, told_before_edit=True, unopened="refused"),
    Habit("lsp-mode", checks=False, unopened="untold"),
    Habit("kate, taking edits", full_text=True, unopened="refused"),
    Habit("never answers", lags=True, never_answers=True),
    Habit("eglot 1.17, never answers", lags=True, version_when_told=True, never_answers=True),
)


@dataclass(frozen=True, slots=True)
class Case:
    """`wanted`: what our edit makes of BASE."""

    wanted: str
    typed: Literal["above", "inside", "within", "below"]
    """`inside` what our edit replaces, or `within` what it brings."""


CASES = (
    Case("one\nOURS\nthree\n", "above"),
    Case("one\nOURS\nthree\n", "inside"),
    Case("one\nOURS\ntwo\nthree\n", "above"),
    Case("one\nOURS\ntwo\nthree\n", "below"),
)


def tokens(text: str) -> set[str]:
    return set(_TOKENS.findall(text))


@dataclass(slots=True)
class World:
    habit: Habit
    case: Case

    # The editor
    text: str = BASE
    """Of the buffer; of one that nobody is told of, too."""
    disk: str = BASE
    shown: bool = True
    """The user has it open."""
    done: int = 1
    told: int = 1
    untold: tuple[Edit, ...] = ()
    past: tuple[tuple[str, bool], ...] = ()
    """For undo: the text before a step, and whether that was ours."""

    # Between the two
    requests: tuple[Request, ...] = ()
    answers: tuple[tuple[int, Event], ...] = ()
    """With the number of the request. One that comes when its edit has ended is nobody's."""
    sent: int = 0
    """The number of the newest request."""

    # The sidecar
    document: Document = field(init=False)
    is_open: bool = True
    flight: InFlight | None = None
    astray: Astray | None = None
    corrections: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    result: str = ""
    """What whoever asked is answered with: landed, refused, taken back, left, gone; "" while it is on its way."""
    said: tuple[str, ...] = ()
    """What the user is told."""

    # What must be
    required: frozenset[str] = frozenset({"one", "three"})
    """Tokens of the user's that must be there."""
    held: frozenset[str] = frozenset({BASE})
    """What the disk ever said."""
    by_others: frozenset[str] = frozenset()
    """Tokens of ours that somebody else put there, or took away, themselves."""
    is_doubled_by_user: bool = False
    """The user undid what took ours out again, or closed what did without saving."""
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.document = _document(self.text)
        if "two" in self.case.wanted:
            self.required |= {"two"}
        self._send(self.case.wanted)

    def key(self, left: int) -> object:
        """`left`: how many steps may still come; with none, only those count that `problems` asks for."""
        flight = self.flight
        there = None
        if flight is not None:
            story = flight.story
            received = tuple(story.edits)
            saved = story.saved_anothers, story.saved_it
            states = flight.phase, flight.closed, flight.moved, story.matched_at, saved
            there = states, str(story.before), str(story.reached), received, story.document is self.document
        return (
            self.case,
            *(self.text, self.disk, self.shown, self.done, self.told, self.untold, self.past),
            *(
                self.requests,
                self.answers,
                self.sent,
                str(self.document.snapshot()),
                self.is_open,
                there,
                self.corrections,
            ),
            *(self.result, self.said, self.required, self.by_others, self.held, self.is_doubled_by_user),
            *(
                tuple((h.start, h.end, h.old) for h in self.ledger.hunks),
                self._used() if left else frozenset({"closes", "undoes", "reloads"}) & {*self.steps},
            ),
        )

    def copy(self) -> World:
        new = copy.copy(self)
        new.document = _document(str(self.document.snapshot()))
        new.ledger = _copied(self.ledger)
        new.astray = _copied(self.astray)
        if self.flight is not None:
            new.flight = copy.copy(self.flight)
            story = new.flight.story = copy.copy(self.flight.story)
            story.edits = list(story.edits)
            if story.document is self.document:
                story.document = new.document
        return new

    def _used(self) -> tuple[object, ...]:
        return (*(step in self.steps for step in ONCE), self.steps.count("time"))

    # The disk, as the sidecar knows it

    def is_on_disk(self, text: Text) -> bool:
        return self.disk == str(text)

    def was_on_disk(self, text: str) -> bool:
        return text in self.held

    # Steps

    @property
    def _has_a_limit(self) -> bool:
        return self.flight is not None and self.flight.phase in SECONDS

    @property
    def has_ended(self) -> bool:
        """Nothing of ours is under way any more."""
        return self.flight is None and not self.requests and not self.answers and not self.untold

    def can(self, step: str) -> bool:
        match step:
            case "takes":
                return bool(self.requests)
            case "answers":
                return bool(self.answers)
            case "tells":
                return bool(self.untold)
            case "types":
                return self.shown and step not in self.steps
            case "undoes":
                return self.shown and bool(self.past) and step not in self.steps
            case "saves" | "closes":
                return self.shown and step not in self.steps
            case "reloads":
                return self.shown and self.text == self.disk == BASE and step not in self.steps
            case "opens":
                return not self.shown and step not in self.steps
            case _:
                return self._has_a_limit and self.steps.count("time") < 2

    def plays(self, step: str) -> None:
        self.steps += (step,)
        before, times = self._truth(), self._there().count("OURS")
        match step:
            case "takes":
                self._take()
            case "answers":
                self._answers()
            case "tells":
                self._tell()
            case "time":
                self._tell()  # no editor waits that long with what was done
                self._on(Event.TIME)
            case "types":
                at = self.text.find("t") if self.case.typed == "inside" else 0
                match self.case.typed:
                    case "above":
                        self._edit([Edit(0, 0, "X\n")])
                    case "below":
                        self._edit([Edit(len(self.text), len(self.text), "X\n")])
                    case "within":
                        at = max(self.text.find("more"), 0)
                        self._edit([Edit(at, at, "X\n")])
                    case "inside":  # as long as before, so that our edit can take all of it away
                        self._edit([Edit(at, at + 1, "X")])
            case "undoes":
                self._undo()
            case "saves":
                self._tell()
                self._save(self.text)
            case "reloads":
                self._stores(self.case.wanted)
                self._edit(diff(self.text, self.disk).edits)
                self.by_others |= {"OURS"}
            case "closes":
                self._close()
            case _:
                self._opens()
        if step in (*ONCE, "reloads"):
            after = self._truth()
            if step == "closes":  # whoever closes without saving wants nothing of what was not saved
                self.required &= after
            came = after - before if step in ("types", "undoes") else set[str]()
            self.required = (self.required - (before - after)) | (
                came & (tokens(self.case.wanted + "X") - {"OURS"})
            )
            self.by_others |= (before ^ after) & {"OURS"}
            was_there = "OURS" in before or step == "closes"
            self.is_doubled_by_user |= was_there and times < self._there().count("OURS") > 1

    def _truth(self) -> set[str]:
        """What is there for the user: the buffer, or the disk."""
        return tokens(self._there())

    def _there(self) -> str:
        return self.text if self.shown else self.disk

    def comes_to_rest(self) -> None:
        """Nobody does anything more; what is on its way arrives. At most so many turns, or it does not come to rest."""
        for _ in range(20):
            if self.untold:
                self._tell()
            elif self.requests:
                self._take()
            elif self.answers:
                self._answers()
            elif self._has_a_limit:
                self._on(Event.TIME)
            else:
                return
        raise AssertionError("it does not come to rest")

    # The editor

    def _edit(self, edits: tuple[Edit, ...] | list[Edit], *, ours: bool = False) -> None:
        """`edits` of the buffer's text, from its start to its end."""
        self.past += ((self.text, ours),)
        self._changes(edits, in_two=ours and self.habit.in_two)

    def _changes(self, edits: tuple[Edit, ...] | list[Edit], *, in_two: bool = False) -> None:
        steps: list[Edit] = []
        for edit in reversed(edits):
            if in_two and edit.start < edit.end and edit.new:
                steps += [Edit(edit.start, edit.end, ""), Edit(edit.start, edit.start, edit.new)]
            else:
                steps.append(edit)
        for edit in steps:
            self.text = self.text[: edit.start] + edit.new + self.text[edit.end :]
        if not steps:
            return
        self.done += 1
        if not self.shown and self.habit.unopened == "untold":
            return
        self.untold += tuple(steps)
        if not self.habit.lags:
            self._tell()

    def _tell(self) -> None:
        edits, self.untold = self.untold, ()
        if not edits:
            return
        if self.habit.full_text:  # as the mirror takes it, however many there were
            edits = (Rope(str(self.document.rope.snapshot())).apply(None, self.text, HERE.encoding),)
        self.told = self.told + 1 if self.habit.version_when_told else self.done
        for edit in edits:
            self.document.rope.splice(edit.start, edit.end, edit.new)
            if self.flight is not None:
                self.flight.story.received(edit)
            else:
                snapshot = self.document.snapshot()
                self.ledger.user_edit(edit, len(snapshot), lambda snapshot=snapshot: snapshot)
        self._on(Event.MOVED)

    def _take(self) -> None:
        (number, version, edits), self.requests = self.requests[0], self.requests[1:]
        habit = self.habit
        if habit.told_before_edit:
            self._tell()
        opens = not self.is_open
        current = self.told if habit.version_when_told else self.done
        if opens and habit.unopened == "refused":
            answer = Event.NO
        elif not opens and habit.checks and version != current:
            answer = Event.YES if habit.stale_is_yes else Event.NO
        else:
            answer = Event.YES
            if opens:
                self._reads()
            here = Text.of(self.text)
            made = [
                Edit(HERE.offset_at(here, e.start), HERE.offset_at(here, e.end), e.new_text) for e in edits
            ]
            self._edit(made, ours=True)
        if not habit.never_answers:
            self.answers += ((number, answer),)

    def _answers(self) -> None:
        (number, event), self.answers = self.answers[0], self.answers[1:]
        if number == self.sent:
            self._on(event)

    def _undo(self) -> None:
        (before, ours), self.past = self.past[-1], self.past[:-1]
        if ours and self.habit.undo_joins and self.past:
            (before, _), self.past = self.past[-1], self.past[:-1]
        self._changes(diff(self.text, before).edits)

    def _save(self, text: str) -> None:
        if self.flight is not None and self.is_open:
            self.flight.story.saved(self)
        self._stores(text)

    def _stores(self, text: str) -> None:
        self.disk = text
        self.held |= {text}

    def _close(self) -> None:
        """Without saving."""
        self._tell()
        self.shown = self.is_open = False
        self.text, self.past = self.disk, ()
        if self.flight is not None:
            self.flight.closes()
            self._on(Event.MOVED)

    def _opens(self) -> None:
        if self.is_open:  # by our edit, unseen until now
            self.shown = True
            return
        untold = self.text != self.disk
        if not untold:
            self.past = ()
        self._reads()
        self.shown = True

    def _reads(self) -> None:
        if not self.shown and self.habit.unopened == "untold" and "opens" not in self.steps:
            return
        self.is_open = True
        self.untold = ()
        self.done = self.told = 1
        self.document = _document(self.text)
        if self.flight is not None and self.flight.closed:
            known = () if self.text == self.disk else tuple(self.held)
            self.flight.opens_again(Story(self.document, self.flight.story.reached), known)
            self._on(Event.MOVED)

    # The sidecar

    def _send(self, wanted: str) -> None:
        now = self.document.snapshot()
        changes = diff(str(now), wanted)
        edits = HERE.edits(now, changes)
        story, misplaces = Story(self.document, Text.of(wanted)), self.astray is not None
        self.flight = InFlight(story, edits, changes, HERE, is_disks=self.disk == wanted, misplaces=misplaces)
        self.sent += 1
        self.requests += ((self.sent, self.told, edits),)

    def _on(self, event: Event) -> None:
        flight = self.flight
        if flight is None:
            return
        match flight.on(event, self):
            case Action.WAIT:
                return
            case Action.TELL:
                self.said += ("unknown",) if self.astray is None else ("unknown", "left")
            case Action.LAND:
                self._settles(flight, is_ours=self.astray is None)
                self.result = "taken back" if self.astray is not None else "landed"
            case Action.LEAVE:
                self._settles(flight, is_ours=False)
                self.result = "taken back" if self.astray is not None else "landed"
            case Action.PLAN_AGAIN:
                self._settles(flight, is_ours=False)
                if self.astray is None:  # where it is there already, the next plan has nothing to do
                    self.result = "landed" if "OURS" in str(self.document.snapshot()) else "refused"
                else:
                    self.astray.followed_by(flight)
                    self._takes_out()
            case Action.CORRECT:
                self._settles(flight, is_ours=False)
                if self.astray is None:
                    self.astray = Astray(flight.attempt, HERE)
                else:
                    self.astray.followed_by(flight)
                self._takes_out()
            case Action.GIVE_UP:
                self._settles(flight, is_ours=False)
                without = flight.without()
                if self.astray is not None:
                    self.result, self.said = "left", (*self.said, "left")
                elif without is not None and self.disk == str(self.document.snapshot()):
                    self.result, self.disk, self.text = (
                        "gone",
                        without,
                        without,
                    )  # as workspace/files/disk_writes.py does
                else:
                    self.result = "gone"

    def _settles(self, flight: InFlight, *, is_ours: bool) -> None:
        self.flight = None
        for one in flight.account(is_ours=is_ours):
            match one:
                case Others(edit, _, now):
                    self.ledger.user_edit(edit, len(now), lambda now=now: now)
                case Ours(before, changes, after):
                    self.ledger.agent_edit(before, changes, after, Author("s", 1, "w"))

    def _takes_out(self) -> None:
        assert self.astray is not None
        now = self.document.snapshot()
        self.corrections += 1
        found = (
            self.astray.without(now)
            if len(self.astray) and self.is_open and self.corrections <= CORRECTIONS
            else None
        )
        if not len(self.astray):
            self.result = "taken back"
        elif found is None:
            self.result, self.said = "left", (*self.said, "left")
        elif found.without == str(now):
            self.result = "taken back"
        else:
            self._send(found.without)


def _copied(of: Copied) -> Copied:
    """With lists of its own, and what moves."""
    new = copy.copy(of)
    for name, value in vars(of).items() if of is not None else ():
        if isinstance(value, list | Moving):
            setattr(new, name, value.copy())
    return new


def _document(text: str) -> Document:
    document = Document(DocumentUri("file:///a"), "file:///a", 1)
    document.rope = Rope(text)
    document.version = 1
    return document
