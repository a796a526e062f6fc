"""Saves in the moment in which a document is opened or closed, of which nobody has seen the bytes: they are the user's, and what an agent does next
begins with them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, HELIX, NEOVIM_OURS, VSCODE, WELL_BEHAVED, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench, SlowJournal
from tests.workspace.test_behind import BASE, Turn, listed, opened, play
from tests.workspace.test_review import ALL, texts
from tests.workspace.test_whose import reject_all

MINE = BASE.replace("two", "mine")


@pytest.mark.parametrize("pause", [0.0, 0.3, 4.0])
@pytest.mark.parametrize("does", ["moves it", "makes it anew"])
def test_what_an_agent_does_to_it_begins_with_what_was_saved(tmp_path: Path, does: str, pause: float) -> None:
    """Nobody has looked at the file between the save and the closing (turns seeds 882838, 882884)."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await asyncio.sleep(3)
        tick()
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        editor.closes("a.txt")
        await asyncio.sleep(pause)
        tick()
        turn.says("execute")
        tick()
        if does == "moves it":
            path.rename(tmp_path / "moved.txt")
        else:
            path.unlink()
            path.write_text(MINE.replace("four", "FOUR"))
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert path.read_text() == MINE
        assert not (tmp_path / "moved.txt").exists()

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("custom", [True, False])
def test_what_is_saved_right_after_opening_is_not_what_it_was_opened_with(
    tmp_path: Path, custom: bool
) -> None:
    """An agent's command begins in the same moment, before anybody has looked at the file (turns seed 883957)."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await asyncio.sleep(3)
        editor.opens("a.txt")
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        turn.says("execute")
        tick()
        turn.puts("b.txt", BASE)
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [row[0] for row in listed(bench)] == ["b.txt"]
        await reject_all(bench)
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@pytest.mark.parametrize("pause", [0.0, 0.3, 0.55, 0.8, 2.0])
@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_a_save_right_after_the_editor_took_an_agents_change_is_on_top_of_it(
    tmp_path: Path, name: str, pause: float
) -> None:
    """Neovim and eglot tell the reload as a closing and an opening, while the change is being looked at."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("four", "FOUR"))
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(pause)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "four", "FOUR")]
        assert len(bench.workspace.review.changes(ALL)) == 1, "nothing of the user's is listed apart"
        await reject_all(bench)
        assert path.read_text() == BASE.replace("one", "mine")

    play(tmp_path, EDITORS[name], script, before=opened, after=after)


@pytest.mark.parametrize("pause", [0.3, 0.5, 0.7, 0.9, 1.1, 1.3])
def test_a_save_while_what_the_editor_took_is_being_journalled_is_no_part_of_that(
    tmp_path: Path, pause: float
) -> None:
    """The user types in the reloaded text and saves before that is entered (inflight seed 1810011442)."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("four", "FOUR"))
        editor.looks_at_disk()
        tick()
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(0.25)
        assert "FOUR" in editor.text("a.txt"), "a case that shows nothing"
        editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(pause)
        tick()
        assert editor.saves("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "four", "FOUR")]
        assert len(bench.workspace.review.changes(ALL)) == 1, "nothing of the user's is listed apart"
        await reject_all(bench)
        assert editor.text("a.txt") == "typed\n" + BASE.replace("one", "mine")
        assert "mine" in path.read_text()

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=SlowJournal(0.5))


@pytest.mark.parametrize("habits", [WELL_BEHAVED, NEOVIM_OURS], ids=["", "neovim"])
@pytest.mark.parametrize("pause", [0.3, 0.6, 0.9, 2.0])
def test_a_save_that_takes_its_time_over_what_an_agent_wrote_is_the_users(
    tmp_path: Path, habits: Habits, pause: float
) -> None:
    """The user undoes at once, so that the document does not say any more what is found on the disk before the save is told (inflight seed
    1810014263)."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "one", "mine")
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("one", "ONE"))
        tick()
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(pause)
        editor.overwrites("a.txt")
        await asyncio.sleep(0.1)
        editor.undoes("a.txt")
        assert editor.text("a.txt") == BASE
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert path.read_text() == BASE.replace("one", "mine")
        assert editor.text("a.txt") == BASE
        assert not [new for _, _, new in listed(bench) if "mine" in new]
        assert not [row for row in bench.workspace.review.changes(ALL) if "mine" in str(row["new"])]

    play(tmp_path, replace(habits, save_takes=0.3), script, before=opened, after=after)


@pytest.mark.parametrize("apart", [0.0, 4.0])
@pytest.mark.parametrize("pause", [0.0, 0.05, 2.0])
def test_a_save_right_after_the_editor_took_a_file_that_an_agent_made_anew_is_on_top_of_that(
    tmp_path: Path, pause: float, apart: float
) -> None:
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        path.unlink()
        await asyncio.sleep(apart)
        turn.puts("a.txt", BASE.replace("four", "FOUR"))
        editor.looks_at_disk()
        await asyncio.sleep(0.2 + pause)
        assert "FOUR" in editor.text("a.txt")
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "four", "FOUR")]
        await reject_all(bench)
        assert path.read_text() == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("pause", [0.0, 0.3, 0.55, 0.8, 2.0])
def test_a_save_that_was_not_carried_out_is_no_start_of_what_an_agent_did(
    tmp_path: Path, pause: float
) -> None:
    """Neovim tells of it, while the agent's change is being looked at, and then takes what the disk says."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("four", "FOUR"))
        turn.says("edit", "a.txt", status="completed")
        editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(pause)
        editor.saves("a.txt")
        await asyncio.sleep(0.05)
        editor.closes("a.txt")
        editor.opens("a.txt")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("four", "FOUR")]
        await reject_all(bench)
        assert path.read_text() == (BASE if pause < 2 else BASE.replace("one", "mine"))

    play(tmp_path, NEOVIM_OURS, script, before=opened, after=after)


@pytest.mark.parametrize("pause", [0.32, 0.45, 0.58])
def test_a_save_that_is_seen_before_it_is_told_is_the_users(tmp_path: Path, pause: float) -> None:
    """The editor takes its time to tell, and the user types on (inflight seed 307)."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "two", "mine")
        editor.saves("a.txt")
        await asyncio.sleep(0.1)
        editor.replaces("a.txt", "four", "typed since")
        await asyncio.sleep(pause - 0.1)
        await turn.bench.read("a.txt", session=turn.session)
        await asyncio.sleep(3)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not bench.workspace.review.changes(ALL)

    play(tmp_path, replace(VSCODE, save_takes=0.3), script, before=opened, after=after)


@pytest.mark.parametrize("seconds", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("pause", [0.11, 0.15, 0.19])
@pytest.mark.parametrize("acts", [False, True], ids=["", "a command runs"])
@pytest.mark.parametrize("lost", [False, True], ids=["", "the save before was written over"])
def test_what_an_agent_wrote_into_a_document_stays_under_review_when_a_save_is_seen_before_it_is_told(
    tmp_path: Path, seconds: float, pause: float, acts: bool, lost: bool
) -> None:
    """The document has unsaved lines, so that the file gets the agent's change with the user's save only. A program may have written over the save
    before (hands, VS Code, seed 550026)."""
    text = MINE.replace("one", "ONE").replace("five", "FIVE")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if acts:
            turn.says("execute")
        await turn.bench.read("a.txt", session=turn.session)
        assert await turn.bench.write("a.txt", BASE.replace("one", "ONE"), session=turn.session)
        editor.replaces("a.txt", "two", "mine")
        await turn.bench.read("a.txt", session=turn.session)
        assert await turn.bench.write("a.txt", text, session=turn.session)
        await asyncio.sleep(seconds)
        if lost:
            editor.saves("a.txt")
            editor.types("a.txt", "k", at=0)
            await asyncio.sleep(0.15)
            turn.puts("a.txt", "nobody's\n" + text)
            await asyncio.sleep(0.1)
            editor.types("a.txt", "k", at=0)
        assert editor.overwrites("a.txt")
        await asyncio.sleep(0.05)
        editor.replaces("a.txt", "four", "typed since")
        await asyncio.sleep(pause - 0.05)
        await turn.bench.read("a.txt", session=turn.session)
        await asyncio.sleep(3)
        if acts:
            turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("one", "ONE"), ("five", "FIVE")]
        await reject_all(bench)
        assert editor.text("a.txt") == "kk" * lost + MINE.replace("four", "typed since")

    play(tmp_path, replace(VSCODE, save_takes=0.1), script, before=opened, after=after)


@pytest.mark.parametrize("unsaved", [False, True], ids=["", "with unsaved lines"])
@pytest.mark.parametrize("told", [0.0, 0.1, 0.3, 0.49, 0.51, 0.6])
@pytest.mark.parametrize("looks", [0.0, 0.005, 0.05, 0.3])
def test_what_a_save_that_was_not_carried_out_would_have_written_was_not_on_the_disk(
    tmp_path: Path, looks: float, told: float, unsaved: bool
) -> None:
    """A program wrote the file before. What it says there looks like the agent's, which it had not read (hands, Neovim, seed 590019)."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        if unsaved:
            editor.replaces("a.txt", "five", "mine")
        await turn.bench.read("a.txt", session=turn.session)
        writing = asyncio.create_task(turn.bench.write("a.txt", "a20 MADE\n" + BASE, session=turn.session))
        await asyncio.sleep(0.02)
        assert "a20" in editor.text("a.txt")
        assert path.read_text() == BASE, "the sidecar's own save is on its way"
        tick()
        turn.puts("a.txt", "d25 MADE\n" + BASE)
        tick()
        await asyncio.sleep(looks)
        looking = asyncio.create_task(turn.bench.read("a.txt", session=turn.session))
        await asyncio.sleep(told)
        editor.saves("a.txt")
        await writing
        await looking
        await asyncio.sleep(5)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert "a20 MADE\n" in editor.text("a.txt")

    play(tmp_path, replace(NEOVIM_OURS, save_takes=0.05), script, before=opened, after=after)


@pytest.mark.parametrize("calls", [False, True], ids=["", "while a call runs"])
@pytest.mark.parametrize("looks", [0.01, 0.06, 0.09, 0.11])
@pytest.mark.parametrize(
    "name", [name for name, habits in EDITORS.items() if habits.reopens and habits.client]
)
def test_what_is_on_the_disk_before_the_editor_tells_that_it_was_typed_is_the_users(
    tmp_path: Path, name: str, looks: float, calls: bool
) -> None:
    """The editor gathers what is typed, and tells it with the save (hands, Neovim, seed 600009)."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        if not calls:
            turn.says("execute", status="completed")
            await asyncio.sleep(1)
        tick()
        editor.replaces("a.txt", "four", "typed")
        editor.replaces("a.txt", "two", "mine")
        editor.saves("a.txt")
        await asyncio.sleep(looks)
        await turn.bench.read("a.txt", session=turn.session)
        await asyncio.sleep(2)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not bench.workspace.review.changes(ALL)
        assert editor.text("a.txt") == MINE.replace("four", "typed")

    play(tmp_path, replace(EDITORS[name], save_takes=0.05), script, before=opened, after=after)


@pytest.mark.parametrize("types_on", [False, True], ids=["", "types on"])
@pytest.mark.parametrize("looks", [0.11, 0.14, 0.18])
@pytest.mark.parametrize("name", ["eglot 1.9", "eglot, nameless"])
def test_the_same_in_an_editor_that_does_not_say_which_it_is(
    tmp_path: Path, name: str, looks: float, types_on: bool
) -> None:
    """Nobody known has written it, and the save that is reported has written nothing since (inflight seed 1940013901)."""
    editors = {**EDITORS, "eglot, nameless": replace(EDITORS["eglot, ours"], client="")}

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        turn.says("execute", status="completed")
        await asyncio.sleep(1)
        tick()
        editor.replaces("a.txt", "two", "mine")
        editor.saves("a.txt")
        if types_on:
            editor.replaces("a.txt", "four", "typed")
        await asyncio.sleep(looks)
        await turn.bench.read("a.txt", session=turn.session)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not bench.workspace.review.changes(ALL)
        assert editor.text("a.txt") == (MINE.replace("four", "typed") if types_on else MINE)

    play(tmp_path, replace(editors[name], save_takes=0.1), script, before=opened, after=after)


@pytest.mark.parametrize("pause", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("told", ["before", "after"])
def test_what_the_editor_took_right_before_the_user_saved_on_top_of_it_is_still_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, pause: float
) -> None:
    """The save has emptied the file when the reload is told (hands, Neovim, seed 600008)."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("four", "FOUR"))
        if told == "before":
            turn.says("edit", "a.txt", status="completed")
        else:
            turn.says("read", "a.txt")  # whose text is noted
        await asyncio.sleep(pause)
        editor.closes("a.txt")
        data = path.read_bytes()
        with monkeypatch.context() as read:
            read.setattr(editor.model.files, "read", lambda uri: data)
            path.write_bytes(b"")
            editor.opens("a.txt")
        tick()
        editor.replaces("a.txt", "one", "mine")
        assert editor.overwrites("a.txt")
        tick()
        if told == "after":
            turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("four", "FOUR")]
        await reject_all(bench)
        assert path.read_text() == BASE.replace("one", "mine")

    play(tmp_path, NEOVIM_OURS, script, before=opened, after=after)


@pytest.mark.parametrize("calls", ["edit", "execute"])
def test_what_is_saved_and_closed_before_all_of_it_was_told_is_the_users(tmp_path: Path, calls: str) -> None:
    """The mirror waits for an earlier change when the document is closed (inflight seed 1970004335)."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says(calls, "a.txt")
        await asyncio.sleep(1)
        tick()
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        editor.closes("a.txt")
        await asyncio.sleep(3)
        turn.says(calls, "a.txt", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert (tmp_path / "a.txt").read_text() == MINE
        assert not bench.workspace.review.changes(ALL)

    play(tmp_path, replace(HELIX, version_step=2), script, before=opened, after=after)
