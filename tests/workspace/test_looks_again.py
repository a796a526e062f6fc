"""A read has what the disk said when it was asked for, in whatever moment the user types."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS
from tests.support.workspaces import Bench
from tests.workspace.test_writes import BASE, play

TAKES_EDITS = {name: habits for name, habits in EDITORS.items() if not habits.refuses}
CHANGED = BASE.replace("three", "THREE")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", TAKES_EDITS)
def test_a_read_has_what_the_disk_said_when_it_was_asked_for(tmp_path: Path, name: str, seed: int) -> None:
    """Some keys before it and some while it waits, on the beat of the editor's delays and beside it."""
    habits, chance = TAKES_EDITS[name], random.Random(seed)
    (tmp_path / "a.txt").write_text(BASE)
    moments = [habits.lag, 0.5, 0.5 - habits.lag, 0.0, 0.1, chance.uniform(0, 1)]

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        for _ in range(chance.randrange(3)):
            editor.types("a.txt", "a", at=0)
            await asyncio.sleep(max(0.0, chance.choice(moments)))
        (tmp_path / "a.txt").write_text(CHANGED)
        read = asyncio.ensure_future(bench.read("a.txt"))
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(max(0.0, chance.choice(moments)))
            editor.types("a.txt", "b", at=0)
        text = await read
        assert isinstance(text, str)
        assert text.lstrip("ab") == CHANGED
        await asyncio.sleep(5)
        assert editor.text("a.txt").lstrip("ab") == CHANGED

    play(tmp_path, habits, case, arrives_after=chance.choice([0.0, 0.02]), seed=seed)
