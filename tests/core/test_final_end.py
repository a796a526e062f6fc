"""Changes for editors that keep lines: rows, and the law that only the final line end is left out of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.diff import diff
from sidecar.core.final_end import keep_final_end


@pytest.mark.parametrize(
    ("text", "wanted", "kept"),
    [
        # nothing to do with the end
        ("one\ntwo\n", "ONE\ntwo\n", "ONE\ntwo\n"),
        ("one\ntwo\n", "one\nTWO\n", "one\nTWO\n"),
        ("one\ntwo", "one\nTWO", "one\nTWO"),
        ("one\n", "one\ntwo\n", "one\ntwo\n"),
        # it would go
        ("one\ntwo\n", "one\nTWO", "one\nTWO\n"),
        ("one\ntwo\n", "one", "one\n"),
        ("one\ntwo\n", "", "\n"),
        ("\n", "", "\n"),
        ("\n", "one", "one\n"),
        ("one\r\ntwo\r\n", "one\r\nTWO", "one\r\nTWO\r\n"),
        # it would come
        ("one\ntwo", "one\nTWO\n", "one\nTWO"),
        ("one\ntwo", "one\n", "one"),
        ("one\r\ntwo", "one\r\nTWO\r\n", "one\r\nTWO"),
        ("one", "one\n", "one"),
        ("", "one\n", "one"),
        ("", "\n", ""),
        ("one", "one\n\n", "one\n"),
    ],
)
def test_rows(text: str, wanted: str, kept: str) -> None:
    changes = keep_final_end(text, diff(text, wanted))
    assert changes.apply(text) == kept
    assert changes.is_empty == (text == kept)


TEXTS = st.text(alphabet="ab\n", max_size=8) | st.lists(st.sampled_from(["a", "b", "\r\n"]), max_size=8).map(
    "".join
)


@given(TEXTS, TEXTS)
def test_the_end_stays(text: str, wanted: str) -> None:
    changes = keep_final_end(text, diff(text, wanted))
    kept = changes.apply(text)
    if wanted.endswith("\n") == text.endswith("\n"):
        assert kept == wanted
    elif wanted.endswith("\n"):
        assert kept in (wanted.removesuffix("\n"), wanted.removesuffix("\r\n"))
    else:
        assert kept in (wanted + "\n", wanted + "\r\n")
