"""What is in the place of a removed file, and is removed in its turn: that nobody's work goes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.between import HEARD
from tests.workspace.test_behind import BASE, CHANGED, Turn, opened, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import apart, reject_all, rows

LOOKED = 4.0
"""Seconds in which what has changed is looked at."""
Step = Callable[[Turn], Awaitable[None]]


def acts(work: Callable[[Path], object]) -> Step:
    """A command of the agent's does this."""

    async def step(turn: Turn) -> None:
        turn.says("execute")
        tick()
        work(turn.bench.folder)
        tick()
        turn.says("execute", status="completed")
        tick()
        await asyncio.sleep(LOOKED)

    return step


def user(work: Callable[[Path], object]) -> Step:
    async def step(turn: Turn) -> None:
        await asyncio.sleep(HEARD)
        tick()
        work(turn.bench.folder)
        tick()
        await asyncio.sleep(LOOKED)

    return step


async def sends(turn: Turn) -> None:
    """The agent changes the file through us."""
    await turn.bench.read("a.txt", session=turn.session)
    await turn.bench.write("a.txt", CHANGED, session=turn.session)


async def begins(turn: Turn) -> None:
    """Something runs, so that the turn is one that may have changed files; the file is one that is looked at."""
    turn.says("execute", "a.txt", call="c0")
    turn.says("execute", "a.txt", call="c0", status="completed")


def removes(folder: Path) -> None:
    (folder / "a.txt").unlink()


def moves(folder: Path) -> None:
    (folder / "a.txt").rename(folder / "b.txt")


def moves_away(folder: Path) -> None:
    (folder / "a.txt").rename(folder / "c.txt")


def removes_moved(folder: Path) -> None:
    (folder / "b.txt").unlink()


def moves_on(folder: Path) -> None:
    (folder / "b.txt").rename(folder / "c.txt")


def puts(data: bytes, name: str = "a.txt") -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


async def nothing(bench: Bench) -> None: ...


def plays(
    folder: Path,
    *turns: list[Step],
    between: Callable[[], object] = lambda: None,
    after: Callable[[Bench], Awaitable[None]] = nothing,
    custom: bool = False,
    pause: float = 15,
) -> None:
    """One turn `pause` seconds after the other, of these steps each, with what the user does `between` them; then everything of the agents' is taken back."""
    left = list(turns)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for step in left.pop(0):
            await step(turn)

    async def then(bench: Bench, editor: FakeEditor) -> None:
        while left:
            await asyncio.sleep(pause)
            between()
            await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await after(bench)
        await reject_all(bench)

    play(folder, VSCODE, script, after=then, custom=custom)


either = pytest.mark.parametrize("first", [removes, moves])


@either
def test_the_user_brings_it_back_and_the_agent_changes_and_removes_it(
    tmp_path: Path, first: Callable[[Path], object]
) -> None:
    """There was no file when the second turn began; that it is gone at its end is the agent's all the same."""
    (tmp_path / "a.txt").write_text(BASE)
    before = files(tmp_path)
    plays(
        tmp_path,
        [acts(first)],
        [begins, user(puts(BASE.encode())), acts(puts(CHANGED.encode())), acts(removes)],
    )
    assert files(tmp_path) == before


def test_what_the_user_brought_back_is_what_a_change_of_it_begins_with(tmp_path: Path) -> None:
    """Not what an agent had made of it, and then moved."""
    (tmp_path / "a.txt").write_text(BASE)

    plays(
        tmp_path,
        [sends, acts(moves)],
        [acts(puts(BASE.replace("two", "TWO").encode()))],
        between=lambda: (tmp_path / "a.txt").write_text(BASE),
        custom=True,
    )
    assert files(tmp_path) == {"a.txt": BASE.encode()}


@pytest.mark.parametrize("doors", [(1, 2), (2, 1), ()], ids=["one by one", "the last first", "at once"])
@pytest.mark.parametrize("text", [BASE.replace("two", "TWO"), CHANGED], ids=["from the start", "as it was"])
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("changes", [acts(puts(CHANGED.encode())), sends], ids=["a command", "through us"])
@either
def test_the_agent_makes_anew_what_it_had_changed(
    tmp_path: Path,
    first: Callable[[Path], object],
    changes: Step,
    text: str,
    doors: tuple[int, ...],
    custom: bool,
) -> None:
    """What it had changed there before is still to be reviewed, also where that file was moved (turns seed 889900)."""
    (tmp_path / "a.txt").write_text(BASE)

    async def after(bench: Bench) -> None:
        for turn in doors:
            await bench.workspace.review.revert_turn(bench.session, turn)
            await asyncio.sleep(3)

    plays(tmp_path, [changes, acts(first)], [acts(puts(text.encode()))], after=after, custom=custom)
    assert files(tmp_path) == {"a.txt": BASE.encode()}


@either
@pytest.mark.parametrize("second", [removes, moves_away])
def test_the_agent_makes_it_anew_and_removes_it(
    tmp_path: Path, first: Callable[[Path], object], second: Callable[[Path], object]
) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    before = files(tmp_path)
    plays(tmp_path, [acts(first)], [acts(puts(CHANGED.encode())), acts(second)])
    assert files(tmp_path) == before


@pytest.mark.parametrize("data", [b"mine\n", b"", b"\0mine"])
def test_a_file_that_the_user_made_is_removed(tmp_path: Path, data: bytes) -> None:
    before = files(tmp_path)
    plays(tmp_path, [begins, user(puts(data)), acts(removes)])
    assert files(tmp_path) == before | {"a.txt": data}


@pytest.mark.parametrize("data", [b"the agent's\n", b"", b"\0"])
def test_what_the_agent_made_and_removed_is_no_change(tmp_path: Path, data: bytes) -> None:
    async def after(bench: Bench) -> None:
        assert not rows(bench)

    plays(tmp_path, [acts(puts(data)), acts(removes)], after=after)
    assert not files(tmp_path)


@pytest.mark.parametrize("data", [b"somebody's\n", b"", b"\0"])
def test_what_nobody_is_known_to_have_made_and_removed_is_no_change(tmp_path: Path, data: bytes) -> None:
    async def after(bench: Bench) -> None:
        assert apart(bench) == []

    plays(tmp_path, [begins, user(puts(data)), user(removes)], after=after)


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("data", [BASE.encode(), b"", b"\0"])
@pytest.mark.parametrize("second", [removes_moved, moves_on])
def test_what_was_moved_is_removed_or_moved_on(
    tmp_path: Path, second: Callable[[Path], object], data: bytes, turns: int
) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    before = files(tmp_path)
    steps = [acts(moves), acts(second)]
    plays(tmp_path, *([steps] if turns == 1 else [[step] for step in steps]))
    assert files(tmp_path) == before


@pytest.mark.parametrize("doors", [(1, 2), (2, 1), ()], ids=["one by one", "the last first", "at once"])
@pytest.mark.parametrize("second", [removes, moves])
@pytest.mark.parametrize("looked_at", [True, False], ids=["found while the turn runs", "at its end"])
def test_what_is_under_review_goes_with_the_file_and_comes_back_with_it(
    tmp_path: Path, second: Callable[[Path], object], doors: tuple[int, ...], looked_at: bool
) -> None:
    """The user changes the file between the turn that changed it and the one that takes it away."""
    (tmp_path / "a.txt").write_text(BASE)
    mine = CHANGED.replace("two", "mine")
    seen: list[Step] = [begins] if looked_at else []

    async def after(bench: Bench) -> None:
        for turn in doors:
            result = await bench.workspace.review.revert_turn(bench.session, turn)
            assert not result.impossible
            await asyncio.sleep(3)

    plays(
        tmp_path,
        [acts(puts(CHANGED.encode()))],
        [*seen, acts(second)],
        between=lambda: (tmp_path / "a.txt").write_text(mine),
        after=after,
    )
    assert files(tmp_path) == {"a.txt": BASE.replace("two", "mine").encode()}


@pytest.mark.parametrize("second", [removes, moves])
def test_what_is_under_review_comes_back_though_the_user_changes_the_file_at_once(
    tmp_path: Path, second: Callable[[Path], object]
) -> None:
    """Before anybody looks at the file that a rejection has brought back while the turn runs. (turns seed 1883009658)"""
    (tmp_path / "a.txt").write_text(BASE)

    async def rejects(turn: Turn) -> None:
        found = [str(row["changeId"]) for row in rows(turn.bench) if "file" in row]
        await turn.bench.workspace.review.reject(Selector(change_ids=frozenset(found)))

    async def after(bench: Bench) -> None:
        tick()
        (tmp_path / "a.txt").write_text(CHANGED.replace("two", "mine"))
        await asyncio.sleep(3)

    plays(tmp_path, [acts(puts(CHANGED.encode()))], [begins, acts(second), rejects], after=after)
    assert files(tmp_path) == {"a.txt": BASE.replace("two", "mine").encode()}


@pytest.mark.parametrize("custom", [True, False])
def test_a_rejection_is_of_what_the_disk_says_by_then(tmp_path: Path, custom: bool) -> None:
    """The file was made anew while it was open, and the user's shell changed it after the turn, which nobody has looked at: the editor takes
    the rejection for unsaved work, and saving it must not take the user's line away."""

    def anew(folder: Path) -> None:
        removes(folder)
        puts(CHANGED.encode())(folder)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(anew)(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        (tmp_path / "a.txt").write_text(CHANGED.replace("two", "mine"))
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("two", "mine")

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@pytest.mark.parametrize("saves", [True, False])
@pytest.mark.parametrize("ends", [True, False], ids=["after the command", "while it runs"])
def test_a_mode_is_the_agents_whoever_saves_the_file_since(tmp_path: Path, ends: bool, saves: bool) -> None:
    """What is not saved there is not in the way of taking it back."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").chmod(0o600)
        tick()
        if ends:
            turn.says("execute", status="completed")
            tick()
            await asyncio.sleep(HEARD)
        editor.replaces("a.txt", "one", "mine")
        assert not saves or editor.saves("a.txt")
        await asyncio.sleep(LOOKED)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [row["file"]["kind"] for row in rows(bench)] == ["mode"]
        await reject_all(bench)
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644
        assert editor.text("a.txt") == BASE.replace("one", "mine")
        assert (tmp_path / "a.txt").read_text() == (editor.text("a.txt") if saves else BASE)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        await opened(bench, editor)
        (tmp_path / "a.txt").chmod(0o644)

    play(tmp_path, VSCODE, script, before=before, after=after)


def test_a_mode_that_the_agent_set_before_it_made_the_file_anew_says_nothing_of_later_ones(
    tmp_path: Path,
) -> None:
    path = tmp_path / "b.txt"
    path.write_text(BASE)
    path.chmod(0o644)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for does in lambda: path.chmod(0o600), path.unlink, lambda: path.write_text(BASE):
            turn.says("execute", call=str(does))
            tick()
            does()
            tick()
            turn.says("execute", call=str(does), status="completed")
            await asyncio.sleep(LOOKED)
        tick()
        path.chmod(0o755)  # the user
        await asyncio.sleep(LOOKED)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert path.stat().st_mode & 0o777 == 0o755

    play(tmp_path, VSCODE, script, after=after)


def test_a_link_that_is_removed_made_and_removed_again(tmp_path: Path) -> None:
    """What it leads to in between is not what was there."""
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "link").symlink_to("nowhere")
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        if len(turns) == 1:
            await acts(lambda folder: (folder / "link").unlink())(turn)
            return
        await acts(lambda folder: (folder / "link").symlink_to("a.txt"))(turn)
        await acts(lambda folder: (folder / "link").unlink())(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        assert [row["file"]["kind"] for row in rows(bench)] == ["deleted"]
        await reject_all(bench)
        assert (tmp_path / "link").readlink() == Path("nowhere")

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("when", ["at once", "later", "never"])
def test_what_the_agent_makes_in_place_of_what_it_removed_has_another_mode(
    tmp_path: Path, custom: bool, when: str
) -> None:
    """In a turn that began without the file: its text begins with what was removed, and so does its mode."""
    script_ = tmp_path / "run.sh"
    script_.write_text(BASE)
    script_.chmod(0o755)
    turns: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turns.append("")
        if len(turns) == 1:
            await acts(lambda folder: (folder / "run.sh").unlink())(turn)
            return

        def make(folder: Path) -> None:
            script_.write_text(CHANGED)
            script_.chmod(0o600 if when == "at once" else 0o755)

        await acts(make)(turn)
        if when == "later":
            await acts(lambda folder: script_.chmod(0o600))(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        kinds = [row["file"]["kind"] for row in rows(bench) if "file" in row]
        assert kinds == ([] if when == "never" else ["mode"])
        assert any("file" not in row for row in rows(bench))
        await reject_all(bench)
        assert script_.read_text() == BASE
        assert script_.stat().st_mode & 0o777 == 0o755
        assert not rows(bench)

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@either
@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_who_brings_a_file_back_as_it_was_has_not_made_it(
    tmp_path: Path, first: Callable[[Path], object], mode: int
) -> None:
    """While the agent does something: it or the user. Taking that turn back by its journal does not take the file away; another mode is a change."""
    path, journal = tmp_path / "a.txt", MemoryJournal()
    path.write_text(BASE)

    def comes_back(folder: Path) -> None:
        path.write_text(BASE)
        path.chmod(mode)

    turns = [[begins, acts(first)], [begins, acts(comes_back)]]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for step in turns.pop(0):
            await step(turn)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        kinds = [dict(row.get("file") or {})["kind"] for row in rows(bench)]
        assert kinds == ["created"] * (first is moves) + ["mode"] * (mode != 0o644)
        made = [one for one in journal.entries.values() if one.turn == 2 and one.before is None and one.after]
        assert bool(made) is (mode != 0o644)
        await reject_all(bench)
        assert (path.read_text(), path.stat().st_mode & 0o777) == (BASE, 0o644)

    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=False)


def test_the_user_brings_a_moved_file_back_as_it_is_under_its_new_name(tmp_path: Path) -> None:
    """Since they rejected what was under review in it. An agent works meanwhile, and may have done that. (turns seed 1885071166)"""
    (tmp_path / "a.txt").write_text(BASE)
    before = files(tmp_path)

    async def only_the_text(turn: Turn) -> None:
        review = turn.bench.workspace.review
        rows = [dict(row) for row in await review.listed(Selector(uri=turn.bench.uri("b.txt")))]
        hunks = frozenset(str(row["changeId"]) for row in rows if "file" not in row)
        assert (await review.reject(Selector(change_ids=hunks))).done
        assert (tmp_path / "b.txt").read_text() == BASE

    plays(
        tmp_path,
        [acts(puts(CHANGED.encode()))],
        [acts(moves)],
        [only_the_text, acts(puts(BASE.encode()))],
    )
    assert files(tmp_path) == before
