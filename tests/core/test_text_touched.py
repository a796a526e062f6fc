"""What a keystroke touches: never the whole document, so that its cost cannot grow with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import chunks
from sidecar.core import rope as rope_module
from sidecar.core import text as text_module
from sidecar.core.chunks import MAXIMUM, ChunkIndex
from sidecar.core.narrow import as_kept
from sidecar.core.rope import Rope
from sidecar.core.text import Range, Text
from tests.core.text_values import TEXTS, UTF_16, at
from tests.support.chunk_size import chunk_size


def changed_chunks(before: Text, after: Text) -> list[str]:
    known = {id(chunk) for chunk in as_kept(before.chunks)}
    return [
        chunk
        for chunk, kept in zip(after.chunks, as_kept(after.chunks), strict=True)
        if id(kept) not in known
    ]


LINE = "    return self.something(value, other)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LINE * 50_000, id="lines"),
        pytest.param(LINE.replace("\n", "\r\n") * 50_000, id="crlf"),
        pytest.param(LINE.replace("value", "値😀") * 50_000, id="astral"),
        pytest.param("x" * 2_000_000, id="one-line"),
        pytest.param("x漢😀" * 500_000, id="one-line-astral"),
    ],
)
@pytest.mark.parametrize("new", ["a", "\n", "é"])
def test_a_keystroke_makes_a_chunk_or_two_of_bounded_size(text: str, new: str) -> None:
    rope = Rope(text)
    middle = rope.snapshot().position_at(len(text) // 2, UTF_16)
    for place in (at(0, 0), at(0, 4), middle, at(middle.line + 1, 2), at(2**20, 0)):
        before = rope.snapshot()
        rope.apply(Range(place, place), new, UTF_16)
        fresh = changed_chunks(before, rope.snapshot())
        assert 1 <= len(fresh) <= 2
        assert sum(map(len, fresh)) <= 2 * MAXIMUM


def test_typing_looks_at_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typing in a line asks the index once where the line is, and builds it again only when a chunk has grown too large."""
    rope = Rope(LINE * 50_000)
    calls = {"find": 0, "build": 0, "terminators": 0}
    real_find, real_build, real_count = (
        ChunkIndex.chunk_of_terminator,
        ChunkIndex.__init__,
        chunks.terminators,
    )

    def find(self: ChunkIndex, number: int) -> tuple[int, int, int]:
        calls["find"] += 1
        return real_find(self, number)

    def build(self: ChunkIndex, lines: list[int], points: list[int]) -> None:
        calls["build"] += 1
        real_build(self, lines, points)

    def count(text: str) -> int:
        calls["terminators"] += len(text)
        return real_count(text)

    monkeypatch.setattr(ChunkIndex, "chunk_of_terminator", find)
    monkeypatch.setattr(ChunkIndex, "__init__", build)
    for module in (rope_module, text_module):
        monkeypatch.setattr(module, "terminators", count)
    for column in range(1000):
        place = at(25_000, 4 + column)
        rope.apply(Range(place, place), "a", UTF_16)
    assert calls == {"find": 1, "build": 0, "terminators": 0}


def test_a_whole_text_that_differs_little_shares_its_chunks() -> None:
    rope = Rope(LINE * 50_000)
    before = rope.snapshot()
    rope.apply(None, LINE * 25_000 + "new\n" + LINE * 25_000, UTF_16)
    assert len(changed_chunks(before, rope.snapshot())) <= 2


@given(
    TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), TEXTS), max_size=4), st.integers(0, 60)
)
def test_shared_ends_are_the_same_and_a_rope_of_a_snapshot_leaves_it_alone(
    text: str, edits: list[tuple[int, int, str]], at: int
) -> None:
    with chunk_size(4):
        before = Text(text)
        rope = Rope.of(before)
        for start, size, new in edits:
            start = min(start, len(rope))
            rope.splice(start, min(start + size, len(rope)), new)
        after = rope.snapshot()
    start, end = before.shared_ends(after)
    assert str(before) == text
    assert start + end <= min(len(before), len(after))
    assert text[:start] == str(after)[:start]
    assert text[len(text) - end :] == str(after)[len(after) - end :]
    if not edits:
        assert start + end == len(before)
    begin, stop = sorted((at % (len(after) + 1), (7 * at) % (len(after) + 1)))
    here, here_end, there, there_end = before.shared_around(after, begin, stop)
    assert there <= begin
    assert text[here_end : here_end + stop - there_end] == str(after)[there_end:stop] or stop <= there_end
    if there:
        assert text[here - 1] == str(after)[there - 1]
    if not edits:
        assert (here, here_end) == (there, there_end)


def test_shared_ends_reach_to_the_edited_chunk() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    rope = Rope(text)
    before = rope.snapshot()
    rope.splice(50_000, 50_000, "typed")
    start, end = before.shared_ends(rope.snapshot())
    assert 0 < start <= 50_000
    assert len(before) - start - end <= MAXIMUM


def test_what_is_shared_around_a_place_is_near_it() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    rope = Rope(text)
    before = rope.snapshot()
    rope.splice(90_000, 90_000, "typed")
    rope.splice(100, 200, "")
    after = rope.snapshot()
    found = [before.shared_around(after, start, start + 10) for start in (100, 50_000, 89_990)]
    for number, (here, here_end, there, there_end) in enumerate(found):
        assert here_end - here <= MAXIMUM
        assert here_end - here - there_end + there == (100, 0, -5)[number]


def test_a_chunk_of_one_character_does_not_tell_where_it_is() -> None:
    """Every such chunk may be the same object."""
    chunks = [f"{number}{'x' * 4094}" if number % 2 else "\n" for number in range(8)]
    before, after = Text(chunks), Text([*chunks[:7], "y" * 4094])
    begin, end, there, there_end = before.shared_around(after, 3, 10)
    assert str(before)[:begin] == str(after)[:there]
    assert end - begin == there_end - there
