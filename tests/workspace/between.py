"""What tests of changes that follow one another have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, Turn, listed
from tests.workspace.test_whose import reject_all, short

MINE = BASE.replace("two", "mine")
HEARD = 0.15
"""Seconds after which what the agent tells of cannot have begun before."""
either = pytest.mark.parametrize("custom", [True, False])


class Slow(MemoryJournal):
    """Noting a change takes a while; `then` is done meanwhile, once."""

    then: Callable[[], Awaitable[None]] | None = None

    async def begin(self, entry: Any, takes_back: Any = ()) -> str:
        then, self.then = self.then, None
        if then is not None:
            await then()
        await asyncio.sleep(0.4)
        return await super().begin(entry, takes_back)


async def both_are_rejected(bench: Bench, editor: FakeEditor) -> None:
    assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
    await reject_all(bench)
    assert editor.text("a.txt") == BASE


def empties(turn: Turn, editor: FakeEditor) -> None:
    """A command of the agent's begins, and empties the file; the editor takes that from the disk."""
    turn.says("execute")
    tick()
    (turn.bench.folder / "a.txt").write_text("")
    editor.model.reload(editor.uri("a.txt"))
