"""Editors even out line ends when they open a file: what an agent changed in it stays under review."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed, play
from tests.workspace.test_whose import reject_all
from tests.workspace.test_writes import done

CRLF = "one\r\ntwo\r\nthree\r\nfour\r\n"
TEXTS = {"crlf": CRLF, "mixed": CRLF.replace("two\r", "two"), "no end": CRLF.removesuffix("\r\n")}


@pytest.mark.parametrize("closes", [False, True], ids=["", "closed again"])
@pytest.mark.parametrize("does", ["through us", "on the disk"])
@pytest.mark.parametrize("base", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", EDITORS)
def test_an_agents_change_in_it_stays_under_review(
    tmp_path: Path, name: str, base: str, does: str, closes: bool
) -> None:
    path, habits = tmp_path / "a.txt", EDITORS[name]
    path.write_bytes(base.encode())
    text = base.replace("three", "THREE").replace("two", "two\r\nmore")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        if does == "through us":
            done(await turn.bench.write("a.txt", text))
        else:
            turn.says("edit", "a.txt")
            path.write_bytes(text.encode())
            tick()
            turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(3)
        editor.opens("a.txt")
        await asyncio.sleep(3)
        if closes:
            editor.closes("a.txt")
            await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert "".join(row[2] for row in listed(bench)).split() == ["more", "THREE"]
        if habits.refuses or (closes and habits.unopened in ("untold", "change first")):
            return  # it takes no edits, or tells nothing of the buffer in which it makes them
        await reject_all(bench)
        now = path.read_bytes().decode() if closes else editor.text("a.txt")
        assert now.splitlines() == base.splitlines()

    play(tmp_path, habits, script, after=after)


@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_an_agents_tool_that_changes_the_line_ends_takes_nothing_out_of_review(
    tmp_path: Path, name: str
) -> None:
    """Many agents write LF whatever they have read."""
    path = tmp_path / "a.txt"
    path.write_bytes(CRLF.encode())
    first = CRLF.replace("one", "one\r\nfirst")
    second = first.replace("four", "four\r\nsecond").replace("\r\n", "\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        done(await turn.bench.write("a.txt", first))
        await asyncio.sleep(3)
        tick()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", second)
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(5)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt").splitlines() == second.splitlines()
        assert "".join(row[2] for row in listed(bench)).split() == ["first", "second"]
        await reject_all(bench)
        assert editor.text("a.txt").splitlines() == CRLF.splitlines()

    play(tmp_path, EDITORS[name], script, before=before, after=after)
