"""A command changes an open file and removes it while that change is being brought into the document: all of it is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.journal.entry import Entry
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, opened, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import reject_all


class SlowJournal(MemoryJournal):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        await asyncio.sleep(self._seconds)
        return await super().begin(entry, takes_back)


@pytest.mark.parametrize("goes", ["removed", "moved", "bytes"])
@pytest.mark.parametrize("stays", [0.5, 0.7, 0.9, 1.1])
@pytest.mark.parametrize("seconds", [0.3, 0.7])
def test_all_of_it_is_taken_back(tmp_path: Path, seconds: float, stays: float, goes: str) -> None:
    """`seconds`: until the journal has a change. `stays`: how long the file is there as changed. (turns seed 1885186218)"""
    file = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "a.txt")
        tick()
        file.write_text(CHANGED)
        tick()
        await asyncio.sleep(stays)
        if goes == "removed":
            file.unlink()
        elif goes == "moved":
            file.rename(tmp_path / "b.txt")
        else:
            file.write_bytes(b"\0\1\2")
        tick()
        turn.says("execute", "a.txt", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        await asyncio.sleep(5)
        assert files(tmp_path) == {"a.txt": BASE.encode()}
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=SlowJournal(seconds))
