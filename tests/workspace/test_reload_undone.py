"""Undoing and redoing what was taken from the disk, at any moment."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_reload import OPENED_AGAIN, TAKEN_LATE, taken
from tests.workspace.test_writes import BASE, play


@OPENED_AGAIN
@pytest.mark.parametrize("told", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_undoing_what_was_taken_from_the_disk_stays_undone(
    tmp_path: Path, habits: Habits, told: float, seconds: float
) -> None:
    """The document says the disk's text for a moment, as when it is taken from there, and is not put right."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        read = await taken(bench, editor, "u\n", BASE.index("two"), BASE.replace("five", "FIVE"), 0.55)
        await asyncio.sleep(seconds)
        before, undone = BASE.replace("two", "u\ntwo"), 0
        while editor.text("a.txt") != before and undone < 3:
            editor.undoes("a.txt")
            undone += 1
        assert undone, "a case that shows nothing"
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == before
        assert not editor.sent

    play(tmp_path, replace(habits, top_told_later=told), case)


@pytest.mark.parametrize("typed", ["", "y"], ids=["", "typed on"])
@pytest.mark.parametrize("again", [False, True], ids=["undone", "redone"])
def test_undoing_it_before_the_users_text_is_back_stays_undone(
    tmp_path: Path, again: bool, typed: str
) -> None:
    """What the document said before the reload has the user's text already, which is not put on top of it (inflight seed 1795769209)."""
    (tmp_path / "a.txt").write_text(BASE)
    mine, changed = BASE.replace("two", "u\ntwo"), BASE.replace("five", "FIVE")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "u\n", at=BASE.index("two"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", changed)
        turn.says("edit", "a.txt", status="completed")
        read = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(0.75)
        assert editor.text("a.txt") == changed, "a case that shows nothing"
        editor.undoes("a.txt")
        assert editor.text("a.txt") == mine
        if again:
            editor.redoes("a.txt")
        if typed:
            editor.types("a.txt", typed, at=0)
        await read
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == typed + (mine.replace("five", "FIVE") if again else mine)
        assert listed(bench) == ([("a.txt", "five", "FIVE")] if again else [])

    play_turn(tmp_path, TAKEN_LATE, script, before=before, after=after)


@OPENED_AGAIN
@pytest.mark.parametrize("saves", [False, True], ids=["", "saved in between"])
@pytest.mark.parametrize("later", [False, True], ids=["at once", "after the turn"])
def test_a_reload_that_is_undone_at_once_and_redone_is_under_review(
    tmp_path: Path, habits: Habits, saves: bool, later: bool
) -> None:
    """The document is opened again, with the text from before, while the change is still looked at (Neovim 0.7 under load, hands seed 700016)."""
    (tmp_path / "a.txt").write_text(BASE)
    changed = "new\n" + BASE

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", changed)
        turn.says("edit", "a.txt", status="completed")
        tick()
        editor.sees_on_disk("a.txt")
        for _ in range(100):
            if editor.text("a.txt") == changed:
                break
            await asyncio.sleep(0.01)
        editor.undoes("a.txt")
        assert editor.text("a.txt") == BASE
        await asyncio.sleep(0.02)
        if saves:
            assert editor.overwrites("a.txt")
        if not later:
            editor.redoes("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if later:
            assert listed(bench) == []
            editor.redoes("a.txt")
            await asyncio.sleep(3)
        assert editor.text("a.txt") == changed
        assert listed(bench) == [("a.txt", "", "new\n")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE

    play_turn(tmp_path, replace(habits, reloads=0.02), script, before=before, after=after)
