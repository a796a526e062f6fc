"""A file that an agent has made is changed by its next act, and by the user, before anybody looks again: what it said in between tells whose is what."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.behind import turn_starts
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import HEARD
from tests.workspace.test_behind import BASE, CHANGED, Turn, play
from tests.workspace.test_gone_again import LOOKED
from tests.workspace.test_whose import apart, reject_all, runs

MINE = f"{CHANGED}mine\n"


async def edits_in_a_shell(path: Path) -> None:
    await asyncio.sleep(HEARD)
    tick()
    path.write_text(MINE)


def test_its_text(tmp_path: Path) -> None:
    new = tmp_path / "new.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "new.txt")
        tick()
        new.write_text(BASE)
        turn.says("edit", "new.txt", status="completed")
        await asyncio.sleep(LOOKED)
        await runs(turn, "new.txt", CHANGED, "c2")
        await edits_in_a_shell(new)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert apart(bench) == ["new.txt"]  # the user's line
        await reject_all(bench)
        assert new.read_text() == "mine\n"

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("removed", ["removed", "moved"])
def test_the_mode_of_one_in_the_place_of_another(tmp_path: Path, removed: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    file.chmod(0o644)

    async def removes(turn: Turn) -> None:
        turn.says("execute")
        tick()
        file.unlink() if removed == "removed" else file.rename(tmp_path / "b.txt")
        tick()
        turn.says("execute", status="completed")

    async def makes_anew(turn: Turn) -> None:
        await runs(turn, "a.txt", CHANGED, "c2")
        file.chmod(0o644)
        await asyncio.sleep(LOOKED)
        turn.says("execute", call="c3")
        tick()
        file.chmod(0o755)
        tick()
        turn.says("execute", call="c3", status="completed")
        await edits_in_a_shell(file)

    turns = [removes, makes_anew]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turns.pop(0)(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(LOOKED)
        assert apart(bench) == ["a.txt"]  # the user's line
        await reject_all(bench)
        assert file.read_text() == f"{BASE}mine\n"
        assert file.stat().st_mode & 0o777 == 0o644

    play(tmp_path, VSCODE, script, after=after)


def test_however_many_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before is still looked at between acts."""
    monkeypatch.setattr(turn_starts, "MAX_AT_ONCE", 2)
    file = tmp_path / "a.txt"
    file.write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for n in range(3):
            turn.says("edit", f"new{n}.txt", call=f"n{n}")
            tick()
            (tmp_path / f"new{n}.txt").write_text("new\n")
            turn.says("edit", f"new{n}.txt", call=f"n{n}", status="completed")
            await asyncio.sleep(LOOKED)
        await runs(turn, "a.txt", CHANGED, "c2")
        await edits_in_a_shell(file)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert apart(bench) == ["a.txt"]
        await reject_all(bench)
        assert file.read_text() == f"{BASE}mine\n"
        assert not list(tmp_path.glob("new*"))

    play(tmp_path, VSCODE, script, after=after)
