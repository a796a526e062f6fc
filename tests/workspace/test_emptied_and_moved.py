"""An open file that a command empties and fills, and that the next one moves or removes: at any pace, and whatever the user saves;
and one that the user saves over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, CHANGED, Turn, every_editor, listed, opened, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import reject_all


@pytest.mark.parametrize("saves", ["", "in the turn", "at the end"])
@pytest.mark.parametrize("to", ["moved.txt", ""], ids=["moved", "removed"])
@pytest.mark.parametrize("stays", [0.0, 0.05, 0.4, 0.6, 1.2])
@pytest.mark.parametrize("empty", [0.05, 0.3, 0.7])
def test_all_of_it_is_taken_back(tmp_path: Path, empty: float, stays: float, to: str, saves: str) -> None:
    """`empty` and `stays`: how long it is empty, and then as filled, in seconds. (turns seed 1885147441)"""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        file = tmp_path / "a.txt"
        turn.says("execute")
        tick()
        file.write_text("")
        editor.looks_at_disk()
        tick()
        await asyncio.sleep(empty)
        file.write_text(CHANGED)
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(stays)
        turn.says("execute", call="c2")
        tick()
        if to:
            file.rename(tmp_path / to)
        else:
            file.unlink()
        tick()
        turn.says("execute", call="c2", status="completed")
        if saves == "in the turn":
            await asyncio.sleep(0.3)
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if saves == "at the end":
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
            await asyncio.sleep(4)
        await reject_all(bench)
        await asyncio.sleep(5)
        await reject_all(bench)
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        assert files(tmp_path) == {"a.txt": BASE.encode()}

    play(tmp_path, VSCODE, script, before=opened, after=after)


@every_editor
@pytest.mark.parametrize("typed", ["", "mine\n"], ids=["empty", "typed"])
@pytest.mark.parametrize("stays", [0.0, 0.3, 1.9, 2.0, 2.1])
@pytest.mark.parametrize("is_at_once", [True, False], ids=["", "reloaded later"])
def test_what_a_command_emptied_is_its_removal_also_if_the_user_saves_then(
    tmp_path: Path, is_at_once: bool, stays: float, typed: str, habits: Habits
) -> None:
    """`stays`: how long it is empty in the editor before the user saves, in seconds."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        if not is_at_once:
            tick()
            await asyncio.sleep(0.1)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(stays)
        if typed:
            editor.types("a.txt", typed)
        tick()
        assert editor.saves("a.txt")
        await asyncio.sleep(4)
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        [(_, old, new)] = listed(bench)
        assert (old.strip("\n"), new.strip("\n")) == (BASE.strip("\n"), "")
        await reject_all(bench)
        await asyncio.sleep(2)
        either = BASE + typed, typed + BASE
        if (
            habits.final_end == "setting"
        ):  # the agent left an empty line there, which the user's line is before
            assert editor.text("a.txt").replace("\n", "") in [one.replace("\n", "") for one in either]
        else:
            assert editor.text("a.txt") in either
        assert not listed(bench)

    play(tmp_path, habits, script, before=opened, after=after)
