"""Whose changes are that follow one another before anybody looks, where the agent acts again before the editor has taken the first of them."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.core.uri import DocumentUri
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import NEOVIM, VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import Slow, both_are_rejected, either, empties
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_whose import reject_all, rows, runs, short


@either
def test_the_editor_takes_one_change_after_the_other(tmp_path: Path, custom: bool) -> None:
    """It reloads the file by itself each time, before anybody looks."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for call, text in (("c1", CHANGED), ("c2", CHANGED.replace("two", "TWO"))):
            await runs(turn, "a.txt", text, call=call)
            editor.looks_at_disk()
            await asyncio.sleep(2)

    play(tmp_path, VSCODE, script, before=opened, after=both_are_rejected, custom=custom)


def test_the_editor_has_the_first_change_when_the_second_is_found(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        await runs(turn, "a.txt", CHANGED.replace("two", "TWO"), call="c2")
        await asyncio.sleep(3)

    play(tmp_path, VSCODE, script, before=opened, after=both_are_rejected)


def test_the_editor_takes_the_second_change_while_the_first_is_noted(tmp_path: Path) -> None:
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))

        async def meanwhile() -> None:
            tick()
            turn.puts("a.txt", CHANGED.replace("two", "TWO"))
            editor.model.reload(editor.uri("a.txt"))

        journal.then = meanwhile
        await asyncio.sleep(6)
        turn.says("execute", status="completed")

    play(tmp_path, VSCODE, script, before=opened, after=both_are_rejected, journal=journal)


@either
def test_emptied_and_filled_twice(tmp_path: Path, custom: bool) -> None:
    """The second time while the first is noted: the change begins where the file was full."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        empties(turn, editor)
        await asyncio.sleep(1)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)

        async def meanwhile() -> None:
            tick()
            (tmp_path / "a.txt").write_text(CHANGED.replace("two", "TWO"))

        journal.then = meanwhile
        await asyncio.sleep(8)
        turn.says("execute", status="completed")

    play(tmp_path, VSCODE, script, before=opened, after=both_are_rejected, journal=journal, custom=custom)


@either
def test_emptied_filled_and_written_again_before_the_editor_looks(tmp_path: Path, custom: bool) -> None:
    """It takes the newest text at once. What it says then is no conflict with the text before that, which is gone from the disk."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        empties(turn, editor)
        await asyncio.sleep(0.2)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        reading = asyncio.ensure_future(turn.bench.read("a.txt"))  # somebody looks
        await asyncio.sleep(0.1)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED.replace("two", "TWO"))
        editor.model.reload(editor.uri("a.txt"))
        await reading
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    play(tmp_path, VSCODE, script, before=opened, after=both_are_rejected, custom=custom)


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_reload_leaves_as_it_was_stays_under_review(tmp_path: Path, whole: bool) -> None:
    """After the turn, the user's shell changes lines before and after the agent's. The editor replaces all that lies between, or the whole
    text: that is no change of the agent's line."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE.replace("three", "THREE"))
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        wanted = BASE.replace("two", "mine").replace("four", "mine too")
        now = wanted.replace("three", "THREE")
        if whole:
            (tmp_path / "a.txt").write_text(now)
            editor.looks_at_disk()
        else:
            editor.replaces("a.txt", "two\nTHREE\nfour", "mine\nTHREE\nmine too")
        await asyncio.sleep(2)
        assert short(listed(bench)) == [("three", "THREE")]
        if not whole:
            editor.undoes("a.txt")
            assert short(listed(bench)) == [("three", "THREE")]
            editor.redoes("a.txt")
        await reject_all(bench)
        assert editor.text("a.txt") == wanted

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_emptied_while_it_is_opened(tmp_path: Path) -> None:
    """The document has what the file said when the turn began; that is not unsaved work of the user's."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        editor.opens("a.txt")
        (tmp_path / "a.txt").write_text("")
        await asyncio.sleep(0.1)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.2)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("habits", [VSCODE, NEOVIM])
def test_a_reload_that_opens_the_document_again_is_counted_once(tmp_path: Path, habits: Habits) -> None:
    """Neovim closes it for that, and opens it again, while the change is noted."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for call, text in (("c1", CHANGED), ("c2", CHANGED + "six\n")):
            await runs(turn, "a.txt", text, call=call)
            turn.bench.workspace.files_changed([DocumentUri(turn.bench.uri("a.txt"))])
            await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR"), ("", "six")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, script, before=opened, after=after, journal=Slow())


def test_the_agent_writes_a_third_time_while_the_second_is_noted(tmp_path: Path) -> None:
    """The editor has taken the first of these texts from the disk by then, and nothing of it is noted yet: the next look begins before it."""
    journal = Slow()
    first = BASE.replace("one", "ONE")
    second = first.replace("three", "THREE")
    third = second.replace("five", "FIVE")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE, call="c0")
        await asyncio.sleep(2)
        turn.says("execute")
        tick()
        turn.puts("a.txt", first)
        tick()
        editor.model.reload(editor.uri("a.txt"))
        turn.puts("a.txt", second)
        tick()

        async def meanwhile() -> None:
            turn.puts("a.txt", third)
            tick()

        journal.then = meanwhile
        await asyncio.sleep(6)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        done = [entry for name, entry in journal.entries.items() if journal.states[name] == "done"]
        assert (done[0].before, done[-1].after) == (BASE, third)
        assert all(older.after == newer.before for older, newer in pairwise(done))
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal)


@either
def test_the_editor_takes_what_the_user_did_there_before_together_with_it(
    tmp_path: Path, custom: bool
) -> None:
    """An edit in a shell between two turns, which somebody has looked at, and the editor had not taken yet."""
    mine = BASE.replace("one", "edited in a shell")
    turns = 0

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal turns
        turns += 1
        await runs(turn, "a.txt", BASE if turns == 1 else mine.replace("four", "FOUR"), call=f"c{turns}")
        editor.looks_at_disk()
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        tick()
        (tmp_path / "a.txt").write_text(mine)
        tick()
        bench.workspace.files_changed([DocumentUri(bench.uri("a.txt"))])
        await asyncio.sleep(0.1)
        await bench.workspace.start_prompt(bench.session, [])[2]
        assert [(row["turn"], row["oldText"], row["newText"]) for row in rows(bench)] == [(2, "four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == mine

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
def test_the_file_says_again_what_it_said_when_the_document_was_opened(tmp_path: Path, custom: bool) -> None:
    """That was not saved from the document: another agent has put it back there."""
    turns = 0

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal turns
        turns += 1
        await runs(turn, "a.txt", CHANGED if turns == 1 else BASE, call=f"c{turns}")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(await bench.another_session(), [])[2]
        await asyncio.sleep(15)
        assert editor.text("a.txt") == BASE
        editor.closes("a.txt")
        await asyncio.sleep(1)
        assert rows(bench) == []

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
@pytest.mark.parametrize("emptied", [False, True])
def test_the_user_saves_on_top_of_the_first_and_the_agent_writes_again_in_that_moment(
    tmp_path: Path, custom: bool, emptied: bool
) -> None:
    """Nobody has seen what was saved, nor counted what the editor had taken before."""
    mine = CHANGED.replace("one", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        if emptied:
            (tmp_path / "a.txt").write_text("")
            editor.looks_at_disk()
            await asyncio.sleep(0.3)
            tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        editor.looks_at_disk()
        tick()
        await asyncio.sleep(0.25)
        turn.says("execute", status="completed")
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        tick()
        await runs(turn, "a.txt", mine.replace("two", "TWO"), call="c2")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
def test_the_user_edited_it_in_a_shell_in_the_moment_in_which_they_opened_it(
    tmp_path: Path, custom: bool
) -> None:
    """Before the file was compared with what the editor said. The editor takes both from there together."""
    mine = BASE.replace("one", "edited in a shell")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(BASE)
        editor.opens("a.txt")
        tick()
        (tmp_path / "a.txt").write_text(mine)
        tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", mine.replace("four", "FOUR"))
        editor.looks_at_disk()
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [(row["oldText"], row["newText"]) for row in rows(bench)] == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == mine

    play(tmp_path, VSCODE, script, before=before, after=after, custom=custom)
