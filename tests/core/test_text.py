"""Text and Rope: rows that a person can read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import text as text_module
from sidecar.core.change import Edit
from sidecar.core.chunks import common_prefix, common_suffix
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Range, Text
from tests.core.text_values import FAR, PLACES, TEXTS, UTF_8, UTF_16, UTF_32, as_sent, at
from tests.support import oracle
from tests.support.chunk_size import chunk_size

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
                wanted = "".join(lines[first : first + count])
                assert (real.lines(first, count), real.size_of_lines(first, count)) == (wanted, len(wanted))


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
    assert edited == "abcXYZdefgh"
    assert edited != "abcXYZdefgi"
    assert {edited: 1}[whole] == 1


@given(TEXTS, TEXTS, st.sampled_from([1, 3, 4096]))
def test_it_says_its_characters_however_it_is_divided(text: str, other: str, size: int) -> None:
    with chunk_size(size):
        divided = Text.of(text)
    for _ in range(2):
        for said in (text, other, text + "a", text[:-1], "b" + text[1:], text[:-1] + "b"):
            assert divided.says(said) == (text == said)
        divided.remember("".join(text))


@given(TEXTS, TEXTS, st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 2, 3, 5]))
def test_two_are_equal_by_their_characters_however_they_are_divided(
    text: str, other: str, one: int, two: int
) -> None:
    with chunk_size(one):
        here = Text.of(text)
    for said in (text, other, text[:-1] + "b", "b" + text[1:], text[1:] + "b"):
        with chunk_size(two):
            there = Text.of(said)
        assert (here == there) == (text == said)
        assert (there == here) == (text == said)


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
            real = text_module.json_escape
            patch.setattr(text_module, "json_escape", lambda chunk: (made.append(chunk), real(chunk))[1])
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
        # What is left of the last character completes what stands before the first one.
        ("\ud83da😀b", (0, 1), (0, 3), "", "😀b"),
        # Halves at both ends of several characters, and of a single one, which both meet.
        ("a😀b😀c", (0, 2), (0, 5), "\ude01xy\ud83c", "a😁xy\U0001f200c"),
        ("a😀b😀c", (0, 2), (0, 5), "-", "a\ud83d-\ude00c"),
        ("a\ud83db\ude00c", (0, 2), (0, 3), "\ude01\ud83c", "a😁\U0001f200c"),
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


def test_a_long_new_text_beside_an_emoji_is_neither_copied_nor_searched() -> None:
    """It is the same string that arrived. Encoding it in search of halves took 20 ms for 10 MB of it."""
    new = "new" * 10
    edit = Rope("😀old😀").apply(Range(at(0, 2), at(0, 5)), new, UTF_16)
    assert edit.new is new


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
        # whole lines, where lines begin alike
        ("one\n  two\n", "one\n  new\n  two\n", Edit(4, 4, "  new\n")),
        ("one\n  new\n  two\n", "one\n  two\n", Edit(4, 10, "")),
        ("one\r\nab\r\nac\r\n", "one\r\nac\r\n", Edit(5, 9, "")),
        ("one\r  two\r", "one\r  new\r  two\r", Edit(4, 4, "  new\r")),
        ("one\r  new\r  two\r", "one\r  two\r", Edit(4, 10, "")),
        ("ab\nac\n", "ac\n", Edit(0, 3, "")),
        ("ab\n", "aab\n", Edit(1, 1, "a")),
        ("  a b\n", "  a  b\n", Edit(4, 4, " ")),
        ("  a\n  b", "  a\n  b\n  b", Edit(4, 4, "  b\n")),
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
