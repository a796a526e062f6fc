"""What an undo puts under review again, of a write of which all that was left had been decided: the journal knows it too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from sidecar.recovery.settle import at_start
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import Bench, IdleAgents, a_workspace
from tests.turns.journals import SlowJournal
from tests.workspace.test_behind import Turn, play

BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
ALL = Selector(everything=True)
Decision = Literal["kept", "rejected"]
decisions = pytest.mark.parametrize("decision", ["kept", "rejected"])


@asynccontextmanager
async def a_sidecar(folder: Path, editor: FakeEditor) -> AsyncGenerator[tuple[Bench, SlowJournal]]:
    journal = SlowJournal(folder.parent / "journal", 0)
    await at_start(journal)
    async with a_workspace(folder, editor, IdleAgents(), journal=journal) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        await bench.workspace.restore_reviews()
        yield bench, journal
    await journal.close()


async def listed(bench: Bench) -> list[tuple[object, object]]:
    return [(row["oldText"], row["newText"]) for row in await bench.workspace.review.listed(ALL)]


async def decides(bench: Bench, journal: SlowJournal, editor: FakeEditor, decision: Decision) -> None:
    """The user writes over one of two changes of a write, decides the other one, and undoes what they wrote."""
    editor.opens("a.txt")
    before = {one.id for one in await journal.entries()}
    text = editor.text("a.txt")
    await bench.read("a.txt")
    await bench.write("a.txt", text.replace("two", "TWO").replace("five", "FIVE"))
    await asyncio.sleep(5)
    (write,) = {one.id for one in await journal.entries()} - before

    async def state() -> str:
        return next(one.state for one in await journal.entries() if one.id == write)

    editor.replaces("a.txt", "TWO", "mine")
    assert editor.saves("a.txt")
    await asyncio.sleep(5)
    assert await listed(bench) == [("five", "FIVE")]
    if decision == "kept":
        bench.workspace.review.keep(ALL)
    else:
        await bench.workspace.review.reject(ALL)
    await asyncio.sleep(5)
    assert await state() == decision
    editor.replaces("a.txt", "mine", "TWO")
    await asyncio.sleep(5)
    assert await listed(bench) == [("two", "TWO")]
    assert await state() == "done"
    assert editor.saves("a.txt")


@decisions
def test_it_is_so_after_a_restart(tmp_path: Path, decision: Decision) -> None:
    (folder := tmp_path.resolve() / "w").mkdir()
    (folder / "a.txt").write_text(BASE)

    async def main() -> None:
        editor = FakeEditor(VSCODE, folder)
        async with a_sidecar(folder, editor) as (bench, journal):
            await decides(bench, journal, editor, decision)
            editor.replaces("a.txt", "seven", "unsaved")
            await asyncio.sleep(5)
        # The editor does not keep what was unsaved
        async with a_sidecar(folder, FakeEditor(VSCODE, folder)) as (bench, journal):
            assert await listed(bench) == [("two", "TWO")]
            assert not (await bench.workspace.review.reject(ALL)).impossible
        assert (folder / "a.txt").read_text() == (
            BASE.replace("five", "FIVE") if decision == "kept" else BASE
        )

    run(main())


def test_it_is_so_in_another_window(tmp_path: Path) -> None:
    """Where something else of the file had been kept, so that nothing of it was under review there."""
    (folder := tmp_path.resolve() / "w").mkdir()
    (folder / "a.txt").write_text(BASE)

    async def main() -> None:
        async with a_sidecar(folder, FakeEditor(VSCODE, folder)) as (other, _):
            await other.read("a.txt")
            await other.write("a.txt", BASE.replace("seven", "SEVEN"))
            await asyncio.sleep(5)
            assert other.workspace.review.keep(ALL).done
            await asyncio.sleep(5)
            editor = FakeEditor(VSCODE, folder)
            async with a_sidecar(folder, editor) as (bench, journal):
                await decides(bench, journal, editor, "kept")
                await asyncio.sleep(5)
                assert await listed(other) == [("two", "TWO")]

    run(main())


def test_what_was_kept_in_a_document_with_unsaved_work_is_kept_in_its_file(tmp_path: Path) -> None:
    """An agent had written it on the disk. (keeper seed 7955)"""

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "five", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", BASE.replace("two", "TWO").replace("seven", "SEVEN"))
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        (two, _) = await bench.workspace.review.listed(ALL)
        bench.workspace.review.keep(Selector(change_ids=frozenset([str(two["changeId"])])))
        editor.closes("a.txt")
        await asyncio.sleep(1)
        assert await listed(bench) == [("seven", "SEVEN")]

    (tmp_path / "a.txt").write_text(BASE)
    play(tmp_path, VSCODE, script, before=before, after=after)


def test_what_is_under_review_in_the_file_is_open_though_the_rest_was_kept(tmp_path: Path) -> None:
    """What the user wrote over it is not saved, and is thrown away."""
    (folder := tmp_path.resolve() / "w").mkdir()
    (folder / "a.txt").write_text(BASE)

    async def main() -> None:
        editor = FakeEditor(VSCODE, folder)
        async with a_sidecar(folder, editor) as (bench, journal):
            editor.opens("a.txt")
            await bench.read("a.txt")
            await bench.write("a.txt", BASE.replace("two", "TWO").replace("five", "FIVE"))
            await asyncio.sleep(5)
            editor.replaces("a.txt", "TWO", "mine")
            await asyncio.sleep(5)
            bench.workspace.review.keep(ALL)
            await asyncio.sleep(5)
            assert [one.state for one in await journal.entries()] == ["done"]
        async with a_sidecar(folder, FakeEditor(VSCODE, folder)) as (bench, _):
            assert await listed(bench) == [("two", "TWO")]

    run(main())
