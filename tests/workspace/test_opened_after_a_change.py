"""A document is opened right after an agent changed its file, and typed in before anybody has looked there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, play
from tests.workspace.test_whose import reject_all

BASE = "base1\nbase2\nbase3\nbase4\nbase5\n"
FIRST = "agent7\nbase2\nbase3\nbase4\nagent8\n"
SECOND = "agent6\nbase2\nbase3\nbase4\nagent8\n"


def test_what_agents_had_changed_there_before_stays_under_review(tmp_path: Path) -> None:
    """What the user types in is a text as long as the one that the first agent's work is known in."""
    path = tmp_path / "a.txt"
    path.write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        is_first = path.read_text() == BASE
        turn.says("execute")
        tick()
        path.write_text(FIRST if is_first else SECOND)
        tick()
        turn.says("execute", status="completed")
        if not is_first:
            tick()
            editor.opens("a.txt")
            tick()
            editor.replaces("a.txt", "base3", "mine3")
            assert editor.saves("a.txt")
            tick()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("base3", "mine3")

    play(tmp_path, VSCODE, script, after=after)
