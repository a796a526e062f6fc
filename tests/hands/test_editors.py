"""Some short runs of `make hands` in each editor but VS Code (tests/vscode/test_hands.py); many more by hand."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hands.batch import EDITORS, driver, played

RUNS = 12
STEPS = 6
SECONDS = 10.0
"""No run but the first two begins later: on a slow machine there are fewer, so that the tests as a whole do not take too long."""


@pytest.mark.e2e
@pytest.mark.always
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", sorted({*EDITORS} - {"vscode"}))
def test_nothing_typed_is_lost_or_written_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))  # the drivers set it, too
    began = time.monotonic()
    seeds = (seed for seed in range(RUNS) if seed < 2 or time.monotonic() < began + SECONDS)
    reports = list(played(driver(name), seeds, STEPS, tmp_path))
    assert not any(report.failed for report in reports), "\n".join(
        f"{report}\n{report.said}" for report in reports if report.failed
    )
    assert sum(report.typed for report in reports) > 5
    assert sum(report.writes for report in reports) > 0
