"""What comes to a wrong place, and what was to put it right, comes to one, too: nothing of the user's goes, and when nothing can be
proven any more the text stays as it is and everybody is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.refusal import Kind
from sidecar.workspace.edits.sending import RELOAD_SECONDS
from sidecar.workspace.review.applying import Change, Step
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import (
    EGLOT_117,
    EGLOT_OURS,
    NEOVIM,
    NEOVIM_OURS,
    VSCODE,
    WELL_BEHAVED,
    Habits,
)
from tests.support.workspaces import Bench
from tests.workspace.test_in_flight import LATE, hunks, tool
from tests.workspace.test_writes import BASE, done, play, play_seen, refused

INDENTED = "".join(f"  {line}\n" for line in BASE.split())


async def sent(editor: FakeEditor, count: int) -> None:
    """Waits until that many edits were asked for."""
    for _ in range(1000):
        if len(editor.sent) >= count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError([label for label, _ in editor.sent])


@pytest.mark.parametrize("undoes", [True, False], ids=["undone by the user", "not undone"])
def test_a_correction_that_comes_after_the_user_had_undone_it_themselves(
    tmp_path: Path, undoes: bool
) -> None:
    """The document says what the correction is to lead to, and a minute passes without an answer; then it is made on top of that (inflight seed
    1810009399)."""
    habits = replace(WELL_BEHAVED, stale="misapplied", thinks=120.0)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("three", "A\nB\nC")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "new\n", at=0)
        await asyncio.sleep(130)
        refused(await write, Kind.OUTCOME_UNKNOWN)
        assert "A\nB\nC\nthree" in editor.text("a.txt"), "a case that shows nothing"
        if undoes:
            editor.undoes("a.txt")
            assert editor.text("a.txt") == "new\n" + BASE
        await asyncio.sleep(115)
        assert not undoes or "three" not in editor.text("a.txt"), "a case that shows nothing"
        await asyncio.sleep(300)
        assert editor.text("a.txt") == "new\n" + BASE

    play_seen(tmp_path, habits, case)


@pytest.mark.parametrize("habits", [LATE, EGLOT_117], ids=["late", "eglot"])
@pytest.mark.parametrize("again", [1, 2, 3])
def test_a_correction_that_comes_to_a_wrong_place_takes_nothing_with_it(
    tmp_path: Path, habits: Habits, again: int
) -> None:
    """The edit indents lines, and what takes that out again takes the first two letters of what is typed meanwhile."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", INDENTED))
        await asyncio.sleep(0.05)
        editor.replaces("a.txt", "three\n", "typed\n")
        for number in range(again):
            await sent(editor, number + 2)
            editor.types("a.txt", f"word{number}\n", at=0)
            await asyncio.sleep(0.3)
            assert number or "word0" not in editor.text("a.txt"), "a case that shows nothing"
        answer = await write
        words = "".join(f"word{number}\n" for number in reversed(range(again)))
        assert editor.text("a.txt") == words + BASE.replace("three", "typed")
        refused(answer, Kind.CONFLICT)
        assert not hunks(bench)

    play_seen(tmp_path, habits, case, arrives_after=0.2)


def test_what_never_comes_to_its_place_is_left_to_the_user(tmp_path: Path) -> None:
    """Who types on whenever it is to be put right is told how to take out what is there; the agent, that it is there."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", INDENTED))
        await asyncio.sleep(0.05)
        editor.replaces("a.txt", "three\n", "typed\n")
        for number in range(2, 7):
            await sent(editor, number)
            editor.types("a.txt", f"word{number}\n", at=0)
        refused(await write, Kind.EDITOR_MISAPPLIED)
        asked = len(editor.sent)
        await asyncio.sleep(10)
        assert len(editor.sent) == asked, "nothing is touched any more"
        assert [message for _, message in editor.shown if "undo 6 times" in message]

    play_seen(tmp_path, LATE, case, arrives_after=0.2)


def test_what_an_undo_brings_back_at_a_wrong_place_is_under_review(tmp_path: Path) -> None:
    """The user undoes the correction and has the agent's edit where it first came: that is no text of theirs (inflight seed 2559)."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("five", "NEW\nfive")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n" * 3, at=0)
        done(await write)
        right = editor.text("a.txt")
        editor.undoes("a.txt")
        await asyncio.sleep(2)
        assert "NEW\ntwo\n" in editor.text("a.txt"), "a case that shows nothing"
        assert hunks(bench) == ["NEW\n"]
        editor.redoes("a.txt")
        await asyncio.sleep(2)
        assert (editor.text("a.txt"), hunks(bench)) == (right, ["NEW\n"])

    play_seen(tmp_path, LATE, case, arrives_after=0.2)


def test_a_correction_that_the_user_undoes_with_the_edit_is_not_made_again(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=0)
        await sent(editor, 2)
        editor.types("a.txt", "more\n", at=0)
        await asyncio.sleep(0.3)
        for _ in range(3):
            editor.undoes("a.txt")
        refused(await write, Kind.CONFLICT)
        assert editor.text("a.txt") == "typed\n" + BASE
        assert not hunks(bench)

    play_seen(tmp_path, LATE, case, arrives_after=0.2)


def test_a_change_on_the_disk_at_a_wrong_place_beside_line_ends_of_two_characters(tmp_path: Path) -> None:
    """The document is closed as the edit arrives, which opens it again with the new text and is made on that: where a line is shorter
    than it was, behind a "\\r", which is a character to the editor."""
    before = "}\r\nL7 grün\r\n\r\n    return\r\nL9 smile\r\nend\r\n"
    after = "  }\r\n  L7 grün\r\nnew\r\n  \r\n      return\r\n  L9 smile\r\n  end\r\n"
    (tmp_path / "a.txt").write_bytes(before.encode())

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        (tmp_path / "a.txt").write_bytes(after.encode())
        await bench.read("a.txt")
        await asyncio.sleep(5)
        assert editor.text("a.txt") == after
        editor.opens("a.txt")
        assert str(await bench.read("a.txt")) == after

    play(tmp_path, replace(NEOVIM, closes_first=True), case, custom=False)


def test_a_change_on_the_disk_that_cannot_be_taken_out_again_is_told(tmp_path: Path) -> None:
    """Whoever types while it is put into their text, and whenever it is taken out, is told what to do."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        (tmp_path / "a.txt").write_text(INDENTED)
        read = asyncio.ensure_future(bench.read("a.txt"))
        await sent(editor, 1)
        editor.replaces("a.txt", "three\n", "typed\n")
        for number in range(2, 7):
            await sent(editor, number)
            editor.types("a.txt", f"word{number}\n", at=0)
        await read
        asked = len(editor.sent)
        await asyncio.sleep(10)
        assert len(editor.sent) == asked, "nothing is touched any more"
        assert [message for _, message in editor.shown if "undo 6 times" in message]

    play(tmp_path, LATE, case, custom=False, arrives_after=0.2)


@pytest.mark.parametrize("write", [False, True])
def test_a_change_that_the_editor_takes_from_the_disk_while_it_is_on_its_way_is_there_once(
    tmp_path: Path, write: bool
) -> None:
    (tmp_path / "a.txt").write_text("")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        (tmp_path / "a.txt").write_text("new\n")
        look = asyncio.ensure_future(bench.write("a.txt", "new\n") if write else bench.read("a.txt"))
        await sent(editor, 1)
        editor.model.reload(editor.uri("a.txt"))
        await look
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "new\n"

    play(tmp_path, LATE, case, custom=False, arrives_after=0.05)


def test_a_change_from_the_disk_that_the_user_undoes_and_redoes_stays(tmp_path: Path) -> None:
    """It is made twice, and is there once."""
    (tmp_path / "a.txt").write_text("old\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        (tmp_path / "a.txt").write_text("old\nnew\n")
        read = asyncio.ensure_future(bench.read("a.txt"))
        await sent(editor, 1)
        await asyncio.sleep(0.1)
        assert editor.text("a.txt") == "old\nnew\n"
        editor.undoes("a.txt")
        editor.redoes("a.txt")
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "old\nnew\n"
        assert len(editor.sent) == 1

    play(tmp_path, LATE, case, custom=False, arrives_after=0.05)


@pytest.mark.parametrize("closes", [False, True])
def test_who_saves_over_a_change_on_the_disk_keeps_their_text(tmp_path: Path, closes: bool) -> None:
    """Though the change was on its way into it: also into the document as it was opened again, which has the same version by chance."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        (tmp_path / "a.txt").write_text(BASE.replace("five", "FIVE"))
        read = asyncio.ensure_future(bench.read("a.txt"))
        await sent(editor, 1)
        assert editor.saves("a.txt")
        if closes:
            editor.closes("a.txt")
            editor.opens("a.txt")
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, WELL_BEHAVED, case, custom=False, arrives_after=1.0)


def test_an_edit_that_opens_a_file_which_says_that_already(tmp_path: Path) -> None:
    """Written to the disk and to us at once, and the document closed as the edit arrives: what the file says is not what the edit made
    of it, so the edit is still to come."""
    (tmp_path / "a.txt").write_text("one\n-\n-\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        wanted = "one\n-\nnew\n-\n"
        (tmp_path / "a.txt").write_text(wanted)  # before anybody has looked at the file
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await sent(editor, 1)
        await asyncio.sleep(0.5)
        assert len(editor.sent) > 1, "it came to a wrong place, which is seen at once"
        await write
        editor.opens("a.txt")
        assert editor.text("a.txt") == wanted

    play(tmp_path, replace(WELL_BEHAVED, closes_first=True), case, custom=False)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("habits", [LATE, EGLOT_117], ids=["late", "eglot"])
def test_a_rejection_that_comes_to_a_wrong_place_is_taken_out_and_made_again(
    tmp_path: Path, habits: Habits, again: bool
) -> None:
    """The other hunk stays under review, and what is typed meanwhile where it is."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", BASE.replace("two", "TWO").replace("five", "FIVE")))
        await asyncio.sleep(2)
        first, _ = bench.workspace.review.changes(Selector(everything=True))
        rejection = asyncio.ensure_future(
            bench.workspace.review.reject(Selector(change_ids=frozenset([str(first["changeId"])])))
        )
        await sent(editor, 2)
        editor.types("a.txt", "typed\n", at=0)
        if again:
            await sent(editor, 3)
            editor.types("a.txt", "more\n", at=0)
        result = await rejection
        assert result.done == [first["changeId"]]
        typed = "more\ntyped\n" if again else "typed\n"
        assert editor.text("a.txt") == typed + BASE.replace("five", "FIVE")
        assert hunks(bench) == ["FIVE"]

    play_seen(tmp_path, habits, case, arrives_after=0.2)


def test_a_rejection_that_cannot_be_taken_out_is_left_to_the_user(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", INDENTED))
        await asyncio.sleep(2)
        rejection = asyncio.ensure_future(bench.workspace.review.reject(Selector(everything=True)))
        for number in range(2, 8):
            await sent(editor, number)
            editor.types("a.txt", f"word{number}\n", at=0)
        result = await rejection
        assert not result.done
        asked = len(editor.sent)
        await asyncio.sleep(10)
        assert len(editor.sent) == asked, "nothing is touched any more"
        assert [message for _, message in editor.shown if "undo 6 times" in message]

    play_seen(tmp_path, LATE, case, arrives_after=0.2)


def test_a_revert_that_comes_to_a_wrong_place_is_taken_out_and_made_again(tmp_path: Path) -> None:
    wanted = BASE.replace("two", "TWO").replace("five", "FIVE")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", wanted))
        await asyncio.sleep(2)
        step = Step(BASE.replace("two", "TWO"), BASE)
        revert = asyncio.ensure_future(
            bench.workspace.applier.apply(Change(bench.path("a.txt"), (step,), "Revert"))
        )
        await sent(editor, 2)
        editor.types("a.txt", "typed\n", at=0)
        assert (await revert).result == "applied"
        assert editor.text("a.txt") == "typed\n" + BASE.replace("five", "FIVE")
        assert hunks(bench) == ["FIVE"]

    play_seen(tmp_path, LATE, case, arrives_after=0.2)


def test_an_edit_misplaced_and_saved_with_a_last_line_that_the_save_has_ended(tmp_path: Path) -> None:
    """Closed then: it is taken out of the file, and what was typed is not taken for something that the agent read there and left out."""
    (tmp_path / "a.txt").write_text(BASE.rstrip("\n"))

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        tool(bench, "cat", "execute")
        wanted = BASE.replace("four", "FOUR\nmore").rstrip("\n")
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await sent(editor, 1)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(0.3)
        assert editor.text("a.txt").startswith("typed\none\ntwo\nFOUR\nmore")
        editor.saves("a.txt")
        editor.closes("a.txt")
        done(await write)
        assert (tmp_path / "a.txt").read_text().rstrip("\n") == "typed\n" + wanted

    habits = replace(WELL_BEHAVED, first_version=0, unchecked=frozenset({0}), answers_after=3.0)
    play(tmp_path, replace(habits, final_end="setting"), case, arrives_after=0.2)


@pytest.mark.parametrize("habits", [NEOVIM_OURS, EGLOT_OURS], ids=["neovim", "eglot"])
def test_a_reload_that_is_told_as_closing_and_opening_is_not_waited_for_any_longer(
    tmp_path: Path, habits: Habits
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        (tmp_path / "a.txt").write_text(BASE.replace("two", "TWO"))
        asked = asyncio.get_running_loop().time()
        assert await bench.read("a.txt") == "typed\n" + BASE.replace("two", "TWO")
        assert (
            asyncio.get_running_loop().time() - asked < RELOAD_SECONDS + 0.2
        )  # virtual; the editor gets that to do it by itself

    play(tmp_path, habits, case)


@pytest.mark.parametrize("habits", [NEOVIM_OURS, VSCODE], ids=["neovim", "vscode"])
def test_a_reload_that_comes_to_the_document_as_it_was_opened_again_takes_nothing_with_it(
    tmp_path: Path, habits: Habits
) -> None:
    """That has the same version by chance. Neovim tells the reload itself as closing and opening, too."""
    (tmp_path / "a.txt").write_text(BASE)
    changed = BASE.replace("five", "FIVE")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.types("a.txt", "first\n", at=0)
        await asyncio.sleep(1)
        version = editor.buffer("a.txt").version
        (tmp_path / "a.txt").write_text(changed)
        read = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(RELOAD_SECONDS + 0.1)  # by then it is on its way
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        assert editor.buffer("a.txt").version == version, "a case that shows nothing"
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "typed\n" + changed

    play(tmp_path, habits, case, arrives_after=0.5)


@pytest.mark.parametrize("gone", ["three\n", "one\ntwo\n"])
def test_who_writes_the_disk_and_sends_the_same_wrote_once(tmp_path: Path, gone: str) -> None:
    """The user opens the file in between, with that in it, and takes lines away before it comes through us."""
    (tmp_path / "a.txt").write_text(BASE)
    wanted = "new\n" + BASE + "more\n"

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("a.txt")
        tool(bench, "c1", "edit", "a.txt")
        await asyncio.sleep(1)
        (tmp_path / "a.txt").write_text(wanted)
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await asyncio.sleep(0.2)
        editor.opens("a.txt")
        editor.replaces("a.txt", gone, "")
        done(await write)
        await asyncio.sleep(5)
        assert editor.text("a.txt") == wanted.replace(gone, "")

    play(tmp_path, VSCODE, case, arrives_after=0.4)
