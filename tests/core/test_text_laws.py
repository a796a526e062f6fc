"""Text and Rope against the oracle: any sequence of edits leads to the same text and the same places."""

from __future__ import annotations

import json
import os
import random
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Range, Text
from tests.core.text_values import CHARACTERS, FAR, PIECES, PLACES, TEXTS, UTF_8, UTF_16, UTF_32, as_sent, at
from tests.support import oracle
from tests.support.chunk_size import chunk_size


class RopeEqualsOracle(RuleBasedStateMachine):
    """In one encoding, with chunks so small that their borders are everywhere."""

    encoding: ClassVar[Encoding]

    @initialize(text=TEXTS, size=st.sampled_from([1, 2, 5, 4096]), narrow=st.booleans())
    def open(self, text: str, size: int, narrow: bool) -> None:
        self.chunks = chunk_size(size, narrow=narrow)
        self.chunks.__enter__()
        self.text = self.from_editor(text)
        self.rope = Rope(self.text)
        self.kept: list[tuple[Text, str]] = []

    def teardown(self) -> None:
        if hasattr(self, "chunks"):
            self.chunks.__exit__(None, None, None)

    def from_editor(self, text: str) -> str:
        return as_sent(text) if self.encoding is UTF_16 else text

    @rule(one=PLACES, other=PLACES, new=TEXTS)
    def change(self, one: oracle.Place, other: oracle.Place, new: str) -> None:
        new = self.from_editor(new)
        start, end = sorted((one, other))
        before = self.text
        edit = self.rope.apply(Range(at(*start), at(*end)), new, self.encoding)
        self.text = oracle.replace(before, start, end, new, self.encoding)
        assert before[: edit.start] + edit.new + before[edit.end :] == self.text

    @rule(place=PLACES, new=st.lists(CHARACTERS, min_size=1, max_size=8))
    def type(self, place: oracle.Place, new: list[str]) -> None:
        line, character = place[0], min(place[1], 20)
        for piece in map(self.from_editor, new):
            self.rope.apply(Range(at(line, character), at(line, character)), piece, self.encoding)
            self.text = oracle.replace(self.text, (line, character), (line, character), piece, self.encoding)
            character += sum(oracle.widths(piece, self.encoding))

    @rule(one=st.integers(0, 40), other=st.integers(0, 40), new=TEXTS)
    def splice(self, one: int, other: int, new: str) -> None:
        start, end = sorted((min(one, len(self.text)), min(other, len(self.text))))
        after = self.text[:start] + new + self.text[end:]
        if after == self.from_editor(after):
            self.rope.splice(start, end, new)
            self.text = after

    @rule(places=st.lists(st.integers(0, 40), min_size=4, max_size=4), new=TEXTS, times=st.integers(1, 5))
    def foreseen(self, places: list[int], new: str, times: int) -> None:
        """Two splices, in either order, of which somebody has said what they lead to; what comes later is another text."""
        one, two, three, four = sorted(min(place, len(self.text)) for place in places)
        new *= times
        after = self.text[:one] + new + self.text[two:three] + new + self.text[four:]
        if after != self.from_editor(after) or self.text != self.from_editor(self.text):
            return
        self.rope.foresees(Text.of(after))
        if times % 2:
            steps = [(three, four), (one, two)]
        else:
            shift = len(new) - (two - one)
            steps = [(one, two), (three + shift, four + shift)]
        for start, end in steps:
            self.text = self.text[:start] + new + self.text[end:]
            self.rope.splice(start, end, new)
            check_against_oracle(self.rope, self.text, self.encoding)

    @rule(cut=st.integers(0, 40), drop=st.integers(0, 3), new=TEXTS)
    def whole_text(self, cut: int, drop: int, new: str) -> None:
        self.text = self.from_editor(self.text[:cut] + new + self.text[cut + drop :])
        self.rope.apply(None, self.text, self.encoding)

    @rule()
    def keep(self) -> None:
        self.kept.append((self.rope.snapshot(), self.text))

    @precondition(lambda self: hasattr(self, "rope"))
    @invariant()
    def equal(self) -> None:
        check_against_oracle(self.rope, self.text, self.encoding)
        for snapshot, text in self.kept:
            assert str(snapshot) == text

    @rule()
    def escape(self) -> None:
        for snapshot, text in [*self.kept, (self.rope.snapshot(), self.text)]:
            assert json.loads(b'"' + snapshot.json_escaped() + b'"') == as_sent(text)

    @rule(place=PLACES, offset=st.integers(0, 60), encoding=st.sampled_from(Encoding))
    def look(self, place: oracle.Place, offset: int, encoding: Encoding) -> None:
        text, offset = self.rope.snapshot(), min(offset, len(self.text))
        assert text.offset_at(Position(*place), encoding) == oracle.offset_at(self.text, place, encoding)
        assert text.position_at(offset, encoding) == oracle.position_at(self.text, offset, encoding)


def check_against_oracle(rope: Rope, expected: str, encoding: Encoding) -> None:
    text = rope._text  # not a snapshot: taking one would hide what goes wrong without
    lines = oracle.split_lines(expected)
    assert str(rope) == expected
    assert len(rope) == len(expected)
    assert text.line_count == len(lines)
    chunks = list(text.chunks)
    assert chunks == [""] or all(chunks)
    assert not any(
        one[-1:] == "\r" and other[:1] == "\n"
        for one, other in zip(text.chunks, text.chunks[1:], strict=False)
    )
    line = len(expected) % len(lines)
    assert text.line(line) == lines[line]
    assert text.slice(len(expected) // 3, len(expected)) == expected[len(expected) // 3 :]
    assert text == Text.of(expected)


def machine(chosen: Encoding) -> type[RopeEqualsOracle]:
    return type(f"RopeEqualsOracle{chosen.name}", (RopeEqualsOracle,), {"encoding": chosen})


TestRopeUtf8 = machine(UTF_8).TestCase
TestRopeUtf16 = machine(UTF_16).TestCase
TestRopeUtf32 = machine(UTF_32).TestCase


LONG_LINES = st.lists(st.sampled_from(["a", "a", "é", "漢", "😀"]), min_size=20, max_size=60).map("".join)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 1, 1, 2]),
        st.integers(0, 80),
        st.integers(0, 2),
        st.sampled_from(["", "", "x", "é", "😀", "yyyyyyyy", "漢漢漢漢漢漢", "\n", "\r\n"]),
    ),
    min_size=1,
    max_size=12,
)


@given(
    st.one_of(LONG_LINES, st.just("a" * 50)),
    st.integers(0, 6),
    STEPS,
    st.sampled_from(Encoding),
    st.sampled_from([2, 3, 5]),
)
def test_long_lines_equal_the_oracle(
    line: str, indent: int, steps: list[tuple[int, int, int, str]], encoding: Encoding, size: int
) -> None:
    """Lines over many chunks, where what was found last is the start of the next search."""
    with chunk_size(size):
        text = f"{' ' * indent}\n{line}\r\n{line}"
        rope = Rope(text)
        for number, (row, units, drop, new) in enumerate(steps):
            start, end = (row, units), (row, units + drop)
            rope.apply(Range(at(*start), at(*end)), new, encoding)
            text = oracle.replace(text, start, end, new, encoding)
            assert str(rope) == text
            for other in (units, steps[number - 1][1], steps[number // 2][1] + 1, steps[0][1] % 5):
                for asked in (at(1, other), at(2, other)):
                    assert rope._text.offset_at(asked, encoding) == oracle.offset_at(text, asked, encoding)
                offset = min(other, len(text))
                assert rope._text.position_at(offset, encoding) == oracle.position_at(text, offset, encoding)


def test_a_long_line_that_starts_in_the_middle_of_a_chunk_moves_with_it() -> None:
    with chunk_size(8):
        rope = Rope("漢" * 40)
        rope.splice(12, 12, "\n")
        text = str(rope)
        assert rope._text.offset_at(at(1, 6), UTF_8) == oracle.offset_at(text, (1, 6), "utf-8")
        rope.splice(11, 11, "x")
        text = str(rope)
        for units in (6, 7, 40):
            assert rope._text.offset_at(at(1, units), UTF_8) == oracle.offset_at(text, (1, units), "utf-8")


def fuzz_edits() -> int:
    """Edits in a chain: set by hand, or by the profile of `make fuzz`."""
    many = settings.default is not None and settings.default.max_examples >= 1000
    return int(os.environ.get("TEXT_FUZZ_EDITS", "100000" if many else "3000"))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("encoding", Encoding)
def test_text_fuzz(encoding: Encoding) -> None:
    """One document through thousands of chained edits: what a machine's short runs cannot wear out."""
    dice = random.Random(f"text_fuzz {encoding}")
    text = ""
    with chunk_size(12):
        rope = Rope(text)
        for number in range(fuzz_edits()):
            lines = text.count("\n") + text.count("\r") + 2
            start, end = sorted((dice.randrange(lines), dice.choice([0, 1, 2, 5, 11, FAR])) for _ in range(2))
            if dice.random() < 0.7 or (len(text) < 150 and end[0] - start[0] > 2):
                end = start
            new = "".join(dice.choices(PIECES, k=dice.choice([0, 1, 1, 1, 2, 12])))
            new = as_sent(new) if encoding is UTF_16 else new
            if dice.random() < 0.2:
                rope.snapshot()
            rope.apply(Range(at(*start), at(*end)), new, encoding)
            text = oracle.replace(text, start, end, new, encoding)
            assert str(rope) == text, f"edit {number}"
            if number % 16 == 0:
                check_against_oracle(rope, text, encoding)
                if len(text) > 400:
                    rope.splice(100, len(text) - 100, "\n")
                    text = text[:100] + "\n" + text[-100:]
