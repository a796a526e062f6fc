"""Lines that a change adds and removes, as turns tell them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.diff import diff
from sidecar.core.hunks import lines_of
from sidecar.core.lines_changed import lines_changed
from sidecar.core.text import Text


@pytest.mark.parametrize(
    ("before", "after", "added", "removed"),
    [
        ("one\n", "one\n", 0, 0),
        ("one\n", "one\ntwo\n", 1, 0),
        ("one\ntwo\n", "one\n", 0, 1),
        ("range(n - 1)\n", "range(n)\n", 1, 1),
        ("a b\n", "a x b y\n", 1, 1),
        ("a\nb\nc\n", "A\nb\nC\n", 2, 2),
        ("", "one", 1, 0),
        ("one", "one\ntwo", 2, 1),
        ("a\r\nb\r\n", "a\r\nx\r\nb\r\n", 1, 0),
    ],
)
def test_lines_are_counted_as_a_person_counts_them(before: str, after: str, added: int, removed: int) -> None:
    assert lines_changed(Text.of(before), diff(before, after)) == (added, removed)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\r", "\n", "e e\n"]), max_size=8)


@given(LINES, LINES, st.sampled_from(["", "end"]), st.sampled_from(["", "end", "fin"]))
def test_what_comes_and_goes_makes_the_difference(
    old: list[str], new: list[str], end: str, other: str
) -> None:
    before, after = "".join(old) + end, "".join(new) + other
    changes = diff(before, after)
    added, removed = lines_changed(Text.of(before), changes)
    assert (added, removed) == lines_changed(before, changes)
    assert added - removed == len(lines_of(after)) - len(lines_of(before))
    assert 0 <= removed <= len(lines_of(before))
    assert 0 <= added <= len(lines_of(after))
