"""ChangeSet: the algebra's laws, then the rows a person wants to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import Assoc, ChangeSet, Edit

TEXTS = st.text(alphabet="ab\n\ré😀\ud83d", max_size=24)


@st.composite
def changes(draw: st.DrawFn, length: int) -> ChangeSet:
    """Any legal set of edits for a text of `length`, touching edits and repeated insertions included."""
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=8)))
    edits = [
        Edit(start, end, draw(st.text(alphabet="XYZ", max_size=3)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    return ChangeSet.of(length, edits)


@st.composite
def text_and(draw: st.DrawFn, count: int) -> tuple[str, list[ChangeSet]]:
    text = draw(TEXTS)
    return text, [draw(changes(len(text))) for _ in range(count)]


@st.composite
def chain(draw: st.DrawFn) -> tuple[str, ChangeSet, ChangeSet, ChangeSet]:
    text = draw(TEXTS)
    first = draw(changes(len(text)))
    second = draw(changes(first.new_length))
    return text, first, second, draw(changes(second.new_length))


class Chunked:
    """A text that is not a str: what core.text.Text offers a ChangeSet."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __len__(self) -> int:
        return len(self.text)

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]


@given(text_and(1))
def test_invert_gives_the_old_text_back(case: tuple[str, list[ChangeSet]]) -> None:
    text, [change] = case
    after = change.apply(text)
    assert len(after) == change.new_length
    assert change.invert(text).apply(after) == text
    assert change.invert(text).invert(after).apply(text) == after
    assert change.apply(Chunked(text)) == after
    assert change.invert(Chunked(text)) == change.invert(text)


@given(chain())
def test_compose_is_one_after_the_other(case: tuple[str, ChangeSet, ChangeSet, ChangeSet]) -> None:
    text, a, b, c = case
    both = a.compose(b)
    assert both.apply(text) == b.apply(a.apply(text))
    assert ChangeSet.of(both.length, both.edits) == both
    assert a.compose(b).compose(c).apply(text) == a.compose(b.compose(c)).apply(text)


@given(text_and(2), st.booleans())
def test_map_converges(case: tuple[str, list[ChangeSet]], before: bool) -> None:
    text, [a, b] = case
    over_a, over_b = b.map(a, before=not before), a.map(b, before=before)
    assert ChangeSet.of(over_a.length, over_a.edits) == over_a
    assert a.compose(over_a).apply(text) == b.compose(over_b).apply(text)


@given(text_and(2))
def test_map_loses_no_insertion_and_revives_nothing(case: tuple[str, list[ChangeSet]]) -> None:
    text, [a, b] = case
    result = a.compose(b.map(a)).apply(text)
    inserted = sorted("".join(edit.new for change in (a, b) for edit in change.edits))
    assert sorted(c for c in result if c in "XYZ") == inserted
    deleted = {i for change in (a, b) for edit in change.edits for i in range(edit.start, edit.end)}
    assert [c for c in result if c not in "XYZ"] == [c for i, c in enumerate(text) if i not in deleted]


@given(text_and(1), st.sampled_from([-1, 1]))
def test_map_offset_is_monotone_and_follows_what_stays(
    case: tuple[str, list[ChangeSet]], assoc: Assoc
) -> None:
    text, [change] = case
    after = change.apply(text)
    mapped = [change.map_offset(offset, assoc) for offset in range(len(text) + 1)]
    assert mapped == sorted(mapped)
    assert all(0 <= offset <= len(after) for offset in mapped)
    deleted = {i for edit in change.edits for i in range(edit.start, edit.end)}
    for offset, char in enumerate(text):
        if offset not in deleted:
            assert after[change.map_offset(offset, 1)] == char


@pytest.mark.parametrize(
    ("edits", "offset", "left", "right"),
    [
        ([Edit(2, 2, "xx")], 1, 1, 1),
        ([Edit(2, 2, "xx")], 2, 2, 4),
        ([Edit(2, 2, "xx")], 3, 5, 5),
        ([Edit(2, 4, "xyz")], 2, 2, 2),
        ([Edit(2, 4, "xyz")], 3, 2, 5),
        ([Edit(2, 4, "xyz")], 4, 5, 5),
        ([Edit(2, 4, "")], 3, 2, 2),
        ([Edit(1, 3, "x"), Edit(3, 3, "yy")], 3, 2, 4),
        ([Edit(3, 3, "yy"), Edit(3, 4, "z")], 3, 3, 5),
    ],
)
def test_map_offset(edits: list[Edit], offset: int, left: int, right: int) -> None:
    change = ChangeSet.of(6, edits)
    assert (change.map_offset(offset, -1), change.map_offset(offset, 1)) == (left, right)


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 7, "")],
        [Edit(-1, 2, "")],
        [Edit(3, 2, "x")],
        [Edit(0, 3, "x"), Edit(2, 4, "y")],
        [Edit(3, 4, "x"), Edit(0, 1, "y")],
    ],
    ids=["past the end", "negative", "backwards", "overlap", "unsorted"],
)
def test_of_refuses(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="out of order or outside"):
        ChangeSet.of(6, edits)


def test_of_drops_edits_that_do_nothing() -> None:
    assert ChangeSet.of(6, [Edit(1, 1, ""), Edit(2, 3, "")]) == ChangeSet(6, (Edit(2, 3, ""),))


def test_a_text_of_another_length_is_refused() -> None:
    change = ChangeSet.of(3, [Edit(0, 1, "")])
    for refused in (
        lambda: change.apply("ab"),
        lambda: change.invert("abcd"),
        lambda: change.compose(change),
        lambda: change.map(ChangeSet(4)),
        lambda: change.map_offset(4),
        lambda: change.map_offset(-1),
    ):
        with pytest.raises(ValueError, match=r"code points|outside"):
            refused()
