"""Kept texts: equal to what they were made of, and made of what is there anyway."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.kept import Kept
from sidecar.core.lineends import fold
from sidecar.core.normal import normal
from sidecar.core.rope import Rope
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from tests.core.text_values import TEXTS, as_sent
from tests.support.chunk_size import chunk_size

LINES = "".join(f"line {number}\n" for number in range(20_000))


def owned(kept: Kept, *by: Text) -> int:
    """Code points of the chunks that none of those texts has."""
    there = {id(chunk) for text in by for chunk in text.chunks}
    return sum(len(chunk) for chunk in kept.text.chunks if id(chunk) not in there)


@given(TEXTS.map(as_sent), TEXTS.map(as_sent))
def test_it_says_what_it_was_made_of_whatever_it_is_like(raw: str, other: str) -> None:
    compared = normal(raw)
    for kept in [
        Kept.of(compared),
        Kept.of(compared, Text.of(other)),
        Kept.of(compared, Kept.of(normal(other))),
        Kept.of_raw(Text.of(raw)),
        Kept.of_raw(Text.of(raw), Text.of(other)),
    ]:
        assert str(kept) == compared
        assert kept == compared
        assert kept == Kept.of(compared)
        assert (kept == normal(other)) is (compared == normal(other))
        assert kept.is_said_by(Text.of(raw))
        assert kept.is_said_by(Text.of(other)) is (normal(other) == compared)


@given(st.integers(0, len(LINES)), st.integers(0, len(LINES)))
def test_what_is_equal_at_both_ends_is_there_once(one: int, other: int) -> None:
    start, end = sorted((one, other))
    document = Rope(LINES)
    before = document.snapshot()
    kept = Kept.of(LINES[:start] + "new\n" + LINES[end:], before)
    assert owned(kept, before) <= 4 * 8192
    assert owned(Kept.of(LINES, before)) == len(LINES)
    assert Kept.of(LINES, before).text is before


@given(TEXTS.map(as_sent), TEXTS.map(as_sent), st.integers(0, 9), st.integers(0, 9))
def test_a_text_in_the_chunks_of_another_is_one_like_any_other(
    one: str, other: str, first: int, last: int
) -> None:
    """Long texts that have their ends in common, in chunks that end anywhere."""
    ends = "a\r\nb\r" * 2000, "\nc\r\nd\r" * 2000
    like, text = (f"{ends[0][first:]}{middle}{ends[1][: len(ends[1]) - last]}" for middle in (one, other))
    found = sharing(text, Text.of(like))
    assert str(found) == text
    assert found == Text.of(text)
    assert found.line_count == Text.of(text).line_count
    assert all(found.chunks)
    assert not any(a.endswith("\r") and b.startswith("\n") for a, b in pairwise(found.chunks))
    assert all(found.line(number) == Text.of(text).line(number) for number in range(0, found.line_count, 500))


@given(
    TEXTS.map(as_sent),
    st.lists(
        st.tuples(
            st.integers(0, 60), st.integers(0, 60), st.sampled_from(["", "x", "\r", "\n", "\r\n", "é\r\n"])
        )
    ),
)
def test_what_was_folded_follows_every_edit(raw: str, edits: list[tuple[int, int, str]]) -> None:
    with chunk_size(4):
        rope = Rope(raw)
        for one, other, new in edits:
            before = rope.snapshot()
            assert "".join(before.folded()) == fold(str(before))
            start, end = sorted((min(one, len(rope)), min(other, len(rope))))
            rope.splice(start, end, new)
            after = rope.snapshot()
            assert "".join(after.folded()) == fold(str(after))
            assert Kept.of_raw(after).is_said_by(after)
            rope.adopt(Text.of(str(after)))
            assert rope.snapshot() == after


@pytest.mark.parametrize("last_first", [False, True])
def test_what_is_foreseen_is_not_divided_again(last_first: bool) -> None:
    """In whichever order an editor tells the edits: what is long is in the chunks of the text that they were known to lead to."""
    places = [len(LINES) // 3, 2 * len(LINES) // 3]
    new = "another\r\n" * 20_000
    before = Text.of(LINES)
    made, told = Rope.of(before), Rope.of(before)
    for place in reversed(places):
        made.splice(place, place + 5, new)
    after = made.snapshot()
    told.foresees(after)
    for place in reversed(places) if last_first else (places[0], places[1] + len(new) - 5):
        told.splice(place, place + 5, new)
    assert told.snapshot() == after
    known = set(map(id, after.chunks))
    assert len([chunk for chunk in told.snapshot().chunks if id(chunk) not in known]) < 8


def test_other_line_ends_are_kept_apart_once() -> None:
    raw = Text.of(LINES.replace("\n", "\r\n"))
    disk = Kept.of_raw(raw)
    assert disk == LINES
    assert owned(disk, raw) == len(LINES)
    assert Kept.of_raw(raw, disk) is disk
    assert Kept.of(LINES, disk) is disk


def test_the_end_of_a_file_may_be_another() -> None:
    for text, other, same in [
        ("a\n", "a", True),
        ("a", "a\n\n", True),
        ("a\n", "b\n", False),
        ("", "\n", True),
    ]:
        assert Kept.of(text).but_for_its_end(other) is same, (text, other)


def test_a_text_remembers_its_string_until_others_do() -> None:
    wholes = [LINES + str(number) for number in range(4)]
    texts = [Text.of(whole) for whole in wholes]
    for text, whole in zip(texts, wholes, strict=True):
        text.remember(whole)
    found = [str(text) is whole for text, whole in zip(texts, wholes, strict=True)]
    assert found == [False, False, False, True]
