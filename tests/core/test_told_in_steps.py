"""An edit of ours may be told in any number of correct steps: laws of `core.misapplied`."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core.change import Edit
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.led_to import states
from sidecar.core.misapplied import made_on, overwrites, separate
from sidecar.core.text import Encoding, Position, Text

TEXTS = st.lists(st.sampled_from(["one\n", "two\n", "\n", "three", "x"]), max_size=7).map("".join)


@dataclass(slots=True)
class Told:
    before: str
    after: str
    sent: list[TextEdit]
    steps: list[Edit]


@st.composite
def told(draw: st.DrawFn) -> Told:
    """A change and the steps it is told in: characters taken and put, one by one or in runs, in any order."""
    before, after = draw(TEXTS), draw(TEXTS)
    changes, text = diff(before, after), Text.of(before)
    sent = [
        TextEdit(text.position_at(e.start, Encoding.UTF_32), text.position_at(e.end, Encoding.UTF_32), e.new)
        for e in changes.edits
    ]
    # Every place of either text in order: [character, whether it is there now, whether it is there in the end]
    places: list[tuple[str, bool, bool]] = []
    at = 0
    for edit in changes.edits:
        places += [(c, True, True) for c in before[at : edit.start]]
        places += [(c, True, False) for c in before[edit.start : edit.end]]
        places += [(c, False, True) for c in edit.new]
        at = edit.end
    places += [(c, True, True) for c in before[at:]]
    there = [now for _, now, _ in places]
    left = draw(st.permutations([n for n, (_, now, then) in enumerate(places) if now is not then]))
    steps: list[Edit] = []
    while left:
        first = left[0]
        run = [first]
        together = draw(st.booleans())
        while together and run[-1] + 1 in left and places[run[-1] + 1][2] is places[first][2]:
            run.append(run[-1] + 1)
        start = sum(there[:first])
        if places[first][2]:
            steps.append(Edit(start, start, "".join(places[n][0] for n in run)))
        else:
            steps.append(Edit(start, start + len(run), ""))
        for n in run:
            there[n] = places[n][2]
        left = [n for n in left if n not in run]
    return Told(before, after, sent, steps)


@given(told())
@example(
    Told(
        "threex",
        "xx",
        [TextEdit(Position(0, 0), Position(0, 5), "x")],
        [*[Edit(0, 1, "")] * 5, Edit(0, 0, "x")],
    )
)
@example(
    Told(
        "one\n\n\nxone\n",
        "one\n\none\none\n",
        [TextEdit(Position(2, 0), Position(3, 1), "one\n")],
        [
            Edit(5, 6, ""),
            Edit(5, 6, ""),
            Edit(5, 5, "o"),
            Edit(6, 6, "n"),
            Edit(7, 7, "e"),
            Edit(8, 8, "\n"),
        ],
    )
)
def test_what_leads_to_the_expected_text_is_never_at_a_wrong_place(case: Told) -> None:
    """Neither when all of it was told, nor on the way there, unless what was told so far may as well be our edit, made on a text that was on the
    way, and something typed after it: then nobody can tell the two apart before the rest is told."""
    before, coordinates = Text.of(case.before), Coordinates(Encoding.UTF_32)
    told = states(before, case.steps)
    may_be_both = False
    for count in range(len(case.steps) + 1):
        made = [made_on(text, case.sent, coordinates) for text in told[1:count]]
        may_be_both = may_be_both or any(
            one is not None and told[count].says(one.apply(text))
            for one, text in zip(made, told[1:], strict=False)
        )
        if count == len(case.steps) or not may_be_both:
            assert not overwrites(before, case.sent, case.steps[:count], coordinates)


@given(told())
def test_it_is_found_and_taken_out_whole(case: Told) -> None:
    if not case.sent:
        return
    found = separate(Text.of(case.before), case.sent, case.steps, Coordinates(Encoding.UTF_32))
    assert found is not None
    assert found.without == case.before


@given(told(), st.data())
def test_typing_that_it_took_away_is_noticed(case: Told, data: st.DataObject) -> None:
    """Somebody types where the edit takes text away, the editor had not told it, and the typing is gone."""
    ranges = [e for e in diff(case.before, case.after).edits if e.end - e.start > 1]
    if not ranges:
        return
    edit = data.draw(st.sampled_from(ranges))
    at = data.draw(st.integers(edit.start + 1, edit.end - 1))
    typed = [Edit(at, at, "U"), Edit(0, len(case.before) + 1, case.after)]
    found = separate(Text.of(case.before), case.sent, typed, Coordinates(Encoding.UTF_32))
    assert found is None or found.without != case.before, "what was typed is somebody's"
