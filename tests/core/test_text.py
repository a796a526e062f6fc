"""Text and Rope: rows a person can read, then the laws against the oracle, then what a keystroke may touch."""

from __future__ import annotations

import json
import os
import random
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidecar.core import chunks
from sidecar.core import text as text_module
from sidecar.core.change import Edit
from sidecar.core.chunks import MAXIMUM, ChunkIndex, common_prefix, common_suffix
from sidecar.core.text import Encoding, Position, Range, Rope, Text
from tests.support import oracle
from tests.support.chunk_size import chunk_size

UTF_8, UTF_16, UTF_32 = Encoding.UTF_8, Encoding.UTF_16, Encoding.UTF_32
FAR = 2**31 - 1

PIECES = [
    "a",
    "b",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x85",
    "\u2028",
    "é",
    "e\u0301",
    "漢",
    "😀",
    "𝒳",
    "\ud83d",
    "\ude00",
]
CHARACTERS = st.sampled_from(PIECES)
TEXTS = st.lists(CHARACTERS, max_size=30).map("".join)
PLACES = st.tuples(st.integers(0, 12), st.one_of(st.integers(0, 12), st.just(FAR)))


def as_sent(text: str) -> str:
    """A text as it comes out of JSON, where surrogate halves side by side are one character."""
    return oracle.from_units(oracle.to_units(text))


def at(line: int, character: int) -> Position:
    return Position(line, character)


# ---- positions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "place", "encoding"),
    [
        ("|", at(0, 0), UTF_16),
        ("|", at(7, 7), UTF_16),
        ("ab|c", at(0, 2), UTF_16),
        ("abc|", at(0, FAR), UTF_16),
        ("ab|\ncd", at(0, FAR), UTF_16),
        ("ab|\r\ncd", at(0, 3), UTF_16),
        ("ab|\rcd", at(0, 9), UTF_16),
        ("ab\n|", at(1, 0), UTF_16),
        ("ab\n|", at(1, 5), UTF_16),
        ("ab\n|", at(2, 0), UTF_16),
        ("ab\ncd|", at(9, 0), UTF_16),
        ("a\rb\nc\r\nd|", at(3, 1), UTF_16),
        ("a\n\r|b", at(2, 0), UTF_16),
        ("a\r\r\n|b", at(2, 0), UTF_16),
        # not line ends
        ("a\fb\vc\x1cd\x85e\u2028f\u2029|g", at(0, 12), UTF_16),
        # units
        ("é漢😀|x", at(0, 9), UTF_8),
        ("é漢😀|x", at(0, 4), UTF_16),
        ("é漢😀|x", at(0, 3), UTF_32),
        # inside a character: its start
        ("|éx", at(0, 1), UTF_8),
        ("é|漢x", at(0, 3), UTF_8),
        ("é|漢x", at(0, 4), UTF_8),
        ("|😀x", at(0, 3), UTF_8),
        ("a|😀x", at(0, 2), UTF_16),
        ("😀|😀", at(0, 3), UTF_16),
        ("😀😀|", at(0, 5), UTF_16),
        # combining characters are characters
        ("e|\u0301x", at(0, 1), UTF_16),
        ("e\u0301|x", at(0, 2), UTF_16),
        # lone surrogates
        ("\ud83d|x", at(0, 1), UTF_16),
        ("\ud83d|x", at(0, 3), UTF_8),
        ("|\ud83dx", at(0, 2), UTF_8),
        ("\ude00😀|x", at(0, 3), UTF_16),
        ("\ude00|😀x", at(0, 2), UTF_16),
        ("\ude00x|", at(0, 9), UTF_16),
        ("\ud83d\ude00|x", at(0, 2), UTF_16),
    ],
)
def test_offset_of_a_position(marked: str, place: Position, encoding: Encoding) -> None:
    text = marked.replace("|", "")
    assert Text.of(text).offset_at(place, encoding) == marked.index("|")
    assert oracle.offset_at(text, place, encoding) == marked.index("|")


@pytest.mark.parametrize(
    ("marked", "encoding", "place"),
    [
        ("|", UTF_16, at(0, 0)),
        ("a\n|", UTF_16, at(1, 0)),
        ("a|\nb", UTF_16, at(0, 1)),
        ("a\r|\nb", UTF_16, at(0, 1)),
        ("a\r\n|b", UTF_16, at(1, 0)),
        ("a\r|b", UTF_16, at(1, 0)),
        ("😀x|", UTF_8, at(0, 5)),
        ("😀x|", UTF_16, at(0, 3)),
        ("😀x|", UTF_32, at(0, 2)),
        ("a\u2028b|", UTF_8, at(0, 5)),
    ],
)
def test_position_of_an_offset(marked: str, encoding: Encoding, place: Position) -> None:
    text = marked.replace("|", "")
    assert Text.of(text).position_at(marked.index("|"), encoding) == place
    assert oracle.position_at(text, marked.index("|"), encoding) == place


@given(TEXTS, PLACES, st.integers(0, 60), st.sampled_from(Encoding), st.sampled_from([1, 3, 4096]))
def test_positions_equal_the_oracle(
    text: str, place: oracle.Place, offset: int, encoding: Encoding, size: int
) -> None:
    offset = min(offset, len(text))
    with chunk_size(size):
        real = Text.of(text)
        assert real.offset_at(Position(*place), encoding) == oracle.offset_at(text, place, encoding)
        position = real.position_at(offset, encoding)
        assert position == oracle.position_at(text, offset, encoding)
        if text[offset - 1 : offset + 1] != "\r\n":
            assert real.offset_at(position, encoding) == offset


# ---- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a\n", ""]),
        ("a\r\nb\rc\n\nd", ["a\r\n", "b\r", "c\n", "\n", "d"]),
        ("\r\r\n\n\r", ["\r", "\r\n", "\n", "\r", ""]),
        ("a\fb\vc\x1cd\x1de\x1ef\x85g\u2028h\u2029i", ["a\fb\vc\x1cd\x1de\x1ef\x85g\u2028h\u2029i"]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 4096])
def test_lines(text: str, lines: list[str], size: int) -> None:
    with chunk_size(size):
        real = Text.of(text)
        assert real.line_count == len(lines)
        assert [real.line(number) for number in range(len(lines))] == lines
        for first in range(len(lines) + 2):
            for count in range(len(lines) + 2):
                assert real.lines(first, count) == "".join(lines[first : first + count])


def test_what_is_outside_the_text_is_refused() -> None:
    text = Text.of("ab\nc")
    for wrong in (lambda: text.line(2), lambda: text.line(-1)):
        with pytest.raises(IndexError):
            wrong()
    for wrong in (
        lambda: text.lines(-1, 1),
        lambda: text.lines(0, -1),
        lambda: text.slice(0, 5),
        lambda: text.slice(2, 1),
        lambda: text.slice(-1, 1),
        lambda: text.position_at(5, UTF_16),
        lambda: text.position_at(-1, UTF_16),
        lambda: text.offset_at(at(-1, 0), UTF_16),
        lambda: text.offset_at(at(0, -1), UTF_16),
        lambda: text.offset_at(at(9, -1), UTF_16),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_equality_and_hash_are_by_content_however_it_is_divided() -> None:
    with chunk_size(2):
        rope = Rope("abcdefgh")
        rope.splice(3, 3, "XYZ")
        edited = rope.snapshot()
    whole = Text.of("abcXYZdefgh")
    assert edited.chunks != whole.chunks
    assert edited == whole
    assert hash(edited) == hash(whole)
    assert edited != Text.of("abcXYZdefgi")
    assert edited != "abcXYZdefgh"
    assert {edited: 1}[whole] == 1


@given(TEXTS, TEXTS, st.sampled_from([1, 3, 4096]))
def test_it_says_its_characters_however_it_is_divided(text: str, other: str, size: int) -> None:
    with chunk_size(size):
        divided = Text.of(text)
    for _ in range(2):
        for said in (text, other, text + "a", text[:-1], "b" + text[1:], text[:-1] + "b"):
            assert divided.says(said) == (text == said)
        divided.remember("".join(text))


def test_what_is_remembered_is_given_until_the_next_change() -> None:
    rope = Rope("one\ntwo\n")
    whole = str(Rope("one\n").snapshot()) + "two\n"  # another object
    before = rope.snapshot()
    before.remember(whole)
    assert str(before) is whole
    assert str(rope) is whole
    rope.splice(3, 3, "!")
    assert str(rope.snapshot()) == "one!\ntwo\n"
    assert str(before) is whole
    assert before == Text.of(whole)


@given(TEXTS, st.sampled_from([1, 3, 4096]))
def test_escaped_json_says_the_text(text: str, size: int) -> None:
    with chunk_size(size):
        escaped = Text.of(text).json_escaped()
    assert b'"' not in escaped.replace(b'\\"', b"")
    assert json.loads(b'"' + escaped + b'"') == as_sent(text)


def test_escaped_json_of_unchanged_chunks_is_kept() -> None:
    with chunk_size(8):
        rope = Rope("0123456\n" * 50)
        rope.snapshot().json_escaped()
        rope.splice(12, 12, '"')
        made: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            real = text_module._json_escape
            patch.setattr(text_module, "_json_escape", lambda chunk: (made.append(chunk), real(chunk))[1])
            escaped = rope.snapshot().json_escaped()
        assert json.loads(b'"' + escaped + b'"') == str(rope)
        assert made == ['0123"456\n']


# ---- editing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "start", "end", "new", "after"),
    [
        ("", (0, 0), (0, 0), "a", "a"),
        ("abc\ndef", (1, 99), (1, 99), "X", "abc\ndefX"),
        ("abc\n", (0, 4), (0, 4), "X", "abcX\n"),
        ("abc\n", (9, 0), (9, 9), "X", "abc\nX"),
        ("ab\r\ncd", (0, 2), (1, 0), "", "abcd"),
        ("ab\r\ncd", (0, 9), (1, 0), "\n", "ab\ncd"),
        ("a\rb", (1, 0), (1, 0), "\n", "a\r\nb"),
        ("a\rX\nb", (1, 0), (1, 1), "", "a\r\nb"),
        ("a\fb\x85c\u2028d", (0, 1), (0, 2), "-", "a-b\x85c\u2028d"),
        ("😀a", (0, 2), (0, 3), "b", "😀b"),
        # A UTF-16 editor replaces half an emoji: the halves share their first unit.
        ("a😀b", (0, 2), (0, 3), "\ude01", "a😁b"),
        ("a😀b", (0, 2), (0, 2), "x", "a\ud83dx\ude00b"),
        ("a\ud83dx\ude00b", (0, 2), (0, 3), "", "a😀b"),
        ("a\ud83d", (0, 2), (0, 2), "\ude00", "a😀"),
        ("\ude00b", (0, 0), (0, 0), "\ud83d", "😀b"),
        ("😀😁", (0, 1), (0, 3), "", "😁"),
    ],
)
def test_a_change_in_utf_16(
    before: str, start: oracle.Place, end: oracle.Place, new: str, after: str
) -> None:
    for size in (1, 2, 4096):
        with chunk_size(size):
            rope = Rope(before)
            edit = rope.apply(Range(at(*start), at(*end)), new, UTF_16)
            assert str(rope) == after
            assert before[: edit.start] + edit.new + before[edit.end :] == after
    assert oracle.replace(before, start, end, new, "utf-16") == after


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("abc", "abc", None),
        ("", "", None),
        ("", "abc", Edit(0, 0, "abc")),
        ("abc", "", Edit(0, 3, "")),
        ("abc", "aXc", Edit(1, 2, "X")),
        ("aaa", "aaaa", Edit(3, 3, "a")),
        ("aaaa", "aaa", Edit(3, 4, "")),
        ("ab\nab\n", "ab\nab\nab\n", Edit(6, 6, "ab\n")),
        # never between a carriage return and its newline
        ("a\rb", "a\r\nb", Edit(1, 2, "\r\n")),
        ("a\r\nb", "a\rb", Edit(1, 3, "\r")),
        ("a\nb", "a\r\nb", Edit(1, 2, "\r\n")),
        ("a\r\nb", "a\nb", Edit(1, 3, "\n")),
    ],
)
def test_a_whole_text_is_the_edit_between_what_is_common(before: str, after: str, edit: Edit | None) -> None:
    for size in (1, 2, 4096):
        with chunk_size(size):
            rope = Rope(before)
            made = rope.apply(None, after, UTF_16)
            assert str(rope) == after
            if edit is None:
                assert (made.end - made.start, made.new) == (0, "")
            else:
                assert made == edit


def test_an_impossible_change_leaves_the_text_alone() -> None:
    rope = Rope("abc\ndef")
    for wrong in (
        lambda: rope.apply(Range(at(1, 0), at(0, 3)), "X", UTF_16),
        lambda: rope.apply(Range(at(0, -1), at(0, 3)), "X", UTF_16),
        lambda: rope.splice(3, 2, "X"),
        lambda: rope.splice(0, 8, "X"),
        lambda: rope.splice(-1, 0, "X"),
    ):
        with pytest.raises(ValueError):
            wrong()
    assert str(rope) == "abc\ndef"


def test_a_snapshot_is_the_same_until_the_next_change_and_never_changes() -> None:
    rope = Rope("abc")
    first = rope.snapshot()
    assert rope.snapshot() is first
    rope.splice(1, 1, "X")
    assert str(first) == "abc"
    assert first.line_count == 1
    second = rope.snapshot()
    assert str(second) == "aXbc"
    rope.splice(0, 4, "")
    assert (str(first), str(second), str(rope)) == ("abc", "aXbc", "")
    assert len(rope) == 0


@given(TEXTS, TEXTS)
def test_common_ends(one: str, other: str) -> None:
    same = [a == b for a, b in zip(one, other, strict=False)]
    assert common_prefix(one, other) == [*same, False].index(False)
    same = [a == b for a, b in zip(reversed(one), reversed(other), strict=False)]
    assert common_suffix(one, other) == [*same, False].index(False)


# ---- any sequence of edits -------------------------------------------------------------------------------------------


class RopeEqualsOracle(RuleBasedStateMachine):
    """In one encoding, with chunks so small that their borders are everywhere."""

    encoding: ClassVar[Encoding]

    @initialize(text=TEXTS, size=st.sampled_from([1, 2, 5, 4096]))
    def open(self, text: str, size: int) -> None:
        self.chunks = chunk_size(size)
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
    assert text.chunks == ("",) or all(text.chunks)
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


# ---- what a keystroke touches: never the whole document, so the cost cannot grow with it --------------------------------


def changed_chunks(before: Text, after: Text) -> list[str]:
    known = {id(chunk) for chunk in before.chunks}
    return [chunk for chunk in after.chunks if id(chunk) not in known]


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
    monkeypatch.setattr(text_module, "terminators", count)
    for column in range(1000):
        place = at(25_000, 4 + column)
        rope.apply(Range(place, place), "a", UTF_16)
    assert calls == {"find": 1, "build": 0, "terminators": 0}


def test_a_whole_text_that_differs_little_shares_its_chunks() -> None:
    rope = Rope(LINE * 50_000)
    before = rope.snapshot()
    rope.apply(None, LINE * 25_000 + "new\n" + LINE * 25_000, UTF_16)
    assert len(changed_chunks(before, rope.snapshot())) <= 2


@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), TEXTS), max_size=4))
def test_shared_ends_are_the_same_and_a_rope_of_a_snapshot_leaves_it_alone(
    text: str, edits: list[tuple[int, int, str]]
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


def test_shared_ends_reach_to_the_edited_chunk() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    rope = Rope(text)
    before = rope.snapshot()
    rope.splice(50_000, 50_000, "typed")
    start, end = before.shared_ends(rope.snapshot())
    assert 0 < start <= 50_000
    assert len(before) - start - end <= MAXIMUM
