"""A new file that is rejected while the turn goes on; and files that git ignores, of which the text before is known all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.repositories import commit, with_git
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import reject_all, rows, runs, short


@pytest.mark.parametrize("text", ["the agent's\n", "", "\0"])
@pytest.mark.parametrize("custom", [True, False])
def test_a_new_file_that_is_rejected_in_the_turn(tmp_path: Path, text: str, custom: bool) -> None:
    """It is gone, with its folder; nobody is said to have removed it, and nothing in the journal makes it again."""
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "made/new.txt")
        tick()
        (tmp_path / "made").mkdir()
        turn.puts("made/new.txt", text)
        tick()
        await asyncio.sleep(4)
        turn.says("execute", status="completed")
        assert len(rows(turn.bench)) == 1
        await reject_all(turn.bench)
        assert not (tmp_path / "made").exists()
        await runs(turn, "other.txt", BASE, call="c2")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        listed = await bench.workspace.review.listed(Selector())
        assert [str(row["uri"]).rpartition("/")[2] for row in listed] == ["other.txt"]
        await reject_all(bench)
        assert not files(tmp_path)

    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=custom)
    by_the_agent = [one for one in journal.entries.values() if one.agent not in ("reject", "unknown")]
    assert by_the_agent
    assert all(one.after is not None or (one.states and one.states[1]) for one in by_the_agent)


@with_git
@pytest.mark.parametrize("known_by", ["being open", "a call that names it"])
def test_a_file_that_git_ignores(tmp_path: Path, known_by: str) -> None:
    (tmp_path / ".gitignore").write_text("a.txt\n")
    commit(tmp_path)
    (tmp_path / "a.txt").write_text(BASE)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if known_by == "being open":
            editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if known_by != "being open":
            turn.says("edit", "a.txt", call="c0")
            await asyncio.sleep(1)
            tick()
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short([(str(r["uri"]), str(r["oldText"]), str(r["newText"])) for r in rows(bench)]) == [
            ("four", "FOUR")
        ]
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        await asyncio.sleep(2)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=before, after=after)
