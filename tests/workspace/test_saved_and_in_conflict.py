"""What the user saved is in conflict with what an agent wrote over it, and the document has no unsaved work: editors then take what comes to the
disk next by themselves. Whatever they take is under review, or the conflict goes on; nothing of the agent's comes in unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.journal.entry import Texts
from sidecar.recovery.plan import Becomes, take_back
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, Turn, listed, opened, play
from tests.workspace.test_conflicts import MINE, THEIRS
from tests.workspace.test_written_from_older import calls, saves

WRITTEN = BASE.replace("two", "TWO")
THEIRS_THEN = THEIRS.replace("two", "TWO")
LATER = THEIRS_THEN.replace("three", "THREE")


@pytest.mark.parametrize("how", ["it takes it late", "emptied and filled", "written again"])
def test_what_the_editor_takes_by_itself(tmp_path: Path, how: str) -> None:
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        await calls(turn, "edit", "a.txt", call="w1", puts=WRITTEN)
        await saves(editor, "one", "mine")
        await calls(turn, "edit", "a.txt", call="w2", puts=THEIRS_THEN)
        assert len(turn.bench.workspace.conflicts.rows()) == 1
        if how == "it takes it late":
            editor.looks_at_disk()
            await asyncio.sleep(2)
        turn.says("execute", call="c")
        tick()
        if how == "emptied and filled":
            (tmp_path / "a.txt").write_text("")
            editor.model.reload(editor.uri("a.txt"))
            await asyncio.sleep(0.5)
            tick()
        (tmp_path / "a.txt").write_text(LATER)
        editor.looks_at_disk()
        await asyncio.sleep(4)
        turn.says("execute", call="c", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        news = [(old, new) for _, old, new in listed(bench)]
        if bench.workspace.conflicts.rows():
            assert editor.text("a.txt") == MINE.replace("two", "TWO")
            assert news == [("two", "TWO")]
        else:
            assert editor.text("a.txt") == LATER
            assert news == [("mine", "theirs"), ("two", "TWO"), ("three", "THREE"), ("five", "FIVE")]
        news = [journal.entries[one] for one, state in journal.states.items() if state == "done"]
        if not bench.workspace.conflicts.rows():  # `acp-sidecar revert`, and nothing is counted twice
            writes = [Texts(one.before, one.after) for one in reversed(news)]
            assert take_back(LATER, writes) == Becomes(MINE)
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=True)
