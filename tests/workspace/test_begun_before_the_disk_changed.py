"""What an agent had begun to write through us when another program changed the file of the open document."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS
from tests.support.file_time import tick
from tests.support.workspaces import Bench, SlowJournal
from tests.workspace.test_behind import BASE, Turn, listed, opened, play
from tests.workspace.test_whose import reject_all
from tests.workspace.test_writes import done


@pytest.mark.parametrize("again", [False, True], ids=["", "again"])
@pytest.mark.parametrize("saves", [False, True], ids=["", "saved"])
@pytest.mark.parametrize("seconds", [0.2, 0.3, 0.4])
@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_what_an_agent_had_begun_to_write_before_the_disk_changed_stays_under_review(
    tmp_path: Path, name: str, seconds: float, saves: bool, again: bool
) -> None:
    """The editor is being given time to take another program's change, with nothing under review before it (hands, Neovim 0.7, seed 630010)."""
    path, mine = tmp_path / "a.txt", BASE.replace("three", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "three", "mine")
        await asyncio.sleep(2)
        await turn.bench.read("a.txt")
        write = asyncio.ensure_future(turn.bench.write("a.txt", mine + "agent's\n"))
        await asyncio.sleep(0.01)
        tick()
        path.write_text("a program's\n" + BASE)
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        done(await write)
        if again:
            done(await turn.bench.write("a.txt", mine + "more\nagent's\n"))
        await asyncio.sleep(0.1)
        if saves:
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert "".join(row[2] for row in listed(bench)) == ("more\n" if again else "") + "agent's\n"
        kept = "" if saves and not again else "a program's\n"  # by then the user has saved over it
        await reject_all(bench)
        assert editor.text("a.txt") == kept + mine

    play(tmp_path, EDITORS[name], script, before=opened, after=after, journal=SlowJournal(seconds))
