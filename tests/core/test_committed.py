"""Which hunks are part of a committed text: all that are, but for doubtful ones, and never one that is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.committed import committed_hunks
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.text import Text

AUTHOR = Author("s", 1, "w")


def reviewed(before: str, after: str) -> tuple[Hunk, ...]:
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), AUTHOR)
    return ledger.hunks


def without(text: str, hunks: tuple[Hunk, ...], some: set[int]) -> str:
    """The text with these hunks put back."""
    edits = tuple(Edit(h.start, h.end, h.old) for h in hunks if h.id in some)
    return ChangeSet.of(len(text), edits).apply(text)


def test_all_of_it_is_committed() -> None:
    hunks = reviewed("one\ntwo\nthree\n", "one\nTWO\nthree\nfour\n")
    assert committed_hunks("one\nTWO\nthree\nfour\n", hunks, "one\nTWO\nthree\nfour\n") == list(hunks)


def test_line_ends_do_not_count() -> None:
    hunks = reviewed("one\r\ntwo\r\n", "one\r\nTWO\r\n")
    assert committed_hunks("one\r\nTWO\r\n", hunks, "one\nTWO\n") == list(hunks)


def test_a_part_of_it_is_committed() -> None:
    before = "".join(f"line {n}\n" for n in range(9))
    after = before.replace("line 2", "LINE 2").replace("line 7\n", "")
    second, seventh = reviewed(before, after)
    assert committed_hunks(after, (second, seventh), before.replace("line 2", "LINE 2")) == [second]
    assert committed_hunks(after, (second, seventh), before.replace("line 7\n", "")) == [seventh]
    assert committed_hunks(after, (second, seventh), before) == []


def test_where_anything_else_differs_nothing_is_taken_for_committed() -> None:
    before = "one\ntwo\nthree\n"
    after = before.replace("two", "TWO")
    hunks = tuple(hunk.moved(6) for hunk in reviewed(before, after))
    assert committed_hunks("typed\n" + after, hunks, after) == []
    assert committed_hunks("typed\n" + after, hunks, before) == []


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "", "ab", "\n"]), max_size=12).map("".join)


@given(LINES, LINES, st.integers(0, 255))
def test_with_all_others_put_back_it_is_what_was_committed(before: str, after: str, chosen: int) -> None:
    hunks = reviewed(before, after)
    committed = without(after, hunks, {hunk.id for n, hunk in enumerate(hunks) if chosen >> n & 1})
    found = {hunk.id for hunk in committed_hunks(after, hunks, committed)}
    if found:
        assert without(after, hunks, {hunk.id for hunk in hunks} - found) == committed
    if committed == after:
        assert found == {hunk.id for hunk in hunks}
