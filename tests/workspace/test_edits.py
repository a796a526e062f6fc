"""Replacing in the text as it is in the moment: no conflict with typing elsewhere, and nobody's text is taken for the agent's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.replace import Replacement, replaced
from sidecar.workspace.edits.write_task import Replacing, WriteDone
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.workspaces import Bench
from tests.workspace.test_writes import BASE, done, every_editor, play, play_seen, refused


async def edit(bench: Bench, name: str, old: str, new: str, everywhere: bool = False) -> WriteDone | Refusal:
    ticket = bench.workspace.ticket(bench.session, bench.path(name), "write")
    step = Replacement(old, new, everywhere)
    return await bench.workspace.edit(ticket, Replacing(lambda text: replaced(text, (step,), name)))


@every_editor
def test_a_line_that_only_the_buffer_has(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        done(await edit(bench, "a.txt", "typed", "TYPED"))
        assert editor.text("a.txt") == "TYPED\n" + BASE
        assert (tmp_path / "a.txt").read_text() == BASE, "the user's file is dirty"
        if not habits.undo_joins:
            editor.undoes("a.txt")
            assert editor.text("a.txt") == "typed\n" + BASE

    play_seen(tmp_path, habits, case)


@every_editor
def test_typing_while_the_edit_is_on_its_way_survives(tmp_path: Path, habits: Habits) -> None:
    """Also in the line before: there is nothing to merge, so nothing clashes."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = asyncio.ensure_future(edit(bench, "a.txt", "four", "FOUR"))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=BASE.index("four"))
        done(await writing)
        await asyncio.sleep(3)
        assert editor.text("a.txt") == BASE.replace("four", "typed\nFOUR")

    play_seen(tmp_path, habits, case, arrives_after=0.1)


@every_editor
def test_what_is_gone_is_not_replaced(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "four", "mine")
        await asyncio.sleep(1)
        refused(await edit(bench, "a.txt", "four", "FOUR"), Kind.NO_MATCH)
        assert editor.text("a.txt") == BASE.replace("four", "mine")

    play_seen(tmp_path, habits, case)


def test_what_the_user_typed_is_not_taken_for_the_agents(tmp_path: Path) -> None:
    """The agent read, the user typed, the agent edited and then writes the whole file from what it knows: what was typed stays. Were
    the text of the edit's moment the belief, the write would take it away."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        done(await edit(bench, "a.txt", "four", "FOUR"))
        done(await bench.write("a.txt", BASE.replace("four", "FOUR").replace("five", "FIVE")))
        assert editor.text("a.txt") == "typed\n" + BASE.replace("four", "FOUR").replace("five", "FIVE")

    play_seen(tmp_path, VSCODE, case)


@pytest.mark.parametrize("opens", [True, False], ids=["opened", "on the disk"])
def test_a_file_that_is_not_open(tmp_path: Path, opens: bool) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    habits = VSCODE if opens else replace(VSCODE, unopened="refused")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await edit(bench, "a.txt", "one\ntwo", "one\nTWO"))
        assert (tmp_path / "a.txt").read_bytes() == b"one\r\nTWO\r\n", "line ends stay"
        refused(await edit(bench, "a.txt", "two", "x"), Kind.NO_MATCH)
        refused(await edit(bench, "b.txt", "two", "x"), Kind.NOT_FOUND)
        assert not (tmp_path / "b.txt").exists()

    play(tmp_path, habits, case)


def test_edits_of_one_file_at_the_same_time_all_arrive(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        words = BASE.split()
        answers = await asyncio.gather(*(edit(bench, "a.txt", word, word.upper()) for word in words))
        assert all(isinstance(answer, WriteDone) for answer in answers)
        assert editor.text("a.txt") == BASE.upper()

    play_seen(tmp_path, VSCODE, case)
