"""What is known of the hunks in a text that the document said earlier."""

from __future__ import annotations

import pytest

from sidecar.core.hunk import Hunk
from sidecar.core.text import Text
from sidecar.core.versions import Author, Version
from sidecar.workspace.state.hunks_then import Noted


@pytest.mark.parametrize(
    ("text", "fits"), [("an agent\n", True), ("a person\n", False), ("an", False), ("", False)]
)
def test_hunks_fit_where_the_text_says_what_they_do(text: str, fits: bool) -> None:
    """In a text that is too short for them, they do not. (Seed 9499 of the writes' fuzzer: a document opened empty was not followed any more.)"""
    hunk = Hunk(1, 0, 9, "", (Version(Author("s1", 1, "w1"), "an agent\n"),))
    assert Noted(Text.of(text), (hunk,), 0).fits == fits
