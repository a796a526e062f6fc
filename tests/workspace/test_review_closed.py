"""Review of files that are not open: listed, taken back on the disk, and what others do to them meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.core.uri import DocumentUri, from_path
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, MemoryJournal, QuietEditor, a_workspace
from tests.workspace.test_review import ALL, WANTED, agent_writes, texts
from tests.workspace.test_writes import BASE, done, play


@pytest.mark.parametrize("custom", [True, False])
def test_files_that_are_not_open(tmp_path: Path, custom: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await agent_writes(bench, WANTED)
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]
        (tmp_path / "a.txt").write_text("zero\n" + WANTED)  # somebody goes on working on the disk
        assert not (await bench.workspace.review.reject(ALL)).impossible
        assert (tmp_path / "a.txt").read_text() == "zero\n" + BASE

    play(tmp_path, VSCODE, case, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("files", [1, 12])
@pytest.mark.parametrize("also_folder", [True, False], ids=["with its folder", ""])
def test_a_file_of_an_agents_that_somebody_removed_is_not_made_again(
    tmp_path: Path, files: int, custom: bool, also_folder: bool
) -> None:
    """By `acp-sidecar revert`, for instance; and the list was shown before that."""
    names = [f"made/{number}.txt" for number in range(files)]

    async def case(bench: Bench, editor: FakeEditor) -> None:
        for name in names:
            done(await bench.write(name, WANTED))
        await asyncio.sleep(5)
        for name in names:
            if bench.uri(name) in editor.model.documents:
                editor.closes(name)
        await bench.workspace.review.listed(ALL)
        for name in names:
            (tmp_path / name).unlink()
        if also_folder:
            (tmp_path / "made").rmdir()
        result = await bench.workspace.review.reject(ALL)
        await asyncio.sleep(3)
        assert not result.impossible
        assert not bench.workspace.review.changes(ALL)
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]

    play(tmp_path, VSCODE, case, custom=custom)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_comes_back_with_what_the_user_changed_in_it_before_it_went(
    tmp_path: Path, restarted: bool
) -> None:
    """As if it had never been away. (keeper seed 137)"""
    path, journal = tmp_path / "a.txt", MemoryJournal()
    path.write_text(BASE)

    async def back(bench: Bench) -> None:
        await bench.workspace.restore_reviews()
        assert not await bench.workspace.review.listed(ALL)
        path.write_text("mine\n" + WANTED)
        await bench.workspace.review.listed(ALL)
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]
        await bench.workspace.review.reject(ALL)
        assert path.read_text() == "mine\n" + BASE

    async def first() -> None:
        async with a_workspace(tmp_path, QuietEditor(), journal=journal) as bench:
            await bench.read("a.txt")
            done(await bench.write("a.txt", WANTED))
            await asyncio.sleep(1)
            path.unlink()
            if not restarted:
                await back(bench)

    async def second() -> None:
        async with a_workspace(tmp_path, QuietEditor(), journal=journal) as bench:
            await back(bench)

    run(first())
    if restarted:
        run(second())


def test_files_that_are_not_open_come_back_under_review_with_the_sidecar(tmp_path: Path) -> None:
    """Each brought up to the disk's text; what is gone, elsewhere or open is left alone."""
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in ("a.txt", "gone.txt", "open.txt"):
        (inside / name).write_text(BASE)
    journal = MemoryJournal()

    async def first() -> None:
        async with a_workspace(inside, QuietEditor(), journal=journal) as bench:
            for name in ("a.txt", "gone.txt", "open.txt"):
                await bench.read(name)
                done(await bench.write(name, WANTED))
            await asyncio.sleep(1)

    async def second() -> None:
        (inside / "a.txt").write_text("zero\n" + WANTED)
        (inside / "gone.txt").unlink()
        journal.ledgers[from_path(str(tmp_path / "elsewhere.txt"))] = next(iter(journal.ledgers.values()))
        (tmp_path / "elsewhere.txt").write_text(WANTED)
        editor = TellingEditor()
        async with a_workspace(inside, editor, journal=journal) as bench:
            bench.open("open.txt", WANTED)
            await bench.workspace.restore_reviews()
            await asyncio.sleep(1)
            rows = sorted(bench.workspace.review.changes(ALL), key=lambda row: str(row["uri"]))
            assert [(Path(str(r["uri"])).name, r["agent"], r.get("version")) for r in rows] == [
                ("a.txt", "agent", None),
                ("a.txt", "agent", None),
                ("open.txt", "agent", 1),
                ("open.txt", "agent", 1),
            ]
            assert rows[0]["range"] == {
                "start": {"line": 2, "character": 0},
                "end": {"line": 2, "character": 3},
            }
            assert editor.moved == {bench.uri("a.txt"), bench.uri("open.txt")}
            bench.type("open.txt", 2, 0, 0, "mine\n")  # the ledger of the open one is told of changes
            opened = Selector(uri=DocumentUri(bench.uri("open.txt")))
            assert bench.workspace.review.changes(opened)[0]["range"] == rows[0]["range"]

    run(first())
    run(second())
    assert from_path(str(inside / "gone.txt")) in journal.ledgers, "it may be on another branch"


class TellingEditor(QuietEditor):
    def __init__(self) -> None:
        super().__init__()
        self.moved: set[str] = set()

    def changes_moved(self, client_uris: Sequence[str]) -> None:
        self.moved |= set(client_uris)


@pytest.mark.parametrize(
    ("there", "left"),
    [
        (BASE, []),
        (BASE + "typed\n", []),
        ("zero\n" + BASE.replace("two", "TWO"), ["TWO"]),
        (None, []),
        ("\0\0", ["TWO", "FOUR"]),
    ],
    ids=["put back", "put back and edited", "one of two put back", "removed", "not text: left alone"],
)
def test_what_somebody_does_to_a_file_that_is_not_open_is_seen_in_the_list(
    tmp_path: Path, there: str | None, left: list[str]
) -> None:
    wanted = BASE.replace("two", "TWO").replace("four", "FOUR")
    path = tmp_path / "a.txt"
    path.write_text(BASE)

    async def main() -> None:
        journal, editor = MemoryJournal(), TellingEditor()
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            await agent_writes(bench, wanted)
            assert [row["newText"] for row in await bench.workspace.review.listed(ALL)] == ["TWO", "FOUR"]
            await asyncio.sleep(1)
            if there is None:
                path.unlink()
            else:
                path.write_text(there)
            assert [row["newText"] for row in await bench.workspace.review.listed(ALL)] == left
            await asyncio.sleep(1)
            kept = journal.ledgers.get(from_path(str(path)))
            assert (kept is not None) == (there is None or bool(left)), "gone, it may be on another branch"
            path.write_text(wanted)
            bench.workspace.files_changed([from_path(str(path))])
            await asyncio.sleep(1)
            assert editor.moved == {bench.uri("a.txt")}
            back = [row["newText"] for row in bench.workspace.review.changes(ALL)]
            assert back == ["TWO", "FOUR"], "there again as it was"

    run(main())


def test_a_file_that_is_not_open_is_not_looked_at_while_an_agent_works(tmp_path: Path) -> None:
    """What changes then may be the agent's, and is noted as that."""
    (tmp_path / "a.txt").write_text(BASE)

    async def main() -> None:
        async with a_workspace(tmp_path, QuietEditor()) as bench:
            await agent_writes(bench, WANTED)
            bench.workspace.state.sessions.get(bench.session).running = True
            (tmp_path / "a.txt").write_text(BASE)
            assert await bench.workspace.review.listed(ALL)
            bench.workspace.state.sessions.get(bench.session).running = False
            assert not await bench.workspace.review.listed(ALL)

    run(main())


def test_rejecting_what_somebody_put_back_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BASE)

    async def main() -> None:
        journal = MemoryJournal()
        async with a_workspace(tmp_path, QuietEditor(), journal=journal) as bench:
            await agent_writes(bench, WANTED)
            path.write_text(BASE)
            before = path.stat().st_mtime_ns
            result = await bench.workspace.review.reject(ALL)
            assert not result.impossible
            assert (path.read_text(), path.stat().st_mtime_ns) == (BASE, before)
            assert not bench.workspace.review.changes(ALL)
            assert len(journal.entries) == 1

    run(main())
