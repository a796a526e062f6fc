"""The headless editor's document: undo restores, changes told to a server rebuild the text, positions in every unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.demo.buffer import Buffer, BufferPosition, ContentChange, Encoding, Splice, offset_at, place_at

TEXT = st.text(alphabet="ab\n\r\u2028é漢🙂", max_size=20)
ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]


def mirrored(text: str, changes: list[ContentChange], encoding: Encoding) -> str:
    """What a server makes of the changes."""
    for start, end, new in changes:
        assert start is not None
        assert end is not None
        text = text[: offset_at(text, start, encoding)] + new + text[offset_at(text, end, encoding) :]
    return text


@pytest.mark.parametrize(
    ("text", "offset", "utf8", "utf16", "utf32"),
    [
        ("abc", 2, (0, 2), (0, 2), (0, 2)),
        ("a\nb", 2, (1, 0), (1, 0), (1, 0)),
        ("a\r\nb", 3, (1, 0), (1, 0), (1, 0)),
        ("a\rb", 2, (1, 0), (1, 0), (1, 0)),
        ("a\u2028b", 2, (0, 4), (0, 2), (0, 2)),
        ("漢x", 1, (0, 3), (0, 1), (0, 1)),
        ("🙂x", 1, (0, 4), (0, 2), (0, 1)),
    ],
)
def test_positions(
    text: str, offset: int, utf8: tuple[int, int], utf16: tuple[int, int], utf32: tuple[int, int]
) -> None:
    for encoding, place in zip(ENCODINGS, (utf8, utf16, utf32), strict=True):
        assert place_at(text, offset, encoding) == place
        assert offset_at(text, BufferPosition(*place), encoding) == offset


@pytest.mark.parametrize(
    ("place", "offset"),
    [((0, 99), 1), ((1, 99), 4), ((9, 0), 5), ((2, 0), 5), ((1, 1), 2)],
    ids=["line end", "before the terminator", "past the last line", "empty last line", "inside a character"],
)
def test_positions_that_are_not_there(place: tuple[int, int], offset: int) -> None:
    assert offset_at("a\n🙂b\n", BufferPosition(*place), "utf-16") == offset


@given(text=TEXT, data=st.data())
def test_a_server_can_follow_and_undo_goes_back(text: str, data: st.DataObject) -> None:
    encoding = data.draw(st.sampled_from(ENCODINGS))
    buffer = Buffer("u", text, encoding=encoding)
    server, history = text, [text]
    for _ in range(data.draw(st.integers(1, 5))):
        marks = sorted(data.draw(st.lists(st.integers(0, len(buffer.text)), min_size=2, max_size=4)))
        splices = [Splice(a, b, data.draw(TEXT)) for a, b in zip(marks[::2], marks[1::2], strict=False)]
        changes = buffer.edit(splices, "edit")
        server = mirrored(server, changes, encoding)
        if changes:
            history.append(buffer.text)
    assert server == buffer.text
    for expected in reversed(history[:-1]):
        server = mirrored(server, buffer.undo(), encoding)
        assert buffer.text == server == expected
    for expected in history[1:]:
        server = mirrored(server, buffer.redo(), encoding)
        assert buffer.text == server == expected


def test_typing_is_one_step_until_something_else_happens() -> None:
    buffer = Buffer("u", "")
    for character in "abc":
        buffer.type(character)
    buffer.edit([Splice(0, 0, "-")], "agent")
    buffer.type("d")
    assert (buffer.text, len(buffer.past)) == ("-abcd", 3)
    buffer.undo()
    buffer.undo()
    assert buffer.text == "abc"
    buffer.undo()
    assert buffer.text == ""


@pytest.mark.parametrize(
    ("caret", "splice", "after"),
    [
        (2, (0, 0, "xy"), 4),
        (2, (2, 2, "xy"), 2),
        (2, (0, 2, ""), 0),
        (2, (1, 4, "x"), 2),
        (2, (3, 4, "x"), 2),
    ],
)
def test_the_caret_moves_with_other_edits(caret: int, splice: tuple[int, int, str], after: int) -> None:
    buffer = Buffer("u", "abcdef", caret=caret)
    buffer.edit([Splice(*splice)], "agent")
    assert buffer.caret == after


@pytest.mark.parametrize("splices", [[(0, 2, ""), (1, 3, "")], [(0, 9, "")], [(2, 1, "")]])
def test_impossible_edits(splices: list[tuple[int, int, str]]) -> None:
    buffer = Buffer("u", "abc")
    with pytest.raises(ValueError, match="overlaps another or lies outside"):
        buffer.edit([Splice(*splice) for splice in splices], "agent")
    assert buffer.text == "abc"
