"""The past of a document: every text it had is found, and nothing else, whatever was typed and however it is compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import past as module
from sidecar.core.normal import BOM, normal
from sidecar.core.past import Past
from sidecar.core.rope import Rope
from sidecar.core.text import Text

PIECES = st.lists(st.sampled_from(["a", "bc", "\n", "\r", "\r\n", BOM, "😀"]), max_size=5).map("".join)


def typed(document: Rope, past: Past, start: int, end: int, new: str) -> None:
    past.edited(document, document.splice(start, end, new))


@st.composite
def stories(draw: st.DrawFn) -> tuple[Past, list[str]]:
    """A past, and its texts as told without it."""
    first = draw(PIECES)
    document = Rope(first)
    past, texts = Past(document.snapshot()), [first]
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, len(document)))
        end = draw(st.integers(start, len(document)))
        typed(document, past, start, end, draw(PIECES))
        texts.append(str(document))
    return past, texts


@given(stories(), PIECES)
def test_the_oldest_text_that_says_it_is_found(story: tuple[Past, list[str]], other: str) -> None:
    past, texts = story
    assert past.newest == len(texts) - 1
    compared = [normal(text) for text in texts]
    for wanted in [*compared, normal(other)]:
        assert past.find(wanted) == (compared.index(wanted) if wanted in compared else None)


@given(stories(), st.data())
def test_what_is_known_to_be_saved_ends_what_was_before(
    story: tuple[Past, list[str]], data: st.DataObject
) -> None:
    past, texts = story
    number = data.draw(st.integers(0, past.newest))
    past.saved(number)
    assert past.newest == len(texts) - 1
    assert [str(text) for text in past.texts(0, past.newest)] == texts[number:]
    since = data.draw(st.integers(number, past.newest))
    compared = [normal(text) for text in texts]
    assert past.find(compared[-1], since=since) == compared.index(compared[-1], since)


@pytest.mark.parametrize(
    ("said", "unended", "found"), [("a", True, 0), ("a\n", True, 0), ("a\n", False, None)]
)
def test_a_final_line_end_that_came_with_the_save(said: str, unended: bool, found: int | None) -> None:
    assert Past(Rope("a").snapshot()).find(said, unended=unended) == found


def test_a_long_past_is_bounded_and_the_newest_texts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "MAX_BLOCKS", 3)
    document = Rope()
    past = Past(document.snapshot())
    for _ in range(50):
        typed(document, past, len(document), len(document), "x")
    assert past.newest == 50
    assert len(past.texts(0, 50)) <= 13
    assert past.find("x" * 49) == 49
    assert past.find("x" * 3) is None


def test_large_edits_count_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 3200)
    document = Rope()
    past = Past(document.snapshot())
    for number in range(20):
        typed(document, past, 0, len(document), str(number % 10) * 1000)
    assert past.find("9" * 1000) == past.newest
    assert len(past.texts(0, past.newest)) < 8


def test_a_long_text_is_looked_for_without_making_a_string_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A save is compared on the event loop."""
    document = Rope(BOM + "a line\r\n" * 10_000)
    past = Past(document.snapshot())
    typed(document, past, 1, 1, "x")
    wanted = normal(str(document.snapshot()))
    monkeypatch.setattr(Text, "__str__", lambda text: pytest.fail("a string was made"))
    assert past.find(wanted) == 1
    assert past.find(wanted[1:]) == 0
    assert past.find(wanted[2:]) is None
