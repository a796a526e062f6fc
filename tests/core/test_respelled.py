"""Hunks in a text that is handed over with other line ends."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Ledger
from sidecar.core.lineends import dominant, expand
from sidecar.core.normal import normal
from sidecar.core.respelled import spelled_as
from sidecar.core.text import BOM, Text

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
