"""crash_matrix: a process is killed (-9) at every step of every kind of write. Afterwards nothing is lost and everything is known.

For each death: the journal opens and is sound; the text before the write, and the one after it if anybody was told that it was
made, are in the file or in the journal; no file is torn; what was interrupted gets the state that is true; nothing is left lying about.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk import sweep_temporaries
from sidecar.journal import Store
from sidecar.journal.entry import JournalFailed, Recorded, Texts
from sidecar.recovery import settle as settling
from sidecar.recovery.settle import settle
from tests.crash.defects import DEFECTS
from tests.crash.kinds import KINDS, Kind, names

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks and signals")

ROOT = Path(__file__).parents[2]
LEAST = 5
"""Deaths that each kind must come to."""


class Mortal:
    """The process that forks the ones that die."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.crash.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def live(self, **job: Any) -> int:
        """How it ended, as os.waitpid has it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["status"]

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def mortal() -> Generator[Mortal]:
    mortal = Mortal()
    yield mortal
    mortal.close()


@dataclass(frozen=True)
class Death:
    """What one killed process left behind."""

    kind: Kind
    folder: Path
    journal: Path
    log: list[str]

    @property
    def answered(self) -> bool:
        return "answered" in self.log

    @property
    def step(self) -> str:
        return self.log[-1] if self.log else "nothing"


def deaths(mortal: Mortal, name: str, defect: str | None = None) -> Iterator[Death]:
    """One for every step there is, and at last the one that lives."""
    kind = KINDS[name]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for die_at in range(1000):
        top = Path(tempfile.mkdtemp(dir=memory))
        try:
            folder, journal, log = top / "w", top / "j", top / "log"
            kind.prepare(folder, journal)
            status = mortal.live(
                kind=name,
                folder=str(folder),
                journal=str(journal),
                log=str(log),
                die_at=die_at,
                defect=defect,
            )
            died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            assert died or status == 0, f"{name}, step {die_at}: ended with {status}"
            yield Death(kind, folder, journal, log.read_text().splitlines())
            if not died:
                return
        finally:
            shutil.rmtree(top)
    raise AssertionError(f"{name}: there is no end to its steps")


def complaints(death: Death) -> Iterator[str]:
    """What is wrong after it."""
    try:
        with Store(death.journal) as store:
            settle(store)
            store.tidy()
            if store.notices:
                yield f"the journal was not sound: {store.notices}"
            rows = [(found, store.texts(found.id)) for found in store.entries()]
            damaged = store._open.connection.execute("PRAGMA integrity_check").fetchall()
    except JournalFailed as failed:
        yield f"the journal cannot be read: {failed}"
        return
    if damaged != [("ok",)]:
        yield f"the journal is damaged: {damaged}"
    for name in (death.kind.name, *death.kind.others):
        file = death.folder / name
        yield from _wrong(death, file, [row for row in rows if row[0].path == str(file)])
    yield from _left_behind(death)


def _wrong(death: Death, file: Path, rows: list[tuple[Recorded, Texts]]) -> Iterator[str]:
    """With one of its files."""
    kind = death.kind
    now = file.read_text() if file.exists() else None
    known = {now, *(text for _, texts in rows for text in texts)}
    if kind.through_editor:
        buffer = death.folder.with_name("buffer")
        known.add(now := buffer.read_text() if buffer.exists() else kind.before)
    yield from _lost(death, known)
    if now not in (kind.before, kind.after):
        yield f"the file is torn: {now!r}"
    yield from _wrong_states(death, rows, now)


def _lost(death: Death, known: set[str | None]) -> Iterator[str]:
    if death.kind.before not in known:
        yield "the text before the write is lost"
    if death.kind.on_disk is not None and death.kind.on_disk not in known:
        yield "the first text is lost"
    if death.answered and death.kind.after not in known:
        yield "a text that was acknowledged is lost"


def _wrong_states(death: Death, rows: list[tuple[Recorded, Texts]], now: str | None) -> Iterator[str]:
    kind = death.kind
    newest = rows[0] if rows and (kind.takes_back is None or len(rows) > 1) else None
    state = None if newest is None else newest[0].state
    if newest is not None and newest[1] == (kind.before, kind.after):
        made = now == kind.after
        right = ("done",) if made else ("failed",)
        if kind.through_editor:
            right = ("done", "unknown") if made else ("failed", "unknown")
        if state not in right:
            yield f"the write is said to be {state}, and the file says {now!r}"
    elif now == kind.after:
        yield "the write was made, and the journal does not know of it"
    if any(found.state == "intent" for found, _ in rows):
        yield "a write was not settled"
    if kind.takes_back is not None:
        expected = "undone" if now == kind.after else "done"
        if rows[-1][0].state != expected:
            yield f"what was to be taken back is {rows[-1][0].state}, not {expected}"


def _left_behind(death: Death) -> Iterator[str]:
    for where, _, _ in os.walk(death.folder):
        sweep_temporaries(where)
    expected = {"other name"} if death.kind.hard_link else set[str]()
    left = set(names(death.folder)) - expected - {death.kind.name, *death.kind.others}
    if left:
        yield f"files were left behind: {left}"
    if list((death.journal / "alive").glob("*[!w]")):  # but for one that got no name yet
        yield "the mark of a dead process was left behind"


def matrix(mortal: Mortal, name: str) -> tuple[int, list[str]]:
    """The number of deaths, and everything that was wrong after any of them."""
    found: list[str] = []
    count = -1  # the last one lives
    for number, death in enumerate(deaths(mortal, name)):
        count += 1
        found += [f"{name}, step {number} ({death.step}): {complaint}" for complaint in complaints(death)]
    return count, found


@pytest.mark.parametrize("name", KINDS)
def test_killed_at_every_step(mortal: Mortal, name: str, record_property: Any) -> None:
    count, found = matrix(mortal, name)
    record_property("deaths", count)
    assert not found, "\n".join(found)
    assert count >= LEAST


NOTICED = {
    "journalled_after_the_change": ("write a file", ["is lost"]),
    "never_committed": ("write a file", ["is lost"]),
    "saved_by_overwriting": ("write a file", ["is torn"]),
    "text_after_is_not_kept": ("write beside unsaved text", ["said to be", "does not know"]),
}


def is_noticed(mortal: Mortal, name: str, words: list[str], defect: str | None = None) -> bool:
    return any(
        word in complaint
        for death in deaths(mortal, name, defect)
        for complaint in complaints(death)
        for word in words
    )


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defects_are_noticed(mortal: Mortal, defect: str) -> None:
    name, words = NOTICED[defect]
    assert is_noticed(mortal, name, words, defect)


def test_half_written_files_would_be_noticed(mortal: Mortal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_put_right", lambda *_: False)
    assert is_noticed(mortal, "write a file with two names", ["is torn"])


def test_wrong_verdicts_would_be_noticed(mortal: Mortal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_same", lambda a, b: True)
    assert is_noticed(mortal, "revert a creation", ["said to be"])
