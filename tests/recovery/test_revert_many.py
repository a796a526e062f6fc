"""`acp-sidecar revert` of many files: few waits for the disk, how far it is, and Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import stat
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from sidecar.core.file_state import FileState
from sidecar.journal import Store
from sidecar.journal.entry import Entry, EntryState, JournalFailed
from sidecar.recovery import present
from sidecar.recovery.present import Screen
from sidecar.recovery.revert import TOGETHER, RevertOutcome, new_session, revert
from sidecar.recovery.revert_command import INTERRUPTED
from tests.recovery.test_commands import Shell, shell
from tests.support.journals import entry

__all__ = ["shell"]

COUNT = TOGETHER + 3


class CountingStore(Store):
    """Counts the transactions that wait for the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.waits: list[int] = []
        self.fails = False

    def begin_all(self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()) -> list[str]:
        self.waits.append(len(entries))
        if self.fails:
            raise JournalFailed("the disk with the journal is full")
        return super().begin_all(entries, takes_back)


@pytest.fixture
def store(journal: Path) -> Generator[CountingStore]:
    with CountingStore(journal) as store:
        yield store


def written(store: Store, folder: Path, count: int = COUNT) -> list[Path]:
    """Files that an agent changed, and (every third) removed."""
    files = [folder / f"{number}.txt" for number in range(count)]
    for number, file in enumerate(files):
        states = (FileState(b"before\n", 0o644), None) if number % 3 == 2 else None
        text = None if states else "after\n"
        store.finish(store.begin(entry("before\n", text, str(file), root=str(folder), states=states)), "done")
        if text is not None:
            file.write_text(text)
    return files


def test_many_files_cost_few_transactions(store: CountingStore, tmp_path: Path) -> None:
    files = written(store, tmp_path)
    writes = store.entries()
    store.waits.clear()
    results = list(revert(store, writes, new_session()))
    assert {result.outcome for result in results} == {RevertOutcome.PUT_BACK, RevertOutcome.MADE_AGAIN}
    assert [result.path for result in results] == [write.path for write in writes]
    assert all(file.read_text() == "before\n" for file in files)
    assert store.waits == [TOGETHER, 3]
    assert [write.state for write in store.entries()] == ["done"] * COUNT + ["undone"] * COUNT


def test_each_folder_is_waited_for_once_and_the_journal_is_told_after_that(
    store: CountingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(store, tmp_path, TOGETHER)
    happened: list[str] = []
    real_fsync, real_finish_all = os.fsync, store.finish_all

    def fsync(descriptor: int) -> None:
        happened.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_fsync(descriptor)

    def finish_all(entry_ids: Iterable[str], state: EntryState) -> None:
        happened.append(state)
        real_finish_all(entry_ids, state)

    writes = store.entries()
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(store, "finish_all", finish_all)
    assert not any(result.outcome.is_failure for result in revert(store, writes, new_session()))
    assert happened == [*["file"] * TOGETHER, "folder", "done"]


def test_a_journal_that_cannot_be_written_stops_every_one(store: CountingStore, tmp_path: Path) -> None:
    files = written(store, tmp_path, 6)
    store.fails = True
    results = list(revert(store, store.entries(), new_session()))
    assert [(result.outcome, result.why) for result in results] == [
        (RevertOutcome.STANDS, "the disk with the journal is full")
    ] * 6
    assert [file.exists() and file.read_text() for file in files] == ["after\n", "after\n", False] * 2


def test_what_a_folder_was_made_of_is_put_back_after_what_is_in_it(
    store: CountingStore, tmp_path: Path
) -> None:
    """An agent removed a folder's file and made a file of the folder's name."""
    folder = tmp_path / "a"
    for path, before, after in (folder / "x.txt", "in it\n", None), (folder, None, "file\n"):
        store.finish(store.begin(entry(before, after, str(path), root=str(tmp_path))), "done")
    folder.write_text("file\n")
    results = list(revert(store, store.entries(), new_session()))
    assert [result.outcome for result in results] == [RevertOutcome.REMOVED, RevertOutcome.MADE_AGAIN]
    assert (folder / "x.txt").read_text() == "in it\n"


def test_ctrl_c_leaves_each_file_taken_back_or_untouched(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = written(shell.store, shell.folder)
    before = signal.getsignal(signal.SIGINT)
    finish_all, pressed = Store.finish_all, list[bool]()

    def finishing(store: Store, ids: Sequence[str], state: EntryState) -> None:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        finish_all(store, ids, state)

    monkeypatch.setattr(Store, "finish_all", finishing)
    assert shell.run("revert", "--session", "s") == INTERRUPTED
    assert f"Stopped: 3 of {COUNT} files were not begun, and are unchanged." in shell.out
    untouched = [file for file in files if not file.exists() or file.read_text() == "after\n"]
    assert len(untouched) == 3
    assert all(file.read_text() == "before\n" for file in files if file not in untouched)
    assert not [write for write in shell.store.entries() if write.state == "intent"]
    assert signal.getsignal(signal.SIGINT) is before
    assert shell.run("revert", "--session", "s") == 0  # goes on where it stopped
    assert all(file.read_text() == "before\n" for file in files)


@pytest.mark.parametrize(("count", "shown"), [(present.PROGRESS_FROM, True), (3, False)])
def test_a_terminal_shows_how_far_it_is(count: int, shown: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, markup=False)
    with Screen(console).progress(count) as show:
        show(2)
    assert (f"2 of {count} files" in stream.getvalue()) is shown
