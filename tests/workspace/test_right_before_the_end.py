"""What an agent's own tool does to the file of an open document right before its turn ends is that turn's, whatever is on its way to the editor
in that moment, and however soon the next prompt comes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EGLOT_OURS, NEOVIM, VSCODE, Habits
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn
from tests.workspace.test_whose import rows

LATE = CHANGED.replace("five", "FIVE")


@pytest.mark.parametrize("seconds", [0.0, 0.3, None])
@pytest.mark.parametrize("meanwhile", ["the user rejects", "the user saves", "nothing"])
@pytest.mark.parametrize("habits", [NEOVIM, EGLOT_OURS, VSCODE], ids=["neovim", "eglot", "vscode"])
def test_it_is_the_turns(tmp_path: Path, habits: Habits, meanwhile: str, seconds: float | None) -> None:
    """`seconds`: until the next prompt; None: there is none."""
    folder = tmp_path.resolve()
    path, editor, agents, begun = folder / "a.txt", FakeEditor(habits, folder), Agent(), asyncio.Event()

    async def works(turn: Turn) -> None:
        if begun.is_set():
            return
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(3)
        begun.set()
        await asyncio.sleep(0.05)
        tick()
        turn.puts("a.txt", LATE)
        tick()
        turn.says("execute", status="completed")

    async def main() -> None:
        async with a_workspace(folder, editor, agents) as bench:
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            editor.replaces("a.txt", "one", "mine")
            turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
            await begun.wait()
            editor.replaces("a.txt", "mine", "mine, too")
            if meanwhile == "the user rejects":
                review = bench.workspace.review
                rejection = asyncio.ensure_future(review.reject(Selector(everything=True)))
            elif meanwhile == "the user saves":
                editor.saves("a.txt")
            await turn
            if seconds is not None:
                await asyncio.sleep(seconds)
                await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(12)
            if meanwhile == "the user rejects":
                assert not (await rejection).impossible
            found = [(row["oldText"].strip(), row["newText"].strip(), row["turn"]) for row in rows(bench)]
            assert ("five", "FIVE", 1) in found
            assert editor.text("a.txt").startswith("mine, too\n")

    run(main())
