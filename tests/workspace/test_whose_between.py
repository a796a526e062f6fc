"""Whose changes are that follow one another before anybody looks: what files said in between tells the agents' from the user's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.open_files import OpenFiles
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.state.documents import Tracked
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import NEOVIM, VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play
from tests.workspace.test_whose import apart, reject_all, rows, runs, short

MINE = BASE.replace("two", "mine")
HEARD = 0.15
"""Seconds after which what the agent tells of cannot have begun before."""
either = pytest.mark.parametrize("custom", [True, False])


class Slow(MemoryJournal):
    """Noting a change takes a while; `then` is done meanwhile, once."""

    then: Callable[[], Awaitable[None]] | None = None

    async def begin(self, entry: Any, takes_back: Any = ()) -> str:
        then, self.then = self.then, None
        if then is not None:
            await then()
        await asyncio.sleep(0.4)
        return await super().begin(entry, takes_back)


async def both_are_rejected(bench: Bench, editor: FakeEditor) -> None:
    assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
    await reject_all(bench)
    assert editor.text("a.txt") == BASE


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
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
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
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
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
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
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


@either
def test_the_user_saves_while_the_filling_is_noted(tmp_path: Path, custom: bool) -> None:
    """The editor had taken the empty text when that began, and takes the full one meanwhile."""
    journal = Slow()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
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
