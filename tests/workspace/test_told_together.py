"""Changes of a document that come in one message are one step for the review: what goes with one and comes back with the next has not gone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.core import past
from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.text import Position, Range, Text
from sidecar.workspace.state.ledgers import Reviewed
from tests.support.workspaces import Bench, a_workspace

BEFORE, AGENTS = "one\ntwo\nthree\nfour\n", "one\nTWO\nthree\nFOUR\n"


def change(first: int, last: int, text: str) -> ContentChange:
    """Of whole lines, from 0."""
    return ContentChange(Range(Position(first, 0), Position(last, 0)), text)


def within(line: int, start: int, last: int, end: int, text: str) -> ContentChange:
    return ContentChange(Range(Position(line, start), Position(last, end)), text)


def under_review(bench: Bench) -> Reviewed:
    """The review of an open document that says AGENTS, with two hunks."""
    bench.open("a.txt", AGENTS)
    reviewed = bench.workspace.state.ledgers.at(bench.uri("a.txt"), Text.of(AGENTS), live=True)
    reviewed.ledger.agent_edit(Text.of(BEFORE), diff(BEFORE, AGENTS), Text.of(AGENTS), Author("s", 1, "w1"))
    return reviewed


@pytest.mark.parametrize(
    ("changes", "base", "left"),
    [
        # as Neovim 0.11 tells the undo of a reload with edits on top
        ((change(1, 2, ""), change(0, 3, "typed\n" + AGENTS)), "typed\n" + BEFORE, ["TWO", "FOUR"]),
        ((change(1, 2, ""), change(1, 1, "TWO\n")), BEFORE, ["TWO", "FOUR"]),
        ((change(1, 2, ""), change(1, 1, "two\n")), BEFORE, ["FOUR"]),
        ((change(0, 0, "x\n"), change(3, 3, "y\n")), "x\none\ntwo\ny\nthree\nfour\n", ["TWO", "FOUR"]),
    ],
    ids=["all of it", "one line", "the user's own", "beside them"],
)
async def test_what_they_do_together_counts(
    tmp_path: Path, changes: tuple[ContentChange, ...], base: str, left: list[str]
) -> None:
    async with a_workspace(tmp_path) as bench:
        reviewed = under_review(bench)
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, changes))
        assert [hunk.text for hunk in reviewed.ledger.hunks] == left
        assert reviewed.ledger.base(bench.text("a.txt")) == base


async def test_a_redo_that_is_told_with_what_was_typed_since_brings_the_change_back(tmp_path: Path) -> None:
    async with a_workspace(tmp_path) as bench:
        reviewed = under_review(bench)
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, (change(1, 2, "two\n"),)))
        assert [hunk.text for hunk in reviewed.ledger.hunks] == ["FOUR"]
        redone = change(1, 2, "TWO\n"), change(0, 0, "typed\n")
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 3, redone))
        assert [hunk.text for hunk in reviewed.ledger.hunks] == ["TWO", "FOUR"]


async def test_an_undo_in_two_changes_can_be_redone(tmp_path: Path) -> None:
    async with a_workspace(tmp_path) as bench:
        reviewed = under_review(bench)
        undone = change(3, 4, "four\n"), change(1, 2, "two\n")
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, undone))
        assert [hunk.text for hunk in reviewed.ledger.hunks] == []
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 3, (change(1, 2, "TWO\n"),)))
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 4, (change(3, 4, "FOUR\n"),)))
        assert [hunk.text for hunk in reviewed.ledger.hunks] == ["TWO", "FOUR"]


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("one\nTWO\nthree\nFOUR\n", ["TWO", "FOUR"]),
        ("typed\none\nTWO\nthree\ntyped\nFOUR\n", ["TWO", "FOUR"]),
        ("one\nTWO\nthree\nfour typed\n", []),
        ("one\ntwo\nthree\nfour\ntyped\n", []),
    ],
    ids=["alone", "and typed", "one of two", "none"],
)
async def test_an_undo_of_a_rejection_and_what_was_typed_since_in_one_change(
    tmp_path: Path, told: str, left: list[str]
) -> None:
    """Emacs tells of both as of one change from the first to the last of them."""
    async with a_workspace(tmp_path) as bench:
        reviewed = under_review(bench)
        ledger, before = reviewed.ledger, Text.of(AGENTS)
        ledger.rejected(before, ledger.reject(len(before), ledger.ids()), Text.of(BEFORE))
        rejected = change(1, 4, "two\nthree\nfour\n")
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, (rejected,)))
        assert not ledger.hunks
        tracked = bench.workspace.state.documents.get(reviewed.uri)
        assert tracked is not None
        tracked.hunks_then.file = None  # noted when the ledger here was ahead of the text
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 3, (change(0, 4, told),)))
        assert [hunk.text for hunk in ledger.hunks] == left
        assert not left or ledger.base(told) == told.replace("TWO", "two").replace("FOUR", "four")


async def test_an_edit_so_large_that_the_text_before_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "MAX_CHARACTERS", 100)
    async with a_workspace(tmp_path) as bench:
        reviewed = under_review(bench)
        pasted = change(0, 0, "pasted\n" * 50)
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, (pasted,)))
        assert bench.text("a.txt") == "pasted\n" * 50 + AGENTS
        assert [hunk.text for hunk in reviewed.ledger.hunks] == ["TWO", "FOUR"]
        over = change(51, 54, "TWO\nthree\nFOUR\n" + "more\n" * 50)
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 3, (over,)))
        assert bench.text("a.txt") == "pasted\n" * 50 + AGENTS + "more\n" * 50


async def test_two_undos_and_typing_in_one_message(tmp_path: Path) -> None:
    """What the agent wrote last goes, and what it had written earlier, at another place and in the same words, is back, with all beside it."""
    first, second = "one\nnew\nnewer\ntwo\nmine\nTHREE four\n", "one\ntwo\nnew\nmine\nfour\n"
    plain = "one\ntwo\nmine\nfour\n"
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", second)
        reviewed = bench.workspace.state.ledgers.at(bench.uri("a.txt"), Text.of(second), live=True)
        ledger, before = reviewed.ledger, plain
        lines = ("four", "THREE four"), ("two", "newer\ntwo"), ("newer", "new\nnewer")
        for number, (old, new) in enumerate(lines):
            after = before.replace(old, new)
            author = Author("s", 1, f"w{number}")
            ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), author)
            before = after
        assert before == first
        ledger.rejected(Text.of(first), ledger.reject(len(first), ledger.ids()), Text.of(plain))
        ledger.agent_edit(Text.of(plain), diff(plain, second), Text.of(second), Author("s", 2, "w9"))
        undone = change(2, 4, "mine\n"), change(1, 2, "new\nnewer\ntwo\n"), change(5, 6, "THREE four\n")
        typed = ContentChange(Range(Position(5, 10), Position(5, 10)), "!")
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 3, (*undone, typed)))
        assert bench.text("a.txt") == first.replace("four", "four!")
        assert [hunk.text for hunk in ledger.hunks] == ["new\n", "newer\n", "THREE "]
        assert ledger.base(bench.text("a.txt")) == plain.replace("four", "four!")


async def test_an_undo_of_an_edit_of_an_agents_own_lines_and_typing_between_them(tmp_path: Path) -> None:
    """The undo leads to a text that was under review before; the typing only divides what is there."""
    texts = ["one\n", "one\nfirst\n}\n", "}\none more\nfirst }\n}\n"]
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", texts[0])
        reviewed = bench.workspace.state.ledgers.at(bench.uri("a.txt"), Text.of(texts[0]), live=True)
        bench.open("a.txt", texts[-1])
        for number, (before, after) in enumerate(pairwise(texts), 1):
            author = Author("s", 1, f"w{number}")
            reviewed.ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), author)
        undone = (
            within(0, 0, 1, 0, ""),
            within(0, 3, 0, 8, ""),
            within(1, 5, 1, 7, ""),
        )
        bench.workspace.apply(
            Modification(reviewed.uri, Notified.CHANGE, 2, (*undone, change(2, 2, "typed\n")))
        )
        assert bench.text("a.txt") == "one\nfirst\ntyped\n}\n"
        assert [hunk.text for hunk in reviewed.ledger.hunks] == ["first\n", "}\n"]


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("one\n  typed\n  agent\n  agents\ntwo\n", ["  agent\n  agents\n"]),
        ("one\n  agents\ntwo\n", ["  agents\n"]),
    ],
    ids=["typed above", "one deleted"],
)
async def test_a_client_that_tells_the_whole_text(tmp_path: Path, told: str, left: list[str]) -> None:
    """Kate does. A line beside the agent's, or one of them, may begin as the next one does."""
    before, after = "one\ntwo\n", "one\n  agent\n  agents\ntwo\n"
    async with a_workspace(tmp_path) as bench:
        bench.open("a.txt", after)
        reviewed = bench.workspace.state.ledgers.at(bench.uri("a.txt"), Text.of(after), live=True)
        author = Author("s", 1, "w1")
        reviewed.ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), author)
        whole = ContentChange(None, told)
        bench.workspace.apply(Modification(reviewed.uri, Notified.CHANGE, 2, (whole,)))
        assert bench.text("a.txt") == told
        assert [hunk.text for hunk in reviewed.ledger.hunks] == left
