"""What the user saved is in conflict with what an agent wrote over it, and the document has no unsaved work: editors then take what comes to the
disk next by themselves. Whatever they take is under review, or the conflict goes on; nothing of the agent's comes in unseen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.journal.entry import Texts
from sidecar.recovery.plan import Becomes, take_back
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, VSCODE_SAVING
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, Turn, listed, opened, play
from tests.workspace.test_conflicts import MINE, THEIRS
from tests.workspace.test_written_from_older import calls, saves

WRITTEN = BASE.replace("two", "TWO")
THEIRS_THEN = THEIRS.replace("two", "TWO")
LATER = THEIRS_THEN.replace("three", "THREE")


async def comes_in_conflict(turn: Turn, editor: FakeEditor) -> None:
    await calls(turn, "read", "a.txt", call="r")
    await calls(turn, "edit", "a.txt", call="w1", puts=WRITTEN)
    await saves(editor, "one", "mine")
    await calls(turn, "edit", "a.txt", call="w2", puts=THEIRS_THEN)
    assert len(turn.bench.workspace.conflicts.rows()) == 1


@pytest.mark.parametrize("how", ["it takes it late", "emptied and filled", "written again"])
def test_what_the_editor_takes_by_itself(tmp_path: Path, how: str) -> None:
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await comes_in_conflict(turn, editor)
        if how == "it takes it late":
            editor.looks_at_disk()
            await asyncio.sleep(2)
        turn.says("execute", call="c")
        tick()
        if how == "emptied and filled":
            (tmp_path / "a.txt").write_text("")
            editor.model.reload(editor.uri("a.txt"))
            await asyncio.sleep(0.5)
            tick()
        (tmp_path / "a.txt").write_text(LATER)
        editor.looks_at_disk()
        await asyncio.sleep(4)
        turn.says("execute", call="c", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        news = [(old, new) for _, old, new in listed(bench)]
        if bench.workspace.conflicts.rows():
            assert editor.text("a.txt") == MINE.replace("two", "TWO")
            assert news == [("two", "TWO")]
        else:
            assert editor.text("a.txt") == LATER
            assert news == [("mine", "theirs"), ("two", "TWO"), ("three", "THREE"), ("five", "FIVE")]
        news = [journal.entries[one] for one, state in journal.states.items() if state == "done"]
        if not bench.workspace.conflicts.rows():  # `acp-sidecar revert`, and nothing is counted twice
            writes = [Texts(one.before, one.after) for one in reversed(news)]
            assert take_back(LATER, writes) == Becomes(MINE)
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=True)


def test_what_it_takes_long_after_the_turn_is_the_agents(tmp_path: Path) -> None:
    """By then nobody can find out any more whose it is (turns seed 1883000145)."""

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(30)
        editor.looks_at_disk()
        await asyncio.sleep(2)
        assert editor.text("a.txt") == THEIRS_THEN
        assert [(old, new) for _, old, new in listed(bench)] == [
            ("mine", "theirs"),
            ("two", "TWO"),
            ("five", "FIVE"),
        ]
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, comes_in_conflict, before=opened, after=after, custom=True)


@pytest.mark.parametrize("saved", [True, False], ids=["saved", "thrown away"])
@pytest.mark.parametrize("seconds", [0.02, 0.1])
@pytest.mark.parametrize("later", [0.0, 0.3])
def test_an_agents_tool_writes_over_all_of_it_in_the_moment_in_which_it_is_saved(
    tmp_path: Path, saved: bool, seconds: float, later: float
) -> None:
    """Or the user takes the file as it is while we wait for the editor to do so. Nobody ever finds what was saved on the disk."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        await asyncio.sleep(1)
        editor.types("a.txt", "u", at=0)
        if saved:
            editor.saves("a.txt")
        turn.says("edit", "a.txt")
        await asyncio.sleep(1.5 * seconds)  # between the bytes and didSave
        turn.puts("a.txt", "AGENT\n")
        read = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(later)
        turn.says("edit", "a.txt", status="completed")
        if saved:
            editor.sees_on_disk("a.txt")
        else:
            editor.model.reload(editor.uri("a.txt"))
        await read
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        before = "u" + BASE if saved else BASE
        assert editor.text("a.txt") == "AGENT\n"
        assert "AGENT" in "".join(new for _, _, new in listed(bench))
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == before

    play(tmp_path, replace(VSCODE_SAVING, save_takes=seconds), script, before=opened, after=after)
