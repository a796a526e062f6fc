"""with_shared: what the user saved, and an agent's text has, too, is the user's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.shared import with_shared

LINES = st.lists(st.sampled_from(["one\n", "two\n", "three\n", "x y\n", "x z\n", "\n"]), max_size=6).map(
    "".join
)


@pytest.mark.parametrize(
    ("base", "first", "second", "wanted"),
    [
        ("l1\n", "l1 mine\nmore\n", "l1 mine\nAGENT\n", "l1 mine\n"),
        ("l1\n", "l1 mine\n", "l1\nAGENT\n", "l1\n"),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\nTHREE\n", "one\nthree\n"),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\ntwo\nTHREE\n", "one\ntwo\nthree\n"),
        ("one\n", "mine\none\n", "mine\none\nAGENT\n", "mine\none\n"),
        ("one\nl2 mine\n", "one\nl2\n", "one\nl2 AGENT\n", "one\nl2 \n"),
        ("one\nl2\n", "one\nl2 mine\n", "one\nl2 mine AGENT\n", "one\nl2 mine\n"),
        ("one\nl2 old\n", "one\nl2 mine\n", "one\nAGENT l2 mine\n", "one\nl2 mine\n"),
        ("one\ncall(agent50)\n", "one\ncall(base33)\n", "one\ncall(agent75)\n", "one\ncall(agent50)\n"),
        ("one\ntwo\n", "one\na23x MADE a24x MADE\n", "one\na25x MADE\n", "one\n\n"),
    ],
    ids=[
        "half of it",
        "nothing",
        "removed by both",
        "removed by one",
        "all",
        "a word removed",
        "a word put in",
        "a word instead",
        "a part of a word instead",
        "something else instead",
    ],
)
def test_what_both_have_is_there(base: str, first: str, second: str, wanted: str) -> None:
    assert with_shared(base, first, second) == wanted


@given(LINES, LINES)
def test_all_or_nothing(base: str, first: str) -> None:
    assert with_shared(base, first, first) == first
    assert with_shared(base, base, first) == with_shared(base, first, base) == base


@given(LINES, LINES, LINES)
def test_nothing_comes_from_elsewhere(base: str, first: str, second: str) -> None:
    """No more lines than the first has or the base had."""
    made = with_shared(base, first, second)
    assert set(made.replace("\n", "")) <= set((base + first).replace("\n", ""))
    assert len(made) <= len(base) + len(first)
