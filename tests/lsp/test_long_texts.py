"""A long text in a request is the same text, in pieces that nobody joins."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.lsp import long_texts
from sidecar.lsp.long_texts import LongText, LongValue, Marks


@given(st.lists(st.text(st.characters(codec=None), max_size=20), max_size=4))
def test_it_is_escaped_as_any_other(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_texts, "LONG", 3)
        marks = Marks()
        body = json.dumps({"edits": [LongText.of(text) for text in texts]}, default=marks.put)
        assert bool(marks) == any(len(text) > 3 for text in texts)
        found = marks.in_pieces(body)
        pieces = [
            data for piece in found for data in ([piece] if isinstance(piece, bytes) else piece.escaped())
        ]
    assert b"".join(pieces) == json.dumps({"edits": texts}).encode()
    assert all(len(piece) <= 3 * 12 or b"edits" in piece or b'", "' in piece for piece in pieces)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None), max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(JSON)
def test_so_is_a_value_with_many_texts(value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_texts, "LONG", 30)
        long = LongValue.of(value)
        if long is not None:
            assert b"".join(long.escaped()) == json.dumps(value, separators=(",", ":")).encode()
            assert len(long) > 30


@pytest.mark.parametrize("value", [float("inf"), {1: ""}, object()], ids=["inf", "a key", "an object"])
def test_what_may_not_be_encoded_is_none(value: object) -> None:
    assert LongValue.of(["x" * 100_000, value]) is None
