"""A text that comes in parts: it says what the parts say, and is there once, whatever is in it."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import chunks
from sidecar.core.narrow import FROM
from sidecar.core.sharing import one_behind_the_other
from sidecar.core.text import Text
from sidecar.core.text_parts import NarrowParts, TextAgain, TextParts

PART = st.text(st.sampled_from("aé中\U0001f600\ud800\udc00\r\n"), max_size=300)


@given(st.lists(PART))
def test_it_says_what_its_parts_say(parts: list[str]) -> None:
    text = TextParts()
    for part in parts:
        text.add(part)
    assert text.whole() == "".join(parts)


PLAIN = "    return value # a remark\n" * 1000
EMOJI = PLAIN.replace("a remark", "\U0001f600")


@pytest.mark.parametrize("wide", [0, 1, 20, 39, 40])
def test_it_is_there_once(wide: int) -> None:
    """`wide`: how many of 40 parts have no emoji before the others have. The first that has one copies what was there."""
    text = TextParts()
    tracemalloc.start()
    try:
        for number in range(40):
            part = PLAIN if number < wide else EMOJI
            text.add(part[:1] + part[1:])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    most = 1 if wide == 40 else max(5 * wide / 40, 4)
    assert peak < (most + 0.4) * len(text.whole()), f"{peak} bytes for {len(text.whole())} characters"


@given(st.lists(PART, max_size=4), st.lists(st.lists(PART, max_size=4), max_size=3), st.integers(0, 4))
def test_what_is_there_already_says_what_its_parts_say(
    parts: list[str], others: list[list[str]], same: int
) -> None:
    """`others`: texts that are there, which begin with the first parts."""
    text = TextAgain(["".join([*parts[:same], *other]) for other in others])
    for part in parts:
        text.add(part)
    assert text.whole() == "".join(parts)


@pytest.mark.parametrize("more", ["", "!"])
def test_what_is_there_already_is_not_made_again(more: str) -> None:
    known = EMOJI * 10
    text = TextAgain(["other", known])
    tracemalloc.start()
    try:
        for at in range(0, len(known), 1000):
            text.add(known[at : at + 1000])
        text.add(more)
        found = text.whole()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == known + more
    assert (found is known) == (not more)
    assert (peak < 100_000) == (not more)


@pytest.mark.parametrize("long", [4, 60])
@given(st.data())
def test_narrow_parts_say_what_their_parts_say(long: int, data: st.DataObject) -> None:
    """Where a text is long from `long` characters on, so that it is divided: as the whole of it is, whatever the parts are."""
    parts = data.draw(st.lists(PART))
    text = NarrowParts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sidecar.core.text_parts.FROM", long)
        patch.setattr(chunks, "TARGET", 20)
        patch.setattr(chunks, "MAXIMUM", 40)
        for part in parts:
            text.add(part)
        whole, joined = text.whole(), "".join(parts)
        pieces = chunks.divide(joined)
    assert whole == joined
    if isinstance(whole, Text):
        again = Text(joined)
        assert (whole.line_count, len(whole)) == (again.line_count, len(again))
        assert [*whole.chunks] == pieces


@pytest.mark.parametrize("wide", [0, 20, 39, 40])
def test_narrow_parts_are_never_a_long_string(wide: int) -> None:
    """`wide`: how many of 40 parts have no emoji before the others have."""
    text, size = NarrowParts(), 0
    tracemalloc.start()
    try:
        for number in range(40):
            part = (PLAIN if number < wide else EMOJI) * 5
            text.add(part[:1] + part[1:])
            size += len(part.encode())
        whole = text.whole()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(whole, str) == (wide == 40)
    assert peak < (2.2 if wide == 40 else 1.5) * size + 4 * FROM, f"{peak} bytes for {size}"


@pytest.mark.parametrize(
    ("parts", "bytes_"),
    [(["x" * 200, "x"], 201), (["é" * 200, "x"], 201), (["x" * 200, "é"], 201), (["x", "\u2014"], 4), (["x" * 200, "\U0001f600"], 804)],
)  # fmt: skip
def test_what_a_part_would_make_of_a_text_is_told_before(parts: list[str], bytes_: int) -> None:
    text = TextParts()
    for part in parts[:-1]:
        text.add(part)
    assert text.in_one_piece(parts[-1]) == bytes_
    assert NarrowParts().in_one_piece(parts[-1]) == 0


@given(st.lists(PART), st.data())
def test_texts_one_behind_the_other_say_what_they_say(parts: list[str], data: st.DataObject) -> None:
    """Some of them in chunks; a line end between two of them is never divided."""
    said = one_behind_the_other(part if data.draw(st.booleans()) else Text.of(part) for part in parts)
    assert said == "".join(parts)
    if isinstance(said, Text):
        again = Text("".join(parts))
        assert (said.line_count, len(said)) == (again.line_count, len(again))
        assert not any(a.endswith("\r") and b.startswith("\n") for a, b in itertools.pairwise(said.chunks))
