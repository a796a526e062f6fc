"""What the user has kept of a write, while the rest of it is under review, stays theirs, whatever text the file comes back to."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.journal import SqliteJournal, Store
from sidecar.journal.selecting import Selection
from sidecar.recovery.revert import revert
from sidecar.workspace.review.review import Selector
from tests.recovery.test_review_after_revert import on_the_journal
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.workspaces import Bench, a_workspace

BASE = "1\n2\n3\n4\n5\n6\n"
FIRST = "one\n2\n3\n4\n5\nsix\n"
SECOND = FIRST.replace("3", "three")
THIRD = SECOND.replace("six", "SIX").replace("2", "two")


async def written(bench: Bench) -> None:
    """The first write changes two lines; the user keeps one of them, and other sessions go on."""
    await bench.read("a.txt")
    await bench.write("a.txt", FIRST)
    keeps(bench, "one")
    for text in (SECOND, THIRD):
        session = await bench.another_session()
        await bench.read("a.txt", session=session)
        await bench.write("a.txt", text, session=session)
    await bench.workspace.reviews_stored()


def keeps(bench: Bench, text: str) -> None:
    (row,) = [row for row in bench.workspace.review.changes(Selector()) if row["newText"] == text]
    bench.workspace.review.keep(Selector(change_ids=frozenset({str(row["changeId"])})))


async def listed(bench: Bench) -> list[tuple[object, object]]:
    return [(row["oldText"], row["newText"]) for row in await bench.workspace.review.listed(Selector())]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_closed_file_comes_back_to_an_earlier_text(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """As `git checkout` does it."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await written(bench)
        if not restarted:
            path.write_text(FIRST)
            assert await listed(bench) == [("6", "six")]
            await bench.workspace.review.reject(Selector(everything=True))
    if restarted:
        path.write_text(FIRST)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            assert await listed(bench) == [("6", "six")]
            await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == FIRST.replace("six", "6")


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_command_line_takes_back_what_came_later(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)

    def reverts(first: str) -> None:
        with Store(journal) as store:
            later = [one for one in store.entries(Selection(paths=(str(path),))) if one.session != first]
            assert not any(done.outcome.is_failure for done in revert(store, later, "r-1"))
        assert path.read_text() == FIRST

    async with on_the_journal(folder, journal) as bench:
        await written(bench)
        first = bench.session
        if not restarted:
            reverts(first)
            assert await listed(bench) == [("6", "six")]
    if restarted:
        reverts(first)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            assert await listed(bench) == [("6", "six")]


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_open_file_comes_back_to_an_earlier_text(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """By the editor's undo; or the editor has kept it unsaved over a restart."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await bench.observed("a.txt")
        await written(bench)
        assert editor.text("a.txt") == THIRD
        if not restarted:
            editor.undoes("a.txt")
            editor.undoes("a.txt")
            assert editor.text("a.txt") == FIRST
            assert await listed(bench) == [("6", "six")]
            return
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        buffer = editor.opens("a.txt")
        editor.attach(bench.workspace.apply)
        buffer.text = FIRST
        editor.model.opened(buffer)
        await bench.observed("a.txt")
        assert await listed(bench) == [("6", "six")]


async def test_what_an_agent_makes_of_a_line_that_was_kept(tmp_path: Path, journal: Path) -> None:
    """Rejecting it brings back what the user kept."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    texts = [FIRST.replace("one", "eins"), FIRST.replace("one", "eins").replace("3", "three"), FIRST]
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        keeps(bench, "one")
        for text in texts:
            session = await bench.another_session()
            await bench.read("a.txt", session=session)
            await bench.write("a.txt", text, session=session)
        await bench.workspace.reviews_stored()
    path.write_text(texts[0])
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        assert await listed(bench) == [("one", "eins"), ("6", "six")]
