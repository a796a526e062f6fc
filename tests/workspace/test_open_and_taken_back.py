"""What agents do to files that the user has open is taken back like anything else, and the user's unsaved text stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, NEOVIM, VSCODE, Habits
from tests.support.file_time import tick
from tests.support.repositories import commit
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, CHANGED, Turn, nothing, opened, opened_and_typed, play
from tests.workspace.test_found_files import files
from tests.workspace.test_whose import reject_all, rows

MINE = BASE.replace("one", "mine")
CLOSED = 5.0
"""Seconds after which a document that was closed is not opened again by a reload."""
either = pytest.mark.parametrize("custom", [True, False])
any_editor = pytest.mark.parametrize(
    "habits", [habits for habits in EDITORS.values() if not habits.refuses], ids=lambda one: one.client
)
Work = Callable[[Path], object]


def removes(folder: Path) -> None:
    (folder / "a.txt").unlink()


def renames(folder: Path) -> None:
    (folder / "a.txt").rename(folder / "b.txt")


def makes_bytes(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"\0\1\2")


def changes(folder: Path) -> None:
    (folder / "a.txt").write_text(CHANGED)


def changes_the_mode(folder: Path) -> None:
    (folder / "a.txt").chmod(0o600)


async def acts(turn: Turn, work: Work) -> None:
    turn.says("execute")
    tick()
    work(turn.bench.folder)
    tick()
    turn.says("execute", status="completed")
    await asyncio.sleep(4)


@either
@pytest.mark.parametrize("is_typed_in", [False, True])
@pytest.mark.parametrize("work", [removes, renames, makes_bytes, changes_the_mode])
@pytest.mark.parametrize("door", ["reject", "undo"])
@pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
def test_the_file_is_as_it_was(
    tmp_path: Path, habits: Habits, custom: bool, is_typed_in: bool, work: Work, door: str
) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "a.txt").chmod(0o644)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, work)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert rows(bench)
        if door == "undo":
            assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        else:
            await reject_all(bench)
        await asyncio.sleep(5)
        assert editor.text("a.txt") == (MINE if is_typed_in else BASE)
        assert files(tmp_path) == {"a.txt": BASE.encode()}
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644
        assert not rows(bench)

    before = opened_and_typed if is_typed_in else opened
    play(tmp_path, habits, script, before=before, after=after, custom=custom)


@pytest.mark.parametrize("beside", [False, True], ids=["", "and somebody else's change"])
def test_what_was_under_review_in_a_text_of_which_bytes_were_made_goes_with_them(
    tmp_path: Path, beside: bool
) -> None:
    """In one rejection, although no document shows it before that (turns seed 1885221899)."""
    path, works = tmp_path / "a.txt", [changes, makes_bytes]
    path.write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, works.pop(0))
        editor.sees_on_disk("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        review, wanted = bench.workspace.review, BASE
        await asyncio.sleep(12)
        if beside:
            path.write_text(CHANGED.replace("two", "mine"))
            editor.sees_on_disk("a.txt")
            wanted = BASE.replace("two", "mine")
            await asyncio.sleep(1)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(12)

        async def is_watched() -> None:
            while path.read_bytes() == b"\0\1\2":  # noqa: ASYNC110 - a file, not an event
                await asyncio.sleep(0.1)
            editor.sees_on_disk("a.txt")

        watching = asyncio.create_task(is_watched())
        assert not (await review.reject(Selector(everything=True))).impossible
        await watching
        assert (path.read_text(), editor.text("a.txt")) == (wanted, wanted)
        assert not await review.listed(Selector())

    play(tmp_path, VSCODE, script, before=opened, after=after)


@any_editor
def test_where_nothing_was_under_review_in_a_text_of_which_bytes_were_made_nobody_waits(
    tmp_path: Path, habits: Habits
) -> None:
    """For an editor to read the file again: with unsaved text in the document, it never does."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, makes_bytes)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        began = asyncio.get_running_loop().time()
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert asyncio.get_running_loop().time() - began < 1
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, habits, script, before=opened_and_typed, after=after)


@either
@pytest.mark.parametrize("is_typed_in", [False, True])
def test_a_renamed_file_is_one_row(tmp_path: Path, is_typed_in: bool, custom: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, renames)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert [row.get("file") for row in rows(bench)] == [{"kind": "renamed", "from": bench.uri("a.txt")}]

    play(
        tmp_path,
        VSCODE,
        script,
        before=opened_and_typed if is_typed_in else opened,
        after=after,
        custom=custom,
    )


@either
@pytest.mark.parametrize("undone", ["before", "after"])
def test_what_an_undo_brings_back_in_its_document_is_under_review(
    tmp_path: Path, undone: str, custom: bool
) -> None:
    """The file was renamed, and the document is still open under the old name."""

    works = [changes, renames]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, works.pop(0))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert editor.text("a.txt") == CHANGED
        if undone == "before":
            editor.undoes("a.txt")
        else:
            editor.replaces("a.txt", "FOUR", "mine")
        await asyncio.sleep(2)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(12)
        assert [row.get("file", {}).get("kind") for row in rows(bench)] == ["renamed"]
        if undone == "before":
            editor.redoes("a.txt")
        else:
            editor.undoes("a.txt")
        await asyncio.sleep(2)
        assert editor.text("a.txt") == CHANGED
        assert ("four", "FOUR") in [(row["oldText"], row["newText"]) for row in rows(bench)]

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@either
@pytest.mark.parametrize("work", [changes, removes, makes_bytes, changes_the_mode])
def test_a_file_that_git_ignores_and_the_user_has_open(tmp_path: Path, work: Work, custom: bool) -> None:
    (tmp_path / ".gitignore").write_text("a.txt\n")
    commit(tmp_path)
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "a.txt").chmod(0o644)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, work)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert len(rows(bench)) == 1
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE
        if not custom and work is changes:  # our extension saves it
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
        assert (tmp_path / "a.txt").read_text() == BASE
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644

    play(tmp_path, VSCODE, script, before=before, after=after, custom=custom)


async def makes(turn: Turn, by_us: bool) -> None:
    if by_us:
        await turn.bench.write("made/new.txt", "made\n", session=turn.session)
    else:

        def work(folder: Path) -> None:
            (folder / "made").mkdir()
            (folder / "made" / "new.txt").write_text("made\n")

        await acts(turn, work)
    await asyncio.sleep(3)


@either
@pytest.mark.parametrize("by_us", [True, False], ids=["through us", "by a command"])
@any_editor
def test_a_new_file_that_is_open_goes_when_it_is_closed(
    tmp_path: Path, habits: Habits, custom: bool, by_us: bool
) -> None:
    """Until then its text can be had back."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await makes(turn, by_us)
        editor.opens("made/new.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        await asyncio.sleep(2)
        assert not editor.text("made/new.txt").strip()
        editor.closes("made/new.txt")
        await asyncio.sleep(CLOSED)
        assert not rows(bench)
        assert not (tmp_path / "made").exists()

    play(tmp_path, habits, script, after=after, custom=custom)


@pytest.mark.parametrize("then", ["undoes it", "types"])
def test_a_new_file_whose_text_the_user_wants_stays(tmp_path: Path, then: str) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await makes(turn, by_us=True)
        editor.opens("made/new.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        if then == "types":
            editor.types("made/new.txt", "mine\n")
        else:
            editor.undoes("made/new.txt")
        assert editor.saves("made/new.txt")
        text = editor.text("made/new.txt")
        await asyncio.sleep(2)
        editor.closes("made/new.txt")
        await asyncio.sleep(CLOSED)
        assert text == ("mine\n" if then == "types" else "made\n")
        assert (tmp_path / "made" / "new.txt").read_text() == text

    play(tmp_path, VSCODE, script, after=after, custom=True)


def test_a_new_file_that_is_opened_again_at_once_stays_until_it_is_closed_for_good(tmp_path: Path) -> None:
    """Neovim and eglot report a reload like that."""
    path = tmp_path / "made" / "new.txt"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await makes(turn, by_us=True)
        editor.opens("made/new.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        editor.closes("made/new.txt")
        editor.opens("made/new.txt")
        await asyncio.sleep(CLOSED)
        assert path.read_text() == ""
        editor.closes("made/new.txt")
        await asyncio.sleep(CLOSED)
        assert not path.exists()

    play(tmp_path, VSCODE, script, after=after, custom=True)


@either
@pytest.mark.parametrize("work", [removes, renames])
@pytest.mark.parametrize("typed", ["", "beside it"])
def test_what_was_rejected_before_the_file_went_does_not_come_back_with_it(
    tmp_path: Path, work: Work, typed: str, custom: bool
) -> None:
    """The rejection was not saved, as the user had typed: the file still says what was rejected, when it goes and when it is back."""
    (tmp_path / "a.txt").write_text(BASE)
    wanted = MINE.replace("four", typed or "four")

    def changes_two(folder: Path) -> None:
        (folder / "a.txt").write_text(BASE.replace("three", "THREE").replace("five", "FIVE"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await acts(turn, changes_two)
        (five,) = [row["changeId"] for row in rows(turn.bench) if row["newText"] == "FIVE"]
        await turn.bench.workspace.review.reject(Selector(change_ids=frozenset([str(five)])))
        assert editor.text("a.txt") == MINE.replace("three", "THREE")
        await acts(turn, work)
        if typed:
            editor.replaces("a.txt", "four", typed)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert rows(bench)
        await reject_all(bench)
        await asyncio.sleep(5)
        assert editor.text("a.txt") == wanted
        assert not rows(bench)
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        assert files(tmp_path) == {"a.txt": wanted.encode()}

    play(tmp_path, VSCODE, script, before=opened_and_typed, after=after, custom=custom)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_mode_is_put_back_right_after_the_agent_wrote_the_file(tmp_path: Path, is_open: bool) -> None:
    """Nobody has looked at the agent's text by then: it is no text that was put back, and comes under review."""
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    file.chmod(0o644)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if not rows(turn.bench):
            await acts(turn, changes_the_mode)
            return
        turn.says("execute")
        tick()
        changes(tmp_path)
        await turn.bench.workspace.review.reject(Selector(everything=True))
        tick()
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(12)
        assert [row["file"]["kind"] for row in rows(bench)] == ["mode"]
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(12)
        assert file.stat().st_mode & 0o777 == 0o644
        assert [(row["oldText"], row["newText"]) for row in rows(bench)] == [("four", "FOUR")]
        await reject_all(bench)
        assert file.read_text() == BASE
        assert not rows(bench)

    play(tmp_path, VSCODE, script, before=opened if is_open else nothing, after=after)
