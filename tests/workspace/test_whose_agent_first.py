"""Whose changes are that follow one another before anybody looks, where the agent acts and then the user: what files said in between tells."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.behind.open_files import OpenFiles
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.state.save_history import SaveHistory
from sidecar.workspace.state.tracked import Tracked
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.between import Slow, either, empties
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_whose import reject_all, runs, short


@either
@pytest.mark.parametrize("slow", [False, True])
def test_the_user_saves_in_the_moment_of_opening(tmp_path: Path, custom: bool, slow: bool) -> None:
    """What the agent wrote before is in the text, and nobody has looked at the file yet."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        editor.opens("a.txt")
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, after=after, custom=custom, journal=Slow() if slow else None)


@either
def test_the_user_saves_in_the_moment_of_filling(tmp_path: Path, custom: bool) -> None:
    """The editor had taken the empty text, takes the full one, and the user saves over that in the same moment."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        empties(turn, editor)
        await asyncio.sleep(0.2)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
def test_the_user_saves_while_the_filling_is_noted(tmp_path: Path, custom: bool) -> None:
    """The editor had taken the empty text when that began, and takes the full one meanwhile."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        empties(turn, editor)
        await asyncio.sleep(0.2)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)

        async def meanwhile() -> None:
            editor.model.reload(editor.uri("a.txt"))
            editor.replaces("a.txt", "one", "mine")
            assert editor.saves("a.txt")

        journal.then = meanwhile
        await asyncio.sleep(6)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


@pytest.mark.parametrize("slow", [False, True])
def test_the_user_saves_over_what_the_editor_took_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    """`slow`: the first look at the file ends while what it said at the turn's start is still being found."""
    before, peek, looks = TurnStarts.before, OpenFiles.peek, iter((0.1, 0.0))

    async def found(self: TurnStarts, session: str, path: str) -> object:
        await asyncio.sleep(0.3)
        return await before(self, session, path)

    async def peeked(self: OpenFiles, tracked: Tracked, path: str) -> object:
        on_disk = await peek(self, tracked, path)
        await asyncio.sleep(next(looks, 0.0))
        return on_disk

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        if slow:
            monkeypatch.setattr(TurnStarts, "before", found)
            monkeypatch.setattr(OpenFiles, "peek", peeked)
        editor.model.reload(editor.uri("a.txt"))
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_the_user_saves_over_it_while_the_act_that_made_it_runs(tmp_path: Path) -> None:
    """In the moment in which the editor has taken it: the disk has said it for so long only."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_what_came_after_a_save_that_is_still_being_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user saves, edits the file in a shell, and the agent writes on top of that, all before the save is recorded. (turns seed 1885150828)"""
    peek = OpenFiles.peek

    async def peeked(self: OpenFiles, tracked: Tracked, path: str) -> object:
        await asyncio.sleep(0.3)
        return await peek(self, tracked, path)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(3)
        monkeypatch.setattr(OpenFiles, "peek", peeked)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(0.01)
        tick()
        shell = CHANGED.replace("one", "mine").replace("two", "shell")
        turn.puts("a.txt", shell)
        tick()
        await asyncio.sleep(0.15)
        await runs(turn, "a.txt", shell.replace("three", "THREE"), call="c2")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert ("three", "THREE") in short(listed(bench))
        await reject_all(bench)
        await asyncio.sleep(3)
        assert editor.text("a.txt") == BASE.replace("one", "mine").replace("two", "shell")

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_the_user_saves_over_it_just_when_nobody_waits_for_that_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at the file waits for a save of what the editor has taken from it, and then reads it again. The save may be reported
    in between. (turns seed 1885147565)"""
    until_told, is_saved = SaveHistory.until_told, False

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def waited(self: SaveHistory, seconds: float) -> bool:
            nonlocal is_saved
            is_told = await until_told(self, seconds)
            if not is_told and not is_saved:
                is_saved = True
                tick()
                editor.replaces("a.txt", "one", "mine")
                assert editor.saves("a.txt")
            return is_told

        monkeypatch.setattr(SaveHistory, "until_told", waited)
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert is_saved
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("recording", [False, True], ids=["", "while an earlier change is recorded"])
def test_the_user_opens_what_the_agent_wrote_and_closes_it_at_once(tmp_path: Path, recording: bool) -> None:
    """Nobody has found out yet whose the text is that it was opened with."""
    (tmp_path / "a.txt").write_text(BASE)
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def opens_and_closes() -> None:
            await runs(turn, "a.txt", CHANGED, call="c2")
            editor.opens("a.txt")
            await asyncio.sleep(0.1 if recording else 0)
            editor.closes("a.txt")

        if recording:
            journal.then = opens_and_closes
            await runs(turn, "a.txt", BASE.replace("one", "ONE"))
        else:
            await opens_and_closes()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after, journal=journal)


def test_the_user_closes_what_the_editor_has_just_taken_from_the_disk(tmp_path: Path) -> None:
    """The agent changes its own line again, the editor takes that from the disk, and the user closes the file before anybody looks."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(3)
        editor.looks_at_disk()
        await asyncio.sleep(3)
        assert short(listed(turn.bench)) == [("four", "FOUR")]
        await runs(turn, "a.txt", CHANGED.replace("FOUR", "FIVE"), call="c2")
        editor.model.reload(editor.uri("a.txt"))
        editor.closes("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        assert short(listed(bench)) == [("four", "FIVE")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_closed_with_what_the_editor_took_from_the_disk(tmp_path: Path) -> None:
    """That is no save which was on its way: the file said it first."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        tick()
        editor.model.reload(editor.uri("a.txt"))
        editor.closes("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


@either
def test_the_user_saves_on_top_while_the_change_is_noted(tmp_path: Path, custom: bool) -> None:
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def meanwhile() -> None:
            await asyncio.sleep(0.2)
            editor.replaces("a.txt", "one", "mine")
            assert editor.saves("a.txt")

        journal.then = meanwhile
        await runs(turn, "a.txt", CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(6)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


def test_the_user_closes_while_the_change_is_noted(tmp_path: Path) -> None:
    """Then it is one of the file that is not open."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def meanwhile() -> None:
            await asyncio.sleep(0.2)
            editor.closes("a.txt")

        journal.then = meanwhile
        await runs(turn, "a.txt", CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(6)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal)


def test_the_user_closes_while_what_it_was_opened_with_is_noted(tmp_path: Path) -> None:
    """What somebody does to the file from then on is seen in its review."""
    (tmp_path / "a.txt").write_text(BASE)
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        async def meanwhile() -> None:
            await asyncio.sleep(0.2)
            editor.closes("a.txt")

        await runs(turn, "a.txt", CHANGED)
        journal.then = meanwhile
        editor.opens("a.txt")
        await asyncio.sleep(6)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        (tmp_path / "a.txt").write_text(BASE.replace("one\n", ""))
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE.replace("one\n", "")

    play(tmp_path, VSCODE, script, after=after, journal=journal)
