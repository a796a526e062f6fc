"""A save on top of an agent's change that is being noted is in the journal at once: the sidecar may end before the change is noted, and then the save."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.journal.turns import SavedOver
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import Slow
from tests.workspace.test_behind import CHANGED, Turn, opened, play
from tests.workspace.test_whose import reject_all, runs


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("noted", [True, False], ids=["while it is noted", "long before"])
def test_a_save(tmp_path: Path, custom: bool, noted: bool) -> None:
    journal = Slow()
    mine = CHANGED.replace("one", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        def saves() -> None:
            editor.replaces("a.txt", "one", "mine")
            assert editor.saves("a.txt") or editor.overwrites("a.txt")

        async def meanwhile() -> None:
            editor.model.reload(editor.uri("a.txt"))
            tick()
            saves()
            await asyncio.sleep(0.1)
            over = SavedOver(CHANGED, mine)
            assert list(journal.turn_savings.values()) == [over]
            assert "failed" not in journal.states.values()
            assert "done" not in journal.states.values()

        if noted:
            journal.then = meanwhile
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(4)
        if not noted:
            saves()
            await asyncio.sleep(3)
            assert not journal.turn_savings
        ((_, image),) = journal.turn_saves.items()
        assert image.text == mine

    play(tmp_path, VSCODE, script, before=opened, journal=journal, custom=custom)


def test_the_next_change_is_the_agents_too(tmp_path: Path) -> None:
    """The editor takes it from the disk while the first one is noted, on top of which the user has saved."""
    journal, base = Slow(), CHANGED.replace("FOUR", "four")
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        def writes(text: str) -> None:
            tick()
            turn.puts("a.txt", text)
            editor.model.reload(editor.uri("a.txt"))
            tick()

        async def meanwhile() -> None:
            writes(CHANGED.replace("FOUR", "Four").replace("five", "FIVE").replace("one", "mine"))

        journal.then = meanwhile
        turn.says("execute")
        writes(CHANGED.replace("two", "TWO"))
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert path.read_text() == base.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal)


def test_a_save_while_it_is_waited_for(tmp_path: Path) -> None:
    """The editor has taken the agent's change from the disk, and it may be a save that is told in the next moment; then the user saves on top."""
    journal, mine = Slow(), CHANGED.replace("one", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        await asyncio.sleep(0.1)
        tick()
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(0.1)
        assert list(journal.turn_savings.values()) == [SavedOver(CHANGED, mine)]
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    play(tmp_path, VSCODE, script, before=opened, journal=journal)
