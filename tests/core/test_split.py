"""Lines that several authors changed, divided into two stretches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Hunk, Ledger
from sidecar.core.split import HunkPart, split
from sidecar.core.text import Text
from sidecar.core.versions import Author, Version

FIRST, SECOND = Author("s", 1, "w1"), Author("s", 2, "w2")
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=6).map("".join)


def versions(*texts: str) -> tuple[Version, ...]:
    return tuple(Version(author, text) for author, text in zip((FIRST, SECOND), texts, strict=False))


@pytest.mark.parametrize(
    ("old", "texts", "at", "first", "second"),
    [
        ("", ("b\n", "a\nb\n"), 2, ("", [("w2", "a\n")]), ("", [("w1", "b\n")])),
        ("x\ny\n", ("X\ny\n", "X\nY\n"), 2, ("x\n", [("w1", "X\n")]), ("y\n", [("w2", "Y\n")])),
        (
            "x\ny\n",
            ("1\n2\n", "1\n3\n"),
            2,
            ("x\ny\n", [("w1", "1\n")]),
            ("", [("w1", "2\n"), ("w2", "3\n")]),
        ),
        ("x\n", ("x\ny\n", "x\ny\nz\n"), 2, ("x\n", []), ("", [("w1", "y\n"), ("w2", "y\nz\n")])),
    ],
    ids=["put before it", "a line each", "replaced together", "untouched"],
)
def test_each_stretch_has_what_was_done_in_it(
    old: str, texts: tuple[str, ...], at: int, first: object, second: object
) -> None:
    parts = split(old, versions(*texts), at)
    assert parts is not None
    assert [(p.old, [(v.author.write, v.text) for v in p.versions]) for p in parts] == [first, second]


def test_a_line_that_began_in_the_middle_of_another_is_not_divided() -> None:
    assert split("xy\n", versions("xy z\n", "x\ny z\n"), 2) is None


@given(LINES, LINES, LINES, st.data())
def test_the_stretches_are_the_whole(old: str, one: str, two: str, data: st.DataObject) -> None:
    starts = [0, *(i + 1 for i, char in enumerate(two) if char == "\n")]
    parts = split(old, versions(one, two), data.draw(st.sampled_from(starts)))
    if parts is None:
        return

    def said(part: HunkPart, author: str) -> str:
        """After that author's version."""
        return ([part.old, *(v.text for v in part.versions if v.author.write <= author)])[-1]

    for author, text in (("w0", old), ("w1", one), ("w2", two)):
        assert "".join(said(part, author) for part in parts) == text


@pytest.mark.parametrize(
    ("line", "left"),
    [(1, ["b0\n", "a2\nb1\n"]), (2, ["b0\n", "a1\n", "b1\n"]), (3, ["b0\n", "a1\na2\n"])],
    ids=["first", "in the middle", "last"],
)
def test_only_the_line_in_which_somebody_types_leaves_the_review(line: int, left: list[str]) -> None:
    """What a second turn put between the lines of a first one is one hunk with the line behind it."""
    ledger, now = Ledger(), "top\nend\n"
    for text, author in (("top\nb0\nb1\nend\n", FIRST), ("top\nb0\na1\na2\nb1\nend\n", SECOND)):
        ledger.agent_edit(Text.of(now), diff(now, text), Text.of(text), author)
        now = text
    assert [hunk.text for hunk in ledger.hunks] == ["b0\n", "a1\na2\nb1\n"]
    at = len("top\nb0\n") + 3 * line - 1
    typed = f"{now[:at]}!{now[at:]}"
    ledger.user_edit(Edit(at, at, "!"), len(typed), lambda: Text.of(typed))
    assert [hunk.text for hunk in ledger.hunks] == left
    assert ledger.base(typed) == f"top\n{now[at - 2 : at]}!\nend\n"


@pytest.mark.parametrize("authors", [(FIRST,), (FIRST, SECOND)], ids=["one author", "two"])
def test_a_line_typed_before_one_of_several_takes_none_of_them(authors: tuple[Author, ...]) -> None:
    ledger, now = Ledger(), "top\nold\nend\n"
    for text, author in zip(("top\na\nb\nend\n", "top\nA\nB\nend\n"), authors, strict=False):
        ledger.agent_edit(Text.of(now), diff(now, text), Text.of(text), author)
        now = text
    at = len("top\na\n")
    for key in "my\n":
        now = f"{now[:at]}{key}{now[at:]}"
        ledger.user_edit(Edit(at, at, key), len(now), lambda text=now: Text.of(text))
        at += 1
    assert [hunk.text for hunk in ledger.hunks] == (["a\n", "b"] if len(authors) == 1 else ["A\n", "B"])
    assert sorted(ledger.base(now).splitlines()) == ["end", "my", "old", "top"]


def test_an_undo_beside_something_else_that_is_new_brings_back_what_was_under_review_before() -> None:
    """So that no text that was seen is there again."""
    ledger, now = Ledger(), "top\nold\nend\n"
    for text, author in (("top\nfirst one\nend\n", FIRST), ("top\nsecond\nend\n", SECOND)):
        ledger.agent_edit(Text.of(now), diff(now, text), Text.of(text), author)
        now = text
    for edit in (Edit(0, 0, "mine\n"), Edit(9, 15, "first one")):
        now = now[: edit.start] + edit.new + now[edit.end :]
        ledger.user_edit(edit, len(now), lambda text=now: Text.of(text))
    assert [(hunk.text, hunk.author) for hunk in ledger.hunks] == [("first one", FIRST)]
    assert ledger.base(now) == "mine\ntop\nold\nend\n"


@pytest.mark.parametrize("new", ["", "c\n"])
def test_what_several_did_lies_behind_an_edit_that_goes_beyond_it(new: str) -> None:
    """Found by the laws: rejecting put a line back in the middle of another one."""
    ledger = Ledger([Hunk(1, 2, 4, "b\n", versions("", "X\n"))])
    before, edit = Text.of("a\nX\nc\nd\n"), Edit(3, 6, new)
    after = Text.of(f"a\nX{new}d\n")
    ledger.user_edit(edit, len(after), lambda: after, lambda: before)
    assert [(hunk.start, hunk.end) for hunk in ledger.hunks] == [(3 + len(new),) * 2]


def test_of_what_several_did_only_the_last_line_leaves_the_review_also_where_it_has_no_end() -> None:
    """A hunk has none where the line after it was not changed."""
    ledger = Ledger([Hunk(1, 0, 4, "a\nb", versions("A\nB", "A\nB2"))])
    before, after = Text.of("A\nB2\nc\n"), Text.of("A\nB!2\nc\n")
    ledger.user_edit(Edit(3, 3, "!"), len(after), lambda: after, lambda: before)
    assert [(hunk.old, hunk.text) for hunk in ledger.hunks] == [("a\n", "A\n")]


@pytest.mark.parametrize("line", ["X", "a", "b", "c"])
@pytest.mark.parametrize("by", ["the user", "an agent"])
@pytest.mark.parametrize("end", ["\n", ""])
def test_where_an_authors_part_was_rejected_the_lines_as_they_were_are_nobodys(
    line: str, by: str, end: str
) -> None:
    old, one, two, rejected = (text + end for text in ("a\nb\nc", "A\nB\nC", "X\nA\nB\nC", "X\na\nb\nc"))
    ledger = Ledger([Hunk(1, 0, len(two), old, versions(one, two))])
    rejection = ledger.reject(len(two), [1], lambda author: author == FIRST)
    assert rejection.changes.apply(two) == rejected
    ledger.rejected(Text.of(two), rejection, Text.of(rejected))
    typed = rejected.replace(line, "typed")
    if by == "the user":
        ledger.user_led(Text.of(rejected), Text.of(typed))
        assert ledger.base(typed) == (f"typed\n{old}" if line == "X" else old.replace(line, "typed"))
        assert [hunk.text.strip() for hunk in ledger.hunks] == ([] if line == "X" else ["X"])
    else:
        changes = diff(rejected, typed)
        ledger.agent_edit(Text.of(rejected), changes, Text.of(typed), Author("s", 3, "w3"))
        assert ledger.base(typed) == old
        assert [hunk.text.strip() for hunk in ledger.hunks] == (["typed"] if line == "X" else ["X", "typed"])
