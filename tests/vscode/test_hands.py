"""A few runs of `make hands` in the workbench; many more by hand (tests/hands)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hands.report import MUST_BE_ZERO
from tests.hands.run import play
from tests.hands.vscode import SETTINGS, VSCode, machine
from tests.vscode.conftest import Configure, approve
from tests.vscode.window import Window

RUNS = 2
"""Each takes most of a minute so far, which is far too long for more of them here."""
STEPS = 6


@pytest.mark.slow
def test_nothing_typed_is_lost_or_written_twice(window: Window, configure: Configure, tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    approve(window.server, machine(log))
    configure(machine(log))
    folders = [window.folder / f"run{seed}" for seed in range(RUNS)]
    reports = []
    for seed, folder in enumerate(folders):
        folder.mkdir()
        reports.append(play(VSCode(window), seed, STEPS, folder, log))
    # What the runs have set is named, so that the next test gets the window's own settings
    window.configure({name: values[0] for name, values in SETTINGS.items()})
    wrong = [p for report in reports for p in report.problems if p.fault in MUST_BE_ZERO]
    assert not wrong, "\n".join(map(str, reports))
    assert sum(report.typed for report in reports) > 5
    assert sum(report.writes for report in reports) > 0
