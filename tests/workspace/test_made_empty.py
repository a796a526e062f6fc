"""A file that one turn makes empty, and a later one fills: each takes back its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, CHANGED, Turn, play
from tests.workspace.test_gone_again import Step, acts, begins, plays, puts, removes, sends, user
from tests.workspace.test_whose import reject_all, rows

fills = acts(puts(BASE.encode()))
fills_again = acts(puts(CHANGED.encode()))
makes = acts(puts(b""))


async def writes(turn: Turn) -> None:
    """Through us."""
    await turn.bench.read("a.txt", session=turn.session)
    await turn.bench.write("a.txt", BASE, session=turn.session)


filled = pytest.mark.parametrize(
    "steps",
    [[fills], [writes], [fills, fills_again], [writes, sends]],
    ids=["on the disk", "through us", "twice", "twice through us"],
)


def kinds(bench: Bench) -> list[object]:
    return [dict(row.get("file") or {}).get("kind", "text") for row in rows(bench)]


@filled
@pytest.mark.parametrize("is_first", [True, False], ids=["the filling first", "the making first"])
def test_undo_turn(tmp_path: Path, steps: list[Step], is_first: bool) -> None:
    path = tmp_path / "a.txt"

    async def after(bench: Bench) -> None:
        review = bench.workspace.review
        if not is_first:
            (refused,) = (await review.revert_turn(bench.session, 1)).impossible
            assert "later" in refused["reason"]
            assert path.read_text() != ""
        assert not (await review.revert_turn(bench.session, 2)).impossible
        await asyncio.sleep(15)
        assert path.read_bytes() == b""
        await bench.workspace.review.files.look()
        assert kinds(bench) == ["created"]
        assert not (await review.revert_turn(bench.session, 1)).impossible
        assert not path.exists()

    plays(tmp_path, [begins, makes], [begins, *steps], after=after)


@filled
def test_reject_all(tmp_path: Path, steps: list[Step]) -> None:
    plays(tmp_path, [begins, makes], [begins, *steps])
    assert not (tmp_path / "a.txt").exists()


@filled
def test_in_one_turn(tmp_path: Path, steps: list[Step]) -> None:
    plays(tmp_path, [begins, makes, *steps])
    assert not (tmp_path / "a.txt").exists()


@filled
@pytest.mark.parametrize("custom", [True, False])
def test_in_a_file_that_the_user_has_open(tmp_path: Path, steps: list[Step], custom: bool) -> None:
    """Since it was made."""
    path, turns = tmp_path / "a.txt", [[begins, makes], [begins, *steps]]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for step in turns.pop(0):
            await step(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        assert not (await bench.workspace.review.revert_turn(bench.session, 2)).impossible
        await asyncio.sleep(15)
        if editor.text("a.txt") != path.read_text():  # this editor leaves saving to the user
            assert not custom
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
            await asyncio.sleep(5)
        assert (path.read_bytes(), editor.text("a.txt")) == (b"", "")
        await bench.workspace.review.files.look()
        assert kinds(bench) == ["created"]
        await reject_all(bench)
        assert not path.exists()

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@pytest.mark.parametrize("is_filled", [True, False])
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("opened_by", ["the user", "the agent's write"])
def test_before_anybody_has_looked_at_it(
    tmp_path: Path, opened_by: str, custom: bool, is_filled: bool
) -> None:
    """The document is opened in the moment in which the file was made."""
    path = tmp_path / "a.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await begins(turn)
        turn.says("execute")
        tick()
        path.write_text("")
        tick()
        if opened_by == "the user":
            editor.opens("a.txt")
            await asyncio.sleep(0.1)
        if is_filled:
            await writes(turn)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        if not custom and opened_by == "the user" and is_filled:
            assert editor.saves("a.txt")
            (refused,) = (await bench.workspace.review.reject(Selector(everything=True))).impossible
            assert "save it" in refused["reason"]
            assert editor.saves("a.txt")
        await reject_all(bench)
        await asyncio.sleep(5)
        assert not path.exists()

    play(tmp_path, VSCODE, script, after=after, custom=custom)


def test_a_third_turn_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    async def after(bench: Bench) -> None:
        assert not path.exists()
        for turn, text in (3, BASE), (2, ""):
            assert not (await bench.workspace.review.revert_turn(bench.session, turn)).impossible
            await asyncio.sleep(15)
            assert path.read_text() == text

    plays(tmp_path, [begins, makes], [begins, fills], [begins, acts(removes)], after=after)
    assert not path.exists()


def test_all_of_what_three_turns_did_to_it(tmp_path: Path) -> None:
    plays(tmp_path, [begins, makes], [begins, fills], [begins, acts(removes)])
    assert not (tmp_path / "a.txt").exists()


@filled
@pytest.mark.parametrize("turns", [1, 2])
def test_with_another_mode(tmp_path: Path, steps: list[Step], turns: int) -> None:
    steps = [*steps, acts(lambda folder: (folder / "a.txt").chmod(0o755))]
    plays(tmp_path, *([[begins, makes, *steps]] if turns == 1 else [[begins, makes], [begins, *steps]]))
    assert not (tmp_path / "a.txt").exists()


def test_what_the_user_puts_into_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    plays(tmp_path, [begins, makes], [begins, user(lambda folder: path.write_text("mine\n"))])
    assert path.read_text() == "mine\n"
