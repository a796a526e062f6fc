"""What a user's edit takes out of review comes back when its place says the same again, whatever was done elsewhere."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Hunk, Ledger
from sidecar.core.left import MAX_PLACES, MAX_SAID, Left
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.versions import Author, Version
from sidecar.workspace.state.ledgers import Reviewed

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\n"
AFTER = "one\nTWO\nTHREE\nfour\nfive\nsix\n"
FIRST, SECOND = Author("first", 1, "w1"), Author("second", 1, "w2")


class Document:
    """A text and its ledger."""

    def __init__(self, text: str) -> None:
        self.text, self.ledger = text, Ledger()

    def agent(self, text: str, author: Author = FIRST) -> None:
        changes = diff(self.text, text)
        self.ledger.agent_edit(Text.of(self.text), changes, Text.of(text), author)
        self.text = text

    def edit(self, edit: Edit) -> Edit:
        """The user's. Returns the one that undoes it."""
        changes = ChangeSet.of(len(self.text), (edit,))
        (back,) = changes.invert(self.text).edits
        was, now = Text.of(self.text), Text.of(changes.apply(self.text))
        self.ledger.user_edit(edit, len(now), lambda: now, lambda: was)
        self.text = str(now)
        return back

    def user(self, was: str, now: str) -> Edit:
        """They change a part of the text that it has once."""
        assert self.text.count(was) == 1
        at = self.text.index(was)
        return self.edit(Edit(at, at + len(was), now))

    def leads(self, text: str) -> None:
        """Somebody who is no agent, by some edits."""
        self.ledger.user_led(Text.of(self.text), Text.of(text))
        self.text = text

    def rejects(self, *authors: Author) -> None:
        """The user rejects what these have done, else everything."""

        def whose(author: Author) -> bool:
            return not authors or author in authors

        rejection = self.ledger.reject(len(self.text), self.ledger.ids(whose), whose)
        before, self.text = self.text, rejection.changes.apply(self.text)
        self.ledger.rejected(Text.of(before), rejection, Text.of(self.text))

    def listed(self) -> list[tuple[str, str]]:
        return [(hunk.old, hunk.text) for hunk in self.ledger.hunks]


@pytest.fixture
def document() -> Document:
    document = Document(BEFORE)
    document.agent(AFTER)
    return document


def test_although_others_have_edited_elsewhere(document: Document) -> None:
    before = document.listed()
    back = document.user("TWO", "TWO!")
    assert document.listed() != before
    document.user("six", "and six")
    document.agent(document.text.replace("five", "FIVE"), SECOND)
    document.edit(back)
    assert document.listed() == [*before, ("five", "FIVE")]


def test_although_the_editor_has_read_its_file_again(document: Document) -> None:
    """And tells the text as a whole, with lines that others put before it."""
    before = document.listed()
    document.user("TWO", "TWO!")
    document.leads(document.text.replace("one\n", "zero\none\n"))
    document.user("TWO!", "TWO")
    assert document.listed() == before


def test_together_with_what_was_typed_since(document: Document) -> None:
    before = document.listed()
    document.user("TWO", "TWO!")
    document.user("six", "seven")
    document.leads(document.text.replace("TWO!", "TWO").replace("seven", "eight"))
    assert document.listed() == before


def test_although_more_was_deleted_around_it(document: Document) -> None:
    """Key by key, backwards, and undone at once or key by key."""
    for at_once in (True, False):
        before, text = document.listed(), document.text
        backs = [document.edit(Edit(at - 1, at, "")) for at in range(text.index("four"), 1, -1)]
        assert document.listed() != before
        if at_once:
            document.edit(Edit(1, 1, text[1 : text.index("four")]))
        else:
            for back in reversed(backs):
                document.edit(back)
        assert (document.text, document.listed()) == (text, before)


def test_an_empty_line_typed_at_its_end_and_undone(document: Document) -> None:
    """The line that is typed is seen as one behind the agent's; its undo deletes the agent's own line end."""
    document.agent(AFTER.replace("THREE\n", "THREE\nnew\n"), SECOND)
    before = document.listed()
    at = document.text.index("new") + len("new")
    back = document.edit(Edit(at, at, "\n"))
    assert document.listed() == before
    document.user("six", "seven")
    document.edit(back)
    assert document.listed() == before


@pytest.mark.parametrize("second", [FIRST, Author("first", 1, "w2"), Author("first", 2, "w2"), SECOND])
def test_an_undone_write_leaves_what_the_agent_had_written_there_before(second: Author) -> None:
    """Also if the two are one version, and the text is one that nobody has seen (hands, Neovim 0.11, seed 3003043)."""
    document = Document(BEFORE)
    document.agent(BEFORE.replace("two\n", "two\nnew\nmore\n"))
    document.agent(document.text.replace("new", "newer"), second)
    both = document.listed()
    document.user("six", "seven")
    back = document.user("newer", "new")
    assert [new for _, new in document.listed()] == ["new\n", "more\n"]
    back = document.edit(back)
    assert document.listed() == both
    document.edit(back)
    assert [new for _, new in document.listed()] == ["new\n", "more\n"]
    document.rejects()
    assert document.text == BEFORE.replace("six", "seven")


def test_what_the_user_writes_where_a_change_was_rejected_is_the_users(document: Document) -> None:
    """Also if it says the same: the user has worked elsewhere since, so that it is no undo."""
    document.rejects()
    document.user("six", "seven")
    document.user("two", "TWO")
    assert document.listed() == []
    document.rejects()
    assert "TWO" in document.text


def test_what_was_kept_meanwhile_does_not_come_back(document: Document) -> None:
    back = document.user("TWO", "TWO!")
    document.edit(back)
    (hunk,) = document.ledger.hunks
    back = document.user("TWO", "TWO!")
    assert document.ledger.hunks
    document.ledger.keep([one.id for one in document.ledger.hunks])
    document.edit(back)
    assert document.listed() == []
    assert document.ledger.became([hunk.id])[hunk.id] == "kept"


def test_what_another_agent_wrote_there_since_stays(document: Document) -> None:
    """Although it is what the first one had written."""
    document.user("TWO\nTHREE", "2\n3")
    document.agent(AFTER, SECOND)
    document.user("four", "4")
    assert [hunk.author for hunk in document.ledger.hunks] == [SECOND]


def test_of_a_large_edit_the_text_before_is_forgotten_and_what_lay_in_the_hunks_counts() -> None:
    document = Document(BEFORE)
    document.agent(AFTER)
    before = document.listed()
    empty, whole = Text.of(""), Text.of(AFTER)
    document.ledger.user_edit(Edit(0, len(AFTER), ""), 0, lambda: empty)
    other = Text.of("x" * len(AFTER))
    document.ledger.user_edit(Edit(0, 0, str(other)), len(other), lambda: other, lambda: empty)
    assert document.listed() == [("two\nthree", "")]
    document.ledger.user_edit(Edit(0, len(AFTER), ""), 0, lambda: empty, lambda: other)
    document.ledger.user_edit(Edit(0, 0, AFTER), len(AFTER), lambda: whole, lambda: empty)
    assert document.listed() == before


def test_places_are_bounded_in_number_and_in_what_they_said() -> None:
    left, hunk = Left(), Hunk(1, 0, 3, "old", (Version(FIRST, "new"),))
    text = Text.of("new" + "x" * (MAX_SAID // 2))
    for _ in range(2 * MAX_PLACES):
        left = left.took(Edit(0, 3, "old"), [hunk], 1, lambda: text)
    assert len(left.places) == MAX_PLACES
    for _ in range(4):
        left = left.took(Edit(0, len(text), ""), [hunk], 1, lambda: text)
    assert sum(len(place.said or "") for place in left.places) <= MAX_SAID
    assert len(left.places) >= 1


def written(pick: random.Random) -> Document:
    """Lines of a person's and of agents'."""
    document = Document("".join(f"line {n:02};\n" for n in range(30)))
    for write in range(pick.randint(1, 4)):
        lines = document.text.splitlines(keepends=True)
        for _ in range(pick.randint(1, 3)):
            at = pick.randrange(8, len(lines) - 9)
            lines[at : at + pick.randint(0, 2)] = [
                f"agent {pick.random()}\n" for _ in range(pick.randint(0, 2))
            ]
        document.agent("".join(lines), Author("a", write, f"w{write}"))
    return document


def middle(document: Document) -> tuple[int, int]:
    return document.text.index("line 07;\n") + len("line 07;\n"), document.text.index("line 22;\n")


def elsewhere(document: Document, pick: random.Random) -> None:
    """Somebody edits what is not in the middle."""
    which = pick.choice([2, 25])
    what = f"line {which:02};\n"
    if what not in document.text:
        document.edit(Edit(0, pick.randint(0, 3), "top\n"))
    elif pick.random() < 0.5:
        document.user(what, pick.choice(["", "mine\n", what + "mine\n"]))
    else:
        document.agent(document.text.replace(what, "theirs\n"), SECOND)


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_was_edited_elsewhere_what_is_undone_brings_back_what_it_took(seed: int) -> None:
    pick = random.Random(seed)
    document = written(pick)
    low, high = middle(document)
    text = document.text[low:high]

    def listed() -> list[tuple[str, str, tuple[Version, ...]]]:
        first, last = middle(document)
        hunks = [hunk for hunk in document.ledger.hunks if first <= hunk.start and hunk.end <= last]
        return [(hunk.old, hunk.text, hunk.versions) for hunk in hunks]

    before = listed()
    backs: list[Edit] = []
    for _ in range(pick.randint(1, 6)):
        low, high = middle(document)
        start = pick.randint(low, high)
        stop = min(high, start + pick.choice([0, 0, 1, 5, 30]))
        new = pick.choice([""] * (start < stop) + ["x", "\n", "typed\n", "ty\nped"])
        back = document.edit(Edit(start, stop, new))
        backs.append(Edit(back.start - low, back.end - low, back.new))
        if pick.random() < 0.3:
            elsewhere(document, pick)
    if len(backs) == 1 and pick.random() < 0.3:
        low, high = middle(document)
        document.leads(document.text[:low] + text + document.text[high:])
    for back in reversed(backs) if document.text[slice(*middle(document))] != text else ():
        low, _ = middle(document)
        document.edit(Edit(low + back.start, low + back.end, back.new))
        if pick.random() < 0.3:
            elsewhere(document, pick)
    assert document.text[slice(*middle(document))] == text
    assert listed() == before


@pytest.mark.parametrize("seed", range(120))
def test_of_an_agents_writes_some_of_which_are_undone_a_rejection_leaves_nothing(seed: int) -> None:
    """One by one, while the user types elsewhere, so that no text is one that was seen before."""
    pick = random.Random(seed)
    document = Document("".join(f"line {n:02};\n" for n in range(30)))
    first, steps = document.text[slice(*middle(document))], list[ChangeSet]()
    for write in range(pick.randint(2, 4)):
        low, high = middle(document)
        text = document.text[low:high]
        lines = text.splitlines(keepends=True)
        for n in range(pick.randint(1, 2)):
            at, name = pick.randrange(len(lines)), f"agent {write} {n}"
            new = pick.choice([[f"{name}\n"], [], [f"{name} {lines[at]}"], [f"{name}\n", f"{name} more\n"]])
            lines[at : at + pick.randint(0, 2)] = new
            lines = lines or ["agent\n"]
        author = Author("a", pick.choice([1, write]), f"w{write}")
        document.agent(document.text[:low] + "".join(lines) + document.text[high:], author)
        steps.append(diff(text, "".join(lines)).invert(text))
        document.edit(Edit(0, 0, "top\n"))
    for back in reversed(steps[pick.randrange(len(steps)) :]):
        low, _ = middle(document)
        for edit in reversed(back.edits):
            document.edit(Edit(low + edit.start, low + edit.end, edit.new))
        document.edit(Edit(0, 0, "top\n"))
    document.rejects()
    assert document.text[slice(*middle(document))] == first


def test_of_what_was_undone_nothing_is_there_twice() -> None:
    """The text was seen before, so that its hunk was back already."""
    text = "00\r\n10\r\n20\r\n30\r\n40\r\n50\r\n"
    reviewed = Reviewed(DocumentUri("file:///a"), Text.of(text))
    reviewed.live = True
    changes = ChangeSet.of(len(text), (Edit(8, 18, ""),))
    after = changes.apply(text)
    reviewed.ledger.agent_edit(Text.of(text), changes, Text.of(after), FIRST)
    for start, end, new in [
        (2, 2, "x\n"),
        (6, 16, "\n"),
        (6, 7, "10\r\n\r\n50\r\n"),
        (2, 4, ""),
        (2, 2, "x\n"),
    ]:
        was, now = Text.of(after), Text.of(after[:start] + new + after[end:])
        reviewed.user_edit(Edit(start, end, new), len(now), lambda now=now: now, lambda was=was: was)
        after = str(now)
    (hunk,) = reviewed.ledger.hunks
    assert (hunk.start, hunk.text) == (10, "")


@pytest.mark.parametrize(
    ("wrote", "own", "joined"),
    [("def f():\n    pass\n\n", "\n", "pass"), ("X\n\n", "\n", "X"), ("X\n}\n", "}\n", "X\n")],
)
def test_what_the_user_typed_behind_an_agents_lines_stays_theirs(wrote: str, own: str, joined: str) -> None:
    """They take away what the agent's lines end with, so that the text is what it was after the agent's edit, and undo that."""
    document = Document("a\nb\n")
    document.agent(f"a\n{wrote}b\n")
    document.edit(Edit(len(document.text) - 2, len(document.text) - 2, own))
    at = document.text.index(joined) + len(joined)
    document.edit(document.edit(Edit(at, at + len(own), "")))
    assert document.listed() == [("", wrote)]
    assert document.ledger.base(document.text) == f"a\n{own}b\n"


@pytest.mark.parametrize("kept", [0, 1])
def test_a_part_that_was_kept_does_not_come_back_with_the_whole(kept: int) -> None:
    document = Document("a\nb\n")
    document.agent("a\nA1\nA2\nA3\nb\n")
    back = document.user("A2", "A2!")
    parts = document.ledger.hunks
    document.ledger.keep([parts[kept].id])
    document.edit(back)
    assert document.listed() == [(parts[1 - kept].old, parts[1 - kept].text)]


def test_what_was_kept_while_an_edit_was_on_its_way_stays_so(document: Document) -> None:
    mark, (hunk,) = document.ledger.mark(), document.ledger.hunks
    document.user("one", "1")
    document.ledger.keep([hunk.id])
    document.ledger.back_at(mark)
    assert document.ledger.hunks == ()


def test_what_nobody_knows_between_an_agents_work_goes_with_that() -> None:
    unknown = Author("", 0, "w2", unknown=True)
    document = Document("a\nline\nb\n")
    document.agent("a\none\nb\n", FIRST)
    document.agent("a\ntwo\nb\n", unknown)
    document.agent("a\nthree\nb\n", Author("first", 2, "w3"))
    (hunk,) = document.ledger.hunks
    rejection = document.ledger.reject(len(document.text), [hunk.id])
    assert (rejection.impossible, rejection.changes.apply(document.text)) == ((), "a\nline\nb\n")
    assert hunk.was_of_known == "line"


def test_several_edits_of_which_only_the_last_text_is_known_bring_nothing_back() -> None:
    document = Document("00\n")
    document.agent("00\nBA\nD\n")
    last = Text.of("0x\nD\n")
    document.ledger.user_edit(Edit(4, 5, "x"), 8, lambda: last)
    document.ledger.user_edit(Edit(1, 5, "x"), 5, lambda: last)
    (hunk,) = document.ledger.hunks
    assert (hunk.start, hunk.end, hunk.old, hunk.text) == (3, 5, "", "D\n")


def test_what_places_keep_of_a_large_text_is_bounded() -> None:
    """An edit takes away all of it, and goes on taking."""
    document = Document("".join(f"line {n}\n" for n in range(20_000)))
    document.agent("".join(f"agent {n}\n" if n % 400 == 30 else f"line {n}\n" for n in range(20_000)))
    for hunk in document.ledger.hunks:
        document.edit(Edit(hunk.start, hunk.start + 1, "U"))
    document.edit(Edit(100, len(document.text) - 100, ""))
    for at in range(99, 49, -1):
        document.edit(Edit(at, at + 1, ""))
    places = document.ledger._left.places
    kept = sum(len(s.text) + len(s.place.said or "") for place in places for s in place.smaller)
    assert kept + sum(len(place.said or "") for place in places) < 3 * 20_000 * 12


@pytest.mark.parametrize("removed", ["two\n", "one\ntwo\n", "two\nthree\n"])
def test_what_another_agent_removed_there_since_does_not_come_back_a_second_time(removed: str) -> None:
    """The user undoes the first one's line, the second one removes what was there, and the user types in what the first one had written."""
    document = Document(BEFORE)
    document.agent(BEFORE.replace("two", "TWO"))
    document.user("TWO", "two")
    document.user("six", "seven")
    document.agent(document.text.replace(removed, ""), SECOND)
    at = BEFORE.index(removed)
    document.edit(Edit(at, at, removed.replace("two", "TWO")))
    assert document.ledger.base(document.text).count("two\n") == 1
    assert document.listed() == [(removed, "")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_that_is_told_together_with_typing_behind_it_stays_under_review(end: str) -> None:
    was = Text.of(f"one{end}AGENT{end}two{end}")
    hunk = Hunk(1, 3 + len(end), 8 + 2 * len(end), "", (Version(FIRST, f"AGENT{end}"),))
    reviewed = Reviewed(DocumentUri("file:///a"), was, Ledger([hunk]))
    edit = Edit(hunk.end - len(end), hunk.end, f"{end}typed ")
    now = Text.of(f"one{end}AGENT{end}typed two{end}")
    reviewed.user_edit(edit, len(now), lambda: now, lambda: was)
    assert reviewed.ledger.hunks == (hunk,)


@pytest.mark.parametrize(("end", "other"), [("\n", "\r\n"), ("\r\n", "\n")])
def test_a_reload_in_other_line_ends_that_is_told_as_a_part_of_the_text_is_no_work_of_the_users(
    end: str, other: str
) -> None:
    """What is equal at the start and the end of both texts is left out. The file has a new line, too."""
    document = Document(BEFORE.replace("\n", end))
    document.agent(AFTER.replace("\n", end))
    was, now = Text.of(document.text), Text.of(AFTER.replace("five", "zero\nfive").replace("\n", other))
    edit = Edit(len("one"), len(was) - 1, now.slice(len("one"), len(now) - 1))
    reviewed = Reviewed(DocumentUri("file:///a"), was, document.ledger)
    reviewed.user_edit(edit, len(now), lambda: now, lambda: was)
    assert [(hunk.old, hunk.text) for hunk in reviewed.ledger.hunks] == [
        (f"two{other}three", f"TWO{other}THREE")
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("agents", [["  A1"], ["  A1", "  A2"]])
def test_a_line_that_is_typed_beside_an_agents_changes_none_wherever_the_editor_says_it_begins(
    end: str, agents: list[str]
) -> None:
    """An editor that compares texts may say that the line begins at any place where the result is the same."""

    def text(lines: list[str]) -> str:
        return "".join(line + end for line in lines)

    lines, typed = ["one", *agents, "two"], f"  typed{end}"
    for number in range(1, len(lines)):
        before, at = text(lines), len(text(lines[:number]))
        after = before[:at] + typed + before[at:]
        for start in range(len(before)):
            new = after[start : start + len(typed)]
            if before[:start] + new + before[start:] == after and before[start - 1 : start + 1] != "\r\n":
                document = Document(text(["one", "two"]))
                document.agent(before)
                document.edit(Edit(start, start, new))
                assert "".join(hunk.text for hunk in document.ledger.hunks) == text(agents), start
                assert document.ledger.base(after) == f"one{end}{typed}two{end}"
