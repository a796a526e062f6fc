"""An agent writes over a save that it had not read, and the editor takes that over by itself, in place or by closing the document and opening it again.
What the user does right after that."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.uri import DocumentUri
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, Turn, listed, opened, play
from tests.workspace.test_written_from_older import FIVE, calls, saves

TYPED = BASE.replace("one", "typed\none")
BOTH = [("a.txt", "typed\n", ""), ("a.txt", "five", "FIVE")]
REOPEN = ["neovim", "eglot 1.17", "eglot, ours"]


def editors(*names: str) -> pytest.MarkDecorator:
    habits = [replace(EDITORS[name], reloads=0.0) for name in names]
    return pytest.mark.parametrize("habits", habits, ids=names)


async def overwritten(turn: Turn, editor: FakeEditor) -> None:
    """The editor takes what was written at once."""
    await calls(turn, "execute", call="r")
    await saves(editor, "one", "typed\none")
    turn.says("edit", "a.txt", call="w")
    tick()
    turn.puts("a.txt", FIVE)
    editor.looks_at_disk()
    await asyncio.sleep(0.02)


async def over(turn: Turn) -> None:
    await asyncio.sleep(0.4)
    turn.says("edit", "a.txt", call="w", status="completed")
    await asyncio.sleep(4)


async def reject(bench: Bench) -> None:
    await bench.workspace.review.reject(Selector(everything=True))
    await asyncio.sleep(1)


@pytest.mark.parametrize("gap", [0.02, 0.2])
@editors("vscode", *REOPEN)
def test_it_writes_once_more(tmp_path: Path, habits: Habits, gap: float) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await overwritten(turn, editor)
        await asyncio.sleep(gap)
        tick()
        turn.puts("a.txt", FIVE.replace("four", "FOUR"))
        editor.looks_at_disk()
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = listed(bench)
        await reject(bench)
        assert editor.text("a.txt") == TYPED, rows

    play(tmp_path, habits, script, before=opened, after=after)


@editors(*REOPEN)
def test_the_user_closes_the_document(tmp_path: Path, habits: Habits) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await overwritten(turn, editor)
        editor.closes("a.txt")
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == BOTH
        await reject(bench)
        assert (tmp_path / "a.txt").read_text() == TYPED

    play(tmp_path, habits, script, before=opened, after=after)


@editors("vscode", *REOPEN)
def test_the_user_throws_away_what_was_put_back(tmp_path: Path, habits: Habits) -> None:
    """`:e!`. The file lacks the user's line, and only the agent has taken it away there: that is listed."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await overwritten(turn, editor)
        await asyncio.sleep(1.2)
        assert editor.text("a.txt") == FIVE.replace("one", "typed\none")
        editor.model.reload(editor.uri("a.txt"))
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE
        await reject(bench)
        assert editor.text("a.txt") == TYPED

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("waits", [0.02, 0.2, 0.4])
@pytest.mark.parametrize("times", [1, 2])
@editors(*REOPEN)
def test_the_user_undoes_it(tmp_path: Path, habits: Habits, times: int, waits: float) -> None:
    """The first undo takes out what was put back, the second one the agent's change."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await overwritten(turn, editor)
        await asyncio.sleep(waits)
        for _ in range(times):
            editor.undoes("a.txt")
            await asyncio.sleep(0.02)
        await asyncio.sleep(2)
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == (FIVE if times == 1 else TYPED)
        assert listed(bench) == (BOTH if times == 1 else [])
        await reject(bench)
        assert editor.text("a.txt") == TYPED

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("arrives", [0.0, 0.05])
@pytest.mark.parametrize("waits", [0.4, 0.5, 0.88])
@pytest.mark.parametrize("how", ["undoes", "types it again"])
@editors("vscode")
def test_the_user_brings_the_line_back(
    tmp_path: Path, habits: Habits, how: str, waits: float, arrives: float
) -> None:
    """Perhaps while our edit that brings it back is on its way, which the editor then refuses."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await overwritten(turn, editor)
        await asyncio.sleep(waits)
        if how == "undoes":
            editor.undoes("a.txt")
        elif "typed" not in editor.text("a.txt"):
            editor.replaces("a.txt", "one", "typed\none")
        await asyncio.sleep(2)
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt").count("typed") <= 1  # an undo may take out what was put back
        await reject(bench)
        assert editor.text("a.txt") == TYPED

    play(tmp_path, habits, script, before=opened, after=after, arrives_after=arrives)


@pytest.mark.parametrize("waits", [0.7, 1.5])
@editors("vscode", *REOPEN)
def test_a_file_that_the_user_had_closed_is_opened_as_it_is(
    tmp_path: Path, habits: Habits, waits: float
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="r")
        await saves(editor, "one", "typed\none")
        editor.closes("a.txt")
        turn.says("edit", "a.txt", call="w")
        tick()
        turn.puts("a.txt", FIVE)
        await asyncio.sleep(waits)
        editor.opens("a.txt")
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE
        assert listed(bench) == BOTH
        await reject(bench)
        assert editor.text("a.txt") == TYPED

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("apart", [0.002, 0.04, 0.1, 0.3])
@editors(*REOPEN)
def test_the_file_is_looked_at_between_closing_and_opening(
    tmp_path: Path, habits: Habits, apart: float
) -> None:
    """Emacs closes the document some milliseconds before it opens it again."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="r")
        await saves(editor, "one", "typed\none")
        turn.says("edit", "a.txt", call="w")
        tick()
        turn.puts("a.txt", FIVE)
        editor.closes("a.txt")
        turn.bench.workspace.files_changed([DocumentUri(editor.uri("a.txt"))])
        await asyncio.sleep(apart)
        editor.opens("a.txt")
        await over(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE.replace("one", "typed\none")
        assert listed(bench) == [("a.txt", "five", "FIVE")]

    play(tmp_path, habits, script, before=opened, after=after)
