"""What was taken back in one text is taken back in another one, wherever both say the same."""

from __future__ import annotations

import pytest

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.made_too import made_too

BEFORE, AFTER = "one\nnew\nTHREE\nfour\n", "one\nthree\nfour\n"
CHANGES = ChangeSet.of(len(BEFORE), [Edit(4, 8, ""), Edit(8, 13, "three")])


@pytest.mark.parametrize(
    ("text", "then"),
    [
        (BEFORE, AFTER),
        (BEFORE.replace("four", "4"), AFTER.replace("four", "4")),
        ("one\nnew\nthree\nfour\n", AFTER),
        ("one\nnew\nelse\nfour\n", "one\nelse\nfour\n"),
        ("else\nnew\nelse\nfour\n", "else\nelse\nfour\n"),
        ("one\r\nnew\r\nelse\r\n", "one\r\nelse\r\n"),
        ("one\nmy new\nelse\nfour\n", "one\nmy new\nelse\nfour\n"),
        ("one\nnew one\nelse\nfour\n", "one\nnew one\nelse\nfour\n"),
    ],
)
def test_lines_go_whatever_is_beside_them(text: str, then: str) -> None:
    assert made_too(BEFORE, CHANGES, text) == then
