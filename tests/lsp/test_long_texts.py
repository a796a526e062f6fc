"""A long text in a request is the same text, in pieces that nobody joins."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.lsp import long_texts
from sidecar.lsp.long_texts import LongText, Marks


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
