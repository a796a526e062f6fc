"""Whose changes are that follow one another before anybody looks, where the user acts first: what files said in between tells."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import HEARD, MINE, Slow, either
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_whose import apart, reject_all, rows, runs, short


@either
@pytest.mark.parametrize("is_open", [True, False])
def test_the_agent_writes_right_after_the_users_shell(tmp_path: Path, custom: bool, is_open: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            await opened(bench, editor)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE, call="c0")
        tick()
        turn.puts("a.txt", MINE)
        tick()
        await asyncio.sleep(HEARD)
        await runs(turn, "a.txt", MINE.replace("one", "ONE"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("one", "ONE")]
        assert apart(bench) == ["a.txt"]
        await reject_all(bench)
        if is_open:
            assert editor.text("a.txt") == MINE
        else:
            assert (tmp_path / "a.txt").read_text() == MINE

    play(tmp_path, VSCODE, script, before=before, after=after, custom=custom)


def test_the_agent_writes_while_the_users_change_is_noted(tmp_path: Path) -> None:
    """Then the first change cannot be brought into the buffer any more; the next look begins where it did."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE, call="c0")
        await asyncio.sleep(2)
        tick()
        turn.puts("a.txt", MINE)
        tick()

        async def meanwhile() -> None:
            await asyncio.sleep(HEARD)
            turn.says("execute")
            tick()
            turn.puts("a.txt", MINE.replace("four", "FOUR"))
            tick()
            turn.says("execute", status="completed")

        journal.then = meanwhile
        await asyncio.sleep(6)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        assert apart(bench) == ["a.txt"]
        await reject_all(bench)
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal)


@either
def test_the_users_shell_writes_it_in_the_moment_of_opening(tmp_path: Path, custom: bool) -> None:
    """What was opened is not what the disk says, until the editor takes it from there. The agent's change comes on top of that."""
    (tmp_path / "a.txt").write_text(BASE)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        (tmp_path / "a.txt").write_text(MINE)
        await asyncio.sleep(1)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.1)
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text(MINE.replace("four", "FOUR"))
        editor.model.reload(editor.uri("a.txt"))
        tick()
        turn.says("execute", call="c2", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, before=before, after=after, custom=custom)


@either
def test_emptied_right_after_the_users_save(tmp_path: Path, custom: bool) -> None:
    """The editor had shown the file empty before: that is not what the user saved now."""
    mine = CHANGED.replace("one", "mine")

    async def empties_and_fills(turn: Turn, editor: FakeEditor, text: str) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        await asyncio.sleep(0.1)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.3)
        tick()
        (tmp_path / "a.txt").write_text(text)
        await asyncio.sleep(0.3)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(3)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await empties_and_fills(turn, editor, CHANGED)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await empties_and_fills(turn, editor, mine.replace("two", "TWO"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
def test_the_user_brings_back_the_text_of_before_while_it_is_open(tmp_path: Path, custom: bool) -> None:
    """The document said that once. It is no save of it: the file was gone in between."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE.replace("two", "TWO"))
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(3)
        turn.says("execute", "a.txt", call="c2")
        tick()
        (tmp_path / "a.txt").unlink()
        tick()
        turn.says("execute", call="c2", status="completed")
        await asyncio.sleep(3)
        (tmp_path / "a.txt").write_text(BASE)
        await asyncio.sleep(3)

        async def meanwhile() -> None:
            await asyncio.sleep(0.1)
            editor.model.reload(editor.uri("a.txt"))

        journal.then = meanwhile
        await runs(turn, "a.txt", BASE.replace("two", "2"), call="c3")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "2")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


def test_the_agent_changes_what_the_user_brought_back(tmp_path: Path) -> None:
    """One turn removes a file, the user restores it in the next, and the agent changes it at once: it did not make it."""
    (tmp_path / "a.txt").write_text(BASE)
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        turn.says("execute")
        tick()
        if len(turns) == 1:
            (tmp_path / "a.txt").unlink()
        else:
            (tmp_path / "other.txt").write_text("")
        tick()
        turn.says("execute", status="completed")
        tick()
        if len(turns) == 2:
            (tmp_path / "a.txt").write_text(BASE)
            tick()
            await asyncio.sleep(HEARD)
            await runs(turn, "a.txt", CHANGED, call="c2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        texts = [row for row in rows(bench) if "file" not in row]
        assert [(row["oldText"].strip(), row["newText"].strip()) for row in texts] == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after)


def test_the_user_goes_on_with_what_they_brought_back(tmp_path: Path) -> None:
    """It was noticed that the file is back; right after the agent's change of it the user makes one."""
    (tmp_path / "a.txt").write_text(BASE)
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        turn.says("execute", call=f"c{len(turns)}")
        tick()
        if len(turns) == 1:
            (tmp_path / "a.txt").unlink()
            turn.says("execute", call="c1", status="completed")
            return
        turn.says("execute", call="c2", status="completed")
        (tmp_path / "a.txt").write_text(BASE)
        tick()
        await asyncio.sleep(HEARD)
        turn.says("execute", call="c3")
        await asyncio.sleep(1)
        tick()
        turn.puts("a.txt", CHANGED)
        tick()
        turn.says("execute", call="c3", status="completed")
        tick()
        turn.puts("a.txt", CHANGED.replace("two", "mine"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        known = [row for row in rows(bench) if "file" not in row and not row.get("unknown")]
        assert [(row["oldText"].strip(), row["newText"].strip()) for row in known] == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == MINE

    play(tmp_path, VSCODE, script, after=after)


def test_the_agent_changes_the_mode_of_what_the_user_brought_back(tmp_path: Path) -> None:
    """There was no file when the turn began: the mode is measured from what the user brought back."""
    (tmp_path / "a.txt").write_text(BASE)
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        call = f"c{len(turns)}"
        if len(turns) == 2:
            await runs(turn, "other.txt", "", call="c0")
            (tmp_path / "a.txt").write_text(BASE)
            (tmp_path / "a.txt").chmod(0o640)
            tick()
            await asyncio.sleep(HEARD)
        turn.says("execute", call=call)
        tick()
        if len(turns) == 1:
            (tmp_path / "a.txt").unlink()
        else:
            (tmp_path / "a.txt").chmod(0o600)
        tick()
        turn.says("execute", call=call, status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        modes = [row["file"] for row in rows(bench) if "file" in row and row["file"]["kind"] == "mode"]
        assert modes == [{"kind": "mode", "oldMode": "640", "newMode": "600"}]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640

    play(tmp_path, VSCODE, script, after=after)


def test_the_agent_writes_right_after_the_users_save(tmp_path: Path) -> None:
    """Nobody has seen the bytes of the save when the file says something else."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        tick()
        turn.puts("a.txt", CHANGED.replace("one", "mine"))
        editor.model.reload(editor.uri("a.txt"))
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_a_save_arrives_after_it_was_undone_and_closed(tmp_path: Path) -> None:
    """The editor tells nothing of it any more. The document had said that text: it is the user's."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        editor.replaces("a.txt", "one", "mine")
        editor.undoes("a.txt")
        editor.closes("a.txt")
        tick()
        (tmp_path / "a.txt").write_text(BASE.replace("one", "mine"))
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not rows(bench)

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("also", [False, True], ids=["", "the user makes another file right after"])
def test_what_the_user_brought_back_is_removed_again(tmp_path: Path, also: bool) -> None:
    """There was no file when the second turn began; that it is gone at its end is the agent's all the same."""
    (tmp_path / "a.txt").write_text(BASE)
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
        await runs(turn, "other.txt", "", call="c2")
        (tmp_path / "a.txt").write_text(BASE)
        tick()
        await asyncio.sleep(HEARD)
        await removes(turn, "c3")
        if also:
            (tmp_path / "mine.txt").write_text("mine\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after)


def test_the_agent_sends_a_file_right_after_the_users_shell(tmp_path: Path) -> None:
    """What the file said before that write is not what it says after it."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE, call="c0")
        tick()
        turn.puts("a.txt", MINE)
        tick()
        await asyncio.sleep(HEARD)
        await runs(turn, "other.txt", "", call="c2")
        await turn.bench.read("a.txt", session=turn.session)
        tick()
        await turn.bench.write("a.txt", MINE.replace("four", "FOUR"), session=turn.session)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert ("four", "FOUR") in short(listed(bench))
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == MINE

    play(tmp_path, VSCODE, script, after=after, custom=False, journal=Slow())


@either
def test_the_users_shell_writes_right_after_the_editor_saved(tmp_path: Path, custom: bool) -> None:
    """The stat of what the shell wrote is not that of what was saved (turns seed 850977)."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "other.txt", "", call="c0")
        assert editor.saves("a.txt")
        editor.closes("a.txt")
        turn.puts("a.txt", MINE)
        tick()
        await asyncio.sleep(HEARD)
        await runs(turn, "a.txt", MINE.replace("four", "FOUR"))
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == MINE

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
def test_the_agent_writes_and_the_user_saves_while_the_users_shell_is_noted(
    tmp_path: Path, custom: bool
) -> None:
    """What was noted of the shell's edit counts once, and not as the agent's."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", BASE, call="c0")
        await asyncio.sleep(2)
        tick()
        turn.puts("a.txt", MINE)
        tick()

        async def meanwhile() -> None:
            await asyncio.sleep(HEARD)
            turn.says("execute")
            tick()
            turn.puts("a.txt", MINE.replace("four", "FOUR"))
            tick()
            editor.model.reload(editor.uri("a.txt"))
            editor.replaces("a.txt", "one", "typed")
            assert editor.saves("a.txt")
            turn.says("execute", status="completed")

        journal.then = meanwhile
        await asyncio.sleep(6)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        assert apart(bench) == ["a.txt"]
        await reject_all(bench)
        assert editor.text("a.txt") == MINE.replace("one", "typed")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


def test_the_user_removes_a_file_whose_folder_an_agent_had_moved_away_and_back(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for call, (old, new) in {"c1": ("sub", "away"), "c2": ("away", "sub")}.items():
            turn.says("execute", call=call)
            tick()
            (tmp_path / old).rename(tmp_path / new)
            tick()
            turn.says("execute", call=call, status="completed")
        await asyncio.sleep(4)
        tick()
        (tmp_path / "sub" / "a.txt").unlink()
        tick()
        await asyncio.sleep(4)
        turn.says("execute", call="c3")
        turn.says("execute", call="c3", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert apart(bench) == ["a.txt"]

    play(tmp_path, VSCODE, script, after=after)
