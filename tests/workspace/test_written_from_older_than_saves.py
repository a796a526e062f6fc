"""The user saves twice, and an agent then writes what it had read before both. Nobody has seen the bytes of the second save."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE_SAVING, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, After, Turn, every_editor, listed, opened, play
from tests.workspace.test_written_from_older import calls, saves

WRITTEN = BASE.replace("two", "AGENT")


async def writes(turn: Turn, editor: FakeEditor, *, is_taken: bool = False) -> None:
    turn.says("execute", call="w")
    tick()
    turn.puts("a.txt", WRITTEN)
    if is_taken:
        editor.looks_at_disk()
    tick()
    turn.says("execute", call="w", status="completed")
    await asyncio.sleep(4)


def after_is(said: str) -> After:
    """Beside the agent's line the document has what the user typed last, and only the agent's line is under review."""

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == said.replace("two", "AGENT")
        assert not bench.workspace.conflicts.rows()
        assert [(old.strip(), new.strip()) for _, old, new in listed(bench)] == [("two", "AGENT")]
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        await asyncio.sleep(2)
        assert editor.text("a.txt") == said

    return after


@pytest.mark.parametrize("is_taken", [True, False], ids=["the editor takes it at once", "later"])
@pytest.mark.parametrize("old", ["first", "five"], ids=["in one line", "in two lines"])
@every_editor
def test_the_second_save_stays(tmp_path: Path, habits: Habits, old: str, is_taken: bool) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        await saves(editor, "four", "first")
        editor.replaces("a.txt", old, "second")
        assert editor.saves("a.txt")
        tick()
        await writes(turn, editor, is_taken=is_taken)

    said = BASE.replace("four", "first").replace(old, "second")
    play(tmp_path, habits, script, before=opened, after=after_is(said))


@pytest.mark.parametrize("typed", ["", "typed\n"], ids=["", "and types while it is saved"])
@pytest.mark.parametrize("old", ["four", "first"], ids=["once", "twice"])
def test_a_save_over_which_it_writes_before_that_is_reported_stays(
    tmp_path: Path, old: str, typed: str
) -> None:
    """The bytes of that save were seen in passing: the editor has put them there, and has not taken them from there."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        if old == "first":
            await saves(editor, "four", "first")
        editor.replaces("a.txt", old, "second")
        assert editor.saves("a.txt")
        if typed:
            editor.replaces("a.txt", "one", typed + "one")
        for _ in range(100):
            if "second" in (tmp_path / "a.txt").read_text():
                break
            await asyncio.sleep(0.001)
        tick()
        await writes(turn, editor)

    said = typed + BASE.replace("four", "second")
    play(tmp_path, VSCODE_SAVING, script, before=opened, after=after_is(said))
