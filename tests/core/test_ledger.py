"""Ledger: after any mix of edits by the user and two agents, keep, reject and undo, hunks lie where they say and putting them back
gives the text without the agents' unreviewed work."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.fates import MAX_KEPT
from sidecar.core.kept_hunks import from_json, to_json
from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.text import Text
from sidecar.core.versions import Version

PLACE = st.integers(0, 200)
LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c", "d e\n", "😀\n"]), max_size=3).map("".join)
AGENT = st.sampled_from(["first", "second"])


class Reviewed(RuleBasedStateMachine):
    """One document with its ledger, and what its editor would undo."""

    def __init__(self) -> None:
        super().__init__()
        self.text = Text.of("one\ntwo\nthree\nfour\nfive\n")
        self.ledger = Ledger()
        self.writes = 0
        self.past: list[Text] = []
        self.around: set[str] = set()
        """Texts that bring their hunks back when the user undoes or redoes to them."""

    def _user(self, changes: ChangeSet) -> None:
        """As the mirror receives it: one edit after the other, from the last."""
        for edit in reversed(changes.edits):
            before = str(self.text)
            one = ChangeSet.of(len(self.text), (edit,))
            after = Text.of(one.apply(self.text))
            base, hunks = self.ledger.base(str(self.text)), self.ledger.hunks
            was = self.text
            self.ledger.user_edit(edit, len(after), lambda after=after: after, lambda was=was: was)
            self.text = after
            if [(h.id, h.text) for h in hunks] != [(h.id, h.text) for h in self.ledger.hunks]:
                self.around.add(before)
            beside = all(edit.end < h.start or h.end < edit.start for h in hunks)
            if beside and len(hunks) == len(self.ledger.hunks) and str(after) not in self.around:
                shift = sum(len(h.old) - len(h.text) for h in hunks if h.end < edit.start)
                moved = Edit(edit.start + shift, edit.end + shift, edit.new)
                expected = ChangeSet.of(len(base), (moved,)).apply(base)
                assert self.ledger.base(str(after)) == expected, "what the user did is in the base, too"

    @rule(at=PLACE, size=st.integers(0, 8), new=LINES)
    def user_edits(self, at: int, size: int, new: str) -> None:
        self.past.append(self.text)
        start = min(at, len(self.text))
        self._user(ChangeSet.of(len(self.text), (Edit(start, min(start + size, len(self.text)), new),)))

    @rule(at=PLACE, second=PLACE, size=st.integers(0, 12), new=LINES, agent=AGENT, turn=st.integers(1, 2))
    def agent_edits(self, at: int, second: int, size: int, new: str, agent: str, turn: int) -> None:
        before = str(self.text)
        start = min(at, len(before))
        wanted = before[:start] + new + before[start + size :]
        if second % 3 == 0:
            place = min(second, len(wanted))
            wanted = wanted[:place] + "x\n" + wanted[place:]
        changes = diff(before, wanted)
        if changes.is_empty:
            return
        self.past.append(self.text)
        self.writes += 1
        after = Text.of(wanted)
        base = self.ledger.base(before)
        self.ledger.agent_edit(self.text, changes, after, Author(agent, turn, f"w{self.writes}"))
        self.text = after
        self.around |= {before, wanted}
        assert self.ledger.base(wanted) == base, "nothing that agents do is in the base"

    @precondition(lambda self: self.ledger.hunks)
    @rule(pick=PLACE)
    def keeps(self, pick: int) -> None:
        hunk = self.ledger.hunks[pick % len(self.ledger.hunks)]
        self.ledger.keep([hunk.id])
        assert hunk.id not in [h.id for h in self.ledger.hunks]

    @rule(agent=AGENT)
    def keeps_one_agents_work(self, agent: str) -> None:
        self.ledger.keep(self.ledger.ids(), lambda author: author.session == agent)
        assert not self.ledger.ids(lambda author: author.session == agent)

    @precondition(lambda self: self.ledger.hunks)
    @rule(pick=PLACE)
    def rejects(self, pick: int) -> None:
        hunk = self.ledger.hunks[pick % len(self.ledger.hunks)]
        before = str(self.text)
        base = self.ledger.base(before)
        self._reject(self.ledger, [hunk.id])
        assert str(self.text) == before[: hunk.start] + hunk.old + before[hunk.end :]
        assert self.ledger.base(str(self.text)) == base

    @rule(pick=PLACE, agent=AGENT)
    def keeps_while_a_rejection_is_made(self, pick: int, agent: str) -> None:
        """The editor takes its time; what is decided meanwhile is decided."""
        ids = self.ledger.ids()
        rejection = self.ledger.reject(len(self.text), [ids[pick % len(ids)]] if ids else [])
        self.ledger.keep(ids, lambda author: author.session == agent)
        self.past.append(self.text)
        after = Text.of(rejection.changes.apply(self.text))
        self.around |= {str(self.text), str(after)}
        self.ledger.rejected(self.text, rejection, after)
        self.text = after
        assert not self.ledger.ids(lambda author: author.session == agent)

    @rule(agent=AGENT)
    def rejects_one_agents_work(self, agent: str) -> None:
        rejection = self.ledger.reject(
            len(self.text), self.ledger.ids(), lambda author: author.session == agent
        )
        left = {h.id for h in rejection.impossible}
        self.past.append(self.text)
        after = Text.of(rejection.changes.apply(self.text))
        self.around |= {str(self.text), str(after)}
        self.ledger.rejected(self.text, rejection, after)
        self.text = after
        assert {h.id for h in self.ledger.hunks if any(v.author.session == agent for v in h.versions)} <= left

    @rule()
    def rejects_everything(self) -> None:
        base = self.ledger.base(str(self.text))
        self._reject(self.ledger, self.ledger.ids())
        assert str(self.text) == base
        assert self.ledger.hunks == ()

    def _reject(self, ledger: Ledger, ids: list[int]) -> None:
        rejection = ledger.reject(len(self.text), ids)
        assert rejection.impossible == ()
        self.past.append(self.text)
        after = Text.of(rejection.changes.apply(self.text))
        self.around |= {str(self.text), str(after)}
        ledger.rejected(self.text, rejection, after)
        self.text = after

    @rule(at=PLACE, size=st.integers(0, 30), new=LINES)
    def user_undoes_and_redoes(self, at: int, size: int, new: str) -> None:
        """Whatever an undo takes away, and whoever typed before: after the redo everything is under review as it was."""
        before, hunks = str(self.text), self.ledger.hunks
        start = min(at, len(before))
        changes = ChangeSet.of(len(before), (Edit(start, min(start + size, len(before)), new),))
        known = before in self.around
        self._user(changes)
        known = known or str(self.text) in self.around
        self._user(changes.invert(before))
        assert str(self.text) == before
        assert known or self.ledger.hunks == hunks

    @precondition(lambda self: self.past)
    @rule()
    def user_undoes(self) -> None:
        """The last step, whoever made it."""
        self._user(diff(str(self.text), str(self.past.pop())))

    @invariant()
    def hunks_lie_where_they_say(self) -> None:
        text, at = str(self.text), 0
        for hunk in self.ledger.hunks:
            assert at <= hunk.start <= hunk.end <= len(text)
            assert text[hunk.start : hunk.end] == hunk.text
            assert hunk.text != hunk.old
            at = hunk.end
        ids = [h.id for h in self.ledger.hunks]
        assert len(ids) == len(set(ids))

    @invariant()
    def hunks_over_their_base_give_the_text(self) -> None:
        text = str(self.text)
        back = Ledger.put_back(len(text), self.ledger.hunks)
        assert back.invert(text).apply(back.apply(text)) == text

    @invariant()
    def they_outlive_a_restart(self) -> None:
        assert tuple(from_json(to_json(self.ledger.hunks))) == self.ledger.hunks


TestLedger = Reviewed.TestCase


def test_an_undone_write_is_out_of_review_and_redone_in_it_again() -> None:
    before, after = Text.of("one\ntwo\n"), Text.of("one\nTWO\n")
    ledger = Ledger()
    changes = diff(str(before), str(after))
    ledger.agent_edit(before, changes, after, Author("first", 1, "w1"))
    hunks = ledger.hunks
    assert len(hunks) == 1
    for edit in changes.invert(str(before)).edits:
        ledger.user_edit(edit, len(before), lambda: before)
    assert ledger.hunks == ()
    for edit in changes.edits:
        ledger.user_edit(edit, len(after), lambda: after)
    assert ledger.hunks == hunks


def test_what_is_told_anew_is_nothing_that_was_decided() -> None:
    """The journal numbers what it tells from 1."""
    before, after = "one\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\nFOUR\n"
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("first", 1, "w1"))
    kept, other = ledger.hunks
    ledger.keep([kept.id])
    assert ledger.told([replace(other, id=1)]) is False
    assert ledger.hunks == (other,)
    mine = Text.of("ONE\ntwo\nthree\nmine\n")
    ledger.user_edit(Edit(other.start, other.end, "mine"), len(mine), lambda: mine)
    assert ledger.hunks == ()
    assert ledger.told([Hunk(1, 4, 7, "2", (Version(Author("first", 1, "w1"), "two"),))])
    (found,) = ledger.hunks
    assert found.id not in (kept.id, other.id)
    assert ledger.became([kept.id, other.id]) == {kept.id: "kept", other.id: "taken back"}


def test_a_redone_write_is_under_review_again_also_where_something_was_typed_after_it() -> None:
    """The editor undoes it before or with what was typed: the text that the redo leads to is none that the agent's edit led to."""
    before, after = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("first", 1, "w1"))
    text = Text.of("one and more\nTWO\nthree\n")
    ledger.user_edit(Edit(3, 3, " and more"), len(text), lambda: text)
    hunks = ledger.hunks
    assert len(hunks) == 1
    undone = Text.of("one and more\ntwo\nthree\n")
    ledger.user_edit(Edit(13, 16, "two"), len(undone), lambda: undone)
    assert ledger.hunks == ()
    ledger.user_edit(Edit(13, 16, "TWO"), len(text), lambda: text)
    assert ledger.hunks == hunks


@pytest.mark.parametrize(
    ("what", "edits", "left"),
    [
        ("where they were", [Edit(4, 4, "two\n")], []),
        ("typed one by one", [Edit(4 + i, 4 + i, c) for i, c in enumerate("two\n")], []),
        ("from the last to the first", [Edit(4, 4, "\n"), Edit(4, 4, "wo"), Edit(4, 4, "t")], []),
        ("before the end of the line above", [Edit(3, 3, "\ntwo")], []),
        ("half of it", [Edit(4, 4, "tw")], ["two\n"]),
        ("elsewhere", [Edit(0, 0, "two\n")], ["two\n"]),
        ("behind another line", [Edit(10, 10, "two\n")], ["two\n"]),
        ("and taken away again", [Edit(4, 4, "two\n"), Edit(4, 8, "")], ["two\n"]),
        ("something else", [Edit(4, 4, "2\n")], ["two\n"]),
    ],
)
def test_lines_that_an_agent_deleted_are_put_back(what: str, edits: list[Edit], left: list[str]) -> None:
    """There it is what rejecting would do, and to reject as well would double them. Elsewhere they are the user's, and the agent's
    deletion still is one: rejecting brings back what stood there, as a merge would."""
    before, text = "one\ntwo\nthree\n", Text.of("one\nthree\n")
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, str(text)), text, Author("first", 1, "w1"))
    for edit in edits:
        text = Text.of(ChangeSet.of(len(text), (edit,)).apply(text))
        ledger.user_edit(edit, len(text), lambda text=text: text)
    assert [hunk.old for hunk in ledger.hunks] == left, what


def test_another_text_of_the_same_length_does_not_take_later_work_out_of_review() -> None:
    """The editor showed the file empty once: of the text before that, only where the hunks lay is known."""
    before, after = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("first", 1, "w1"))
    ledger.user_edit(Edit(0, len(after), ""), 0, lambda: Text.of(""))
    ledger.user_edit(Edit(0, 0, after), len(after), lambda: Text.of(after))
    later = after.replace("three", "THREE")
    ledger.agent_edit(Text.of(after), diff(after, later), Text.of(later), Author("first", 1, "w2"))
    typed = later.replace("one", "own")
    ledger.user_edit(Edit(0, 3, "own"), len(typed), lambda: Text.of(typed))
    assert [(hunk.old, hunk.text) for hunk in ledger.hunks] == [("two", "TWO"), ("three", "THREE")]


REPLACED = "0\nold1\nold2\nold3\n9\n", "0\nnew1\nnew2\nnew3\n9\n"
SHARED = "0\nold1()\nold2()\nold3()\n9\n", "0\nnew1()\nnew2()\nnew3()\n9\n"
MORE = "0\nold\n9\n", "0\nnew1\nnew2\nnew3\n9\n"


@pytest.mark.parametrize(
    ("texts", "was", "then", "left"),
    [
        (REPLACED, "new1", "mine", "0\nmine\nold1\nold2\nold3\n9\n"),
        (REPLACED, "new2", "mine", "0\nold1\nold2\nmine\nold3\n9\n"),
        (REPLACED, "new3", "mine", "0\nold1\nold2\nmine\n9\n"),
        (REPLACED, "new2\n", "", "0\nold1\nold2\nold3\n9\n"),
        (REPLACED, "new3\n", "", "0\nold1\nold2\n9\n"),
        (MORE, "new1", "mine", "0\nmine\nold\n9\n"),
        (MORE, "new2", "mine", "0\nmine\nold\n9\n"),
        (MORE, "new3", "mine", "0\nmine\n9\n"),
        (SHARED, "new2", "mine", "0\nold1()\nmine()\nold3()\n9\n"),
        (SHARED, "new3", "mine", "0\nold1()\nold2()\nmine()\n9\n"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_typed_among_an_agents_stays_a_line_when_those_are_rejected(
    texts: tuple[str, str], was: str, then: str, left: str, end: str
) -> None:
    before, text, was, left = (one.replace("\n", end) for one in (*texts, was, left))
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, text), Text.of(text), Author("first", 1, "w1"))
    edit = Edit(text.index(was), text.index(was) + len(was), then)
    now = text.replace(was, then)
    ledger.user_edit(edit, len(now), lambda: Text.of(now))
    assert ledger.base(now) == left


@pytest.mark.parametrize("end", ["", "s"], ids=["whole lines", "the lines end alike"])
def test_a_line_that_is_still_in_one_that_the_user_has_made_theirs_is_not_put_back_beside_it(
    end: str,
) -> None:
    """They take out what the agent put before it, and reject the line that it added (hands, Neovim 0.11, seed 3002034)."""
    before, text = f"0\nold word{end}\n9\n", f"0\nagents old word{end}\nmore word{end}\n9\n"
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, text), Text.of(text), Author("first", 1, "w1"))
    edit = Edit(text.index("agents "), text.index("old"), "")
    now = text.replace("agents ", "")
    ledger.user_edit(edit, len(now), lambda: Text.of(now))
    assert ledger.base(now) == before


def test_a_line_that_another_changes_among_an_agents_stays_a_line_when_those_are_rejected() -> None:
    before, text = REPLACED
    now = text.replace("new2", "other")
    ledger = Ledger()
    ledger.agent_edit(Text.of(before), diff(before, text), Text.of(text), Author("first", 1, "w1"))
    ledger.agent_edit(Text.of(text), diff(text, now), Text.of(now), Author("second", 1, "w2"))
    ids = [hunk.id for hunk in ledger.hunks if len(hunk.versions) == 1]
    rejected = ledger.reject(len(now), ids).changes.apply(now)
    assert rejected.split("\n") == ["0", "old1", "old2", "other", "old3", "9", ""]


def test_work_on_lines_that_a_later_edit_changes_together_stays_each_authors() -> None:
    """Rejecting one author's takes back none of another's, also where a third one changed the lines of both at once."""
    texts = ["one\ntwo\nthree\n", "ONE\ntwo\nthree\n", "ONE\nTWO\nthree\n", "1\n2\nthree\n"]
    ledger = Ledger()
    for turn, (before, after) in enumerate(pairwise(texts), 1):
        ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("a", turn, f"w{turn}"))
    assert len(ledger.hunks) == 1
    now = texts[-1]
    for turn, then in [(3, "ONE\nTWO\nthree\n"), (2, "ONE\ntwo\nthree\n"), (1, texts[0])]:
        whose = partial(_is_of, turn)
        rejection = ledger.reject(len(now), ledger.ids(whose), whose)
        before, now = now, rejection.changes.apply(now)
        ledger.rejected(Text.of(before), rejection, Text.of(now))
        assert now == then
    assert ledger.hunks == ()


def test_work_is_taken_back_from_beneath_what_a_later_edit_joined_with_it() -> None:
    texts = ["one\ntwo\nthree\n", "ONE\ntwo\nthree\n", "ONE\nTWO\nthree\n", "1\n2\nthree\n"]
    ledger = Ledger()
    for turn, (before, after) in enumerate(pairwise(texts), 1):
        ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("a", turn, f"w{turn}"))

    def whose(author: Author) -> bool:
        return author.turn in (1, 3)

    rejection = ledger.reject(len(texts[-1]), ledger.ids(whose), whose)
    assert rejection.changes.apply(texts[-1]) == "one\nTWO\nthree\n"


def _is_of(turn: int, author: Author) -> bool:
    return author.turn == turn


def test_what_an_agent_deleted_keeps_its_place_when_the_lines_before_it_go_and_come_back() -> None:
    """Found by the laws: rejecting put it back before these lines."""
    ledger, before, after = Ledger(), "top\none\ntwo\nend\n", "top\none\nend\n"
    ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("s", 1, "w1"))
    texts = [after, "on top\none\nend\n", "on top\nend\n", "on top\none\nend\n"]
    for was, now in pairwise(map(Text.of, texts)):
        ledger.user_led(was, now)
    assert ledger.base("on top\none\nend\n") == "on top\none\ntwo\nend\n"


def test_what_was_kept_long_ago_takes_no_memory_and_what_was_kept_last_does_not_come_back() -> None:
    """Whoever noted the hunks of a text (`now`) before the user kept them may bring that text back (`back_to`)."""
    ledger, lines = Ledger(), [f"line {number}\n" for number in range(2 * MAX_KEPT)]
    noted = ()
    for turn in range(4):
        before = "".join(lines)
        lines[::2] = [f"line {number} of turn {turn}\n" for number in range(0, len(lines), 2)]
        after = "".join(lines)
        ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("s", turn, f"w{turn}"))
        noted = ledger.hunks
        assert len(noted) == MAX_KEPT
        last = ledger.now(after)
        ledger.keep([hunk.id for hunk in noted])
        assert set(ledger.became(hunk.id for hunk in noted).values()) == {"kept"}
        ledger.back_to(last)
        assert ledger.hunks == ()
    assert ledger.remembers <= 2 * MAX_KEPT
