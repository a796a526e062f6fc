"""What a command changes without a word is found at the turn's end, and put back from what was kept or what the last commit holds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk import folder_files
from sidecar.workspace.behind import tree_notes, tree_starts, turn_starts
from sidecar.workspace.ports.ports import AgentFailed
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.repositories import commit, with_git
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, listed, play

COMMITTED = "one\ntwo\nthree\n"


def taken(folder: Path, starts: turn_starts.TurnStarts | None = None) -> dict[str, tree_starts.TreeStart]:
    """What a turn in this folder begins with, by the name of the tree in it."""
    starts = starts or turn_starts.TurnStarts(MemoryJournal())
    notes = starts.looks.now(str(folder), 2**63).notes
    return {os.path.relpath(note.folder, folder): tree_starts.TreeStart(note) for note in notes}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def sed(turn: Turn) -> None:
    turn.says("execute")
    for name in ("same.txt", "differs.txt", "untracked.txt"):
        path = turn.bench.folder / name
        path.write_bytes(path.read_bytes().replace(b"two", b"TWO"))


@pytest.mark.parametrize("custom", [True, False], ids=["through the editor", "on the disk"])
@pytest.mark.parametrize("in_git", [pytest.param(True, marks=with_git), False], ids=["git", "no git"])
def test_is_listed_and_rejected(tmp_path: Path, custom: bool, in_git: bool) -> None:
    for name in ("same.txt", "differs.txt"):
        (tmp_path / name).write_text(COMMITTED)
    if in_git:
        commit(tmp_path)
    (tmp_path / "differs.txt").write_text("mine\n" + COMMITTED)
    (tmp_path / "untracked.txt").write_bytes(b"zwei two\r\n")
    before = files(tmp_path)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        sed(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert sorted(name for name, _, _ in listed(bench)) == ["differs.txt", "same.txt", "untracked.txt"]
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert not result.impossible
        await asyncio.sleep(1)
        assert files(tmp_path) == before

    journal = MemoryJournal()
    editor = play(tmp_path, VSCODE, script, after=after, journal=journal, custom=custom)
    assert {e.tool_call for e in list(journal.entries.values())[:3]} == {"c1"}
    assert len(editor.outcomes[0]["changes"]) == 3


def test_new_and_removed_files(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    (tmp_path / "image").write_bytes(b"\0\1")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        (tmp_path / "new.txt").write_text("new\n")
        (tmp_path / "old.txt").unlink()
        (tmp_path / "image").write_bytes(b"\0\2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("new.txt", "", "new\n")]
        assert rows_of_files(bench) == [("image", "changed"), ("old.txt", "deleted")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert files(tmp_path) == {"image": b"\0\1", "old.txt": b"old\n"}
        assert not bench.workspace.review.changes(Selector())

    journal = MemoryJournal()
    editor = play(tmp_path, VSCODE, script, after=after, journal=journal)
    assert ("old\n", None) in [(e.before, e.after) for e in journal.entries.values()]
    assert len(editor.outcomes[0]["changes"]) == 3


def rows_of_files(bench: Bench) -> list[tuple[str, str]]:
    """Name and kind of each change of a whole file under review."""
    rows: list[dict[str, Any]] = [dict(row) for row in bench.workspace.review.changes(Selector())]
    return sorted((r["uri"].rpartition("/")[2], r["file"]["kind"]) for r in rows if "file" in r)


@pytest.mark.parametrize("data", [b"other", b"\0"])
def test_what_was_not_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """And is no new file when it is looked at again, because another turn begins."""
    monkeypatch.setattr(tree_notes, "MAX_TEXTS", 10)
    path = tmp_path / "large.txt"
    path.write_bytes(b"two" * 10 + data[:1])

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        if path.read_bytes() != data:
            path.write_bytes(data)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await bench.workspace.start_prompt(await bench.another_session(), [])[2]
        assert listed(bench) == []
        assert rows_of_files(bench) == []

    editor = play(tmp_path, VSCODE, script, after=after)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "large.txt" in warning
    assert "cannot be taken back" in warning


@pytest.mark.parametrize("lines", ["made\n", ""])
def test_what_an_agent_made_takes_no_room_from_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 4)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\n")
    tick()
    turns = 0

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal turns
        turns += 1
        turn.says("execute", call=f"c{turns}")
        tick()
        for number in range(4 if turns == 1 else 0):
            (tmp_path / f"made{number}.txt").write_text(lines)
        if turns == 2:
            (tmp_path / "a.txt").write_text("TWO\n")
            (tmp_path / "made0.txt").write_text(lines * 2)
            (tmp_path / "b.txt").unlink()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        before = files(tmp_path)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(3)
        result = await bench.workspace.review.revert_turn(bench.session, 2)
        assert not result.impossible
        assert files(tmp_path) == before
        await bench.workspace.review.reject(Selector(everything=True))
        assert files(tmp_path) == {"a.txt": b"one\n", "b.txt": b"one\n"}

    editor = play(tmp_path, VSCODE, script, after=after, custom=False)
    assert not [words for level, words in editor.shown if level == "warning"]


async def _nothing_acts(turn: Turn) -> None:
    turn.says("read")


async def _another_acts(turn: Turn) -> None:
    bench = turn.bench
    other = await bench.another_session()
    turn.says("execute")
    state = bench.workspace.state.sessions.get(other)
    assert state is not None
    state.begin_turn()
    bench.workspace._disk_watch.turn_began(state)
    bench.workspace._evidence.asked_now(state)
    bench.workspace.session_update(
        other, {"sessionUpdate": "tool_call", "toolCallId": "x", "kind": "execute"}
    )


@pytest.mark.parametrize(("case", "apart"), [(_nothing_acts, False), (_another_acts, True)])
def test_is_nobodys(tmp_path: Path, case: Callable[[Turn], object], apart: bool) -> None:
    """Two that may both have done it: it is listed apart, and rejecting everything leaves it alone."""
    (tmp_path / "a.txt").write_text(COMMITTED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await case(turn)
        (tmp_path / "a.txt").write_text("changed\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []
        rows = bench.workspace.review.changes(Selector())
        assert [(row["unknown"], row["sessionId"]) for row in rows] == [(True, "")] * apart
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "a.txt").read_text() == "changed\n"
        picked = frozenset(str(row["changeId"]) for row in rows)
        await bench.workspace.review.reject(Selector(picked))
        assert (tmp_path / "a.txt").read_text() == (COMMITTED if apart else "changed\n")

    play(tmp_path, VSCODE, script, after=after)


def test_what_the_agent_wrote_through_us_counts_once(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        await turn.bench.write("new.txt", "new\n", session=turn.session)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("new.txt", "", "new\n")]

    journal = MemoryJournal()
    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=False)
    assert list(journal.states.values()) == ["done"]


@with_git
def test_the_last_commit_holds_what_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(COMMITTED)
    commit(tmp_path)
    starts = turn_starts.TurnStarts(MemoryJournal())
    start = taken(tmp_path, starts)["."]
    assert (start.kept, start.same) == ({}, {"a.txt"})
    (tmp_path / "a.txt").write_text("changed\n")
    commit(tmp_path)  # what the agent commits meanwhile does not matter
    assert [row.data for row in starts._changed([start], [str(tmp_path)])] == [COMMITTED.encode()]


def test_too_many_files_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_files, "MAX_FILES_WITHOUT_GIT", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)
    starts = turn_starts.TurnStarts(MemoryJournal())
    assert not taken(tmp_path, starts)
    (tmp_path / "a").unlink()
    assert not taken(tmp_path, starts), "nor counted once more at every turn"
    assert taken(tmp_path)


@pytest.mark.parametrize("acts", [True, False])
def test_that_nobody_looks_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acts: bool) -> None:
    monkeypatch.setattr(folder_files, "MAX_FILES_WITHOUT_GIT", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute" if acts else "read")
        if acts:
            (tmp_path / "a").write_text("changed\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []
        await bench.workspace.start_prompt(bench.session, [])[2]

    editor = play(tmp_path, VSCODE, script, after=after, custom=False)
    warnings = [words for level, words in editor.shown if level == "warning"]
    assert len(warnings) == acts
    if acts:
        assert f"{tmp_path.name} has too many files to find what commands of agent change" in warnings[0]


@pytest.mark.parametrize("which", ["cwd", "additional", "beneath another"])
def test_every_folder_of_the_session_is_looked_at(tmp_path: Path, which: str) -> None:
    folders = {
        "cwd": tmp_path / "w",
        "additional": tmp_path / "more",
        "beneath another": tmp_path / "w" / "sub",
    }
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    file = folders[which] / "a.txt"
    file.write_text(COMMITTED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        file.write_text("changed\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [n for n, _, _ in listed(bench)] == ["a.txt"]
        await bench.workspace.review.reject(Selector(everything=True))
        assert file.read_text() == COMMITTED

    journal = MemoryJournal()
    play(folders["cwd"], VSCODE, script, after=after, journal=journal, custom=False,
         also=[str(folders["additional"]), str(folders["beneath another"])])  # fmt: skip
    assert len([e for e in journal.entries.values() if e.agent == "agent"]) >= 1


def test_it_is_journalled_before_the_agent_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(COMMITTED)
    (tmp_path / "image").write_bytes(b"\0\1")
    journal = MemoryJournal()
    during: list[object] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        (folder,) = journal.turns[turn.session].folders
        during.append((folder.folder, {n: i.text for n, i in folder.texts.items()}, list(folder.unknown)))

    play(tmp_path, VSCODE, script, journal=journal)
    assert during == [(str(tmp_path), {"a.txt": COMMITTED, "image": "\0\1"}, [])]
    assert journal.turns == {}, "nothing of a turn that has ended"


def test_what_the_user_saves_meanwhile_is_not_the_agents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(COMMITTED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        editor.opens("a.txt")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(1)
        editor.closes("a.txt")
        await asyncio.sleep(1)
        (tmp_path / "a.txt").write_text("mine\ntwo\nTHREE\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "three", "THREE")]

    journal = MemoryJournal()
    play(tmp_path, VSCODE, script, after=after, journal=journal)
    assert [image.text for image in journal.turn_saves.values()] == ["mine\ntwo\nthree\n"]


def test_what_an_agent_changed_before_it_died(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(COMMITTED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        (tmp_path / "a.txt").write_text("changed\n")
        raise AgentFailed("died", "the agent ended")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [n for n, _, _ in listed(bench)] == ["a.txt"]

    editor = play(tmp_path, VSCODE, script, after=after)
    assert editor.outcomes[0]["stopReason"] == "failed"
    assert len(editor.outcomes[0]["changes"]) == 1


def test_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)
        tick()
    start = taken(tmp_path)["."]
    assert sorted(start.kept) == ["b", "c"], "what changed last"
    assert list(start.for_journal().unknown) == ["a"]


@pytest.mark.parametrize("is_over", [True, False], ids=["its turn is over", "its turn runs"])
def test_what_is_another_sessions_stays_so(tmp_path: Path, is_over: bool) -> None:
    """Its folder is one of this session's, and something changes there while both work."""
    (tmp_path / "w").mkdir()
    (tmp_path / "its").mkdir()
    file = tmp_path / "its" / "a.txt"
    file.write_text(COMMITTED)
    whose: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        workspace = turn.bench.workspace
        opened = await workspace.new_session("agent", str(tmp_path / "its"))
        other = workspace.state.sessions.get(opened.session_id)
        assert other is not None
        whose.append(other.id)
        other.begin_turn()
        workspace._disk_watch.turn_began(other)
        await workspace._disk_watch.before_turn(other)
        turn.says("execute")
        workspace.session_update(
            other.id,
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "x",
                "kind": "edit",
                "locations": [{"path": str(file)}],
            },
        )
        file.write_text("changed\n")
        await asyncio.sleep(2)
        if is_over:
            await workspace._disk_watch.turn_ending(other)
            other.end_turn()
            workspace._disk_watch.turn_ended(other, {})
            await asyncio.sleep(15)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        (row,) = bench.workspace.review.changes(Selector())
        assert row["sessionId"] == whose[0]

    editor = play(tmp_path / "w", VSCODE, script, after=after, custom=False, also=[str(tmp_path / "its")])
    assert not [words for _, words in editor.shown if "cannot be taken back" in words]
