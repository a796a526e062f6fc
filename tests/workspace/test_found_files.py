"""What a command changes without a word is found at the turn's end, and put back from what was kept or what the last commit holds."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.workspace import turn_starts
from sidecar.workspace.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, listed, play

COMMITTED = "one\ntwo\nthree\n"
with_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def commit(folder: Path) -> None:
    settings = ("-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*settings, "commit", "-q", "-m", "m")):
        subprocess.run(["git", *words], cwd=folder, check=True)


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
    assert len(editor.outcomes[0]["changes"]) == 3  # type: ignore[arg-type]  # Json


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
        await bench.workspace.review.reject(Selector(everything=True))
        assert not (tmp_path / "new.txt").exists()

    journal = MemoryJournal()
    editor = play(tmp_path, VSCODE, script, after=after, journal=journal)
    assert ("old\n", None) in [(e.before, e.after) for e in journal.entries.values()]
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "image was changed" in warning
    assert "not text" in warning
    (info,) = [words for level, words in editor.shown if level == "info" and "removed" in words]
    assert "old.txt was removed by agent" in info


def test_what_was_not_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_starts, "MAX_TEXTS", 10)
    (tmp_path / "large.txt").write_text("two" * 10)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        (tmp_path / "large.txt").write_text("other")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []

    editor = play(tmp_path, VSCODE, script, after=after)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "large.txt" in warning
    assert "cannot be taken back" in warning


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
    bench.workspace.session_update(
        other, {"sessionUpdate": "tool_call", "toolCallId": "x", "kind": "execute"}
    )


@pytest.mark.parametrize(("case", "told"), [(_nothing_acts, False), (_another_acts, True)])
def test_is_nobodys(tmp_path: Path, case: Callable[[Turn], object], told: bool) -> None:
    (tmp_path / "a.txt").write_text(COMMITTED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await case(turn)  # type: ignore[misc]  # a coroutine
        (tmp_path / "a.txt").write_text("changed\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []

    editor = play(tmp_path, VSCODE, script, after=after)
    assert any("not the only agent" in words for _, words in editor.shown) == told


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
    starts = turn_starts.TurnStarts()
    start = starts._take(str(tmp_path))
    assert start is not None
    assert (start.kept, start.same) == ({}, {"a.txt"})
    (tmp_path / "a.txt").write_text("changed\n")
    commit(tmp_path)  # what the agent commits meanwhile does not matter
    assert [row.data for row in starts._changed(start)] == [COMMITTED.encode()]


def test_too_many_files_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_starts, "MAX_FILES_WITHOUT_GIT", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)
    starts = turn_starts.TurnStarts()
    assert starts._take(str(tmp_path)) is None
    (tmp_path / "a").unlink()
    assert starts._take(str(tmp_path)) is None, "nor counted once more at every turn"
    assert turn_starts.TurnStarts()._take(str(tmp_path)) is not None
