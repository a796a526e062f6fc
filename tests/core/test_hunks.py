"""line_hunks: whole lines, never touching, and where a hunk could lie as well."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core import hunks
from sidecar.core.hunks import MAX_HUNKS, LineHunk, line_hunks, lines_of, places

PIECES = st.sampled_from(
    ["a\n", "b\n", "c\n", "\n", "a", "b", "\r", "\r\n", "    ", "é\n", "\x0c", "\u2028", "😀"]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@st.composite
def two_texts(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts, mostly with much in common."""
    old = draw(st.lists(PIECES, max_size=40))
    new = old[:]
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(new)))
        end = min(len(new), start + draw(st.integers(0, 4)))
        new[start:end] = draw(st.lists(PIECES, max_size=4))
    return "".join(old), "".join(new)


def starts_line(text: str, at: int) -> bool:
    return at in (0, len(text)) or bool(re.match(r"\n|\r(?!\n)", text[at - 1 :]))


@given(two_texts())
@example(("a\r", "a\r\n"))
@example(("a\r\nb", "a\nb"))
def test_hunks_are_whole_lines_and_leave_the_rest_alone(texts: tuple[str, str]) -> None:
    old, new = texts
    i = j = 0
    for index, hunk in enumerate(line_hunks(old, new)):
        assert index == 0 or hunk.old_start > i
        assert old[i : hunk.old_start] == new[j : hunk.new_start]
        assert starts_line(old, hunk.old_start)
        assert starts_line(old, hunk.old_end)
        assert starts_line(new, hunk.new_start)
        assert starts_line(new, hunk.new_end)
        i, j = hunk.old_end, hunk.new_end
    assert old[i:] == new[j:]


@given(two_texts())
def test_a_hunk_can_lie_anywhere_in_its_place(texts: tuple[str, str]) -> None:
    old, new = texts
    hunks = line_hunks(old, new)
    for hunk, (low, high) in zip(hunks, places(old, new, hunks), strict=True):
        assert low <= hunk.old_start <= hunk.old_end <= high
        alone = old[: hunk.old_start] + new[hunk.new_start : hunk.new_end] + old[hunk.old_end :]
        size = hunk.old_end - hunk.old_start
        for start in range(low, high - size + 1):
            if starts_line(old, start) and starts_line(old, start + size):
                growth = len(alone) - len(old)
                moved = old[:start] + alone[start : start + size + growth] + old[start + size :]
                assert moved == alone
    assert line_hunks(old, old) == []


@given(TEXTS)
def test_lines_end_where_the_protocol_says(text: str) -> None:
    assert "".join(lines_of(text)) == text
    assert lines_of(text) == re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("a\nb\n", "a\nx\nb\n", (2, 2)),
        ("a\nx\nb\n", "a\nx\nx\nb\n", (2, 4)),
        ("a\nx\nx\nb\n", "a\nx\nb\n", (2, 6)),
        ("a\n\nb\n", "a\n\nc\n\nb\n", (2, 3)),
        ("a\nx\nb\n", "a\ny\nb\n", (2, 4)),
    ],
    ids=[
        "one place",
        "an equal line above",
        "one of two equal lines gone",
        "a paragraph",
        "replaced: no other place",
    ],
)
def test_places(old: str, new: str, place: tuple[int, int]) -> None:
    assert places(old, new, line_hunks(old, new)) == [place]


def test_there_are_never_too_many() -> None:
    lines = [f"line {number}\n" for number in range(3 * MAX_HUNKS)]
    changed = [line.upper() if index % 2 else line for index, line in enumerate(lines)]
    assert len(line_hunks("".join(lines), "".join(changed))) <= MAX_HUNKS


def test_a_block_far_longer_than_what_is_compared_first() -> None:
    lines = [f"line {number} of the old text\n" for number in range(4000)]
    block = [f"entry {number}\n" for number in range(3000)]
    old, new = "".join(lines), "".join(lines[:1000] + block + lines[1000:])
    at, size = len("".join(lines[:1000])), len("".join(block))
    assert line_hunks(old, new) == [LineHunk(at, at, at, at + size)]
    assert line_hunks(new, old) == [LineHunk(at, at + size, at, at)]


def test_a_rewritten_block_between_lines_that_stay() -> None:
    lines = [f"line {number} of the old text\n" for number in range(4000)]
    block = [f"entry {number}\n" for number in range(700)]
    old, new = "".join(lines), "".join(lines[:1000] + block + lines[1500:])
    [hunk] = line_hunks(old, new)
    assert new[hunk.new_start : hunk.new_end] == "".join(block)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_within_one_line_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """It may be all of a file of many megabytes. A `\r\n` is not known to be its end only, and is looked at."""
    looked: list[str] = []

    def resync(old: str, new: str, *rest: object) -> None:
        looked.append(end)

    monkeypatch.setattr(hunks, "_resync", resync)
    old, new = f"first\na b c d{end}last", f"first\na x c y{end}last"
    assert line_hunks(old, new) == [
        LineHunk(6, len(old) - (4 if end else 0), 6, len(new) - (4 if end else 0))
    ]
    assert looked == (["\r\n"] if end == "\r\n" else [])
