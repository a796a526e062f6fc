"""A document is opened with a text that it had before: an editor that was ended has kept it unsaved, or somebody undid what came after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Ledger
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Ledgers

BASE = "base1\nbase2\nbase3\nbase4\n"
FIRST = "agent8\nbase2\nagent9\nbase4\n"
SECOND = "agent6\nbase2\nagent9\nagent7\n"


@pytest.mark.parametrize("opened", [SECOND, FIRST], ids=["as it was left", "as before the newest write"])
def test_what_is_left_to_reject_after_a_restart(opened: str) -> None:
    ledger = Ledger()
    for turn, (before, after) in enumerate([(BASE, FIRST), (FIRST, SECOND)], 1):
        ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("a", turn, f"w{turn}"))
    reviewed = Ledgers().restore("file:///a.txt", SECOND, ledger.hunks)
    reviewed.opened(Text.of(opened))
    assert reviewed.ledger.base(opened) == BASE


def test_a_file_said_something_else_before_it_was_opened() -> None:
    """The editor has the text unsaved that is under review, and the file an older one, which is looked at first."""
    ledger = Ledger()
    ledger.agent_edit(Text.of(BASE), diff(BASE, SECOND), Text.of(SECOND), Author("a", 1, "w1"))
    reviewed = Ledgers().restore("file:///a.txt", SECOND, ledger.hunks)
    reviewed.seen(Text.of(SECOND.replace("agent6", "agent1").replace("agent7", "agent2")))
    reviewed.opened(Text.of(SECOND))
    assert reviewed.ledger.base(SECOND) == BASE
    assert reviewed.guessed is None


def test_what_was_seen_while_the_journal_was_being_asked_is_still_to_be_found_out() -> None:
    """The file's text is none that was seen; before the journal has said what led to it, the document is opened, and closed again."""
    ledger, other = Ledger(), SECOND.replace("agent6", "agent1")
    ledger.agent_edit(Text.of(BASE), diff(BASE, SECOND), Text.of(SECOND), Author("a", 1, "w1"))
    reviewed = Ledgers().restore("file:///a.txt", SECOND, ledger.hunks)
    for text in (other, SECOND, other):
        reviewed.seen(Text.of(text))
    assert reviewed.guessed == Text.of(other)


def mine(text: str) -> str:
    return "mine\n" + text


@pytest.mark.parametrize("turns", [(1, 2), (1, 1)], ids=["two turns", "one turn"])
@pytest.mark.parametrize("meanwhile", [mine, str], ids=["the user's line", ""])
def test_two_writes_that_are_stashed_one_after_the_other_are_both_back(
    turns: tuple[int, int], meanwhile: Callable[[str], str]
) -> None:
    """The user writes a line in between, so that no text is exactly as it was."""
    first, second = (
        BASE.replace("base2", "agent2"),
        BASE.replace("base2", "agent2").replace("base4", "agent4"),
    )
    reviewed = Ledgers().at(DocumentUri("file:///a.txt"), Text.of(BASE), live=False)
    for turn, (before, after) in zip(turns, [(BASE, first), (first, second)], strict=True):
        author = Author("a", turn, f"w{before == first}")
        reviewed.ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), author)
        reviewed.text = Text.of(after)
    for text in (first, BASE, first, second):
        reviewed.seen(Text.of(meanwhile(text)))
    assert reviewed.ledger.base(meanwhile(second)) == meanwhile(BASE)
    for text in (BASE, second):
        reviewed.seen(Text.of(meanwhile(text)))
    assert reviewed.ledger.base(meanwhile(second)) == meanwhile(BASE)


@pytest.mark.parametrize("lf", ["\n", "base1\n"], ids=["all", "one"])
def test_line_ends_that_an_agent_wrote_stay_under_review_beside_an_edit_elsewhere(lf: str) -> None:
    ledger, after = Ledger(), BASE.replace(lf, lf.replace("\n", "\r\n"))
    ledger.agent_edit(Text.of(BASE), diff(BASE, after), Text.of(after), Author("a", 1, "w1"))
    reviewed = Ledgers().restore("file:///a.txt", after, ledger.hunks)
    reviewed.opened(Text.of(after.replace("base4", "mine")))
    assert reviewed.ledger.base(after.replace("base4", "mine")) == BASE.replace("base4", "mine")
