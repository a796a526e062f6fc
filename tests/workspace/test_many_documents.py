"""More documents are open than anybody looks at in one go: what a command changes in any of them is seen, in an editor that takes nothing from the disk
by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import WELL_BEHAVED
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, play

MANY = 1200


def test_what_a_command_changes_is_listed_wherever_it_is(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(MANY)]
    for name in names:
        (tmp_path / name).write_text(f"{name}\nold\n")
    changed = [*names[:100:10], *names[-100::10]]

    async def before(bench: Bench, editor: FakeEditor) -> None:
        for name in names:
            editor.opens(name)
        await asyncio.sleep(10)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        for name in changed:
            turn.puts(name, f"{name}\nnew\n")
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = bench.workspace.review.changes(Selector())
        assert {bench.path(name) for name in changed} == {
            str(row["uri"]).removeprefix("file://") for row in rows
        }
        assert all((row["oldText"], row["newText"]) == ("old", "new") for row in rows)
        assert all(editor.text(name) == f"{name}\nnew\n" for name in changed)

    play(tmp_path, WELL_BEHAVED, script, before=before, after=after)
