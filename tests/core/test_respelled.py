"""Hunks in a text that is handed over with other line ends."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.hunk import writes_of
from sidecar.core.ledger import Author, Ledger
from sidecar.core.lineends import dominant, expand
from sidecar.core.normal import normal
from sidecar.core.respelled import spelled_as
from sidecar.core.text import BOM, Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Reviewed

PIECES = st.sampled_from(["\n", "\r\n", "\r", "a", "b", "\U0001f600", BOM])
RAW = st.lists(PIECES, max_size=12).map("".join)


@given(RAW, RAW, RAW)
def test_rejecting_all_of_it_leads_to_the_same_lines(base: str, first: str, second: str) -> None:
    ledger = Ledger()
    for number, (before, after) in enumerate(((base, first), (first, second))):
        ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("s", 1, str(number)))
    for terminator in ("\n", "\r\n"):
        mark = BOM if second.startswith(BOM) else ""
        now = mark + expand(normal(second), terminator)
        respelled = ledger.copy()
        assert str(respelled.takes_line_ends(Text.of(second), Text.of(now))) == (
            now if ledger.hunks else second
        )
        if not ledger.hunks:
            continue
        for hunk in respelled.hunks:
            assert now[hunk.start : hunk.end] == hunk.text
        rejection = respelled.reject(len(now), respelled.ids())
        assert not rejection.impossible
        back: ChangeSet = rejection.changes
        assert _lines(back.apply(now)) == _lines(base), respelled.hunks


def _lines(text: str) -> str:
    return normal(text).replace(BOM, "")


@given(RAW, RAW)
@example(BOM + BOM + "a\r\n", "")
def test_a_text_in_the_line_ends_of_another(text: str, like: str) -> None:
    spelled = spelled_as(text, like)
    assert normal(spelled) == normal(text)
    if normal(text) == normal(like):
        assert spelled == like
    elif like == like.replace("\r\n", "\n") and "\r" not in like and BOM not in like:
        assert dominant(spelled) == "\n"
        assert "\r" not in spelled


TERMINATORS = ("\n", "\r\n")


def under_review(ledger: Ledger, text: str) -> tuple[str, set[str]]:
    """What rejecting everything leads to, and the writes; however they are divided among hunks."""
    return normal(ledger.base(text)), writes_of(ledger.hunks)


@pytest.mark.parametrize("seed", range(60))
def test_what_an_undo_leads_to_in_other_line_ends_has_its_hunks_again(seed: int) -> None:
    """The line ends are no part of the editor's history: undo and redo lead to earlier lines in the line ends of now."""
    pick = random.Random(seed)
    text = "".join(f"line {number}\n" for number in range(pick.randint(1, 6)))
    reviewed = Reviewed(DocumentUri("file:///a.txt"), Text.of(text))
    reviewed.opened(Text.of(text))
    ledger, terminator = reviewed.ledger, "\n"
    history = [(text, under_review(ledger, text))]
    for number in range(pick.randint(1, 4)):
        lines = text.splitlines(keepends=True)
        at = pick.randrange(len(lines))
        lines[at : at + pick.randint(0, 2)] = [f"of {number}\n"] * pick.randint(1, 2)
        before, text = text, "".join(lines)
        was, now = expand(before, terminator), expand(text, terminator)
        ledger.agent_edit(Text.of(was), diff(was, now), Text.of(now), Author("s", number, str(number)))
        history.append((text, under_review(ledger, now)))
    at = len(history) - 1
    for _ in range(12):
        was = expand(history[at][0], terminator)
        act = pick.choice(["line ends", "undo or redo", "both", "opened again"])
        if act != "line ends":
            at = pick.randrange(len(history))
        if act != "undo or redo":
            terminator = pick.choice(TERMINATORS)
        now = expand(history[at][0], terminator)
        if act == "opened again":
            reviewed.closed(Text.of(was))
            reviewed.opened(Text.of(now))
        else:
            whole = Edit(0, len(was), now)
            steps = diff(was, now).edits if act == "undo or redo" else (whole,)
            edits = pick.choice([(whole,), (_changed(was, now),), steps])
            _told(reviewed, was, edits)
        assert under_review(ledger, now) == history[at][1], (act, was, now)
        for hunk in ledger.hunks:
            assert now[hunk.start : hunk.end] == hunk.text


def _changed(was: str, now: str) -> Edit:
    """`was` to `now` as one edit, without what is equal at the start and the end."""
    first = _alike(was, now)
    last = _alike(was[first:][::-1], now[first:][::-1])
    return Edit(first, len(was) - last, now[first : len(now) - last])


def _alike(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _told(reviewed: Reviewed, was: str, edits: tuple[Edit, ...]) -> None:
    """The editor tells these edits of `was`, the last one first."""
    for edit in reversed(edits):
        before, after = Text.of(was), Text.of(was[: edit.start] + edit.new + was[edit.end :])
        reviewed.user_edit(edit, len(after), lambda after=after: after, lambda before=before: before)
        was = str(after)
