"""Ledger: what an agent changed in the work of nobody known can be taken back, also if it led back to what was there before. That work
may be the user's, by a command in a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Ledger
from sidecar.core.text import Text

LINES = 6
NOBODY = Author("", 0, "w0", unknown=True)
AGENT = Author("first", 1, "w1")


class Written:
    """A text of short lines, and its ledger."""

    def __init__(self) -> None:
        self.lines = ["old"] * LINES
        self.ledger = Ledger()

    @property
    def text(self) -> str:
        return "".join(f"{number} {line}\n" for number, line in enumerate(self.lines))

    def says(self, line: int, words: str, author: Author) -> None:
        before = self.text
        self.lines[line] = words
        changes = diff(before, self.text)
        if changes.edits:
            self.ledger.agent_edit(Text.of(before), changes, Text.of(self.text), author)


def test_what_an_agent_puts_back_can_be_taken_back() -> None:
    written = Written()
    written.says(2, "typed", NOBODY)
    theirs = written.text
    written.says(2, "old", AGENT)
    (hunk,) = written.ledger.hunks
    assert hunk.author == AGENT
    assert written.ledger.base_of_known(written.text) == theirs
    written.ledger.keep([hunk.id])
    assert written.ledger.hunks == ()


def test_what_nobody_known_puts_back_is_no_change() -> None:
    written = Written()
    written.says(2, "typed", NOBODY)
    written.says(2, "old", Author("", 0, "w2", unknown=True))
    assert written.ledger.hunks == ()


EDITS = st.lists(
    st.tuples(st.integers(0, LINES - 1), st.sampled_from(["old", "typed", "more", ""])), max_size=8
)


@given(theirs=EDITS, agents=EDITS)
def test_without_the_agents_the_text_is_as_nobody_known_left_it(
    theirs: list[tuple[int, str]], agents: list[tuple[int, str]]
) -> None:
    written = Written()
    for line, words in theirs:
        written.says(line, words, NOBODY)
    left = written.text
    for line, words in agents:
        written.says(line, words, AGENT)
    assert written.ledger.base_of_known(written.text) == left
