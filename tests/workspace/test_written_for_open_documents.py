"""What agents write reaches the disk first where an editor takes no edits, or opens the file in that moment: it is under review all the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from sidecar.disk import Encoded, Missing, Resolved, Stat
from sidecar.workspace.ports.ports import Question
from sidecar.workspace.state import looking
from sidecar.workspace.state.storage import OnDisk
from tests.lsp.fakes import until
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, KATE, WELL_BEHAVED
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal, SlowJournal
from tests.workspace.test_behind import BASE, Turn, listed, play
from tests.workspace.test_review import ALL
from tests.workspace.test_whose import reject_all
from tests.workspace.test_writes import done

TEXT = BASE.replace("four\n", "four\nagent's\n")
TAKES_NO_EDITS = {
    "kate": KATE,
    "no versions": replace(WELL_BEHAVED, document_changes=False),
    "no versions, late": replace(WELL_BEHAVED, document_changes=False, lag=0.5),
    "no versions, reloads": replace(WELL_BEHAVED, document_changes=False, reloads=0.2),
}


def allow(question: Question) -> str:
    return "allow"


@pytest.mark.parametrize("takes", ["when the user says so", "when it is opened again"])
@pytest.mark.parametrize("custom", [True, False], ids=["ours", ""])
@pytest.mark.parametrize("name", TAKES_NO_EDITS)
def test_in_an_editor_that_takes_no_edits(tmp_path: Path, name: str, custom: bool, takes: str) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        done(await turn.bench.write("a.txt", TEXT))
        await asyncio.sleep(3)
        if takes == "when the user says so" and editor.text("a.txt") != TEXT:
            editor.model.reload(editor.uri("a.txt"))
        if takes == "when it is opened again":
            editor.closes("a.txt")
            await asyncio.sleep(1)
            editor.opens("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT
        assert listed(bench) == [("a.txt", "", "agent's\n")]
        if name != "kate" and custom:
            editor.closes("a.txt")
            await asyncio.sleep(1)
            await reject_all(bench)
            assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, TAKES_NO_EDITS[name], script, after=after, custom=custom, answer=allow)


@pytest.mark.parametrize("custom", [True, False], ids=["ours", ""])
@pytest.mark.parametrize("name", TAKES_NO_EDITS)
def test_of_a_document_whose_file_is_being_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, custom: bool
) -> None:
    """The look began before the write, and reads what was written (inflight seed 1940008209)."""
    (tmp_path / "a.txt").write_text(BASE)
    benches: list[Bench] = []

    async def allow_later(question: Question) -> str:
        tick()
        (tmp_path / "a.txt").touch()
        benches[0].workspace.files_changed([benches[0].uri("a.txt")])
        await asyncio.sleep(0.1)
        return "allow"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        peeks_after(0.2, monkeypatch, turn.bench)
        benches.append(turn.bench)
        done(await turn.bench.write("a.txt", TEXT))
        await asyncio.sleep(3)
        if editor.text("a.txt") != TEXT:
            editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    play(tmp_path, TAKES_NO_EDITS[name], script, after=after, custom=custom, answer=allow_later)


@pytest.mark.parametrize("custom", [True, False], ids=["ours", ""])
def test_over_which_a_save_lands_that_had_begun_before(tmp_path: Path, custom: bool) -> None:
    """The document has the write by then, and keeps it unsaved: the file is looked at before the save is reported, and that is no change of somebody's
    (inflight seed 2000028024)."""
    path = tmp_path / "a.txt"
    path.write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        assert editor.saves("a.txt")
        tick()
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: path.read_text() == TEXT)
        editor.looks_at_disk()
        done(await write)
        assert await turn.bench.read("a.txt") == path.read_text() == TEXT
        tick()
        await until(lambda: path.read_text() == BASE)
        assert await turn.bench.read("a.txt") == TEXT
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT
        assert editor.buffer("a.txt").dirty
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    habits = replace(TAKES_NO_EDITS["no versions, reloads"], save_takes=0.4)
    play(tmp_path, habits, script, after=after, custom=custom, answer=allow)


@pytest.mark.parametrize("closes", [0.0, 0.1, 0.4, 0.6, 1.0, 1.2])
@pytest.mark.parametrize("custom", [True, False], ids=["ours", ""])
@pytest.mark.parametrize("name", TAKES_NO_EDITS)
def test_of_a_document_that_is_closed_right_after_that(
    tmp_path: Path, name: str, custom: bool, closes: float
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: (tmp_path / "a.txt").read_text() == TEXT)
        await asyncio.sleep(closes)
        editor.closes("a.txt")
        done(await write)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", "agent's\n")]
        await bench.workspace.review.listed(ALL)
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    play(tmp_path, TAKES_NO_EDITS[name], script, after=after, custom=custom, answer=allow)


@pytest.mark.parametrize("types", [True, False], ids=["types", ""])
@pytest.mark.parametrize("pause", [0.1, 0.4])
@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_of_a_file_that_is_opened_while_it_is_being_written(
    tmp_path: Path, name: str, pause: float, types: bool
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await asyncio.sleep(pause)
        editor.opens("a.txt")
        if types:
            editor.replaces("a.txt", "one", "mine")
        done(await write)
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert "agent's" in editor.text("a.txt")
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    play(tmp_path, EDITORS[name], script, after=after, journal=SlowJournal(0.5))


def peeks_after(seconds: float, monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    """It takes that long to read a file that somebody looks at."""
    storage = bench.workspace.state.storage
    peek = storage.peek

    async def later(path: str) -> OnDisk | None:
        await asyncio.sleep(seconds)
        return await peek(path)

    monkeypatch.setattr(storage, "peek", later)


def takes_its_time(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    """A file has what is written half a second before that is done."""
    storage = bench.workspace.state.storage
    save = storage.save

    async def slowly(file: Resolved, data: Encoded) -> Stat | Refusal:
        saved = await save(file, data)
        await asyncio.sleep(0.5)
        return saved

    monkeypatch.setattr(storage, "save", slowly)


@pytest.mark.parametrize("types", [True, False], ids=["types", ""])
@pytest.mark.parametrize("opens", [0.0, 0.25, 0.45])
@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_of_a_file_that_is_opened_before_its_writing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, opens: float, types: bool
) -> None:
    """It says what was written already, while its folder still has to reach the disk."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        takes_its_time(monkeypatch, turn.bench)
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: (tmp_path / "a.txt").read_text() == TEXT)
        await asyncio.sleep(opens)
        editor.opens("a.txt")
        if types:
            editor.replaces("a.txt", "one", "mine")
        done(await write)
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == (TEXT.replace("one", "mine") if types else TEXT)
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    play(tmp_path, EDITORS[name], script, after=after)


@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_of_a_file_that_is_opened_before_its_writing_is_done_and_saved_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The save is reported before anybody has looked at what the document was opened with, and the write is done by then (inflight seed 1970002771)."""
    (tmp_path / "a.txt").write_text(BASE)
    monkeypatch.setattr(looking, "AT_ONCE", 0)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        takes_its_time(monkeypatch, turn.bench)
        peeks_after(1.0, monkeypatch, turn.bench)
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: (tmp_path / "a.txt").read_text() == TEXT)
        editor.opens("a.txt")
        editor.saves("a.txt")
        editor.replaces("a.txt", "one", "mine")
        done(await write)
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT.replace("one", "mine")
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    play(tmp_path, EDITORS[name], script, after=after, custom=False)


@pytest.mark.parametrize("removed", [True, False], ids=["made again", ""])
@pytest.mark.parametrize("opens", [0.0, 0.45])
@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_of_a_file_that_is_opened_before_it_is_wholly_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, opens: float, removed: bool
) -> None:
    """What the user types in it stays."""
    if removed:
        (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        storage = turn.bench.workspace.state.storage
        create = storage.create

        async def slowly(file: Missing, data: Encoded) -> Stat | Refusal:
            made = await create(file, data)
            await asyncio.sleep(0.5)
            return made

        monkeypatch.setattr(storage, "create", slowly)
        if removed:
            turn.says("execute")
            tick()
            (tmp_path / "a.txt").unlink()
            await asyncio.sleep(3)
            turn.says("execute", status="completed")
            await asyncio.sleep(3)
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: (tmp_path / "a.txt").exists() and (tmp_path / "a.txt").read_text() == TEXT)
        await asyncio.sleep(opens)
        editor.opens("a.txt")
        editor.replaces("a.txt", "one\n", "mine\n")
        done(await write)
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT.replace("one", "mine")
        await reject_all(bench)
        assert editor.text("a.txt") == (BASE.replace("one", "mine") if removed else "mine\n")

    play(tmp_path, replace(EDITORS[name], create_files=False), script, after=after)


@pytest.mark.parametrize("name", TAKES_NO_EDITS)
def test_of_a_file_that_is_opened_before_its_writing_is_done_while_a_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The command has not done it once more."""
    (tmp_path / "a.txt").write_text(BASE)
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        takes_its_time(monkeypatch, turn.bench)
        turn.says("execute")
        await asyncio.sleep(0.5)
        write = asyncio.ensure_future(turn.bench.write("a.txt", TEXT))
        await until(lambda: (tmp_path / "a.txt").read_text() == TEXT)
        editor.opens("a.txt")
        done(await write)
        await asyncio.sleep(5)
        turn.says("execute", status="completed")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", "agent's\n")]

    habits = TAKES_NO_EDITS[name]
    play(tmp_path, habits, script, after=after, journal=journal, answer=allow)
    assert [state for state in journal.states.values() if state != "failed"] == ["done"]


@pytest.mark.parametrize("turn_is_over", [True, False], ids=["after the turn", ""])
@pytest.mark.parametrize("whose", ["a tool of the agent's", "another program"])
@pytest.mark.parametrize("name", TAKES_NO_EDITS)
def test_of_a_file_that_others_write_before_the_document_has_it(
    tmp_path: Path, name: str, whose: str, turn_is_over: bool
) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    theirs = TEXT.replace("two\n", "two\ntheirs\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        done(await turn.bench.write("a.txt", TEXT))
        if turn_is_over:
            return
        if whose == "a tool of the agent's":
            turn.says("edit", "a.txt")
            await asyncio.sleep(0.1)
        tick()
        turn.puts("a.txt", theirs)
        tick()
        if whose == "a tool of the agent's":
            turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if turn_is_over:
            (tmp_path / "a.txt").write_text(theirs)
        await bench.read("a.txt")
        if editor.text("a.txt") != theirs:
            editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(3)
        is_agents = whose == "a tool of the agent's" and not turn_is_over
        assert listed(bench) == [("a.txt", "", "theirs\n")] * is_agents + [("a.txt", "", "agent's\n")]

    play(tmp_path, TAKES_NO_EDITS[name], script, after=after, answer=allow)
