"""A few runs of `make hands` in the workbench; many more by hand (tests/hands)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hands.report import MUST_BE_ZERO
from tests.hands.run import play
from tests.hands.vscode import VSCode, machine
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import OpenWindow

RUNS = 2
"""Each takes most of a minute so far, which is far too long for more of them here."""
STEPS = 6


@pytest.mark.slow
def test_nothing_typed_is_lost_or_written_twice(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, tmp_path: Path
) -> None:
    log = tmp_path / "agent.log"
    server = start_code_server(machine=machine(log))
    root = server.folder / "ws"
    window = open_window(root, server)
    window.until_server_runs()
    reports = []
    for seed in range(RUNS):
        folder = root / f"run{seed}"
        folder.mkdir()
        reports.append(play(VSCode(window), seed, STEPS, folder, log))
    wrong = [p for report in reports for p in report.problems if p.fault in MUST_BE_ZERO]
    assert not wrong, "\n".join(map(str, reports))
    assert sum(report.typed for report in reports) > 5
    assert sum(report.writes for report in reports) > 0
