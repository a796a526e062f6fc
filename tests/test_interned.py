"""What is done in every turn puts no names into CPython's table of interned strings: rebuilding it takes a step of memory (state_folder.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.approvals import Approvals
from sidecar.audit import AuditLog
from sidecar.config import AgentCommand
from sidecar.journal import Store
from sidecar.records import About
from sidecar.records.folder import RecordFolder
from tests.support.journals import entry

S = "abcdef123456"


def journals(folder: Path) -> Callable[[], object]:
    store = Store(folder)
    made = entry("a\n", "b\n", path=str(folder.parent / "a.txt"))

    def work() -> None:
        store.finish(store.begin(made), "done")
        assert store.entries()

    return work


def records(folder: Path) -> Callable[[], object]:
    kept = RecordFolder(folder)

    def work() -> None:
        kept.write_about(About(S, "fake", "/w", (), "theirs"))
        kept.append(S, [{"type": "prompt", "turn": 1}])
        kept.retain({S})

    return work


def audits(folder: Path) -> Callable[[], object]:
    log = AuditLog(folder, most_bytes=200)

    def work() -> None:
        log.record("read", path="/a" * 200)
        log.close()

    return work


def approves(folder: Path) -> Callable[[], object]:
    known = Approvals(folder)
    command = AgentCommand("agent")
    known.remember(command)
    return lambda: known.knows(command)


@pytest.mark.parametrize("room", [journals, records, audits, approves])
def test_no_names_are_interned(
    room: Callable[[Path], Callable[[], object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interned: list[str] = []
    intern = sys.intern

    def note(text: str) -> str:
        interned.append(text)
        return intern(text)

    work = room(tmp_path / "state")
    work()  # what is made once may have names
    monkeypatch.setattr(sys, "intern", note)
    assert (tmp_path / "other").name
    if not interned:
        pytest.skip("pathlib of this Python interns nothing")
    interned.clear()
    for _ in range(5):
        work()
    assert interned == []
