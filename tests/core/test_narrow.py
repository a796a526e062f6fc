"""Large texts: a character that takes four bytes makes no other one take them, and nobody sees a difference. (How such texts are edited: test_text_laws.py.)"""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import text as of_texts
from sidecar.core.kept import Kept
from sidecar.core.lineends import fold
from sidecar.core.narrow import Narrow, as_kept
from sidecar.core.rope import Rope
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from tests.support.chunk_size import chunk_size

LINE = "    return value + 1234567890  # remark\n"
EMOJI = LINE[:-1] + "\U0001f600\n"
TEXTS = st.text(st.sampled_from("aé中\U0001f600\ud800\udc00\r\n\ufeff"), max_size=60)


def taken(text: str) -> float:
    """Bytes that its Text takes, for each of its UTF-8."""
    tracemalloc.start()
    try:
        kept = Text.of(text)
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.says(text)
    return now / len(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EMOJI * 50_000, id="an emoji in each line"),
        pytest.param(LINE * 50_000 + EMOJI, id="an emoji"),
        pytest.param("привет мир\n" * 200_000, id="Cyrillic"),
        pytest.param("\U0001f600" * 1_100_000, id="emoji"),
    ],
)
def test_a_text_takes_its_bytes(text: str) -> None:
    assert taken(text) < 1.2


@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6), st.booleans()
)
def test_nobody_sees_a_difference(edits: list[tuple[str, int, int]], foreseen: bool) -> None:
    """What others make of a text: texts that share its chunks, the compared form, and what an edit foresees."""

    def told() -> list[object]:
        first = "".join(new for new, _, _ in edits)
        rope, now, found = Rope(first), first, list[object]()
        for new, one, other in edits:
            start, end = sorted((min(one, len(now)), min(other, len(now))))
            now = now[:start] + new + now[end:]
            before = rope.snapshot()
            text = Text.of(now)
            rope.foresees(text if foreseen else None)
            rope.splice(start, end, new)
            after = rope.snapshot()
            assert not foreseen or after is text  # what is known about that one is known about this
            assert (before == after) == (str(before) == now)
            assert str(after) == now
            assert after.says(now)
            assert after == text
            assert "".join(after.folded()) == fold(now)
            assert b"".join(after.utf_8()) == now.encode("utf-8", "surrogatepass")
            assert str(sharing(now, before)) == now
            assert str(Kept.of_raw(after)) == fold(now.removeprefix("\ufeff"))
            assert Kept.of_raw(after).is_said_by(after)
            same, same_end = before.shared_ends(after)
            assert str(before)[:same] == now[:same]
            assert now.endswith(str(before)[len(before) - same_end :])
            found += [after.slice(start, len(now)), after.line_count, after.json_escaped()]
        return found

    with chunk_size(3):
        plain = told()
    with chunk_size(3, narrow=True):
        assert told() == plain


def test_a_text_that_becomes_large_takes_its_bytes_too() -> None:
    text = EMOJI * 30_000
    rope = Rope(LINE)
    tracemalloc.start()
    try:
        rope.splice(3, 5, text)
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(rope) == LINE[:3] + text + LINE[5:]
    assert now < 1.1 * len(text.encode())


def test_texts_share_what_is_the_same() -> None:
    before = Text.of(EMOJI * 50_000)
    assert isinstance(before.chunks, Narrow)
    rope = Rope.of(before)
    rope.splice(1000, 1001, "x")
    there = set(map(id, as_kept(before.chunks)))
    assert sum(id(one) not in there for one in as_kept(rope.snapshot().chunks)) == 1


def test_two_large_texts_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (LINE[:-1] + "\u2014\n") * 30_000
    one, other = Text.of(text), Text(Narrow(Text.of(text).chunks))
    changed = Text(Narrow(Text.of("X" + text[1:]).chunks))
    compared: list[None] = []
    say_the_same = of_texts.say_the_same
    monkeypatch.setattr(of_texts, "say_the_same", lambda a, b: compared.append(None) or say_the_same(a, b))
    assert one == other
    assert other == one
    assert len(compared) == 1
    assert one != changed
    assert changed != one
    assert len(compared) == 2
    rope = Rope.of(one)
    rope.splice(0, 1, "X")
    assert rope.snapshot() == changed  # what was known of the text before the edit is not known of this one
    assert rope.snapshot() != one


def test_large_texts_that_were_compared_in_turn_are_not_compared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A document with what is on the disk, with what an agent knows, and with what it sent; and what is gone is not taken for another."""
    document, *others = (Text.of(LINE * 100 + end) for end in ("same", "same", "sane", "fame"))
    monkeypatch.setattr(of_texts.narrow, "FROM", 1)
    expected = [document == other for other in others]
    compared: list[object] = []
    monkeypatch.setattr(Text, "is_made_of", lambda self, pieces: compared.append(pieces))
    assert (
        [document == other for other in others]
        == [other == document for other in others]
        == expected
        == [True, False, False]
    )
    assert not compared
    assert document != Text.of(LINE * 100 + "nane")
    assert len(compared) == 1
