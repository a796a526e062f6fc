"""Every benchmark runs on tiny texts and does what it says: it checks the work of each side itself. No figure is looked at."""

from __future__ import annotations

import gc
import importlib
import sys
from contextlib import closing

import pytest

from benchmarks._common import Missing, hosts, measure, node
from benchmarks.run import names

TINY = {
    "MB": 5_000,
    "FILES": 3,
    "WITH_GIT": (20, 60),
    "WITHOUT_GIT": (20, 60),
    "FILES_MB": (1, 2),
    "SETTLE": 0.1,
    "HUNKS_AT": (2, 4),
    "JOURNAL_AT": (5, 10),
    "SESSIONS_AT": (1, 3),
    "DOCUMENTS_AT": (1, 3),
    "TURNS_AT": (1, 3),
    "MESSAGES": 3,
    "LINES": 100,
    "UPDATES": 140,
    "SCROLL_MS": 100,
}
"""Characters in a "megabyte"; files that are rejected, and that are in a folder; what the panel is given to show."""

BY_NODE = {
    "memory": {"vscode-languageserver", "TypeScript SDK and its agent library"},
    "read": {"TypeScript SDK"},
    "start": {"vscode-languageserver"},
    "sync_burst": {"vscode-languageserver"},
    "sync_latency": {"vscode-languageserver + TypeScript SDK"},
    "text_store": {"vscode-languageserver-textdocument"},
    "write_plan": {"TypeScript SDK, only taken in"},
}
"""The peers that are left out here, by benchmark."""


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="most benchmarks start processes, for which they need Unix; memory needs Linux",
)
@pytest.mark.parametrize("name", names())
def test_it_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    none = Missing("there is no Node in this test")
    monkeypatch.setattr(node, "command", lambda *_: none)
    if name != "read":  # once is enough for the hosts in Python
        monkeypatch.setattr(
            hosts, "peers", lambda *_: {hosts.TYPESCRIPT: none, hosts.PYTHON: Missing("not here")}
        )
    monkeypatch.setattr(gc, "collect", lambda *_: 0)  # before every run, in the heap of a whole test session
    module = importlib.import_module(f"benchmarks.{name}")
    for size, tiny in TINY.items():
        monkeypatch.setattr(module, size, tiny, raising=False)
    with closing(
        module.cases()
    ) as cases:  # a browser that stays open would keep every other event loop from running
        rows = [row for case in cases for row in measure(name, case, rounds=1)]
    assert all(0 < row.least["ours"] <= row.ours_s for row in rows)
    assert all(row.missing or not row.peer or row.ratio for row in rows)
    assert {row.peer for row in rows if row.missing == none.why} == BY_NODE.get(name, set())
