"""Lines that a change adds and removes, as turns tell them."""

from __future__ import annotations

import pytest

from sidecar.core.diff import diff
from sidecar.core.text import Text
from sidecar.workspace.edits.recording import lines_changed


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
