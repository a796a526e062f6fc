"""The journal says that a turn is over once it has all that is under review of it: whoever goes on after a sidecar was ended finds what it lacks only
in turns that are not over there.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from sidecar.core.kept_hunks import AsJson
from sidecar.core.text import Text
from sidecar.journal.turns import TurnStart
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, play


class SlowLedgers(MemoryJournal):
    """Storing what is under review takes a while."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    async def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        await asyncio.sleep(20)
        await super().save_ledger(uri, text, hunks, in_file)
        self.calls.append("stored")

    async def turn_began(self, start: TurnStart) -> None:
        await super().turn_began(start)
        self.calls.append("began")

    async def turn_ended(self, session: str) -> None:
        await super().turn_ended(session)
        self.calls.append("ended")


def test_what_a_turn_changed_is_stored_before_it_is_over(tmp_path: Path) -> None:
    journal = SlowLedgers()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", "a\n")  # a text
        (tmp_path / "empty.txt").touch()  # a row of its own
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(60)
        assert journal.calls == ["began", "stored", "stored", "ended"]

    play(tmp_path, VSCODE, script, after=after, journal=journal)
