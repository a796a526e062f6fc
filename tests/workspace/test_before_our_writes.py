"""What lies in a file when we write it, and nobody has looked at yet, is somebody's all the same; and what was removed before a file is made anew
is what the file began with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import HEARD
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_whose import apart, reject_all, runs, short
from tests.workspace.test_writes import done

either = pytest.mark.parametrize("custom", [True, False], ids=["through the editor", "on the disk"])


@either
@pytest.mark.parametrize("is_users", [True, False])
def test_a_change_right_before_a_write(tmp_path: Path, custom: bool, is_users: bool) -> None:
    """By a command of the agent's, or in the user's shell."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if is_users:
            await runs(turn, "other.txt", "new\n")
            turn.puts("a.txt", CHANGED)
            await asyncio.sleep(HEARD)
        else:
            await runs(turn, "a.txt", CHANGED)
        await turn.bench.read("a.txt", session=turn.session)
        wanted = CHANGED.replace("two", "TWO")
        done(await turn.bench.write("a.txt", wanted, session=turn.session))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        ours = [("four", "FOUR")] if not is_users else []
        assert short([row for row in listed(bench) if row[0] == "a.txt"]) == [("two", "TWO"), *ours]
        assert apart(bench) == ["a.txt"] * is_users
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == (CHANGED if is_users else BASE)

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@pytest.mark.parametrize("pause", [0, 2])
@pytest.mark.parametrize(
    "made_by", ["a command", "a command, emptied first", "us, through the editor", "us, on the disk"]
)
def test_a_file_that_was_removed_is_made_anew(tmp_path: Path, made_by: str, pause: float) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").unlink()
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(pause)
        if made_by.startswith("us"):
            done(await turn.bench.write("a.txt", CHANGED, session=turn.session))
            return
        turn.says("execute", call="c2")
        tick()
        if made_by.endswith("emptied first"):
            (tmp_path / "a.txt").write_text("")
            await asyncio.sleep(4)
            tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(pause)
        tick()
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE
        assert not listed(bench)

    play(tmp_path, VSCODE, script, after=after, custom=made_by != "us, on the disk")


def test_an_open_file_that_was_removed_is_made_anew(tmp_path: Path) -> None:
    """Twice, with what the user typed in between."""

    async def anew(turn: Turn, call: str, text: str) -> None:
        turn.says("execute", call=call)
        tick()
        (tmp_path / "a.txt").unlink()
        await asyncio.sleep(2)
        tick()
        (tmp_path / "a.txt").write_text(text)
        tick()
        turn.says("execute", call=call, status="completed")
        await asyncio.sleep(3)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await anew(turn, "c1", CHANGED)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        tick()
        await anew(turn, "c2", CHANGED.replace("one", "mine").replace("two", "TWO"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_an_empty_file_that_the_agent_made_and_fills(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", "")
        await asyncio.sleep(4)
        await runs(turn, "a.txt", "new\n", call="c2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", "new\n")]
        await reject_all(bench)
        assert not (tmp_path / "a.txt").exists()

    play(tmp_path, VSCODE, script, after=after)
