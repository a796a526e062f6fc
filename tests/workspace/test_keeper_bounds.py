"""Keeper: how much it compares when a document is opened."""

from __future__ import annotations

import pytest

from sidecar.workspace.edits.keeper import _looked_for


@pytest.mark.parametrize(
    ("writes", "length", "expected"),
    [(5, 100, 5), (200, 100, 32), (200, 0, 32), (200, 1_000_000, 4), (200, 50_000_000, 1), (0, 100, 0)],
)
def test_a_large_text_is_compared_with_fewer_writes(writes: int, length: int, expected: int) -> None:
    assert _looked_for(writes, length) == expected
