"""Edits of ours at the wrong place: found among the user's, and taken out again."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.misapplied import (
    Attempt,
    looks_applied,
    overwrites,
    separate,
    separate_all,
    typed_into,
)
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Text

P = Position
BASE = "one\ntwo\nthree\nfour\n"

CASES = [
    # what was sent, what arrived, the text without ours (None: not separable)
    (
        "a line typed above, then ours one line too high, clamped to that line",
        [TextEdit(P(2, 0), P(2, 5), "THREE")],
        [Edit(0, 0, "new\n"), Edit(8, 11, "THREE")],
        "new\n" + BASE,
    ),
    (
        "the same length of line: replaced at the sent columns",
        [TextEdit(P(1, 0), P(1, 3), "TWO")],
        [Edit(0, 0, "new\n"), Edit(4, 7, "TWO")],
        "new\n" + BASE,
    ),
    (
        "an insertion a line too high",
        [TextEdit(P(2, 0), P(2, 0), "ours\n")],
        [Edit(0, 0, "new\n"), Edit(8, 8, "ours\n")],
        "new\n" + BASE,
    ),
    (
        "two edits, from the last to the first, and newer typing behind",
        [TextEdit(P(1, 0), P(1, 0), "a\n"), TextEdit(P(3, 0), P(3, 0), "b\n")],
        [Edit(0, 0, "new\n"), Edit(12, 12, "b\n"), Edit(4, 4, "a\n"), Edit(0, 0, "x")],
        "xnew\n" + BASE,
    ),
    (
        "two edits, from the first to the last",
        [TextEdit(P(1, 0), P(1, 0), "a"), TextEdit(P(3, 0), P(3, 0), "b")],
        [Edit(0, 0, "new\n"), Edit(4, 4, "a"), Edit(13, 13, "b")],
        "new\n" + BASE,
    ),
    (
        "an undo that leads to a part of what ours says, then ours",
        [TextEdit(P(1, 0), P(2, 5), "zwei\ntwo")],
        [Edit(4, 7, "zwei"), Edit(4, 14, "zwei\ntwo")],
        "one\nzwei\nthree\nfour\n",
    ),
    (
        "newer typing inside ours",
        [TextEdit(P(2, 0), P(2, 0), "ours\n")],
        [Edit(0, 0, "new\n"), Edit(8, 8, "ours\n"), Edit(10, 10, "x")],
        "new\none\nxtwo\nthree\nfour\n",
    ),
    (
        "all of ours deleted again: what it took away comes back",
        [TextEdit(P(1, 0), P(1, 3), "TWO")],
        [Edit(4, 4, "x"), Edit(4, 7, "TWO"), Edit(0, 7, "")],
        "xtwo\nthree\nfour\n",
    ),
    (
        "lines typed into ours: the rest of a torn word stays beside it",
        [TextEdit(P(0, 0), P(0, 1), "a\nb\nc")],
        [Edit(0, 0, "new\n"), Edit(0, 1, "a\nb\nc"), Edit(2, 2, "typed\n")],
        "typed\nnew\n" + BASE,
    ),
    (
        "a line typed into ours, which tore another one: that is whole again, and the typed one before it",
        [TextEdit(P(1, 1), P(1, 1), "\nours")],
        [Edit(0, 0, "new\n"), Edit(5, 5, "\nours"), Edit(6, 6, "ty"), Edit(8, 8, "ped\n")],
        "new\ntyped\n" + BASE,
    ),
    (
        "a line typed behind ours, which ends with a line end",
        [TextEdit(P(1, 1), P(1, 1), "ours\n")],
        [Edit(0, 0, "new\n"), Edit(5, 5, "ours\n"), Edit(10, 10, "typed\n")],
        "new\ntyped\n" + BASE,
    ),
    (
        "a line typed into ours, which took the midst of two away",
        [TextEdit(P(2, 1), P(3, 2), "A\nB")],
        [Edit(0, 0, "new\n"), Edit(9, 14, "A\nB"), Edit(11, 11, "typed\n")],
        "new\none\ntyped\ntwo\nthree\nfour\n",
    ),
    (
        "two of ours in one line, with lines typed into both",
        [TextEdit(P(1, 1), P(1, 1), "\na"), TextEdit(P(1, 2), P(1, 2), "\nb")],
        [Edit(0, 0, "new\n"), Edit(6, 6, "\nb"), Edit(5, 5, "\na"), Edit(6, 6, "1\n"), Edit(11, 11, "2\n")],
        "new\n1\n2\n" + BASE,
    ),
    (
        "undone by the user, who typed on",
        [TextEdit(P(1, 0), P(1, 3), "TWO")],
        [Edit(4, 4, "x"), Edit(4, 7, "TWO"), Edit(4, 7, "xtw"), Edit(0, 0, "y")],
        "yone\nxtwo\nthree\nfour\n",
    ),
    (
        "undone and redone",
        [TextEdit(P(1, 0), P(1, 3), "TWO")],
        [Edit(4, 4, "x"), Edit(4, 7, "TWO"), Edit(4, 7, "xtw"), Edit(4, 7, "TWO")],
        "one\nxtwo\nthree\nfour\n",
    ),
    (
        "typing and ours each told as the whole text",
        [TextEdit(P(1, 0), P(1, 3), "TWO"), TextEdit(P(3, 0), P(3, 0), "b\n")],
        [Edit(0, 19, "new\n" + BASE), Edit(0, 23, "new\nTWO\ntwo\nb\nthree\nfour\n")],
        "new\n" + BASE,
    ),
    ("only typing", [TextEdit(P(2, 0), P(2, 0), "ours\n")], [Edit(0, 0, "new\n")], None),
]


@pytest.mark.parametrize(("sent", "received", "without"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_separate(sent: list[TextEdit], received: list[Edit], without: str | None) -> None:
    found = separate(Text.of(BASE), sent, received, Coordinates())
    assert (found.without if found else None) == without


def test_several_edits_each_at_a_wrong_place() -> None:
    """Ours a line too high; what takes it out again a line too high, too, with two letters of what was typed before it; and so on."""
    indents = Attempt(
        Text.of(BASE), [TextEdit(P(2, 0), P(2, 0), "  ")], [Edit(0, 0, "new\n"), Edit(8, 8, "  ")]
    )
    once = "new\none\n  two\nthree\nfour\n"
    takes_out = Attempt(
        Text.of(once), [TextEdit(P(2, 0), P(2, 2), "")], [Edit(4, 4, "typed\n"), Edit(10, 12, "")]
    )
    twice = "new\ntyped\ne\n  two\nthree\nfour\n"
    again = Attempt(
        Text.of(twice),
        [TextEdit(P(2, 0), P(2, 0), "on"), TextEdit(P(3, 0), P(3, 2), "")],
        [Edit(0, 0, "more\n"), Edit(15, 16, ""), Edit(9, 9, "on"), Edit(0, 4, "MORE")],
    )
    for attempts, without in (
        ([indents], "new\n" + BASE),
        ([indents, takes_out], "new\ntyped\n" + BASE),
        ([indents, takes_out, again], "MORE\nnew\ntyped\n" + BASE),
    ):
        found = separate_all(attempts, Coordinates())
        assert found is not None
        assert found.without == without
    assert separate_all([], Coordinates()) is None
    typing = Attempt(Text.of(once), takes_out.sent, takes_out.received[:1])
    assert separate_all([indents, typing], Coordinates()) is None, "one of them was not made"


@pytest.mark.parametrize(
    ("lf_lines", "place", "end", "is_found"),
    [
        (True, P(0, 3), 3, True),
        (True, P(0, 4), 4, True),
        (True, P(0, 9), 4, True),  # Neovim in a file of both kinds of line ends
        (True, P(0, 9), 3, True),
        (True, P(0, 3), 4, False),
        (True, P(0, 9), 5, False),
        (False, P(0, 9), 3, True),
        (False, P(0, 9), 4, False),
    ],
)
def test_a_place_behind_a_line_that_ends_with_two_characters(
    lf_lines: bool, place: Position, end: int, is_found: bool
) -> None:
    text = Text.of("one\r\ntwo\n")
    sent = [TextEdit(P(0, 1), place, "x"), TextEdit(P(1, 0), P(1, 0), "y")]
    found = separate(text, sent, [Edit(5, 5, "y"), Edit(1, end, "x")], Coordinates(Encoding.UTF_16, lf_lines))
    assert (found is not None) is is_found


def test_undone_and_redone_is_told_apart() -> None:
    sent = [TextEdit(P(1, 0), P(1, 3), "TWO")]
    received = [Edit(4, 4, "x"), Edit(4, 7, "TWO"), Edit(4, 7, "xtw"), Edit(4, 7, "TWO")]
    for count, is_undone in ((2, False), (3, True), (4, False)):
        found = separate(Text.of(BASE), sent, received[:count], Coordinates())
        assert found is not None
        assert found.is_undone is is_undone


def test_an_edit_on_another_text_is_seen_whatever_that_leads_to() -> None:
    sent = [TextEdit(P(1, 0), P(1, 3), "TWO")]
    assert overwrites(Text.of(BASE), sent, [Edit(4, 4, "x"), Edit(4, 7, "TWO")], Coordinates())
    assert not overwrites(Text.of(BASE), sent, [Edit(4, 7, "TWO"), Edit(4, 4, "x")], Coordinates())


def test_edits_told_in_smaller_pieces_are_not_on_another_text() -> None:
    """Neovim: `line 3` comes back before `line 4`, told as more of line 4; the other edit would lead to the same on any text."""
    text = "LINE 1\nline 2\nline 4\n"
    sent = [TextEdit(P(0, 0), P(0, 4), "line"), TextEdit(P(2, 0), P(2, 0), "line 3\n")]
    for received in (
        [Edit(0, 4, "line"), Edit(19, 20, "3\nline 4")],
        [Edit(19, 20, "3\nline 4"), Edit(0, 4, "line")],
    ):
        assert not overwrites(Text.of(text), sent, received, Coordinates())
    typed = [Edit(5, 6, "one"), Edit(0, 4, "line"), Edit(16, 16, "line 3\n")]
    assert overwrites(Text.of(text), sent, typed, Coordinates())


def test_looks_applied() -> None:
    sent = [TextEdit(P(2, 0), P(2, 0), "ours\n")]
    assert looks_applied(sent, [Edit(0, 9, "all in one ours and more")])
    assert not looks_applied(sent, [Edit(0, 0, "typed")])
    assert looks_applied([TextEdit(P(0, 0), P(0, 2), "")], [Edit(5, 6, "")])


def test_many_edits_of_a_large_text_told_one_by_one() -> None:
    """A state for each of them, of which none is a copy of the whole: else an ordinary write to ten megabytes stops everything for
    seconds and takes a gigabyte."""
    line = "x = 1  # a line like many others\n"
    before = Text.of(line * 60_000)
    sent = [TextEdit(Position(n, 0), Position(n, 1), "y") for n in range(0, 60_000, 1_000)]
    told = [Edit(n * len(line), n * len(line) + 1, "y") for n in range(0, 60_000, 1_000)]
    tracemalloc.start()
    try:
        assert not overwrites(before, sent, told, Coordinates())
        assert not overwrites(before, sent, told[:-1], Coordinates()), "not all of them: not found"
        typed = [Edit(0, 0, "typed\n"), *(Edit(e.start + 6, e.end + 6, e.new) for e in told)]
        assert not overwrites(before, sent, typed, Coordinates()), (
            "moved by what was typed: not at the places sent"
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * len(before)


TEXTS = st.text("abc\n", max_size=12)


@given(TEXTS, TEXTS, TEXTS, st.data())
def test_what_was_typed_into_ours_is_told_apart(
    before: str, ours: str, typed: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(before)))
    edit = Edit(start, data.draw(st.integers(start, len(before))), ours)
    changes = ChangeSet.of(len(before), [edit])
    after = changes.apply(before)
    at = data.draw(st.integers(start, start + len(ours)))
    both = after[:at] + typed + after[at:]
    told = Rope(before).apply(None, both, Encoding.UTF_32)
    found = typed_into(Text.of(before), changes, [told])
    if found is None:
        assert len(ours.strip()) < 2 or both == before
        return
    for one in found:
        assert one.start == one.end
        after = after[: one.start] + one.new + after[one.end :]
    assert after == both


@pytest.mark.parametrize("told", [Edit(4, 7, "typed"), Edit(4, 7, "TW"), Edit(4, 14, "TWO\nthre")])
def test_what_lacks_something_of_ours_is_not_ours_with_typing(told: Edit) -> None:
    ours = ChangeSet.of(len(BASE), [Edit(4, 7, "TWO")])
    assert typed_into(Text.of(BASE), ours, [told]) is None
