"""Taking back many files at once: what it costs in waits for the disk, how far it is, and a stop in the middle of it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.hunk import Hunk
from sidecar.core.ledger import Ledger
from sidecar.core.uri import from_path
from sidecar.journal.entry import Entry
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.ports.ports import DocumentEdit
from sidecar.workspace.review import taking_back
from sidecar.workspace.review.taking_back import TOGETHER
from sidecar.workspace.review.units import units
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, MemoryJournal, QuietEditor, a_workspace
from tests.workspace.test_review import ALL, WANTED
from tests.workspace.test_writes import BASE, done, play

COUNT = 2 * TOGETHER + 1
NAMES = [f"f{number}.txt" for number in range(COUNT)]


class CountingJournal(MemoryJournal):
    """Counts what a journal on a disk would wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[int] = []
        self.before_return: Callable[[], None] = lambda: None

    async def begin_all(
        self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        ids = await super().begin_all(entries, takes_back)
        self.waits.append(len(entries))
        self.before_return()
        return ids


class ShowingEditor(QuietEditor):
    """Shows progress; `pressed` presses its Cancel at the report that begins with these words."""

    def __init__(self, pressed: str = "never") -> None:
        super().__init__()
        self.progresses: list[str] = []
        self.ended = asyncio.Event()
        self._pressed = pressed

    def progress(self, title: str, on_cancel: Callable[[], None] | None) -> Any:
        progresses, pressed, ended = self.progresses, self._pressed, self.ended

        class Shown:
            def report(self, message: str) -> None:
                progresses.append(message)
                if message.startswith(pressed):
                    assert on_cancel is not None
                    on_cancel()

            def end(self, message: str) -> None:
                progresses.append(message)
                ended.set()

        return Shown()


async def written(bench: Bench, names: Sequence[str] = NAMES) -> None:
    for name in names:
        (bench.folder / name).write_text(BASE)
        done(await bench.write(name, WANTED))


def test_many_files_cost_few_transactions(tmp_path: Path) -> None:
    async def main() -> None:
        journal, editor = CountingJournal(), ShowingEditor()
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            await written(bench)
            result = await bench.workspace.review.reject(ALL)
            assert (len(result.done), result.impossible, result.untouched) == (2 * COUNT, [], 0)
            assert all((tmp_path / name).read_text() == BASE for name in NAMES)
            assert journal.waits == [TOGETHER, TOGETHER, 1]
            assert list(journal.states.values()) == ["rejected"] * COUNT + ["done"] * COUNT
            assert editor.progresses == [
                f"0 of {COUNT} files",
                f"{TOGETHER} of {COUNT} files",
                f"{2 * TOGETHER} of {COUNT} files",
                f"{COUNT} files taken back",
            ]
            assert not editor.shown

    run(main())


def test_few_files_show_no_progress(tmp_path: Path) -> None:
    async def main() -> None:
        editor = ShowingEditor()
        async with a_workspace(tmp_path, editor) as bench:
            await written(bench, NAMES[:3])
            await bench.workspace.review.reject(ALL)
            assert not editor.progresses

    run(main())


def test_each_folder_is_waited_for_once_and_the_journal_is_told_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each file. What the journal says is done, and that nothing is under review any more, outlasts a crash only if the file does."""
    happened: list[str] = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            happened.append("folder")
        real_fsync(descriptor)

    def rename(*arguments: Any, **more: Any) -> None:
        happened.append("file")
        real_rename(*arguments, **more)

    class Telling(CountingJournal):
        async def begin_all(
            self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
        ) -> list[str]:
            happened.append("begun")
            return await super().begin_all(entries, takes_back)

        async def finish_all(self, entry_ids: Sequence[str], state: Any) -> None:
            happened.append(state)
            await super().finish_all(entry_ids, state)

        async def forget_ledger(self, *uris: str) -> None:
            happened.append("forgotten")
            await super().forget_ledger(*uris)

    async def main() -> None:
        journal = Telling()
        async with a_workspace(tmp_path, ShowingEditor(), journal=journal) as bench:
            names = [f"{folder}/{name}" for folder in "ab" for name in NAMES[: TOGETHER // 2]]
            for folder in "ab":
                (tmp_path / folder).mkdir()
            await written(bench, names)
            await asyncio.sleep(1)
            happened.clear()
            monkeypatch.setattr(os, "fsync", fsync)
            monkeypatch.setattr(os, "rename", rename)
            await bench.workspace.review.reject(ALL)
            await asyncio.sleep(1)
            assert all((tmp_path / name).read_text() == BASE for name in names)
            began = ["begun", *["file"] * TOGETHER, "folder", "folder"]
            assert happened[: len(began)] == began
            assert sorted(happened[len(began) :]) == ["done", "forgotten", "rejected"]

    run(main())


class Counting(FakeEditor):
    """Notes how many edits and saves it works on at the same time."""

    most = 0
    _saves = 0

    def apply_edit(self, label: str, edit: DocumentEdit, *more: Any) -> Any:
        answer = super().apply_edit(label, edit, *more)
        self.most = max(self.most, len(self._open) + self._saves)
        return answer

    async def save(self, *arguments: Any, **options: Any) -> Any:
        self._saves += 1
        self.most = max(self.most, len(self._open) + self._saves)
        try:
            return await super().save(*arguments, **options)
        finally:
            self._saves -= 1


def test_the_editor_puts_back_one_document_after_the_other(tmp_path: Path) -> None:
    """VS Code saves a document that nobody looks at in a tab that it shows for a moment; with several at once one stayed."""

    async def main() -> None:
        editor = Counting(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor) as bench:
            editor.attach(bench.workspace.apply)
            await written(bench, NAMES[:12])
            assert editor.most > 0
            editor.most = 0
            result = await bench.workspace.review.reject(ALL)
            assert not result.impossible
            assert all((tmp_path / name).read_text() == BASE for name in NAMES[:12])
            assert editor.most == 1

    run(main())


def whole(folder: Path, reviewed: set[str]) -> int:
    """How many files are taken back; every other one is untouched, and still under review."""
    back = {name for name in NAMES if (folder / name).read_text() == BASE}
    assert all((folder / name).read_text() == WANTED for name in NAMES if name not in back)
    assert reviewed == set(NAMES) - back
    return len(back)


def listed(bench: Bench) -> set[str]:
    return {str(row["uri"]).rpartition("/")[2] for row in bench.workspace.review.changes(ALL)}


def test_a_stop_leaves_each_file_taken_back_or_untouched(tmp_path: Path) -> None:
    async def main() -> None:
        editor = ShowingEditor(pressed=f"{TOGETHER} of")
        async with a_workspace(tmp_path, editor) as bench:
            await written(bench)
            result = await bench.workspace.review.reject(ALL)
            back = whole(tmp_path, listed(bench))
            assert (back, result.untouched) == (2 * TOGETHER, 1)
            said = f"Stopped: {back} of {COUNT} files were taken back. The other 1 are as they were."
            assert editor.shown == [("info", said)]
            assert editor.progresses[-1] == said
            again = await bench.workspace.review.reject(ALL)  # goes on where it stopped
            assert (again.untouched, whole(tmp_path, listed(bench))) == (0, COUNT)

    run(main())


@pytest.mark.parametrize("at", [0, 1])
def test_a_request_that_is_cancelled_leaves_each_file_taken_back_or_untouched(
    tmp_path: Path, at: int
) -> None:
    """`$/cancelRequest`, or the editor is gone, while a transaction of files is under way."""

    async def main() -> None:
        journal, editor = CountingJournal(), ShowingEditor()
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            await written(bench)
            task = asyncio.ensure_future(bench.workspace.review.reject(ALL))

            def cancel() -> None:
                if len(journal.waits) == at + 1:
                    task.cancel()

            journal.before_return = cancel
            with pytest.raises(asyncio.CancelledError):
                await task
            await editor.ended.wait()
            assert whole(tmp_path, listed(bench)) == (at + 1) * TOGETHER
            assert len(journal.waits) == at + 1

    run(main())


def test_a_file_that_is_opened_in_that_moment_is_put_back_in_the_editor(tmp_path: Path) -> None:
    """Never behind its back."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        journal = bench.workspace.review._journal
        await written(bench, NAMES[:30])
        begin_all, opened = journal.begin_all, list[str]()

        async def opening(entries: Sequence[Entry]) -> list[str]:
            ids = await begin_all(entries)
            if not opened:
                opened.append(NAMES[7])
                editor.opens(NAMES[7])
                await asyncio.sleep(1)
            return ids

        journal.begin_all = opening
        result = await bench.workspace.review.reject(ALL)
        assert (len(result.done), result.impossible) == (60, [])
        assert bench.text(NAMES[7]) == BASE
        assert all((tmp_path / name).read_text() == BASE for name in NAMES[:30])

    play(tmp_path, VSCODE, case)


def change(number: int, path: str, moved_from: str = "") -> FileChange:
    author: Any = None
    return FileChange(number, path, None, None, author, moved_from)


def test_what_belongs_together_is_one_unit() -> None:
    rows = [change(1, "/w/a"), change(2, "/w/b", "/w/a"), change(3, "/w/c"), change(4, "/w/d/e/f")]
    found = units(rows, [from_path(path) for path in ("/w/b", "/w/d", "/w/x", "/w/xy/z")])
    as_names = [
        ([row.id for row in unit.rows], [uri.rpartition("/")[2] for uri in unit.uris]) for unit in found
    ]
    assert as_names == [([4], ["d"]), ([3], []), ([2, 1], ["b"]), ([], ["x"]), ([], ["z"])]


def test_a_unit_has_the_documents_whose_review_returns_with_their_file() -> None:
    """What an agent wrote and then moved is under review again once it is moved back, and is to be taken back, too."""
    (unit,) = units([change(1, "/w/b", "/w/a")], [])
    assert unit.all_uris() == [from_path("/w/b"), from_path("/w/a")]


def test_the_loop_goes_on_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the editor asks meanwhile is answered between two steps: of none of them is there one for each file."""
    looks, hunks = 0, Ledger.hunks

    def counted(ledger: Ledger) -> tuple[Hunk, ...]:
        nonlocal looks
        looks += 1
        return hunks.__get__(ledger)

    monkeypatch.setattr(taking_back, "TOGETHER", 4)
    monkeypatch.setattr(Ledger, "hunks", property(counted, hunks.fset))

    async def most(count: int) -> int:
        """Looks at the ledgers of files in one step of the loop."""
        nonlocal looks
        folder, found = tmp_path / f"{count}", 0

        async def watch() -> None:
            nonlocal looks, found
            while True:
                looks = 0
                await asyncio.sleep(0)
                found = max(found, looks)

        folder.mkdir()
        async with a_workspace(folder, QuietEditor()) as bench:
            for number in range(count):
                (folder / f"f{number}.txt").write_text(BASE)
                await bench.write(f"f{number}.txt", WANTED)
            workspace = bench.workspace
            session = workspace.state.sessions.get(bench.session)
            assert session is not None
            session.acting = False  # else files that are not open are not looked at first
            watching = asyncio.create_task(watch())
            result = await workspace.review.reject(ALL)
            watching.cancel()
            assert result.done
            return found

    assert run(most(96)) <= run(most(48)) + 8


def test_each_file_costs_the_same_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is looked for in all files again and again."""
    looks, hunks = 0, Ledger.hunks

    def counted(ledger: Ledger) -> tuple[Hunk, ...]:
        nonlocal looks
        looks += 1
        return hunks.__get__(ledger)

    monkeypatch.setattr(taking_back, "TOGETHER", 4)
    monkeypatch.setattr(Ledger, "hunks", property(counted, hunks.fset))

    async def cost(count: int) -> int:
        nonlocal looks
        folder = tmp_path / f"{count}"
        folder.mkdir()
        async with a_workspace(folder, QuietEditor()) as bench:
            for number in range(count):
                (folder / f"f{number}.txt").write_text(BASE)
                await bench.read(f"f{number}.txt")
                await bench.write(f"f{number}.txt", WANTED)
            looks = 0
            result = await bench.workspace.review.reject(ALL)
            assert result.done
            assert not result.impossible
            return looks

    few, twice_as_many = run(cost(40)), run(cost(80))
    assert twice_as_many < 2.2 * few
