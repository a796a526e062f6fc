"""The size and the depth of JSON values, in one pass."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.json_size import measured, size_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=30,
)


def by_recursion(value: object) -> tuple[int, int]:
    """The same, one value at a time."""
    if isinstance(value, str):
        return 32 + sys.getsizeof(value), 1
    if isinstance(value, dict):
        found = [by_recursion(one) for one in value.values()]
        names = sum(32 + sys.getsizeof(name) for name in value)
    else:
        found = [by_recursion(one) for one in value] if isinstance(value, list) else []
        names = 0
    return 32 + names + sum(size for size, _ in found), 1 + max((depth for _, depth in found), default=0)


@given(VALUES)
def test_every_value_counts_once(value: object) -> None:
    assert measured(value) == by_recursion(value)


@pytest.mark.parametrize(("character", "times"), [("a", 1), ("é", 1), ("€", 2), ("\U0001f600", 4)])
def test_one_wide_character_makes_all_wide(character: str, times: int) -> None:
    length = 100_000
    assert times <= size_of({"text": character + "a" * length}) / length < times + 0.01


@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_no_deeper_than_asked_for(brackets: str) -> None:
    opens, closes = ('{"a":', "}") if brackets == "{}" else "[]"
    value = json.loads(opens * 50 + brackets + closes * 50)
    assert measured(value).depth == 51
    assert measured(value, 51).depth == 51
    assert measured(value, 20).depth == 21
    assert measured(value, 20).size < measured(value).size
