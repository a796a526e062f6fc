"""Unified diffs, against the standard library's."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.recovery.unified import unified

N = "".join(f"{i}\n" for i in range(1, 31))

ROWS = [
    (None, "a\n"),
    ("a\n", None),
    ("", ""),
    (N, N),
    (N, N.replace("15\n", "fifteen\n")),
    (N, N.replace("1\n2\n", "2\n")),
    (N, N + "31\n"),
    (N, N.replace("10\n", "ten\n").replace("17\n", "x\n")),
    (N, N.replace("10\n", "ten\n").replace("18\n", "x\n")),
    (N, N.replace("3\n", "3\nnew\n", 1).replace("29\n", "")),
]


@pytest.mark.parametrize(("before", "after"), ROWS)
def test_like_diff_u(before: str | None, after: str | None) -> None:
    expected = list(
        difflib.unified_diff((before or "").splitlines(), (after or "").splitlines(), lineterm="", n=3)
    )[2:]
    assert [t if m == "@" else m + t for m, t in unified(before, after)] == expected


LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=30).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)


@given(LINES, LINES)
def test_it_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    old, new = before.splitlines(), []
    at = 0
    for mark, text in unified(before, after):
        if mark == "@":
            place, _, length = text.split()[1][1:].partition(",")
            start = int(place) - (length != "0")
            new += old[at:start]
            at = start
        elif mark == "+":
            new.append(text)
        else:
            assert old[at] == text
            at += 1
            if mark == " ":
                new.append(text)
    assert new + old[at:] == after.splitlines()
