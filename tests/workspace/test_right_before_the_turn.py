"""What the user does in a shell to the file of an open document right before the prompt is theirs, though the document does not have it yet when the
agent goes on with that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn
from tests.workspace.test_whose import rows

MINE = BASE.replace("one", "shell")
BOTH = CHANGED.replace("one", "shell")


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("turns", [1, 2])
def test_is_the_users(tmp_path: Path, turns: int, seconds: float, emptied: bool) -> None:
    """`turns`: another one ended just now, and what comes right after it is still looked at."""
    folder = tmp_path.resolve()
    path, editor, agents = folder / "a.txt", FakeEditor(VSCODE, folder), Agent()

    async def works(turn: Turn) -> None:
        turn.says("execute")
        tick()
        if path.read_text() == MINE:
            if emptied:
                path.write_text("")
                editor.looks_at_disk()
                await asyncio.sleep(0.3)
                tick()
            path.write_text(BOTH)
        tick()
        await asyncio.sleep(2)
        turn.says("execute", status="completed")

    async def main() -> None:
        async with a_workspace(folder, editor, agents) as bench:
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            if turns == 2:
                await bench.workspace.start_prompt(bench.session, [])[2]
                await asyncio.sleep(1)
            tick()
            path.write_text(MINE)
            tick()
            await asyncio.sleep(seconds)
            await bench.workspace.start_prompt(bench.session, [])[2]
            editor.looks_at_disk()
            await asyncio.sleep(12)
            assert [(row["oldText"].strip(), row["newText"].strip()) for row in rows(bench)] == [
                ("four", "FOUR")
            ]
            assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
            await asyncio.sleep(2)
            assert editor.text("a.txt") == MINE

    run(main())
