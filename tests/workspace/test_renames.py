"""A file that an agent's command moved is one row, and is moved back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal, QuietEditor, a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import reject_all, rows, runs, short

either = pytest.mark.parametrize("custom", [True, False], ids=["through the editor", "on the disk"])


def moves(folder: Path, *, also: Callable[[], None] = lambda: None) -> None:
    (folder / "new").mkdir()
    for name in ("a.txt", "image", "empty"):
        (folder / "old" / name).rename(folder / "new" / f"moved {name}")
    also()
    (folder / "old").rmdir()


def start(folder: Path) -> dict[str, bytes]:
    (folder / "old").mkdir()
    for name, data in (("a.txt", BASE.encode()), ("image", b"\0\1"), ("empty", b"")):
        (folder / "old" / name).write_bytes(data)
    return files(folder)


def renamed(bench: Bench) -> list[tuple[str, str]]:
    """New and old name of each."""
    found = [(str(row["uri"]), row["file"]) for row in rows(bench) if "file" in row]
    assert all(file["kind"] == "renamed" for _, file in found), found
    return sorted((uri.rpartition("/")[2], file["from"].rpartition("/")[2]) for uri, file in found)


EVERY = [("moved%20a.txt", "a.txt"), ("moved%20empty", "empty"), ("moved%20image", "image")]


@either
@pytest.mark.parametrize("looked_at", [True, False], ids=["found while the turn runs", "at its end"])
def test_one_row_each_and_moved_back(tmp_path: Path, custom: bool, looked_at: bool) -> None:
    before = start(tmp_path)
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        moves(tmp_path)
        tick()
        turn.says("execute", status="completed")
        if looked_at:
            await asyncio.sleep(4)
            turn.says("read", call="c2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []
        assert renamed(bench) == EVERY
        await reject_all(bench)
        assert files(tmp_path) == before
        assert not (tmp_path / "new").exists()
        assert not rows(bench)

    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=custom)
    ours = [key for key, entry in journal.entries.items() if entry.agent == "agent"]
    assert [journal.states[key] for key in ours] == ["rejected"] * 6


@either
@pytest.mark.parametrize("whose", ["the agent's", "the user's"])
def test_what_is_changed_in_it_since(tmp_path: Path, custom: bool, whose: str) -> None:
    """The agent's is taken back where it is now; the user's moves back with the file."""
    before = start(tmp_path)
    moved = tmp_path / "new" / "moved a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        moves(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if whose == "the user's":
            await asyncio.sleep(12)
            tick()
            moved.write_text(CHANGED)
        else:
            agents = bench.workspace._agents
            agents.script = lambda turn: runs(turn, str(moved), CHANGED)
            await bench.workspace.start_prompt(bench.session, [])[2]
            assert short(
                [(r["uri"], r["oldText"], r["newText"]) for r in rows(bench) if "file" not in r]
            ) == [("four", "FOUR")]
        await bench.workspace.review.listed(Selector())
        assert renamed(bench) == EVERY
        await reject_all(bench)
        wanted = before | ({"old/a.txt": CHANGED.encode()} if whose == "the user's" else {})
        assert files(tmp_path) == wanted

    play(tmp_path, VSCODE, script, after=after, custom=custom)


def test_what_the_user_moved_back_is_not_listed(tmp_path: Path) -> None:
    before = start(tmp_path)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        moves(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        (tmp_path / "old").mkdir()
        (tmp_path / "new" / "moved a.txt").rename(tmp_path / "old" / "a.txt")
        await bench.workspace.review.listed(Selector())
        assert renamed(bench) == EVERY[1:]
        await reject_all(bench)
        assert files(tmp_path) == before

    play(tmp_path, VSCODE, script, after=after)


def test_a_name_that_is_taken_again(tmp_path: Path) -> None:
    """Two files change places: neither is gone."""
    start(tmp_path)
    (tmp_path / "b.txt").write_text(CHANGED)
    before = files(tmp_path)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "b.txt").rename(tmp_path / "c.txt")
        (tmp_path / "old" / "a.txt").rename(tmp_path / "b.txt")
        (tmp_path / "c.txt").rename(tmp_path / "old" / "a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(listed(bench)) == 2
        await reject_all(bench)
        assert files(tmp_path) == before

    play(tmp_path, VSCODE, script, after=after, custom=False)


@either
def test_what_is_journalled_of_moving_it_back_is_what_is_done(tmp_path: Path, custom: bool) -> None:
    """Once what was under review in it is taken back, too: a sidecar that is killed then leaves a file that the next one finds as it was to be."""
    journal = MemoryJournal()

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(BASE)
        assert not isinstance(await bench.write("a.txt", CHANGED), Refusal)
        tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").rename(tmp_path / "moved a.txt")
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert renamed(bench) == [("moved%20a.txt", "a.txt")]
        await reject_all(bench)
        assert files(tmp_path) == {"a.txt": BASE.encode()}

    play(tmp_path, VSCODE, script, before=before, after=after, journal=journal, custom=custom)
    done = [entry.states for entry in journal.entries.values() if entry.agent == "reject" and entry.states]
    data = [tuple(None if state is None else state.data for state in states) for states in done]
    assert data == [(BASE.encode(), None), (None, BASE.encode())]


def test_a_rename_is_listed_after_a_restart(tmp_path: Path) -> None:
    before = start(tmp_path)
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        moves(tmp_path)

    play(tmp_path, VSCODE, script, journal=journal)

    async def again() -> None:
        async with a_workspace(tmp_path, QuietEditor(), journal=journal) as bench:
            await bench.workspace.restore_reviews()
            assert renamed(bench) == EVERY
            await reject_all(bench)
            assert files(tmp_path) == before

    run(again())


@either
@pytest.mark.parametrize("whose", ["the agent's", "the user's", "the user's, the same"])
def test_another_file_in_its_place(tmp_path: Path, custom: bool, whose: str) -> None:
    """The agent's is taken away for it; for the user's, the moved one stays where it is, and that is said, unless it is a copy."""
    before = start(tmp_path)
    moved, old = tmp_path / "new" / "moved a.txt", tmp_path / "old" / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        moves(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        tick()
        old.parent.mkdir()
        if whose == "the agent's":
            agents = bench.workspace._agents
            agents.script = lambda turn: runs(turn, "old/a.txt", "another\n")
            await bench.workspace.start_prompt(bench.session, [])[2]
        else:
            old.write_text(BASE if whose.endswith("same") else "mine\n")
        result = await bench.workspace.review.reject(Selector(everything=True))
        if whose == "the user's":
            assert [one["reason"] for one in result.impossible] == ["there is another file at a.txt by now"]
            assert files(tmp_path) == before | {"old/a.txt": b"mine\n", "new/moved a.txt": moved.read_bytes()}
        else:
            assert not result.impossible
            assert files(tmp_path) == before

    play(tmp_path, VSCODE, script, after=after, custom=custom)


def test_the_user_brings_it_back_and_goes_on_with_it(tmp_path: Path) -> None:
    """In the next turn, so that the two files have different texts by the end."""
    old, moved = tmp_path / "b.txt", tmp_path / "moved.txt"
    old.write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if moved.exists():
            old.write_text(CHANGED)
            return
        turn.says("execute")
        tick()
        old.rename(moved)
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        assert renamed(bench) == [("moved.txt", "b.txt")]
        old.write_text(BASE)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert not result.impossible
        assert files(tmp_path) == {"b.txt": CHANGED.encode()}
        assert not await bench.workspace.review.listed(Selector())

    play(tmp_path, VSCODE, script, after=after)


@either
@pytest.mark.parametrize("kept", [5, 4], ids=["half of it", "less than half of it"])
def test_the_user_brings_it_back_and_changes_it_at_once(tmp_path: Path, custom: bool, kept: int) -> None:
    """Nobody has seen it as it was. What has half of its lines is that file, and the other one a copy; anything else is another file, and then
    the moved one is the last that has those lines."""
    lines = [f"line {number}\n" for number in range(10)]
    old, moved = tmp_path / "b.txt", tmp_path / "moved.txt"
    old.write_text("".join(lines))
    mine = "".join([*lines[:kept], *(f"mine {number}\n" for number in range(10 - kept))])

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        old.rename(moved)
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        assert renamed(bench) == [("moved.txt", "b.txt")]
        tick()
        old.write_text(mine)
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        if kept == 5:
            assert not result.impossible
            assert files(tmp_path) == {"b.txt": mine.encode()}
            assert not [one for one in await bench.workspace.review.listed(Selector()) if "file" in one]
        else:
            assert [one["reason"] for one in result.impossible] == ["there is another file at b.txt by now"]
            assert files(tmp_path) == {"b.txt": mine.encode(), "moved.txt": "".join(lines).encode()}

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@either
@pytest.mark.parametrize("taken_back", ["afterwards", "before that"])
def test_the_user_brings_back_what_the_agent_changed_and_then_moved(
    tmp_path: Path, custom: bool, taken_back: str
) -> None:
    """What is under the new name is a copy by then. The copy is the second turn's, also once what the first turn had changed is taken back there, or
    where it was before."""
    (tmp_path / "b.txt").write_text(BASE)
    moved = tmp_path / "moved.txt"
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        if len(turns) == 1:
            turn.says("execute")
            tick()
            (tmp_path / "b.txt").write_text(CHANGED)
            tick()
            turn.says("execute", status="completed")
            return
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "b.txt").rename(moved)
        tick()
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        assert renamed(bench) == [("moved.txt", "b.txt")]
        if taken_back == "afterwards":
            (tmp_path / "b.txt").write_text(BASE)
            await asyncio.sleep(15)
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        assert moved.read_text() == BASE
        (tmp_path / "b.txt").write_text(
            BASE
        )  # the sidecar does so, too, and may be killed before the other one is removed
        await bench.workspace.review.listed(Selector())
        assert not (await bench.workspace.review.revert_turn(bench.session, 2)).impossible
        assert files(tmp_path) == {"b.txt": BASE.encode()}
        assert not await bench.workspace.review.listed(Selector())

    play(tmp_path, VSCODE, script, after=after, custom=custom)
