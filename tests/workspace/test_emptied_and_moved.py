"""An open file that a command empties and fills, and that the next one moves or removes: at any pace, and whatever the user saves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, CHANGED, Turn, opened, play
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
