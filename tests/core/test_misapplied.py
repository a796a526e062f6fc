"""Edits of ours at the wrong place: found among the user's, and taken out again."""

from __future__ import annotations

import pytest

from sidecar.core.change import Edit
from sidecar.core.misapplied import SentEdit, looks_applied, separate
from sidecar.core.text import Encoding, Position, Text

P = Position
BASE = "one\ntwo\nthree\nfour\n"

CASES = [
    # what was sent, what arrived, the text without ours (None: not separable)
    (
        "a line typed above, then ours one line too high, clamped to that line",
        [SentEdit(P(2, 0), P(2, 5), "THREE")],
        [Edit(0, 0, "new\n"), Edit(8, 11, "THREE")],
        "new\n" + BASE,
    ),
    (
        "the same length of line: replaced at the sent columns",
        [SentEdit(P(1, 0), P(1, 3), "TWO")],
        [Edit(0, 0, "new\n"), Edit(4, 7, "TWO")],
        "new\n" + BASE,
    ),
    (
        "an insertion a line too high",
        [SentEdit(P(2, 0), P(2, 0), "ours\n")],
        [Edit(0, 0, "new\n"), Edit(8, 8, "ours\n")],
        "new\n" + BASE,
    ),
    (
        "two edits, from the last to the first, and newer typing behind",
        [SentEdit(P(1, 0), P(1, 0), "a\n"), SentEdit(P(3, 0), P(3, 0), "b\n")],
        [Edit(0, 0, "new\n"), Edit(12, 12, "b\n"), Edit(4, 4, "a\n"), Edit(0, 0, "x")],
        "xnew\n" + BASE,
    ),
    (
        "two edits, from the first to the last",
        [SentEdit(P(1, 0), P(1, 0), "a"), SentEdit(P(3, 0), P(3, 0), "b")],
        [Edit(0, 0, "new\n"), Edit(4, 4, "a"), Edit(13, 13, "b")],
        "new\n" + BASE,
    ),
    (
        "newer typing inside ours",
        [SentEdit(P(2, 0), P(2, 0), "ours\n")],
        [Edit(0, 0, "new\n"), Edit(8, 8, "ours\n"), Edit(10, 10, "x")],
        None,
    ),
    ("only typing", [SentEdit(P(2, 0), P(2, 0), "ours\n")], [Edit(0, 0, "new\n")], None),
]


@pytest.mark.parametrize(("sent", "received", "without"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_separate(sent: list[SentEdit], received: list[Edit], without: str | None) -> None:
    found = separate(Text.of(BASE), sent, received, Encoding.UTF_16)
    assert (found.without if found else None) == without


def test_looks_applied() -> None:
    sent = [SentEdit(P(2, 0), P(2, 0), "ours\n")]
    assert looks_applied(sent, [Edit(0, 9, "all in one ours and more")])
    assert not looks_applied(sent, [Edit(0, 0, "typed")])
    assert looks_applied([SentEdit(P(0, 0), P(0, 2), "")], [Edit(5, 6, "")])
