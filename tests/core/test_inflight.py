"""Every interleaving of up to six steps of one edit of ours, a user and an editor, for every habit that was observed: played, not drawn.

One whose edit has ended earlier, with nothing under way any more, is not played on.

The invariants, for each of them:

* nothing of the user's is lost: each of their words is in the text, unless they took it away themselves or were told;
* ours is there once or not at all;
* what is answered is what is there;
* the document comes to rest;
* taking the ledger's hunks out of the text leaves everything of the user's, and nothing of ours.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.change import Edit
from sidecar.core.inflight import (
    ACTIONS,
    SECONDS,
    TABLE,
    Action,
    Event,
    InFlight,
    Phase,
    Shows,
    Story,
    printed,
)
from sidecar.core.overlay import Document
from sidecar.core.rope import Rope
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from tests.support.inflight_world import CASES, HABITS, STEPS, Case, Habit, World

ROOT = Path(__file__).parents[2]
MOST = 6


def problems(world: World) -> list[str]:
    """What is wrong once it has come to rest."""
    there = world.text if world.shown or world.is_open else world.disk
    found: list[str] = []
    told = bool(world.said)
    lost = {word for word in world.required if word not in there and word not in world.disk}
    if lost and "left" not in world.said:  # that nobody knows what became of ours is no excuse
        found.append(f"lost {lost}")
    if there.count("OURS") > 1 and not told and not world.is_doubled_by_user:
        found.append("twice")
    elif "OURS" not in world.by_others:
        if world.result == "landed" and "OURS" not in there:
            found.append("landed, and is not there")
        if world.result in ("refused", "taken back") and "OURS" in there and not told:
            found.append(f"{world.result}, and is there")
    if world.flight is not None and "unknown" not in world.said:
        found.append("not at rest")
    if world.flight is None and world.is_open and not {"closes", "undoes", "reloads"} & set(world.steps):
        base = world.ledger.base(str(world.document.snapshot()))
        if "OURS" in base and not told:
            found.append(f"ours is taken for the user's: {base!r}")
        if any(word not in base for word in world.required) and not told:
            found.append(f"the user's is taken for ours: {base!r}")
    return found


class Count:
    """All interleavings from a world on. Those that come to one world are counted, and played on once."""

    def __init__(self) -> None:
        self._known: dict[object, int] = {}
        self.worlds = 0
        self.found: list[str] = []

    def of(self, world: World, left: int) -> int:
        key = left, world.key(left)
        known = self._known.get(key)
        if known is None:
            self.worlds += 1
            known = self._known[key] = self._all(world, left)
        return known

    def _all(self, world: World, left: int) -> int:
        steps = [step for step in STEPS if left and not world.has_ended and world.can(step)]
        if not steps:
            self._ends(world)
            return 1
        total = 0
        for step in steps:
            then = world.copy()
            then.plays(step)
            total += self.of(then, left - 1)
        return total

    def _ends(self, world: World) -> None:
        world.comes_to_rest()
        for problem in problems(world):
            self.found.append(f"{world.habit.name}, {world.case}: {' '.join(world.steps)}: {problem}")


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_every_interleaving(habit: Habit, capsys: pytest.CaptureFixture[str]) -> None:
    count, played = Count(), 0
    for case in CASES:
        played += count.of(World(habit, case), MOST)
    with capsys.disabled():
        print(f"\n{habit.name}: {played} interleavings in {count.worlds} worlds")  # noqa: T201 - the count is the proof
    assert played > 10_000
    assert not count.found, "\n".join(count.found[:20])


@pytest.mark.parametrize("rule", ["_overwrote", "_was_there_already"])
def test_a_rule_that_is_missing_is_seen(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the invariants can fail: without the rule something is lost, or there twice."""

    def no(self: InFlight, *disk: World) -> bool:
        return False

    monkeypatch.setattr(InFlight, rule, no)
    count = Count()
    for case in CASES:
        count.of(World(next(one for one in HABITS if one.name == "neovim, version 0"), case), 4)
    assert any("lost" in one or "twice" in one for one in count.found)


@pytest.mark.parametrize(
    "then", ["takes types answers tells", "takes types tells answers", "takes answers types tells"]
)
def test_what_is_typed_into_ours_and_told_together_with_it_is_the_users(then: str) -> None:
    """The editor tells whole texts after a pause. Ours was taken for an edit that never came, and refused though it was there."""
    world = World(
        Habit("whole texts after a pause", lags=True, full_text=True),
        Case("one\nOURS\nmore\nthree\n", "within"),
    )
    for step in then.split():
        world.plays(step)
    world.comes_to_rest()
    assert (world.result, world.text) == ("landed", "one\nOURS\nX\nmore\nthree\n")
    assert not problems(world)


class ADisk:
    def __init__(self, text: str) -> None:
        self.text = text

    def is_on_disk(self, text: Text) -> bool:
        return str(text) == self.text

    def was_on_disk(self, text: str) -> bool:
        return text == self.text


@pytest.mark.parametrize("by_another", [False, True])
def test_a_save_in_the_moment_in_which_an_edit_is_told_is_no_sign_of_another(by_another: bool) -> None:
    """The disk says the expected text then. Only where it did so before may that have led to it."""
    document = Document(DocumentUri("file:///a"), "file:///a", 1)
    document.rope = Rope("one\ntwo\n")
    story, disk = Story(document, Text.of("one\ntwo\n")), ADisk("one\n")
    if by_another:
        disk.text = "one\ntwo\n"
    story.before = Text.of("one\n")
    story.received(Edit(4, 4, "two\n"))
    story.saved(disk)
    disk.text = "one\ntwo\n"
    assert story.is_matched()
    assert story.may_be_anothers(disk) is by_another


def test_the_table_says_what_follows_in_every_phase() -> None:
    waiting = {*SECONDS, Phase.OVERDUE}
    assert waiting | set(ACTIONS) == set(Phase)
    assert not waiting & set(ACTIONS)
    for phase in waiting:
        assert (phase, Event.MOVED) in TABLE
        assert ((phase, Event.TIME) in TABLE) is (phase in SECONDS)
    assert {phase for phase, _ in TABLE} == waiting, "nothing follows on an end"
    for row in TABLE.values():
        assert isinstance(row, Phase) or set(row) == set(Shows)


def test_no_phase_but_the_one_whose_answer_is_overdue_lasts_for_ever() -> None:
    """Time alone ends every other one: no row of TIME leads back to where it came from."""
    for (phase, event), row in TABLE.items():
        if event is Event.TIME:
            assert phase not in ({row} if isinstance(row, Phase) else set(row.values()))


def test_what_cannot_happen_is_loud_and_ends_safe() -> None:
    world = World(HABITS[0], CASES[0])
    assert world.flight is not None
    world.flight.on(Event.HUNG_UP, world)
    with pytest.warns(RuntimeWarning, match="YES"):
        assert world.flight.on(Event.YES, world) is Action.GIVE_UP


def test_the_architecture_shows_the_table() -> None:
    assert printed() in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
