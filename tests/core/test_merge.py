"""merge: laws that random texts must keep, then the rule row by row, then what a conflict says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet
from sidecar.core.merge import Conflict, ConflictHunk, Merged, merge

BASES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d e\n", "f"]), max_size=14).map("".join)


@st.composite
def changed(draw: st.DrawFn, base: str, mark: str) -> str:
    """`base` with stretches of it replaced by marks that are in no other text; the rest is deletion."""
    text = base
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 6])))
        text = text[:start] + draw(st.sampled_from(["", mark, mark + "\n", "\n" + mark])) + text[end:]
    return text


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    base = draw(BASES)
    return base, draw(changed(base, "X")), draw(changed(base, "Y"))


def merged(base: str, ours: str, theirs: str) -> str | None:
    result = merge(base, ours, theirs)
    return result.apply(ours) if isinstance(result, Merged) else None


@given(three_texts())
def test_one_side_alone(texts: tuple[str, str, str]) -> None:
    base, ours, theirs = texts
    unchanged = Merged(ChangeSet(len(ours)))
    assert merge(base, ours, base) == unchanged
    assert merge(base, ours, ours) == unchanged
    assert merged(base, base, theirs) == theirs


@given(three_texts())
def test_both_sides_see_the_same(texts: tuple[str, str, str]) -> None:
    base, ours, theirs = texts
    here, there = merge(base, ours, theirs), merge(base, theirs, ours)
    if isinstance(here, Merged):
        assert isinstance(there, Merged)
        assert here.apply(ours) == there.apply(theirs)
    else:
        assert isinstance(there, Conflict)
        swapped = [(hunk.base, hunk.theirs, hunk.ours) for hunk in there.hunks]
        assert [(hunk.base, hunk.ours, hunk.theirs) for hunk in here.hunks] == swapped


@given(three_texts())
def test_nothing_that_either_wrote_is_lost(texts: tuple[str, str, str]) -> None:
    base, ours, theirs = texts
    result = merged(base, ours, theirs)
    if result is not None:
        assert result.count("X") == ours.count("X")
        assert result.count("Y") == theirs.count("Y")


@given(three_texts())
def test_the_changes_are_a_change_set_that_undoes(texts: tuple[str, str, str]) -> None:
    base, ours, theirs = texts
    result = merge(base, ours, theirs)
    if isinstance(result, Merged):
        assert ChangeSet.of(len(ours), result.changes.edits) == result.changes
        assert result.changes.invert(ours).apply(result.apply(ours)) == ours


@given(st.integers(0, 20), st.data())
def test_lines_that_both_kept_stay_and_no_others(count: int, data: st.DataObject) -> None:
    """With lines that are all different, what has to come out can be said without merging."""
    base = [f"{number}\n" for number in range(count)]

    def side(mark: str) -> list[str]:
        lines = base[:]
        for step in range(data.draw(st.integers(0, 3))):
            start = data.draw(st.integers(0, len(lines)))
            lines[start : start + data.draw(st.integers(0, 3))] = [
                f"{mark}{step}{row}\n" for row in range(data.draw(st.integers(0, 2)))
            ]
        return lines

    ours, theirs = side("X"), side("Y")
    result = merged("".join(base), "".join(ours), "".join(theirs))
    if result is not None:
        lines = result.splitlines(keepends=True)
        assert [line for line in lines if line in base] == [
            line for line in base if line in ours and line in theirs
        ]
        assert [line for line in lines if line.startswith("X")] == [line for line in ours if line not in base]
        assert [line for line in lines if line.startswith("Y")] == [
            line for line in theirs if line not in base
        ]


@given(st.lists(st.sampled_from([" ", "ours", "theirs", "both"]), max_size=25))
def test_different_lines_changed_always_merge(plan: list[str]) -> None:
    base = [f"line {number}\n" for number in range(len(plan))]
    ours = [f"X{line}" if who in ("ours", "both") else line for who, line in zip(plan, base, strict=True)]
    theirs = [
        f"Y{line}" if who == "theirs" else f"X{line}" if who == "both" else line
        for who, line in zip(plan, base, strict=True)
    ]
    want = [a if a != line else b for line, a, b in zip(base, ours, theirs, strict=True)]
    assert merged("".join(base), "".join(ours), "".join(theirs)) == "".join(want)


def text(row: str) -> str:
    """`a b.c` is the two lines "a" and "b c"; a final `-` means that the last line has no end."""
    lines = "".join(line.replace(".", " ") + "\n" for line in row.replace("_", "").split(" ")) if row else ""
    return lines.removesuffix("-\n") if row.endswith("-") else lines


@pytest.mark.parametrize(
    ("case", "base", "ours", "theirs", "want"),
    [
        ("only ours", "a b c", "a X c", "a b c", "a X c"),
        ("only theirs", "a b c", "a b c", "a X c", "a X c"),
        ("far apart", "a b c d e", "X b c d e", "a b c d Y", "X b c d Y"),
        ("adjacent lines", "a b c d", "a X c d", "a b Y d", "a X Y d"),
        ("adjacent lines, the other way", "a b c d", "a b X d", "a Y c d", "a Y X d"),
        ("adjacent blocks", "a b c d e f", "a X X d e f", "a b c Y Y f", "a X X Y Y f"),
        ("every other line", "a b c d", "X b X d", "a Y c Y", "X Y X Y"),
        ("one line, one word each", "a b.c d", "a X.c d", "a b.Y d", "!"),
        ("one line, the same change", "a b c", "a X c", "a X c", "a X c"),
        ("one line, two changes", "a b c", "a X c", "a Y c", "!"),
        ("inserted apart", "a b c", "a X b c", "a b Y c", "a X b Y c"),
        ("inserted at one point", "a b", "a X b", "a Y b", "!"),
        ("inserted at one point, equal", "a b", "a X b", "a X b", "a X b"),
        ("inserted at one point, one more line", "a b", "a X b", "a X Y b", "!"),
        ("appended by both", "a", "a X", "a Y", "!"),
        ("appended by both, equal", "a", "a X", "a X", "a X"),
        ("put in front by both", "a", "X a", "Y a", "!"),
        ("both fill an empty file", "", "X", "Y", "!"),
        ("both fill an empty file alike", "", "X", "X", "X"),
        ("both empty the file", "a b", "", "", ""),
        ("deleted, edited inside", "a b c d e", "a e", "a b X d e", "!"),
        ("deleted, edited at its edge", "a b c d e", "a e", "a X c d e", "!"),
        ("deleted, inserted inside", "a b c d", "a d", "a b X c d", "!"),
        ("deleted, inserted at its edge", "a b c d", "a d", "a b c X d", "!"),
        ("deleted, next line changed", "a b c d", "a c d", "a b Y d", "a Y d"),
        ("deleted by both", "a b c d", "a d", "a d", "a d"),
        ("deleted side by side", "a b c d", "a c d", "a b d", "a d"),
        ("deletions that overlap", "a b c d e", "a d e", "a b e", "!"),
        ("inserted before a changed line", "a b c", "a X b c", "a Y c", "a X Y c"),
        ("inserted after a changed line", "a b c", "a b X c", "a Y c", "a Y X c"),
        ("inserted between changed lines", "a b c d", "a b X c d", "a Y Y d", "!"),
        ("inserted next to a line that grew", "a b c", "a X b c", "a Y Z c", "!"),
        ("rewritten, one line of it changed", "a b c d", "a X d", "a b Y d", "!"),
        ("the same lines and more of ours", "a b c d", "a X X d", "a X c d", "a X X d"),
        ("the same lines and more of theirs", "a b c d", "a X c d", "a X X d", "a X X d"),
        ("the same line between two", "a b c d e", "a X X d e", "a b X Y e", "a X X Y e"),
        ("one of the lines differs", "a b c d", "a X X d", "a X Y d", "!"),
        ("which of two equal lines went", "a x x b", "a x b", "a x Y b", "!"),
        ("added to equal lines, one of them changed", "a x x b", "a x x x b", "a Y x b", "!"),
        ("added to equal lines, a neighbour changed", "a x b", "a x x b", "a x Y", "a x x Y"),
        ("moved down, edited there", "a b c d", "b c a d", "X b c d", "!"),
        ("no end, appended, first line changed", "a b-", "a b X-", "Y b-", "Y b X-"),
        ("no end, appended by both", "a b-", "a b X-", "a b Y-", "!"),
        ("the end removed, appended", "a b", "a b-", "a b Y", "!"),
        ("the end removed, line in front changed", "a b", "a b-", "Y b", "Y b-"),
        ("the end added, line in front changed", "a b-", "a b", "Y b-", "Y b"),
        ("the end added and the line changed", "a b-", "a b", "a Y-", "!"),
        ("a blank line in between", "a _ c", "X _ c", "a _ Y", "X _ Y"),
    ],
)
def test_rule(case: str, base: str, ours: str, theirs: str, want: str) -> None:
    for mine, yours in ((ours, theirs), (theirs, ours)):
        result = merged(text(base), text(mine), text(yours))
        assert result == (None if want == "!" else text(want)), case


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "hunks"),
    [
        ("a b c", "a X c", "a Y c", [("b", "X", "Y", 1)]),
        ("a b", "a X b", "a Y b", [("", "X", "Y", 1)]),
        ("a b c d", "N a X c d", "a Y c d", [("b", "X", "Y", 2)]),
        ("a b c d e", "a e", "a b X d e", [("b c d", "", "b X d", 1)]),
        ("a b c d e", "X b c d X", "Y b c d Y", [("a", "X", "Y", 0), ("e", "X", "Y", 4)]),
        ("a b c d e f", "a X c d e f", "a b Y Y e f", []),
        ("a b c d", "a X X d", "Y Y c d", [("a b c", "a X X", "Y Y c", 0)]),
    ],
)
def test_conflicts_name_whole_lines(
    base: str, ours: str, theirs: str, hunks: list[tuple[str, str, str, int]]
) -> None:
    result = merge(text(base), text(ours), text(theirs))
    found = result.hunks if isinstance(result, Conflict) else ()
    assert list(found) == [ConflictHunk(text(b), text(o), text(t), line) for b, o, t, line in hunks]


def test_other_line_ends_count_lines_too() -> None:
    result = merge("a\rb\r\nc\n", "a\rX\r\nc\n", "a\rY\r\nc\n")
    assert result == Conflict((ConflictHunk("b\r\n", "X\r\n", "Y\r\n", 1),))
    assert merged("a\rb\r\nc\n", "A\rb\r\nc\n", "a\rb\r\nC\n") == "A\rb\r\nC\n"


def test_their_change_stays_small() -> None:
    base = "alpha beta gamma\ndelta epsilon zeta\n"
    result = merge(base, "ALPHA beta gamma\ndelta epsilon zeta\n", "alpha beta gamma\ndelta EPSILON zeta\n")
    assert isinstance(result, Merged)
    [edit] = result.changes.edits
    assert (edit.start, edit.end, edit.new) == (23, 30, "EPSILON")


def test_many_changes_in_a_long_text() -> None:
    base = [f"line {number} of a longer text\n" for number in range(5000)]
    ours, theirs = base[:], base[:]
    for index in range(0, 5000, 100):
        ours[index] = f"ours {index}\n"
        theirs[index + 50] = f"theirs {index}\n" * 2
    result = merged("".join(base), "".join(ours), "".join(theirs))
    assert result is not None
    want = [mine if mine != line else yours for line, mine, yours in zip(base, ours, theirs, strict=True)]
    assert Counter(result.splitlines()) == Counter("".join(want).splitlines())
    assert result == "".join(want)
