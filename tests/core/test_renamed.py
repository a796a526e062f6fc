"""renamed: what a renamed word explains is what a search finds, in fewer steps, and a wrong guess costs little."""

from __future__ import annotations

import random
import re
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import diff as diffs
from sidecar.core import hunks
from sidecar.core.align import Budget
from sidecar.core.diff import diff
from sidecar.core.hunks import LineHunk, line_hunks
from sidecar.core.renamed import Guess, Renaming

TOKENS = st.lists(
    st.sampled_from(["foo", "bar", "foo", "_", "é", " ", "  " * 40, "\n", "\r\n", "("]), max_size=60
)


@given(TOKENS.map("".join))
def test_a_word_is_replaced_where_it_stands_alone(text: str) -> None:
    renaming = Renaming("foo", "bar")
    places = renaming.places(text)
    if places is not None:
        assert places == [match.start() for match in re.finditer(r"\bfoo\b", text)]
        assert not re.search(r"\bbar\b", text)
        assert renaming.applied(text, places) == re.sub(r"\bfoo\b", "bar", text)


@pytest.mark.parametrize(
    ("words", "around"),
    [
        (("index", "indent"), (4, 0)),
        (("aa", "aaa"), (2, 0)),
        (("value", "the_value"), (0, 5)),
        (("a", "b"), (0, 0)),
    ],
)
def test_what_two_words_have_in_common_stays(words: tuple[str, str], around: tuple[int, int]) -> None:
    assert Renaming(*words).around == around


def lines_with(every: int, count: int, end: str = "\n") -> list[str]:
    """Lines with one word more than once, in every n-th of them."""
    return [
        f"    {'value' if not number % every else 'x'}, value{number} = {'value' * (number % every == 0)}  # {number * 7919 % 100003}{end}"
        for number in range(count)
    ]


def _never(guess: Guess) -> bool:
    return False


def as_searched(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> Any:
    """The edits that are found if nothing is guessed."""
    with monkeypatch.context() as without:
        without.setattr(Guess, "is_due", _never)
        return diff(old, new)


@pytest.mark.parametrize("now", ["worth", "values", "v", "the_value", "été"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("every", [9, 23])
def test_the_edits_are_those_that_a_search_finds(
    monkeypatch: pytest.MonkeyPatch, now: str, end: str, every: int
) -> None:
    """Also if a few other lines were changed, and the last line has no end."""
    old = "".join(lines_with(every, 1500, end))[: -len(end)]
    lines = re.sub(r"\bvalue\b", now, old).split(end)
    for changed in ([], [300, 700, 1111, 1499]):
        for number in changed:
            lines[number] += " and more"
        new = end.join(lines)
        assert diff(old, new) == as_searched(monkeypatch, old, new)


def test_a_block_that_was_copied_and_renamed_is_an_insertion() -> None:
    """As many lines are explained by a renaming, but what follows does not match then."""
    old = "".join(f"foo {number} of {number * 31}\n\n" for number in range(200))
    new = old.replace("foo", "bar") + old
    assert line_hunks(old, new) == [LineHunk(0, 0, 0, len(old))]


def test_many_places_are_found_without_a_search_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []

    def counted(name: str, search: Any) -> Any:
        def call(*given: Any) -> Any:
            searches.append(name)
            return search(*given)

        return call

    for module, name in ((hunks, "_resync"), (diffs, "_refine")):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    lines = [
        f"    the {'thing' if number % 10 else 'value'} of line {number}, {number * 7919 % 1000003}\n"
        for number in range(10_000)
    ]
    changed = [line if number % 10 else line.replace("value", "worth") for number, line in enumerate(lines)]
    old, new = "".join(lines), "".join(changed)
    starts = [0, *accumulate(map(len, lines))]
    assert line_hunks(old, new) == [
        LineHunk(*starts[at : at + 2], *starts[at : at + 2]) for at in range(0, 10_000, 10)
    ]
    assert [(edit.start, edit.new) for edit in diff(old, new).edits] == [
        (starts[at] + 8, "worth") for at in range(0, 10_000, 10)
    ]
    assert len(searches) < 20


def trap(size: int, right: int, gap: int) -> tuple[str, str]:
    """A word is renamed in so many places, then something else is changed, over and over."""
    old: list[str] = []
    new: list[str] = []
    for number in range(size // 20):
        at, other = divmod(number, gap)
        line = f"x{number:06d} {'f-o' if other else 'foo'} zzzzz\n"
        old.append(line)
        if at % (right + 1) == right:
            line = line if other else line.replace("zzzzz", f"y{number}")
        new.append(line.replace("foo", "bar") if at % (right + 1) != right else line)
    return "".join(old), "".join(new)


def hostile(kind: str, size: int) -> tuple[str, str]:
    pick = random.Random(1)
    count = size // 20
    lines = [f"line {number:07d} of foo x\n" for number in range(count)]
    few = [f"    row({number:04d}), foo\n" for number in range(10)]
    same = [f"word{number % 60} foo\n" for number in range(count)]
    match kind:
        case "repeated":
            old, new = pick.choices(few, k=count), pick.choices(few, k=count)
        case "shuffled":
            old, new = lines, [line.replace("foo", "bar") for line in pick.sample(lines, count)]
        case "blocks":
            starts = pick.sample(range(0, count, 40), len(range(0, count, 40)))
            old, new = lines, [line.replace("foo", "bar") for at in starts for line in lines[at : at + 40]]
        case "near":
            old = [f"a foo b {number % 7} c\n" for number in range(count)]
            new = [line.replace("foo", pick.choice(["foo", "bar"])) for line in old]
        case "windows":
            old, new = (
                same,
                [
                    line if number % 9 else f"{'y' * (number // 60 % 5)}{line}"
                    for number, line in enumerate(same)
                ],
            )
        case "windows renamed":
            old, new = (
                same,
                [line if number % 9 else line.replace("foo", "bar") for number, line in enumerate(same)],
            )
        case "letters":
            old = [f"a {number // 9} aa ab a a a\n" for number in range(count)]
            new = [line if number % 9 else f"b{line[1:]}" for number, line in enumerate(old)]
        case "in other words":
            old = [f"foofoofoo foo{'x' * (number % 9 > 0)}\n" for number in range(count)]
            new = [line.replace(" foo\n", " bar\n") for line in old]
        case _:
            right, gap = map(int, kind.split("/"))
            return trap(size, right, gap)
    return "".join(old), "".join(new)


TRAPS = [f"{right}/{gap}" for right in (1, 2, 3, 4, 7) for gap in (2, 9, 30)]


@pytest.mark.parametrize("size", [40_000, 400_000])
@pytest.mark.parametrize(
    "kind",
    [
        "repeated",
        "shuffled",
        "blocks",
        "near",
        "windows",
        "windows renamed",
        "letters",
        "in other words",
        *TRAPS,
    ],
)
def test_wrong_guesses_take_few_steps(monkeypatch: pytest.MonkeyPatch, kind: str, size: int) -> None:
    """Counted in steps of the budget, with and without them."""
    budgets: list[tuple[int, Budget]] = []

    def counted(left: int) -> Budget:
        budgets.append((left, Budget(left)))
        return budgets[-1][1]

    monkeypatch.setattr(hunks, "Budget", counted)
    monkeypatch.setattr(diffs, "Budget", counted)
    old, new = hostile(kind, size)
    searched = as_searched(monkeypatch, old, new)
    without = sum(left - budget.left for left, budget in budgets)
    budgets.clear()
    found = diff(old, new)
    assert found.apply(old) == new
    assert sum(left - budget.left for left, budget in budgets) <= 1.2 * without
    assert edit_size(found) <= edit_size(searched)


def edit_size(changes: Any) -> int:
    return sum(edit.end - edit.start + len(edit.new) for edit in changes.edits)
