"""What moves along costs nothing until somebody looks; and a ledger that only moves its hunks has the same ones as one that looks at each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.ledger import Author, Hunk, Ledger, Version
from sidecar.core.moving import MAX_MOVES, Moving
from sidecar.core.rope import Rope
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Reviewed

LINES = ["a\n", "bb\n", "a\n", "ccc\n", "\n"]


class Slow(Ledger):
    """Looks at every hunk at each edit."""

    def user_edit(self, *arguments, **more) -> bool:
        self._moving.are_effective = False
        return super().user_edit(*arguments, **more)


class Both:
    """The same is done to both ledgers, in the same text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.quick, self.slow = Ledger(), Slow()
        self.past = [text]

    def edit(self, edit: Edit, author: Author | None) -> None:
        before, changes = Text.of(self.text), ChangeSet.of(len(self.text), (edit,))
        self.text = changes.apply(self.text)
        after = Text.of(self.text)
        if author is not None:
            self.quick.agent_edit(before, changes, after, author)
            self.slow.agent_edit(before, changes, after, author)
        else:
            said = [one.user_edit(edit, len(after), lambda: after) for one in (self.quick, self.slow)]
            assert said[0] == said[1]
        self.past.append(self.text)

    def check(self) -> None:
        assert self.quick.hunks == self.slow.hunks
        assert all(self.text[h.start : h.end] == h.text for h in self.quick.hunks)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_hunks_that_only_move_are_those_of_a_look_at_each(seed: int) -> None:
    pick = random.Random(seed)
    both = Both("".join(pick.choices(LINES, k=12)))
    authors = [Author("s", turn, f"w{turn}", aftermath=late) for turn in (1, 2) for late in (False, True)]
    for _ in range(40):
        at = pick.randrange(len(both.text) + 1)
        end = min(len(both.text), at + pick.choice([0, 0, 0, 1, 3, 9]))
        new = pick.choice(["", "x", "y\n", *LINES])
        hunks = both.quick.hunks if pick.random() < 0.3 else ()
        if hunks and pick.random() < 0.5:  # somebody puts back what was deleted, there or beside it
            hunk = pick.choice(hunks)
            at = end = max(0, min(len(both.text), hunk.start + pick.choice([0, 0, -len(hunk.old), 1])))
            new = hunk.old
            if pick.random() < 0.5:  # of which a part lies there already
                part = pick.randrange(len(hunk.old) + 1)
                at = end = min(len(both.text), hunk.start + part)
                new = hunk.old[part:]
        elif pick.random() < 0.1:  # undo, in one step
            at, end, new = 0, len(both.text), pick.choice(both.past)
        if (at, end, new) == (at, at, "") or both.text[at:end] == new:
            continue
        both.edit(Edit(at, end, new), pick.choice(authors) if pick.random() < 0.25 else None)
        if pick.random() < 0.5:  # otherwise several edits come before somebody looks
            both.check()
    both.check()


def test_what_only_the_editor_did_goes_at_the_next_edit() -> None:
    """When nothing of the turn is left that it was done for."""
    late = Author("s", 1, "w", aftermath=True)
    ledger = Ledger([Hunk(1, 5, 6, "y", (Version(late, "x"),))])
    ledger.user_edit(Edit(0, 0, "z"), 9, lambda: Text.of("zabcdexfg"))
    assert not ledger.hunks


@pytest.mark.parametrize(
    ("text", "at", "new"),
    [("....." + "a....", 6, "bc"), ("....c" + ".....", 4, "ab"), ("....." + ".....", 5, "abc")],
    ids=["its beginning lies behind it", "its end lies before it", "whole"],
)
def test_what_comes_back_in_part_is_no_hunk(text: str, at: int, new: str) -> None:
    """An agent deleted "abc" at 5. With what lies there, an edit beside it puts that back."""
    ledger = Ledger([Hunk(1, 5, 5, "abc", (Version(Author("s", 1, "w"), ""),))])
    ledger.user_edit(Edit(10, 10, "-"), 11, lambda: Text.of(text + "-"))
    after = Text.of(text[:at] + new + text[at:] + "-")
    assert len(ledger.hunks) == 1
    ledger.user_edit(Edit(at, at, new), len(after), lambda: after)
    assert not ledger.hunks


def stretches(count: int) -> list[Hunk]:
    version = Version(Author("s", 1, "w"), "new")
    return [Hunk(i, 10 * i + 5, 10 * i + 8, "old", (version,)) for i in range(count)]


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of hunks that are moved along, as it happens."""
    moved: list[int] = []
    real = Hunk.moved

    def counted(hunk: Hunk, by: int) -> Hunk:
        moved.append(hunk.id)
        return real(hunk, by)

    monkeypatch.setattr(Hunk, "moved", counted)
    return moved


def test_typing_moves_nothing_until_somebody_looks(moved: list[int]) -> None:
    """A keystroke in a file with 1,000 hunks costs no work for each of them."""
    text = Text.of("".join("....." + "new" + "\n\n" for _ in range(1000)))
    ledger = Ledger(stretches(1000))
    ledger.user_edit(Edit(0, 0, "x"), len(text) + 1, lambda: text)
    moved.clear()
    for key in range(200):
        ledger.user_edit(Edit(5000 + key, 5000 + key, "x"), len(text) + 2 + key, lambda: text)
    assert not moved
    assert [h.start for h in ledger.hunks] == [10 * i + 6 + (200 if i >= 500 else 0) for i in range(1000)]


def typed(places: Iterable[int], new: str = "x") -> Iterator[Edit]:
    return (Edit(at, at, new) for at in places)


def and_taken_back(edits: Iterable[Edit]) -> Iterator[Edit]:
    for edit in edits:
        yield edit
        yield Edit(edit.start, edit.start + len(edit.new), "")


KEYS = {
    "in one place": list(typed(range(5000, 5200))),
    "and taken back": list(and_taken_back(typed([5000] * 100))),
    "in many places": list(typed(11 * i for i in range(900))),
    "in many hunks": list(typed(11 * i + 6 for i in range(900))),
    "a line in each of many hunks": list(typed((11 * i + 6 for i in range(900)), "\n")),
    "in a hunk, and taken back": list(and_taken_back(typed(10 * i + 6 for i in range(100)))),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_keystroke_looks_only_at_what_it_lies_on(moved: list[int], keys: list[Edit]) -> None:
    """In a file with 1,000 hunks, right after the agent has written it: no work for each of them, whatever is typed, and wherever."""
    before, rope = (
        Text.of(("....." + "old" + "\n\n") * 1000),
        Rope.of(Text.of(("....." + "new" + "\n\n") * 1000)),
    )
    changes = ChangeSet.of(len(before), tuple(Edit(h.start, h.end, "new") for h in stretches(1000)))
    reviewed = Reviewed(DocumentUri("file:///a"), before)
    reviewed.opened(before)
    reviewed.ledger.agent_edit(before, changes, rope.snapshot(), Author("s", 1, "w"))
    moved.clear()
    for key in keys:
        was = rope.snapshot()
        rope.splice(key.start, key.end, key.new)
        reviewed.user_edit(key, len(rope), rope.snapshot, lambda was=was: was)
    assert len(moved) <= 4 * len(keys)
    assert all(rope.slice(h.start, h.end) == h.text for h in reviewed.ledger.hunks)


def test_many_places_are_noted_up_to_a_bound() -> None:
    count = 3 * MAX_MOVES
    moving = Moving(stretches(count))
    for place in range(0, count, 2):
        moving.move(Edit(10 * place + place // 2, 10 * place + place // 2, "x"))
        assert len(moving._moved_from) <= MAX_MOVES
    assert [s.start - (10 * i + 5) for i, s in enumerate(moving.all())] == [i // 2 + 1 for i in range(count)]
