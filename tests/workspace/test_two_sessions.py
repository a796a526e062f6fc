"""The turn of another session begins while late changes of the one before may still come: what is known of the files counts on, and what an agent
changes begins with what was there when its own turn began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, Turn, play
from tests.workspace.test_found_files import files
from tests.workspace.test_gone_again import Step, acts, begins, moves, puts, removes, user

TYPED = BASE.replace("one", "typed")
MINE = TYPED.replace("two", "mine")
BETWEEN = pytest.mark.parametrize("between", [0, 3, 9])
"""Seconds; of a turn that is over, changes may come late for ten."""


def changes(folder: Path) -> None:
    (folder / "a.txt").write_text((folder / "a.txt").read_text().replace("four", "FOUR"))


def makes_anew(folder: Path) -> None:
    text = (folder / "a.txt").read_text().replace("four", "FOUR")
    (folder / "a.txt").unlink()
    (folder / "a.txt").write_text(text)


def sets_its_mode(folder: Path) -> None:
    (folder / "a.txt").chmod(0o755)


does = pytest.mark.parametrize("does", [changes, removes, moves, makes_anew, sets_its_mode])
custom = pytest.mark.parametrize("custom", [True, False])


def plays(
    folder: Path,
    first: list[Step],
    second: list[Step],
    between: float,
    custom: bool,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """A turn of one session, and so many seconds later one of another; then everything of the agents' is taken back.
    In the first the user types in the file, saves and closes it. `meanwhile`: between them."""
    left = [[], first, second]
    (folder / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if len(left) == 2:
            editor.opens("a.txt")
            editor.replaces("a.txt", "one", "typed")
            assert editor.saves("a.txt")
            editor.closes("a.txt")
            await asyncio.sleep(1)
        for step in left.pop(0):
            await step(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        other = await bench.another_session()
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        tick()
        meanwhile()
        tick()
        await asyncio.sleep(between)
        await bench.workspace.start_prompt(other, [])[2]
        await asyncio.sleep(15)
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        await asyncio.sleep(1)
        assert not [row for row in bench.workspace.review.changes(Selector()) if not row.get("unknown")]

    play(folder, VSCODE, script, after=after, custom=custom)


@BETWEEN
@custom
@does
def test_what_the_user_did_in_the_first_is_what_a_change_in_the_second_begins_with(
    tmp_path: Path, does: Callable[[Path], object], custom: bool, between: float
) -> None:
    """(turns seeds 1000001, 1000053)"""
    made = puts(b"made\n", "b.txt")
    plays(tmp_path, [begins, acts(made), user(puts(MINE.encode()))], [acts(does)], between, custom)
    assert files(tmp_path) == {"a.txt": MINE.encode()}
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


@BETWEEN
@custom
@does
def test_what_the_first_did_is_not_found_once_more_in_the_second(
    tmp_path: Path, does: Callable[[Path], object], custom: bool, between: float
) -> None:
    """(turns seeds 1000061, 1000072)"""
    plays(tmp_path, [begins, acts(does)], [acts(puts(b"made\n", "b.txt"))], between, custom)
    assert files(tmp_path) == {"a.txt": TYPED.encode()}
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


@BETWEEN
@custom
@does
@pytest.mark.parametrize("first", [[], [begins], [begins, acts(puts(b"made\n", "b.txt"))]])
def test_what_the_user_did_between_them_is_what_a_change_in_the_second_begins_with(
    tmp_path: Path, first: list[Step], does: Callable[[Path], object], custom: bool, between: float
) -> None:
    plays(
        tmp_path,
        first,
        [acts(does)],
        between,
        custom,
        meanwhile=lambda: (tmp_path / "a.txt").write_text(MINE),
    )
    assert files(tmp_path) == {"a.txt": MINE.encode()}
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


@custom
@pytest.mark.parametrize("last", [0o755, 0o640], ids=oct)
def test_a_mode_that_the_first_has_set_again_stays_when_the_seconds_is_rejected(
    tmp_path: Path, custom: bool, last: int
) -> None:
    """(turns seed 1883001354)"""
    file, modes = tmp_path / "a.txt", [0o755, 0o600, last]
    file.write_text(BASE)
    file.chmod(0o644)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(lambda folder: file.chmod(modes.pop(0)))(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        other = await bench.another_session()
        for session in (other, bench.session):
            await asyncio.sleep(15)
            await bench.workspace.start_prompt(session, [])[2]
        await asyncio.sleep(15)
        for selector, mode in ((Selector(session_id=other), last), (Selector(everything=True), 0o644)):
            assert not (await bench.workspace.review.reject(selector)).impossible
            assert file.stat().st_mode & 0o777 == mode
        assert not bench.workspace.review.changes(Selector())

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@custom
def test_a_mode_that_is_set_again_later_is_of_that_turn(tmp_path: Path, custom: bool) -> None:
    """What was noted of the mode that the file had meanwhile says nothing of who set this one (turns seed 1885196389)."""
    file, modes = tmp_path / "a.txt", [0o755, 0o644, None, 0o755]
    file.write_text(BASE)
    file.chmod(0o644)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        mode = modes.pop(0)
        turn.says("execute")
        tick()
        if mode is not None:
            file.chmod(mode)
        tick()
        turn.says("execute", status="completed")
        if mode == 0o644:  # before anybody has looked
            await turn.bench.workspace.review.reject(Selector(everything=True))
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        other = await bench.another_session()
        for session in (other, bench.session, other):
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(session, [])[2]
        await asyncio.sleep(15)
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert file.stat().st_mode & 0o777 == 0o644
        assert not bench.workspace.review.changes(Selector())

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@custom
@pytest.mark.parametrize("again", [True, False], ids=["and once more", ""])
def test_a_file_whose_mode_is_put_back_keeps_what_was_made_of_it_since_under_review(
    tmp_path: Path, custom: bool, again: bool
) -> None:
    """(turns seed 1885080165)"""
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    file.chmod(0o644)
    left = [
        lambda folder: file.chmod(0o600),
        lambda folder: file.write_bytes(b"\0bytes"),
        *([lambda folder: file.write_bytes(b"\0others")] if again else []),
    ]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(left.pop(0))(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        while left:
            await asyncio.sleep(15)
            await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        made = file.read_bytes()
        assert not (await bench.workspace.review.reject(Selector(turn=1))).impossible
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (made, 0o644)
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert (file.read_text(), file.stat().st_mode & 0o777) == (BASE, 0o644)
        assert not bench.workspace.review.changes(Selector())

    play(tmp_path, VSCODE, script, after=after, custom=custom)
