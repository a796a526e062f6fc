"""Replacing text where it stands, as agents' edit tools mean it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.replace import Replacement, replaced

CASES = [
    # text, (old, new, everywhere)…, expected
    ("one two", [("two", "TWO", False)], "one TWO"),
    ("a a", [("a", "b", True)], "b b"),
    ("a\nb\n", [("a\r\nb", "c\r\nd", False)], "c\nd\n"),
    ("one two", [("two", "three", False), ("three", "four", False)], "one four"),
    ("one", [("one", "", False)], ""),
    ("a a", [("a", "b", False)], Kind.SEVERAL_MATCHES),
    ("a", [("b", "c", False)], Kind.NO_MATCH),
    ("a", [("a", "a", False)], Kind.BAD_PARAMS),
    ("a", [("", "b", False)], Kind.BAD_PARAMS),
    ("one two", [("one", "two", False), ("two", "x", False)], Kind.SEVERAL_MATCHES),
]


@pytest.mark.parametrize(("text", "steps", "expected"), CASES)
def test_replaced(text: str, steps: list[tuple[str, str, bool]], expected: str | Kind) -> None:
    found = replaced(text, [Replacement(*step) for step in steps], "/a.txt")
    assert (found.kind if isinstance(found, Refusal) else found) == expected


def test_an_error_says_which_edit_and_what_to_do() -> None:
    found = replaced("a b", [Replacement("a", "x"), Replacement("zz" * 1000, "y")], "/a.txt")
    assert isinstance(found, Refusal)
    assert found.message.startswith("edit 2 of 2: String to replace not found in file.")
    assert "read it again" in found.message
    assert len(found.message) < 1000, "a long text is not repeated whole"


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=4), st.text("xy\n", max_size=4))
def test_only_what_was_named_changes(text: str, old: str, new: str) -> None:
    """Taking the new text out again at its place gives the text from before."""
    found = replaced(text, [Replacement(old, new)], "/a.txt")
    if isinstance(found, Refusal):
        assert text.count(old) != 1 or old == new
    else:
        at = text.index(old)
        assert found[:at] + old + found[at + len(new) :] == text
