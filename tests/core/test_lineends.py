"""Line ends: rows, and the law that folding forgets nothing but the kind of terminator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.lineends import dominant, expand, fold, has_one_kind
from tests.support import oracle

TEXTS = st.lists(st.sampled_from(["a", "\n", "\r", "\r\n", "\f", "\x85", "\u2028"]), max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "folded", "terminator"),
    [
        ("", "", "\n"),
        ("a", "a", "\n"),
        ("a\nb\n", "a\nb\n", "\n"),
        ("a\r\nb\r\n", "a\nb\n", "\r\n"),
        ("a\rb\r", "a\nb\n", "\r"),
        ("a\r\r\nb", "a\n\nb", "\r\n"),
        ("a\n\r\nb\n\r", "a\n\nb\n\n", "\n"),
        ("\r\n\r\n\n", "\n\n\n", "\r\n"),
        # a draw
        ("a\nb\r\n", "a\nb\n", "\n"),
        ("a\rb\r\n", "a\nb\n", "\r\n"),
        ("a\nb\r", "a\nb\n", "\n"),
        # not line ends
        ("a\fb\vc\x85d\u2028e\u2029\x1c", "a\fb\vc\x85d\u2028e\u2029\x1c", "\n"),
    ],
)
def test_rows(text: str, folded: str, terminator: str) -> None:
    assert fold(text) == folded
    assert dominant(text) == terminator


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_laws(text: str, terminator: str) -> None:
    assert fold(text) == "\n".join(line.rstrip("\r\n") for line in oracle.split_lines(text))
    assert "\r" not in fold(text)
    assert fold(expand(text, terminator)) == fold(text)
    assert expand(expand(text, "\r\n"), terminator) == expand(text, terminator)
    assert dominant(expand(text, terminator)) == (terminator if fold(text).count("\n") else "\n")
    ends = [line[len(line.rstrip("\r\n")) :] for line in oracle.split_lines(text)[:-1]]
    assert all(ends.count(other) <= ends.count(dominant(text)) for other in ("\n", "\r\n", "\r"))


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("", True),
        ("a", True),
        ("a\nb", True),
        ("a\r\nb", True),
        ("a\r\nb\n", False),
        ("a\rb", False),
        ("a\rb\r\n", False),
        ("a\r\r\n", False),
    ],
)
def test_one_kind(text: str, one: bool) -> None:
    assert has_one_kind(text) is one
