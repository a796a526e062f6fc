"""What was taken back in one text is taken back in another one, wherever both say the same."""

from __future__ import annotations

import pytest

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
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
        ("else\nnew\nelse\nfour\n", "else\nnew\nelse\nfour\n"),
        ("one\r\nnew\r\nelse\r\n", "one\r\nelse\r\n"),
        ("one\nmy new\nelse\nfour\n", "one\nmy new\nelse\nfour\n"),
        ("one\nnew one\nelse\nfour\n", "one\nnew one\nelse\nfour\n"),
    ],
)
def test_lines_go_if_a_line_beside_them_is_the_same(text: str, then: str) -> None:
    assert made_too(BEFORE, CHANGES, text) == then


@pytest.mark.parametrize("agents", ["a\nb\n", "a\nb2\nagent\n"])
def test_a_last_line_without_an_end_is_not_put_before_others(agents: str) -> None:
    """Lines that somebody added since would go on in it."""
    changes, text = diff(agents, "a\nB"), agents + "c\n"
    assert made_too(agents, changes, text) == text


def test_the_same_line_among_others_is_somebody_elses() -> None:
    agents = "import re\nx = 1\n"
    text = "import sys\nimport re\nimport json\n\ny = re.x\n"
    assert made_too(agents, diff(agents, "x = 1\n"), text) == text
