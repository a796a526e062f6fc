"""Many files that a command changed, and a disk that takes its time: all of them are listed, or it is said which are not."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.uri import from_path
from sidecar.disk import git_head
from sidecar.workspace.behind import disk_watch, evidence, tree_notes
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.ports.side_by_side import side_by_side
from sidecar.workspace.review import taking_back
from sidecar.workspace.review.taking_back import TOGETHER
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.repositories import commit, with_git
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import rows

MANY, MORE = 150, 700


class SlowDisk(MemoryJournal):
    """Each wait for it takes so long."""

    def __init__(self, seconds: float = 0.5) -> None:
        super().__init__()
        self._seconds = seconds

    async def begin(self, entry: Any, takes_back: Any = ()) -> str:
        await asyncio.sleep(self._seconds)
        return await super().begin(entry, takes_back)


def start(folder: Path, count: int = MANY) -> dict[str, bytes]:
    for i in range(count):
        (folder / f"{i}.txt").write_text(f"{i}\n")
    return files(folder)


def changes(path: Path) -> None:
    path.write_text("changed\n")


def moves(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


def modes(path: Path) -> None:
    path.chmod(0o600)


def command(
    work: Callable[[Path], None],
    named: int = 0,
    *,
    ends: bool = True,
    count: int = MANY,
    at_once: int = 300,
) -> Callable[[Turn, FakeEditor], Any]:
    """`named`: how many of the files its calls name, `at_once` in one message. `ends`: the agent says when it is over, and what has changed is
    seen then. The folder may be a large one, at which nobody waits for the look."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await asyncio.sleep(1)
        for first in range(0, named, at_once):
            turn.says("execute", *(f"{i}.txt" for i in range(first, min(first + at_once, named))))
        turn.says("execute")
        tick()
        for i in range(count):
            work(turn.bench.folder / f"{i}.txt")
        tick()
        if ends:
            turn.says("execute", status="completed")

    return script


@pytest.mark.parametrize(
    ("work", "named"), [(changes, 0), (changes, MANY), (moves, 0), (modes, 0), (Path.unlink, 0)]
)
def test_all_are_listed_and_taken_back(tmp_path: Path, work: Callable[[Path], None], named: int) -> None:
    before = start(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == MANY
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert not result.impossible
        assert files(tmp_path) == before
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}

    editor = play(tmp_path, VSCODE, command(work, named), after=after, journal=SlowDisk(), custom=False)
    assert not [words for level, words in editor.shown if level == "warning"]


@pytest.mark.parametrize("work", [moves, Path.unlink])
def test_each_folder_is_waited_for_once_and_the_journal_is_told_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path], None]
) -> None:
    start(tmp_path)
    happened: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            happened.append("folder")
        real(descriptor)

    class Telling(MemoryJournal):
        async def finish_all(self, entry_ids: Sequence[str], state: Any) -> None:
            happened.append(state)
            await super().finish_all(entry_ids, state)

        async def forget_ledger(self, *uris: str) -> None:
            happened.append("forgotten")
            await super().forget_ledger(*uris)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(1)
        happened.clear()
        monkeypatch.setattr(os, "fsync", fsync)
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert not result.impossible
        await asyncio.sleep(1)
        ends = [at for at, what in enumerate(happened) if what == "folder"]
        assert len(ends) == -(-MANY // TOGETHER)
        parts = [happened[at + 1 : then] for at, then in zip(ends, [*ends[1:], len(happened)], strict=True)]
        assert happened[: ends[0]] == []
        assert all({*part} == {"done", "rejected", "forgotten"} for part in parts)

    play(tmp_path, VSCODE, command(work), after=after, journal=Telling(), custom=False)


def test_a_row_costs_the_same_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is looked at each time that another one goes."""
    names, real = 0, FileChange.uri.fget

    def counted(change: FileChange) -> str:
        nonlocal names
        names += 1
        return real(change)

    def cost(count: int) -> int:
        folder = tmp_path / f"{count}"
        folder.mkdir()
        start(folder, count)

        async def after(bench: Bench, editor: FakeEditor) -> None:
            nonlocal names
            names = 0
            assert len((await bench.workspace.review.revert_turn(bench.session, 1)).done) == count

        play(folder, VSCODE, command(Path.unlink, count=count), after=after, custom=False)
        return names

    monkeypatch.setattr(taking_back, "TOGETHER", 4)
    monkeypatch.setattr(FileChange, "uri", property(counted))
    assert cost(80) < 2.2 * cost(40)


def makes(path: Path) -> None:
    path.with_suffix(".new").write_text("new\n")


@with_git
@pytest.mark.parametrize("work", [makes, changes, moves, Path.unlink])
def test_git_is_not_started_for_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path], None]
) -> None:
    start(tmp_path)
    commit(tmp_path)
    ask, asked = git_head.ask, list[tuple[str, ...]]()

    def counted(folder: str, *words: str, **more: Any) -> bytes | None:
        asked.append(words)
        return ask(folder, *words, **more)

    monkeypatch.setattr(git_head, "ask", counted)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == MANY
        assert len(asked) < MANY / 5

    play(tmp_path, VSCODE, command(work), after=after, custom=False)


@pytest.mark.parametrize(
    ("count", "named", "is_committed"),
    [(MORE, 0, False), (MORE, MORE, False), pytest.param(5_100, 0, True, marks=with_git)],
)
def test_however_many_they_are(tmp_path: Path, count: int, named: int, is_committed: bool) -> None:
    before = start(tmp_path, count)
    if is_committed:
        commit(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == count
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert not result.impossible
        assert files(tmp_path) == before

    editor = play(tmp_path, VSCODE, command(changes, named, count=count), after=after, custom=False)
    assert not [words for level, words in editor.shown if level == "warning"]


@pytest.mark.parametrize(
    ("work", "named"), [(changes, 0), (changes, MORE), (moves, 0), (modes, 0), (Path.unlink, 0)]
)
def test_the_disk_is_waited_for_a_few_times_however_many_they_are(
    tmp_path: Path, work: Callable[[Path], None], named: int
) -> None:
    """A turn's end has time for five waits of two seconds. Two for each file that is moved, of which the journal has two entries."""
    before = start(tmp_path, MORE)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == MORE
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        assert files(tmp_path) == before

    script = command(work, named, ends=False, count=MORE)
    editor = play(tmp_path, VSCODE, script, after=after, journal=SlowDisk(2), custom=False)
    assert not [words for level, words in editor.shown if level == "warning"]


def test_what_there_was_no_room_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files that no commit has, contents are kept up to a bound: those of the others are not known, and that is said before and after."""
    start(tmp_path)
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 100)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == 100
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert len(result.done) == 100
        assert len(result.impossible) == MANY - 100

    editor = play(tmp_path, VSCODE, command(changes), after=after, custom=False)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert (
        f"and {MANY - 100 - 5} more files were changed while agent worked and cannot be taken back" in warning
    )


@with_git
@pytest.mark.parametrize("work", [changes, Path.unlink])
def test_what_one_call_named_too_much_of_is_told(tmp_path: Path, work: Callable[[Path], None]) -> None:
    """Git ignores the files: what they said when the turn began is not known, and one call names more of them than are read at once."""
    (tmp_path / ".gitignore").write_text("*.txt\n")
    commit(tmp_path)
    before = start(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        there = len(rows(bench))
        assert there == evidence.MAX_PATHS
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert len(result.impossible) == MANY - there
        changed = [name for name, was in files(tmp_path).items() if name in before and was != before[name]]
        assert len(changed) == (MANY - there if work is changes else 0)

    editor = play(tmp_path, VSCODE, command(work, MANY), after=after, custom=False)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert f"and {MANY - evidence.MAX_PATHS - 5} more files were changed while agent worked" in warning


@with_git
@pytest.mark.parametrize(
    "bad", ["x\ud800", "x/" * 100_000, "../../elsewhere", "x\0"], ids=["no text", "long", "outside", "NUL"]
)
def test_a_name_that_means_nothing_hides_no_other(tmp_path: Path, bad: str) -> None:
    (tmp_path / ".gitignore").write_text("*.txt\n")
    commit(tmp_path)
    start(tmp_path, 40)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", *(f"{i}.txt" for i in range(39)), bad, "39.txt")
        tick()
        changes(tmp_path / "39.txt")
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert [one["changeId"].rpartition("/")[2] for one in result.impossible] == ["39.txt"]

    play(tmp_path, VSCODE, script, after=after, custom=False)


@with_git
def test_what_one_call_named_and_left_alone_is_no_change(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.txt\n")
    commit(tmp_path)
    start(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not rows(bench)
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible

    editor = play(tmp_path, VSCODE, command(Path.stat, MANY), after=after, custom=False)
    assert not [words for level, words in editor.shown if level == "warning"]


def test_that_a_call_named_more_than_is_noted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "MAX_NOTED", 100)
    start(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(rows(bench)) == MANY
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert [one["reason"] for one in result.impossible] == [
            "calls named at least 50 more files than are noted; those that git ignores are not listed"
        ]

    editor = play(tmp_path, VSCODE, command(changes, MANY), after=after, custom=False)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "calls named at least 50 more files than are noted" in warning


def test_what_there_was_no_time_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path)
    monkeypatch.setattr(disk_watch, "LAST_LOOK_SECONDS", 0.7)
    monkeypatch.setattr(sys.modules[side_by_side.__module__], "ROOM", 64)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        there = len(rows(bench))
        assert 0 < there < MANY
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert len(result.impossible) == MANY - there
        assert {one["reason"] for one in result.impossible} == {"there was no time to record it"}

    script = command(changes, ends=False)
    editor = play(tmp_path, VSCODE, script, after=after, journal=SlowDisk(), custom=False)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "more files were changed while agent worked and cannot be taken back: there was no time" in warning


@pytest.mark.parametrize("named", [0, 10])
def test_what_there_is_no_time_for_was_named_by_no_call_and_changed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: int
) -> None:
    """The order where time is short. Of the files, the one with the highest number changed last."""
    start(tmp_path)
    monkeypatch.setattr(disk_watch, "LAST_LOOK_SECONDS", 0.7)
    monkeypatch.setattr(sys.modules[side_by_side.__module__], "ROOM", 64)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        there = {int(Path(row["uri"]).stem) for row in rows(bench)}
        assert named < len(there) < MANY
        assert there == {*range(named), *range(MANY - len(there) + named, MANY)}

    def change(path: Path) -> None:
        tick()
        changes(path)

    script = command(change, named, ends=False)
    play(tmp_path, VSCODE, script, after=after, journal=SlowDisk(), custom=False)


def test_that_there_was_no_time_to_look_at_all_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path)

    async def long(self: TurnStarts, session_id: str) -> list[object]:
        await asyncio.sleep(60)
        return []

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        (one,) = result.impossible
        assert one["changeId"] == f"0@{from_path(str(tmp_path))}"
        assert one["reason"] == "there was no time to check all the files in this folder"

    monkeypatch.setattr(TurnStarts, "changed", long)
    editor = play(tmp_path, VSCODE, command(changes), after=after, custom=False)
    (warning,) = [words for level, words in editor.shown if level == "warning"]
    assert "There was no time to check the files" in warning
