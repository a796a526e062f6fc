"""Changes on the disk that follow one another faster than they are noted: each begins where the last one ended, and none is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import Slow
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import apart, reject_all, rows, runs, short

BOTH = CHANGED.replace("two", "TWO")


def test_a_file_is_filled_while_what_it_said_before_is_noted(tmp_path: Path) -> None:
    """It was read when it was empty, and the command is over when its turn comes."""
    (tmp_path / "a.txt").write_text(BASE)
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def meanwhile() -> None:
            tick()
            (tmp_path / "a.txt").write_text(BOTH)
            tick()
            turn.says("execute", call="c2", status="completed")
            tick()

        await runs(turn, "a.txt", CHANGED)
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        journal.then = meanwhile
        await asyncio.sleep(8)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after, journal=journal)


@pytest.mark.parametrize("wait", [0.2, 0.6, 0.9])
def test_a_file_is_filled_while_a_save_is_waited_for(tmp_path: Path, wait: float) -> None:
    """The editor has taken one change of it already, and then that it was empty."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        for text in (CHANGED, ""):
            tick()
            (tmp_path / "a.txt").write_text(text)
            editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(wait)
        tick()
        (tmp_path / "a.txt").write_text(BOTH)
        tick()
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("types", [False, True], ids=["", "the user types"])
def test_the_editor_has_taken_only_the_first_of_two_changes_of_a_line(tmp_path: Path, types: bool) -> None:
    """What it has taken from the disk is not the user's, and no conflict with the second change."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0)
        await runs(turn, "a.txt", CHANGED.replace("FOUR", "FIVE"), call="c2")
        if types:
            editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()
        await asyncio.sleep(3)
        assert short(listed(bench)) == [("four", "FIVE")]
        assert bench.workspace.conflicts.rows() == []
        await reject_all(bench)
        assert editor.text("a.txt") == (BASE.replace("one", "mine") if types else BASE)

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_the_user_types_over_their_own_line_once_the_editor_has_the_agents(tmp_path: Path) -> None:
    """Their save before was overwritten by the agent's change before anybody saw its bytes."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        tick()
        turn.puts("a.txt", CHANGED.replace("two", "mine"))
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(0.2)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.15)
        editor.replaces("a.txt", "mine", "mine too")
        assert editor.saves("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(3)
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("two", "mine too")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=Slow())


@pytest.mark.parametrize("reloads", [0.1, 0.5, 1.2])
def test_an_agent_writes_over_a_save_and_then_again(tmp_path: Path, reloads: float) -> None:
    """Nobody saw the bytes of the save. The editor takes both of the agent's changes from the disk, the second one after so many seconds."""
    both = BOTH.replace("TWO", "mine")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        tick()
        turn.puts("a.txt", both.replace("one", "ONE").replace("FOUR", "four"))
        tick()
        await asyncio.sleep(0.2)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.5)
        tick()
        turn.puts("a.txt", both.replace("one", "ONE"))
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(reloads)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(3)
        assert short(listed(bench)) == [("one", "ONE"), ("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("two", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=Slow())


def test_an_open_file_is_removed_before_its_last_change_is_noted(tmp_path: Path) -> None:
    """The editor has the change: the document, and what is in it for review, is as before the file was removed."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(3)
        await runs(turn, "a.txt", BOTH, call="c2")
        editor.model.reload(editor.uri("a.txt"))
        turn.says("execute", call="c3")
        tick()
        (tmp_path / "a.txt").unlink()
        tick()
        turn.says("execute", call="c3", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        assert files(tmp_path) == {"a.txt": BASE.encode()}

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_the_user_brings_back_what_the_agent_wrote_and_then_moved(tmp_path: Path) -> None:
    """As it was before: once the agent's lines in the moved one are taken back, that is a copy."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)
        tick()
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        (tmp_path / "a.txt").write_text(BASE)
        await reject_all(bench)
        assert files(tmp_path) == {"a.txt": BASE.encode()}

    play(tmp_path, VSCODE, script, after=after)


def test_a_file_is_removed_while_what_it_said_before_is_noted(tmp_path: Path) -> None:
    """It had been made anew in this turn, in the place of one that an earlier turn had removed."""
    (tmp_path / "a.txt").write_text(BASE)
    journal = Slow()
    turns: list[str] = []

    async def removes(turn: Turn, call: str) -> None:
        turn.says("execute", call=call)
        tick()
        (tmp_path / "a.txt").unlink()
        tick()
        turn.says("execute", call=call, status="completed")
        tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        if len(turns) == 1:
            await removes(turn, "c1")
            return
        journal.then = lambda: removes(turn, "c4")
        await runs(turn, "a.txt", CHANGED, call="c2")
        await runs(turn, "a.txt", BOTH, call="c3")
        await asyncio.sleep(8)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await reject_all(bench)
        assert files(tmp_path) == {"a.txt": BASE.encode()}

    play(tmp_path, VSCODE, script, after=after, journal=journal)


def test_a_file_is_opened_when_it_has_just_been_made_anew(tmp_path: Path) -> None:
    """What is new in it begins with what it said before the agent removed it."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").unlink()
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(3)
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        editor.opens("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, after=after)


def test_a_link_that_is_made_anew(tmp_path: Path) -> None:
    """It is the agent's from then on when it is there, whatever it leads to."""
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "link").symlink_to("a.txt")
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        turn.says("execute")
        tick()
        if len(turns) == 1:
            (tmp_path / "link").unlink()
        else:
            (tmp_path / "link").symlink_to("a.txt")
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        assert not apart(bench)
        await reject_all(bench)
        assert (tmp_path / "link").readlink() == Path("a.txt")

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("rest", [0.0, 0.01, 0.3])
def test_what_the_user_saves_twice_in_a_moment_is_the_users(tmp_path: Path, rest: float) -> None:
    """While an agent's command runs: the second edit finds the first save on the disk, which nobody has looked at."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        for old, new in (("one", "mine"), ("three", "mine too")):
            editor.replaces("a.txt", old, new)
            assert editor.saves("a.txt")
            tick()
            await asyncio.sleep(rest)
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not rows(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine").replace("three", "mine too")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=Slow())
