"""The user looks at what is under review, or rejects it, while an agent works, or before it goes on: all of its work can be taken back all the same."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.core.refusal import Refusal
from sidecar.disk import FolderSyncs, Stat
from sidecar.workspace.review.review import Selector
from sidecar.workspace.state.storage import Put, Saved, Storage
from tests.lsp.fakes import until
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, play
from tests.workspace.test_found_files import files
from tests.workspace.test_gone_again import Step, acts, moves, moves_away, plays, puts, removes, user
from tests.workspace.test_whose import reject_all, rows


def closes_to_others(folder: Path) -> None:
    (folder / "a.txt").chmod(0o600)


def makes_executable(folder: Path) -> None:
    (folder / "a.txt").chmod(0o755)


async def lists(turn: Turn) -> None:
    await turn.bench.workspace.review.listed(Selector())


async def rejects(turn: Turn) -> None:
    await reject_all(turn.bench)


def as_it_was(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == ["a.txt"]
    assert ((folder / "a.txt").read_text(), (folder / "a.txt").stat().st_mode & 0o777) == (BASE, 0o644)


def begins_with(folder: Path) -> None:
    (folder / "a.txt").write_text(BASE)
    (folder / "a.txt").chmod(0o644)


@pytest.mark.parametrize("first", [removes, moves, makes_executable])
@pytest.mark.parametrize("second", [removes, moves, closes_to_others])
@pytest.mark.parametrize("at_once", [True, False], ids=["in the same turn", "in the next"])
def test_the_agent_goes_on_with_a_file_that_was_put_back(
    tmp_path: Path, first: Callable[[Path], object], second: Callable[[Path], object], at_once: bool
) -> None:
    begins_with(tmp_path)
    later = [[rejects, acts(second)]] if at_once else [[rejects], [acts(second)]]
    plays(tmp_path, [acts(first)], *later)
    as_it_was(tmp_path)


@pytest.mark.parametrize("looks", [[], [lists]], ids=["not seen yet", "listed"])
@pytest.mark.parametrize("pause", [None, 3], ids=["same turn", "next turn"])
@pytest.mark.parametrize("second", [removes, moves_away, puts(CHANGED.encode()), closes_to_others])
@pytest.mark.parametrize("data", [BASE.encode(), b"\0\1"], ids=["text", "bytes"])
@pytest.mark.parametrize("first", [removes, moves])
def test_the_agent_goes_on_with_a_file_that_the_user_brought_back(
    tmp_path: Path,
    first: Callable[[Path], object],
    second: Callable[[Path], object],
    pause: float | None,
    looks: list[Step],
    data: bytes,
) -> None:
    puts(data)(tmp_path)
    (tmp_path / "a.txt").chmod(0o644)
    before = files(tmp_path)
    later = [user(puts(data)), *looks, acts(second)]
    if pause is None:
        plays(tmp_path, [acts(first), *later])
    else:
        plays(tmp_path, [acts(first)], later, pause=pause)
    assert files(tmp_path) == before
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("after_seconds", [1, 4])
def test_what_an_agent_changes_and_changes_back_in_a_turn_is_no_change(
    tmp_path: Path, after_seconds: float
) -> None:
    async def back(turn: Turn) -> None:
        turn.says("execute")
        tick()
        puts(CHANGED.encode())(tmp_path)
        tick()
        await asyncio.sleep(after_seconds)
        puts(BASE.encode())(tmp_path)
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(4)

    async def nothing_is_listed(bench: Bench) -> None:
        assert not await bench.workspace.review.listed(Selector())

    begins_with(tmp_path)
    plays(tmp_path, [back], after=nothing_is_listed)
    as_it_was(tmp_path)


def test_a_changed_link_is_a_row_that_says_where_it_leads(tmp_path: Path) -> None:
    def leads_away(folder: Path) -> None:
        (folder / "link").unlink()
        (folder / "link").symlink_to("there")

    async def is_listed(bench: Bench) -> None:
        (row,) = await bench.workspace.review.listed(Selector())
        assert row["file"] == {"kind": "link", "oldTarget": "nowhere", "newTarget": "there"}

    (tmp_path / "link").symlink_to("nowhere")
    plays(tmp_path, [acts(leads_away)], after=is_listed)
    assert os.readlink(tmp_path / "link") == "nowhere"


@pytest.mark.parametrize("at_once", [True, False], ids=["in the same turn", "in the next"])
def test_the_agent_goes_on_with_a_link_that_was_put_back(tmp_path: Path, at_once: bool) -> None:
    def leads_to(target: str) -> Callable[[Path], object]:
        def work(folder: Path) -> None:
            (folder / "link").unlink()
            (folder / "link").symlink_to(target)

        return work

    (tmp_path / "link").symlink_to("nowhere")
    second = acts(leads_to("there"))
    later = [[rejects, second]] if at_once else [[rejects], [second]]
    plays(tmp_path, [acts(leads_to("here"))], *later)
    assert os.readlink(tmp_path / "link") == "nowhere"


def test_an_agent_changes_and_removes_a_link_that_was_put_back(tmp_path: Path) -> None:
    """When it changed is noted at its first change: the user works in the folder, too."""
    link = tmp_path / "link"

    def leads_elsewhere(folder: Path) -> None:
        link.unlink()
        link.symlink_to("there")

    link.symlink_to("nowhere")
    plays(
        tmp_path,
        [acts(lambda folder: link.unlink())],
        [
            rejects,
            acts(leads_elsewhere),
            acts(lambda folder: link.unlink()),
            user(lambda folder: (folder / "mine.txt").write_text("mine\n")),
        ],
    )
    assert os.readlink(link) == "nowhere"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (removes, puts(CHANGED.encode())),
        (removes, puts(b"\0")),
        (makes_executable, closes_to_others),
        (puts(b"\0"), puts(b"\0\0")),
    ],
    ids=["made anew", "made anew of bytes", "another mode", "other bytes"],
)
@pytest.mark.parametrize("looks", [lists, rejects])
def test_a_look_while_the_agent_works_takes_nothing_out_of_review(
    tmp_path: Path, first: Callable[[Path], object], second: Callable[[Path], object], looks: Step
) -> None:
    """The list is looked at before anybody has noticed what the agent made of that since."""
    begins_with(tmp_path)
    plays(tmp_path, [acts(first)], [acts(second), looks])
    as_it_was(tmp_path)


def test_a_look_takes_what_an_agent_makes_under_the_old_name_of_a_file_for_its_own(tmp_path: Path) -> None:
    """Not for the file that the user brought back."""
    begins_with(tmp_path)

    async def makes_it_anew(turn: Turn) -> None:
        turn.says("execute")
        tick()
        puts(CHANGED.encode())(tmp_path)
        tick()
        await lists(turn)
        turn.says("execute", status="completed")
        await asyncio.sleep(4)

    plays(tmp_path, [acts(moves)], [makes_it_anew])
    as_it_was(tmp_path)


def test_a_folder_that_the_agent_makes_again_is_its_own(tmp_path: Path) -> None:
    """It went with the first file, while the second turn ran."""

    def makes(name: str) -> Step:
        def work(folder: Path) -> None:
            (folder / "made" / "inner").mkdir(parents=True, exist_ok=True)
            (folder / "made" / "inner" / name).write_text(BASE)

        return acts(work)

    begins_with(tmp_path)
    plays(tmp_path, [makes("one.txt")], [rejects, makes("other.txt")])
    as_it_was(tmp_path)


def test_what_the_agent_wrote_beside_what_is_rejected(tmp_path: Path) -> None:
    """In the same file, which nobody has looked at since."""

    def writes(old: str, new: str) -> Callable[[Path], object]:
        def work(folder: Path) -> None:
            (folder / "a.txt").write_text((folder / "a.txt").read_text().replace(old, new))

        return work

    async def at_once(turn: Turn) -> None:
        turn.says("execute")
        tick()
        writes("four", "FOUR")(tmp_path)
        tick()
        await reject_all(turn.bench)
        turn.says("execute", status="completed")

    begins_with(tmp_path)
    plays(tmp_path, [acts(writes("two", "TWO"))], [at_once])
    as_it_was(tmp_path)


def test_a_rejection_that_takes_its_time_is_not_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody finds the file changed before it is known who has changed it."""
    journal, put_some = MemoryJournal(), Storage.put_some

    async def slowly(storage: Storage, puts: Sequence[Put], syncs: FolderSyncs) -> list[Saved]:
        saved = await put_some(storage, puts, syncs)
        await asyncio.sleep(1)
        return saved

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "a.txt")
        tick()
        turn.puts("a.txt", BASE.replace("two", "TWO").replace("four", "FOUR"))
        await asyncio.sleep(4)
        first = rows(turn.bench)[0]["changeId"]
        await turn.bench.workspace.review.reject(Selector(change_ids=frozenset([first])))
        await asyncio.sleep(4)
        await reject_all(turn.bench)

    begins_with(tmp_path)
    monkeypatch.setattr(Storage, "put_some", slowly)
    play(tmp_path, VSCODE, script, journal=journal, custom=False)
    as_it_was(tmp_path)
    assert [one.agent for one in journal.entries.values()] == ["agent", "reject", "reject"]


def puts_back_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second until it is known that the disk has put something back as a whole."""
    restore = Storage.restore

    async def slowly(
        storage: Storage,
        folder: str,
        path: str,
        expected: FileState | None,
        wanted: FileState | None,
        syncs: FolderSyncs,
    ) -> Stat | Refusal | None:
        done = await restore(storage, folder, path, expected, wanted, syncs)
        await asyncio.sleep(1)
        return done

    monkeypatch.setattr(Storage, "restore", slowly)


@pytest.mark.parametrize("first", [removes, makes_executable, puts(b"\0")], ids=["removed", "mode", "bytes"])
def test_nor_is_one_of_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Callable[[Path], object]
) -> None:
    async def while_a_command_runs(turn: Turn) -> None:
        turn.says("execute", "a.txt")
        await asyncio.sleep(1)
        await reject_all(turn.bench)
        await asyncio.sleep(4)
        assert not list(turn.bench.workspace.review.files)
        turn.says("execute", status="completed")

    begins_with(tmp_path)
    puts_back_slowly(monkeypatch)
    plays(tmp_path, [acts(first)], [while_a_command_runs])
    as_it_was(tmp_path)


@pytest.mark.parametrize("second", [removes, closes_to_others, puts(CHANGED.encode()), puts(b"\0\0")])
def test_the_agent_goes_on_with_a_file_before_it_is_known_that_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: Callable[[Path], object]
) -> None:
    async def at_once(turn: Turn) -> None:
        turn.says("execute")
        await asyncio.sleep(1)
        rejecting = asyncio.ensure_future(reject_all(turn.bench))
        await until(lambda: (tmp_path / "a.txt").read_bytes() == BASE.encode())
        tick()
        second(tmp_path)
        tick()
        await rejecting
        turn.says("execute", status="completed")

    begins_with(tmp_path)
    puts_back_slowly(monkeypatch)
    plays(tmp_path, [acts(puts(b"\0"))], [at_once])
    as_it_was(tmp_path)
