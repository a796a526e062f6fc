"""The compared form: what it is told by, and the way back to the raw text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.diff import diff
from sidecar.core.lineends import dominant
from sidecar.core.normal import BOM, Normal, normal, says
from sidecar.core.rope import Rope
from sidecar.core.text import Text

TEXTS = st.lists(st.sampled_from(["a", "bc", "\n", "\r", "\r\n", BOM, "\u2028", "😀"]), max_size=12).map(
    "".join
)


@pytest.mark.parametrize(
    ("raw", "compared"),
    [
        ("", ""),
        ("a\nb", "a\nb"),
        ("a\r\nb\r", "a\nb\n"),
        (BOM, ""),
        (BOM + "a", "a"),
        (BOM + BOM + "a", BOM + "a"),
        ("a" + BOM, "a" + BOM),
    ],
)
def test_the_compared_form(raw: str, compared: str) -> None:
    assert normal(raw) == Normal(raw).text == compared
    assert Normal(raw).terminator == dominant(raw)
    assert says(Text.of(raw), compared)
    assert raw == compared or not says(Text.of(raw), raw)


@given(TEXTS, TEXTS)
def test_a_text_says_its_compared_form_and_nothing_else(raw: str, other: str) -> None:
    rope = Rope.of(Text.of(raw[:3]))
    rope.splice(len(raw[:3]), len(raw[:3]), raw[3:])  # in more than one piece
    for text in (Text.of(raw), rope.snapshot()):
        for compared in (normal(raw), normal(other), normal(raw) + "a", normal(raw)[:-1]):
            assert says(text, compared) == (normal(raw) == compared)


@given(TEXTS, TEXTS)
def test_changes_of_the_compared_form_lead_to_it_in_the_raw_text(raw: str, wanted: str) -> None:
    now, wanted = (
        Normal(raw),
        normal(wanted).lstrip(BOM),
    )  # one that comes first in the raw text is no part of it
    changes = diff(now.text, wanted)
    mapped = now.changes_in_raw(changes)
    assert normal(mapped.apply(raw)) == wanted
    assert raw != normal(raw) or mapped == changes
