"""An agent puts a symbolic link in the place of what the user put there in the same turn: taken back, that is there again, and not what the turn began with."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.review.review import Selector
from sidecar.workspace.state.storage import Storage
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import a_workspace
from tests.turns.doors import CommandLine, quick_folder
from tests.turns.journals import SlowJournal
from tests.turns.world import entries
from tests.workspace.test_behind import Agent, Turn
from tests.workspace.test_gone_again import Step, acts, begins, puts, removes, user
from tests.workspace.test_rows_upon_rows import Act, chmods, links, nothing_there

TEXT, MINE, BYTES = b"one\ntwo\nthree\n", b"one\nmine\nthree\n", b"\0mine"


def leads_to(target: str) -> Act:
    def act(folder: Path) -> None:
        (folder / "a.txt").unlink(missing_ok=True)
        (folder / "a.txt").symlink_to(target)

    return act


async def lists(turn: Turn) -> None:
    await turn.bench.workspace.review.listed(Selector())


def plays(folder: Path, steps: list[Step], door: str, editor: FakeEditor | None = None) -> None:
    """The steps in one turn, which is then taken back through the door."""
    editor = editor or FakeEditor(VSCODE, folder)

    async def works(turn: Turn) -> None:
        for step in steps:
            await step(turn)

    async def main(journal_folder: Path) -> None:
        journal, agents = SlowJournal(journal_folder, 0), Agent()
        async with a_workspace(folder, editor, agents, journal=journal) as bench:
            bench.workspace.state.overlay.encoding = editor.capabilities.encoding
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(15)
            if door == "revert":
                words = "--session", bench.session
                await CommandLine(journal_folder, lambda line: None).revert_beside(bench.workspace, *words)
            elif door == "undo turn":
                await bench.workspace.review.revert_turn(bench.session, 1)
            else:
                await bench.workspace.review.reject(Selector(everything=True))
            await asyncio.sleep(5)
        await journal.close()

    with tempfile.TemporaryDirectory(dir=quick_folder()) as journal_folder:
        run(main(Path(journal_folder)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path.resolve() / "w").mkdir()
    return folder


doors = pytest.mark.parametrize("door", ["reject", "undo turn", "revert"])


@doors
@pytest.mark.parametrize("looks", [[], [lists]], ids=["", "listed"])
@pytest.mark.parametrize("mine", [MINE, BYTES, b""], ids=["text", "bytes", "empty"])
@pytest.mark.parametrize(
    "first", [begins, acts(chmods(0o755)), acts(removes)], ids=["nothing", "chmod", "rm"]
)
def test_a_file(folder: Path, first: Step, mine: bytes, looks: list[Step], door: str) -> None:
    puts(TEXT)(folder)
    (folder / "a.txt").chmod(0o644)
    plays(folder, [first, *looks, user(puts(mine)), *looks, acts(links())], door)
    ((_, data, _),) = entries(folder).values()
    assert data == mine


@doors
@pytest.mark.parametrize("mine", [puts(MINE), puts(BYTES), leads_to("mine")], ids=["text", "bytes", "link"])
@pytest.mark.parametrize("at_first", [nothing_there, links()], ids=["nothing", "a link"])
@pytest.mark.parametrize("first", [begins, acts(leads_to("there"))], ids=["nothing", "links"])
def test_in_the_place_of_a_link_or_of_nothing(
    folder: Path, at_first: Act, first: Step, mine: Act, door: str
) -> None:
    def act(folder: Path) -> None:
        (folder / "a.txt").unlink(missing_ok=True)
        mine(folder)

    at_first(folder)
    plays(folder, [begins, first, user(act), acts(leads_to("elsewhere"))], door)
    removed = entries(folder)
    act(folder)
    assert removed == entries(folder)


@doors
def test_links_that_are_being_put_back_are_nobodys_change(
    folder: Path, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the disk takes its time and somebody looks at them before it is done, in a turn that goes on (turns seed 1885224553)."""

    def lead_to(target: str) -> Act:
        def act(folder: Path) -> None:
            for name in ("a.txt", "b.txt"):
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(target + name)

        return act

    restore = Storage.restore

    async def slowly(*args: Any) -> Any:
        done = await restore(*args)
        await asyncio.sleep(1)
        return done

    async def rejects(turn: Turn) -> None:
        turn.says("execute", call="another")
        with monkeypatch.context() as slow:
            slow.setattr(Storage, "restore", slowly)
            assert (await turn.bench.workspace.review.reject(Selector(everything=True))).done
        turn.says("execute", call="another", status="completed")
        await asyncio.sleep(1)

    lead_to("before ")(folder)
    before = entries(folder)
    plays(folder, [begins, acts(lead_to("elsewhere ")), rejects], door)
    assert entries(folder) == before


@doors
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("closes", [True, False], ids=["closed", "open"])
def test_what_the_user_saved(folder: Path, closes: bool, custom: bool, door: str) -> None:
    puts(TEXT)(folder)
    editor = FakeEditor(VSCODE, folder, custom=custom)

    async def saves(turn: Turn) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        tick()
        editor.replaces("a.txt", "two", "mine")
        assert editor.saves("a.txt")
        tick()
        await asyncio.sleep(1)
        if closes:
            editor.closes("a.txt")
            await asyncio.sleep(1)

    plays(folder, [begins, saves, acts(links())], door, editor)
    ((kind, data, _),) = entries(folder).values()
    assert (kind, data) == ("file", MINE)
