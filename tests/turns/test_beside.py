"""`acp-sidecar revert` beside a sidecar whose editor has the file open, where only the disk can be put right: the document has it then, too."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import a_workspace
from tests.turns.doors import CommandLine, quick_folder
from tests.turns.journals import SlowJournal
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("does", ["removes it", "changes its mode"])
@pytest.mark.parametrize("typed", ["", "mine"])
def test_a_file_that_is_open(tmp_path: Path, does: str, typed: str, extension: bool) -> None:
    """What an editor without our extension was given as an edit is unsaved there; a save would bring the agent's work back."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"

    async def works(turn: Turn) -> None:
        for step in ("writes it", does):
            turn.says("execute", call=step)
            tick()
            if step == "writes it":
                turn.puts("a.txt", CHANGED)
            elif step == "removes it":
                path.unlink()
            else:
                path.chmod(0o755)
            tick()
            turn.says("execute", call=step, status="completed")
            await asyncio.sleep(4)
            if typed and step == "writes it":
                editor.replaces("a.txt", "one", typed)
            await asyncio.sleep(1)

    async def main(journal_folder: Path) -> None:
        journal, agents = SlowJournal(journal_folder, 0), Agent()
        async with a_workspace(folder, editor, agents, journal=journal) as bench:
            bench.workspace.state.overlay.encoding = editor.capabilities.encoding
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            path.chmod(0o644)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(15)
            command_line = CommandLine(journal_folder, lambda line: None)
            said = await command_line.revert_beside(bench.workspace, "--session", bench.session)
            assert not said.refused
            editor.sees_on_disk("a.txt")
            await asyncio.sleep(3)
            assert (path.read_text(), path.stat().st_mode & 0o777) == (BASE, 0o644)
            assert editor.text("a.txt") == (BASE.replace("one", typed) if typed else BASE)
            assert await bench.workspace.review.listed(Selector()) == []
        await journal.close()

    editor = FakeEditor(VSCODE, folder, custom=extension)
    with tempfile.TemporaryDirectory(dir=quick_folder()) as journal_folder:
        run(main(Path(journal_folder)))
