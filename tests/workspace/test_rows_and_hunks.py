"""Where rows of whole files meet the hunks in texts: which of the two a change is, and what the one may say of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.review.review import Selector
from sidecar.workspace.state.ledgers import Reviewed
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, MemoryJournal, QuietEditor, a_workspace
from tests.turns.world import entries
from tests.workspace.test_behind import BASE, Turn, play
from tests.workspace.test_gone_again import Step, acts, moves, puts
from tests.workspace.test_review import ALL

BYTES, TEXT, OTHER = b"\0bytes", b"text\n", b"other\n"
CHANGED = BASE.replace("two", "TWO")
custom = pytest.mark.parametrize("custom", [True, False])


def turns(
    folder: Path,
    steps: Sequence[Sequence[Step]],
    after: Callable[[Bench, FakeEditor], Awaitable[None]],
    journal: MemoryJournal | None = None,
    *,
    custom: bool = False,
) -> None:
    left = list(steps)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for step in left.pop(0):
            await step(turn)

    async def then(bench: Bench, editor: FakeEditor) -> None:
        while left:
            await asyncio.sleep(15)
            await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await after(bench, editor)
        await bench.workspace.reviews_stored()

    play(folder, VSCODE, script, after=then, custom=custom, journal=journal or MemoryJournal())


async def reject_all(bench: Bench, editor: object = None) -> None:
    assert await bench.workspace.review.listed(Selector())
    assert not (await bench.workspace.review.reject(ALL)).impossible


@custom
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("between", [puts(BYTES), puts(b"\0other")])
def test_a_text_that_was_something_else_in_between_is_a_row(
    tmp_path: Path, between: Callable[[Path], object], restarts: bool, custom: bool
) -> None:
    puts(TEXT)(tmp_path)
    before, journal = entries(tmp_path), MemoryJournal()

    async def nothing(bench: Bench, editor: FakeEditor) -> None: ...

    steps = [[acts(between), acts(puts(OTHER))]]
    turns(tmp_path, steps, nothing if restarts else reject_all, journal, custom=custom)

    async def again() -> None:
        async with a_workspace(tmp_path, QuietEditor(), journal=journal) as bench:
            await bench.workspace.restore_reviews()
            await reject_all(bench)

    if restarts:
        run(again())
    assert entries(tmp_path) == before


@pytest.mark.parametrize("start", [BYTES, None], ids=["bytes", "nothing"])
def test_what_is_typed_and_undone_again_leaves_the_row_beneath(tmp_path: Path, start: bytes | None) -> None:
    if start is not None:
        puts(start)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(2)
        editor.types("a.txt", "mine ", 0)
        await asyncio.sleep(2)
        await bench.workspace.review.listed(Selector())
        editor.undoes("a.txt")
        await asyncio.sleep(5)
        editor.closes("a.txt")
        await asyncio.sleep(5)
        await reject_all(bench)
        await asyncio.sleep(5)

    steps = [[acts(puts(b"" if start is None else TEXT))], [acts(puts(TEXT + b"more\n"))]]
    turns(tmp_path, steps, after)
    assert entries(tmp_path) == before


@custom
def test_a_copy_in_which_there_are_earlier_changes_is_listed(tmp_path: Path, custom: bool) -> None:
    """It became one when its old place was filled again."""
    puts(BASE.encode())(tmp_path)
    before = entries(tmp_path)
    steps = [
        [acts(puts(CHANGED.encode()))],
        [acts(moves)],
        [acts(puts(b"new\n"))],
        [acts(puts(CHANGED.replace("four", "FOUR").encode(), "b.txt"))],
    ]
    turns(tmp_path, steps, reject_all, custom=custom)
    assert entries(tmp_path) == before


def test_a_new_file_in_the_place_of_a_gone_one_is_the_users(tmp_path: Path) -> None:
    """One line of it says what an agent had written in the other."""
    path = tmp_path / "a.txt"
    path.write_text("first\nsecond\nthird\n")
    mine = "mine\nand mine\n    agent\nstill mine\n"

    async def main() -> None:
        async with a_workspace(tmp_path, QuietEditor(), journal=MemoryJournal()) as bench:
            await bench.workspace.restore_reviews()
            await bench.read("a.txt")
            await bench.write("a.txt", "first\n    agent\nsecond\nthird\n")
            await asyncio.sleep(1)
            path.unlink()
            await bench.workspace.restore_reviews()
            await bench.workspace.review.listed(Selector())
            path.write_text(mine)
            assert not await bench.workspace.review.listed(Selector())
            await bench.workspace.review.reject(ALL)

    run(main())
    assert path.read_text() == mine


def test_a_file_that_went_before_an_edit_landed_may_come_back() -> None:
    base, agents, more = Text.of("one\ntwo\n"), Text.of("ONE\ntwo\n"), Text.of("ONE\nTWO\n")
    reviewed = Reviewed(DocumentUri("file:///x"), base)
    reviewed.opened(base)
    reviewed.ledger.agent_edit(base, diff(str(base), str(agents)), agents, Author("s", 1, "w1"))
    reviewed.closed(agents)
    reviewed.gone()
    with reviewed.lands(agents, agents, more):
        reviewed.ledger.agent_edit(agents, diff(str(agents), str(more)), more, Author("s", 1, "w2"))
    assert reviewed.is_gone
    assert not reviewed.ledger.hunks
    reviewed.seen(agents)
    assert [(hunk.was, hunk.text) for hunk in reviewed.ledger.hunks] == [("one", "ONE")]
