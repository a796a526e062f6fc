"""What a write means, a row for each case (tests/support/steps.py). A new case is a new row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.editor_habits import EDITORS, NEOVIM, VSCODE, WELL_BEHAVED, Habits
from tests.support.made_again import AGAIN
from tests.support.steps import check

EVERYWHERE = {
    "typing elsewhere since the read survives": """
        user types typed above one
        agent writes one two three FOUR five
        expect typed one two three FOUR five
    """,
    "a second write without reading again keeps the user's line": """
        user types typed above one
        agent writes one two three FOUR five
        agent writes one two three FOUR FIVE
        expect typed one two three FOUR FIVE
    """,
    "the same lines are a conflict": """
        user changes two to mine
        agent is refused conflict: one "the agent's" three four five
        expect one mine three four five
        expect nothing sent
    """,
    "an agent that read the disk with a tool of its own knows nothing of unsaved lines": """
        unread
        user types typed above one
        agent writes one two three FOUR five
        expect typed one two three FOUR five
    """,
    "some lines that were read are a base too": """
        unread
        user types typed above one
        agent reads 4 2
        agent writes one two three FOUR five
        expect typed one two three FOUR five
    """,
    "what is said already is not sent": """
        agent writes one two three four five
        expect nothing sent
    """,
    "what the user took back is made again when the agent is asked to": """
        agent writes one TWO three four five
        user changes TWO to two
        agent reads
        agent writes one TWO three four five
        expect one TWO three four five
    """,
    "what was typed is removed when an agent that was shown it is asked to": """
        user types debug above one
        agent reads
        agent writes one two three four five
        expect one two three four five
    """,
    "a text that came from the disk and was typed in since is a base": """
        agent begins edit execute
        disk says one TWO three four five
        agent ends edit execute
        user types typed above one
        agent writes one TWO three four FIVE
        expect typed one TWO three four FIVE
    """,
    "two writes one after the other": """
        agent sends one two three four five first
        other reads
        agent gets done
        agent writes one two three four five second
        expect one two three four five second
    """,
    "two agents, each another line": """
        other reads
        agent sends ONE two three four five
        other sends one two three four FIVE
        agent gets done
        other gets done
        expect ONE two three four FIVE
    """,
}
"""In the way of every editor that takes edits."""

REREADING = {
    "a read that the model never saw costs no typing": """
        user types typed above one
        agent reads
        agent writes one two three FOUR five
        expect typed one two three FOUR five
        agent writes one two three four five
        expect typed one two three four five
    """,
    "a write that is repeated takes no typing away": """
        agent writes one TWO three four five
        user types typed above one
        agent reads
        agent writes one TWO three four five
        expect typed one TWO three four five
    """,
}
"""The same with an agent whose program reads once more by itself, just before it writes (fast-agent)."""

OTHERS = {
    "a tool may have read the disk where we were read too": """
        user types typed above one
        agent reads
        agent begins cat execute
        agent writes one two three FOUR five
        expect typed one two three FOUR five
    """,
    "an agent that read the unsaved line may remove it": """
        unread
        user types typed above one
        agent reads
        agent writes one two three four five
        expect one two three four five
    """,
    "a line that the user made longer is rewritten once it was shown": """
        user changes two to "two and more"
        agent reads
        agent writes one second three four five
        expect one second three four five
    """,
    "the same with the line saved, in the next turn": """
        user changes two to "two and more"
        user saves
        agent takes another turn
        agent reads
        agent writes one second three four five
        expect one second three four five
    """,
    "a line of the user's that was shown is removed by what the agent wrote before": """
        agent writes one TWO three four five
        user types "print('debug')" below TWO
        agent begins read read
        agent reads
        agent ends read read
        agent writes one TWO three four five
        expect one TWO three four five
    """,
    "a part of the text that was shown counts, too": """
        agent writes one TWO three four five
        user types "print('debug')" below TWO
        agent begins read read
        agent reads 2 3
        agent ends read read
        agent writes one TWO three four five
        expect one TWO three four five
    """,
    "what is read in a call that edits, the model has not seen": """
        user types typed above one
        agent begins edit edit
        agent reads
        agent writes one two three FOUR five
        agent ends edit edit
        expect typed one two three FOUR five
        agent begins read read
        agent reads
        agent ends read read
        agent begins again edit
        agent reads
        agent writes one two three four five
        expect one two three four five
    """,
    "a tool that replaces a piece sends the rest as it is": """
        user changes two to "two and more"
        user types typed above one
        agent begins edit edit
        agent reads
        agent writes typed one "2 and more" three four five
        expect typed one "2 and more" three four five
    """,
    "a conflict ends when the agent reads again": """
        user changes two to "two and more"
        agent begins edit edit
        agent reads
        agent is refused conflict: one second three four five
        agent fails edit edit
        agent reads
        agent begins again edit
        agent reads
        agent writes one second three four five
        expect one second three four five
    """,
    "a file that is not open": """
        closed
        agent reads
        agent writes one TWO three four five
        expect one TWO three four five
        expect review two TWO
    """,
    "a file that is not open and that somebody else changed": """
        closed
        agent reads
        disk says zero one two three four five
        agent writes one two three FOUR five
        expect zero one two three FOUR five
    """,
    "what the user undid stays undone when the agent goes on": """
        agent writes one TWO three four five
        user undoes
        agent reads
        agent writes one two three four FIVE
        expect one two three four FIVE
        expect review five FIVE
    """,
    "what was rejected is not listed, and can be made again": """
        agent writes one TWO three four five
        user rejects
        expect review
        agent reads
        agent writes one TWO three four five
        expect one TWO three four five
        expect review two TWO
    """,
}

TAKES_EDITS = {name: habits for name, habits in EDITORS.items() if not habits.refuses}
every_editor = pytest.mark.parametrize("habits", list(TAKES_EDITS.values()), ids=list(TAKES_EDITS))


def rows(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("steps", list(cases.values()), ids=list(cases))


@every_editor
@rows(EVERYWHERE)
def test_in_every_editor(tmp_path: Path, habits: Habits, steps: str) -> None:
    check(tmp_path, habits, steps)


@every_editor
@rows(REREADING)
def test_with_an_agent_that_reads_once_more(tmp_path: Path, habits: Habits, steps: str) -> None:
    check(tmp_path, habits, steps, rereads=True)


@pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
@rows(OTHERS)
def test_in_two_editors(tmp_path: Path, habits: Habits, steps: str) -> None:
    check(tmp_path, habits, steps)


TAKEN_BACK = ("user undoes", "user rejects", "user changes TWO to two")


@pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
@pytest.mark.parametrize("sent", list(AGAIN.values()), ids=list(AGAIN))
@pytest.mark.parametrize(
    ("typed", "then"), [("above one", "typed {}"), ("below five", "{} typed")], ids=["above", "below"]
)
@pytest.mark.parametrize("taken_back", TAKEN_BACK)
def test_what_was_taken_back_is_made_again(
    tmp_path: Path, taken_back: str, typed: str, then: str, sent: str, habits: Habits
) -> None:
    steps = f"""
        agent writes one TWO three four five
        {taken_back}
        agent reads
        user types typed {typed}
        agent writes {sent}
        expect {then.format(sent)}
    """
    check(tmp_path, habits, steps)


@every_editor
def test_typing_while_the_edit_is_on_its_way_survives(tmp_path: Path, habits: Habits) -> None:
    """The document moves on between sending and arriving: refused, ignored or misapplied, as each editor does."""
    steps = """
        agent sends one two three FOUR five
        user types typed above one
        agent gets done
        expect typed one two three FOUR five
    """
    check(tmp_path, habits, steps, arrives_after=0.1)


def test_the_users_undo_right_after_is_not_a_failure(tmp_path: Path) -> None:
    steps = """
        agent sends one TWO three four five
        user undoes
        user types newer above one
        agent gets done
        expect newer one two three four five
    """
    check(tmp_path, replace(WELL_BEHAVED, answers_after=0.3), steps)


def test_a_case_can_fail(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        check(tmp_path, VSCODE, "agent writes one TWO three four five\nexpect one two three four five")
    (wrong,) = failed.value.exceptions
    assert wrong.__notes__ == ["in the step: expect one two three four five"]
