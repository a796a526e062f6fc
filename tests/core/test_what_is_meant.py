"""The law of `core.writes`: an agent that was shown a text and then sends a change of it means that change."""

from __future__ import annotations

from string import ascii_lowercase

from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.belief import Beliefs
from sidecar.core.merge import Conflict
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import EditText, NoChange, plan_write
from tests.support.meaning import PLACES, Values, changed, meant, text_of, values_of

URI = DocumentUri("file:///a")


class Desk:
    """A text, a user with an undo stack, a disk, and one agent whose model saw what `saw` says."""

    def __init__(self) -> None:
        self.now: Values = ("",) * PLACES
        self.past: list[Values] = []
        self.future: list[Values] = []
        self.disk = [self.now]
        self.beliefs = Beliefs()
        self.saw: Values | None = None
        self.may_differ = False
        """The agent may have had another text than was shown to it."""

    def edited(self, now: Values) -> None:
        if now != self.now:
            self.past.append(self.now)
            self.now = now
            self.future.clear()

    def undoes(self) -> None:
        if self.past:
            self.future.append(self.now)
            self.now = self.past.pop()

    def redoes(self) -> None:
        if self.future:
            self.past.append(self.now)
            self.now = self.future.pop()

    def reads(self) -> None:
        self.beliefs.served_whole("s", URI, Text.of(text_of(self.now)))
        self.saw, self.may_differ = self.now, False

    def reads_a_part(self, place: int) -> None:
        if self.saw is None:
            return
        text = text_of(self.now)
        first = text[: text.index(f"above {place}")].count("\n")
        count = text[text.index(f"above {place}") :].index(f"\nbelow {place}\n")
        lines = text[text.index(f"above {place}") :][: count + 2].count("\n") + 1
        self.beliefs.served_slice("s", URI, Text.of(text), None, first, lines)
        self.saw, self.may_differ = changed(self.saw, place, self.now[place]), False

    def writes(self, saw: Values, sent: Values, *, exact: bool) -> None:
        """`saw`: what the agent made its change of. Not `exact`: it cannot always be known what that was, and a conflict is no loss."""
        disk = [text_of(values) for values in self.disk] if self.may_differ or self.saw is None else []
        plan = plan_write(self.beliefs.candidates("s", URI, disk), text_of(self.now), text_of(sent))
        expected = meant(saw, self.now, sent)
        match plan:
            case Conflict():
                assert expected is None or not exact, "refused"
                return
            case NoChange():
                found = self.now
            case EditText():
                found = values_of(plan.changes.apply(text_of(self.now)))
        if exact:
            assert found == expected
        for before, theirs, then in zip(saw, self.now, found, strict=True):
            assert theirs in (before, then), "what the agent did not see was taken away"
        self.edited(found)
        self.beliefs.wrote("s", URI, text_of(sent))
        self.saw, self.may_differ = sent, False


PLACE, NUMBER = st.integers(0, PLACES - 1), st.integers(0, 9)
WAYS = "types types takes-back empties undoes undoes redoes reads reads part saves writes writes again again more"
STEP = st.tuples(st.sampled_from(WAYS.split()), PLACE, NUMBER)
BEHIND = "types types empties undoes reads saves program shell writes edits reads-the-disk writes-that"


def value(number: int) -> str:
    """None is like another one: what looks like a change of a text counts as made of that (rule 4), so that "value10" would be one of "value1"."""
    return f"value {ascii_lowercase[number]} of somebody"


@settings(max_examples=500)
@given(st.lists(STEP, max_size=25))
def test_what_was_shown_last_is_what_a_change_is_measured_from(steps: list[tuple[str, int, int]]) -> None:
    """Whatever was undone, taken back, typed and written in between: exactly what was meant, and a conflict only where both changed the
    same place. Values come again and again, so that texts are like older ones."""
    desk, known = Desk(), [("",) * PLACES]
    for step, place, number in steps:
        match step:
            case "types":
                desk.edited(changed(desk.now, place, value(number)))
            case "takes-back":
                desk.edited(changed(desk.now, place, known[number % len(known)][place]))
            case "empties":
                desk.edited(changed(desk.now, place, ""))
            case "undoes":
                desk.undoes()
            case "redoes":
                desk.redoes()
            case "reads":
                desk.reads()
            case "part":
                desk.reads_a_part(place)
            case "saves":
                desk.disk.append(desk.now)
            case _ if desk.saw is None:
                continue
            case "writes":
                sent = changed(desk.saw, place, value(number))
                desk.writes(desk.saw, sent, exact=True)
                known.append(sent)
            case "again":
                desk.writes(desk.saw, known[number % len(known)], exact=True)
            case _:
                desk.writes(desk.saw, changed(known[number % len(known)], place, value(number)), exact=True)


@settings(max_examples=500)
@given(
    st.lists(st.tuples(st.sampled_from(["undoes", "redoes", "writes", "again"]), PLACE, NUMBER), max_size=25)
)
def test_an_agent_alone_is_never_refused_or_altered(steps: list[tuple[str, int, int]]) -> None:
    """The user only undoes and redoes, and the agent reads before it writes."""
    desk, known = Desk(), [("",) * PLACES]
    for step, place, number in steps:
        if step in ("undoes", "redoes"):
            desk.undoes() if step == "undoes" else desk.redoes()
            continue
        desk.reads()
        sent = changed(desk.now, place, value(number)) if step == "writes" else known[number % len(known)]
        desk.writes(desk.now, sent, exact=True)
        assert desk.now == sent
        known.append(sent)


@settings(max_examples=500)
@given(st.lists(st.tuples(st.sampled_from(BEHIND.split()), PLACE), max_size=25))
def test_what_the_model_did_not_see_is_never_taken_away(steps: list[tuple[str, int]]) -> None:
    """Its program reads by itself before it writes, and its tools read the disk: what the model had is not always known."""
    desk, read_there = Desk(), None
    for number, (step, place) in enumerate(steps):
        match step:
            case "types":
                desk.edited(changed(desk.now, place, value(number)))
            case "empties":
                desk.edited(changed(desk.now, place, ""))
            case "undoes":
                desk.undoes()
            case "reads":
                desk.reads()
            case "saves":
                desk.disk.append(desk.now)
            case "program" | "edits":
                desk.beliefs.served_whole("s", URI, Text.of(text_of(desk.now)), by_program=True)
                desk.may_differ = True
                if step == "edits":
                    desk.writes(desk.now, changed(desk.now, place, value(number)), exact=False)
            case "shell":
                desk.may_differ = True
            case "reads-the-disk":
                desk.may_differ, read_there = True, desk.disk[-1]
            case "writes" if desk.saw is not None:
                desk.writes(desk.saw, changed(desk.saw, place, value(number)), exact=not desk.may_differ)
            case "writes-that" if read_there is not None and desk.may_differ:
                desk.writes(read_there, changed(read_there, place, value(number)), exact=False)
            case _:
                pass


def test_a_text_that_the_program_read_and_the_disk_held_may_be_what_the_model_saw() -> None:
    """Found by the law: taken for what only the program had read, it was no base, and the user's line went."""
    nothing: Values = ("",) * PLACES
    typed, sent = changed(nothing, 0, value(0)), changed(nothing, 0, value(6))
    desk = Desk()
    desk.edited(typed)
    desk.reads()
    desk.edited(nothing)
    desk.beliefs.served_whole("s", URI, Text.of(text_of(nothing)), by_program=True)
    desk.may_differ = True
    desk.undoes()
    desk.writes(nothing, sent, exact=False)
    assert desk.now == typed
