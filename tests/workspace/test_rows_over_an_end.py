"""A row that stands for a change of a whole file is in the journal at every moment, whatever ends the sidecar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sidecar.core.file_state import FileState
from sidecar.core.kept_files import KEPT, from_kept
from sidecar.core.kept_hunks import AsJson
from sidecar.core.ledger import Author
from sidecar.core.text import Text
from tests.support.workspaces import MemoryJournal, QuietEditor, a_workspace

BEFORE, AFTER = FileState(b"one\n", 0o644), FileState(b"one\n", 0o755)


class Watched(MemoryJournal):
    """Which files had rows in the journal after each change of those."""

    def __init__(self) -> None:
        super().__init__()
        self.had: list[set[str]] = []

    async def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        await super().save_ledger(uri, text, hunks, in_file)
        self.had.append(self.names())

    async def forget_ledger(self, *uris: str) -> None:
        await super().forget_ledger(*uris)
        self.had.append(self.names())

    def names(self) -> set[str]:
        kept = [from_kept(*row) for name, row in self.ledgers.items() if name.startswith(KEPT)]
        return {Path(row.path).name for row in kept if row is not None}


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not happened():  # noqa: ASYNC110 - a dict tells nobody
            await asyncio.sleep(0)


async def test_a_moved_file_that_comes_back_is_a_copy_at_once(tmp_path: Path) -> None:
    """Its row says so in the journal, too."""
    folder, journal = tmp_path.resolve(), Watched()
    (folder / "new.txt").write_bytes(BEFORE.data)
    async with a_workspace(folder, QuietEditor(), journal=journal) as bench:
        files, author = bench.workspace.review.files, Author(bench.session, 1, "w2", agent="agent")
        files.enter(str(folder / "new.txt"), BEFORE, BEFORE, author, str(folder / "old.txt"), "w1")
        await until(lambda: journal.names() == {"new.txt"})
        moved = dict(journal.ledgers)
        files.came(str(folder / "old.txt"))
        await until(lambda: any(journal.ledgers.get(name) != row for name, row in moved.items()))
    assert journal.had
    assert all("new.txt" in had for had in journal.had), journal.had


async def test_rows_of_an_earlier_process(tmp_path: Path) -> None:
    folder, journal = tmp_path.resolve(), Watched()
    paths = [folder / name for name in ("a.sh", "b.sh", "c.sh")]
    for path in paths:
        path.write_bytes(AFTER.data)
    async with a_workspace(folder, QuietEditor(), journal=journal) as bench:
        for number, path in enumerate(paths):
            author = Author(bench.session, 1, f"w{9 - number}", agent="agent")
            bench.workspace.review.files.enter(str(path), BEFORE, AFTER, author)
        await until(lambda: journal.names() == {path.name for path in paths})
    journal.had.clear()
    async with a_workspace(folder, QuietEditor(), journal=journal) as bench:
        await bench.workspace.restore_reviews()
        assert {Path(change.path).name for change in bench.workspace.review.files} == journal.names()
    assert journal.had
    assert all(had == {path.name for path in paths} for had in journal.had), journal.had
    assert len(journal.ledgers) == len(paths), "the old ones are forgotten"


async def test_rows_are_restored_once_more_when_a_folder_is_added(tmp_path: Path) -> None:
    """Those that are known stay as they are."""
    folder, journal = tmp_path.resolve(), Watched()
    (folder / "a.sh").write_bytes(AFTER.data)
    async with a_workspace(folder, QuietEditor(), journal=journal) as bench:
        files = bench.workspace.review.files
        for number in range(2):  # of one file, by two sessions
            author = Author(f"s{number}", 1, f"w{number}", agent="agent")
            files.enter(str(folder / "a.sh"), BEFORE, AFTER, author)
        await files.stored()
        before = list(files), dict(journal.ledgers)
        await bench.workspace.restore_reviews()
        await files.stored()
        assert (list(files), journal.ledgers) == before
