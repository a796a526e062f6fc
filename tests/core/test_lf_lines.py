"""Places where only "\\n" ends a line: rows that were observed in editors, and the laws against a plain list of lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.lf_lines import LfLines, has_lone_return, offset_at, places
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Range, Text

TEXTS = st.text(alphabet="ab\n\ré🙂", max_size=12) | st.lists(
    st.sampled_from(["a", "\r\n", "\n", "é"]), max_size=8
).map("".join)
ENCODINGS = st.sampled_from(Encoding)
CODECS = {Encoding.UTF_8: ("utf-8", 1), Encoding.UTF_16: ("utf-16-le", 2), Encoding.UTF_32: ("utf-32-le", 4)}


def units(text: str, encoding: Encoding) -> int:
    codec, width = CODECS[encoding]
    return len(text.encode(codec)) // width


def place(text: str, offset: int, encoding: Encoding) -> Position:
    """As such an editor counts."""
    before = text[:offset].split("\n")
    return Position(len(before) - 1, units(before[-1], encoding))


@pytest.mark.parametrize(
    ("text", "position", "offset"),
    [
        # Neovim, Emacs and Helix: a lone \r is a character
        ("one\rtwo\nthree\n", (1, 0), 8),
        ("one\rtwo\nthree\n", (0, 4), 4),
        ("one\rtwo\nthree\n", (0, 7), 7),
        ("one\rtwo\rthree\r", (0, 14), 14),
        # Neovim: the whole first line of a file with both kinds of line ends
        ("one\r\ntwo\n", (0, 3), 3),
        ("one\r\ntwo\n", (0, 4), 4),
        # past the end as LSP has it
        ("one\r\ntwo\n", (0, 5), 3),
        ("one\r\ntwo\n", (0, 999), 3),
        ("one\ntwo\n", (0, 4), 3),
        ("one\rtwo\n", (9, 0), 8),
    ],
)
def test_offsets(text: str, position: tuple[int, int], offset: int) -> None:
    assert offset_at(Text.of(text), Position(*position), Encoding.UTF_16) == offset


@given(TEXTS, st.data(), ENCODINGS)
def test_places_are_those_of_an_editor_that_splits_at_newlines(
    text: str, data: st.DataObject, encoding: Encoding
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    told = place(text, offset, encoding)
    assert offset_at(Text.of(text), told, encoding) == offset
    between = text[offset - 1 : offset + 1] == "\r\n" if offset else False
    if has_lone_return(Text.of(text)) or not between:
        assert places(Text.of(text), encoding)(offset) == told


@given(TEXTS, st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), TEXTS), max_size=6), ENCODINGS)
def test_the_mirror_is_the_editor(text: str, changes: list[tuple[int, int, str]], encoding: Encoding) -> None:
    """Whatever such an editor does and tells by its own places."""
    rope, lines = Rope(text), LfLines(text)
    for one, other, new in changes:
        start, end = sorted((min(one, len(text)), min(other, len(text))))
        told = Range(place(text, start, encoding), place(text, end, encoding))
        edit = lines.apply(rope, told, new, encoding)
        assert text[: edit.start] + edit.new + text[edit.end :] == text[:start] + new + text[end:]
        text = text[:start] + new + text[end:]
        assert str(rope) == text


def test_a_text_told_whole() -> None:
    rope, lines = Rope("a\rb\n"), LfLines("a\rb\n")
    lines.apply(rope, None, "a\nb\n", Encoding.UTF_8)
    lines.apply(rope, Range(Position(1, 0), Position(1, 1)), "B", Encoding.UTF_8)
    assert str(rope) == "a\nB\n"


def test_a_range_that_ends_before_it_starts() -> None:
    with pytest.raises(ValueError, match="ends before"):
        LfLines("a\rb").apply(Rope("a\rb"), Range(Position(0, 2), Position(0, 1)), "", Encoding.UTF_8)
    with pytest.raises(ValueError, match="negative"):
        offset_at(Text.of("a\rb"), Position(0, -1), Encoding.UTF_8)
