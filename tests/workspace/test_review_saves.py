"""What a save does by itself to agents' work: nobody's, and taken back with the last of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.uri import from_path
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, MemoryJournal, a_workspace
from tests.workspace.test_review import ALL, agent_writes, only, texts
from tests.workspace.test_writes import Case, done, play

TIDY = "one\ntwo\nthree\nfour\nfive\n"


UNTIDY = "one  \ntwo\nthree\nfour\nfive"


AGENTS = "one  \ntwo  \nthree\nFOUR  \nfive"


def tidies(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def tidying(**habits: object) -> Habits:
    return replace(VSCODE, on_save=tidies, **habits)


def test_what_a_save_changed_is_nobodys_and_goes_back_with_the_last_of_the_agents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, AGENTS)
        assert editor.text("a.txt") == tidies(AGENTS)
        rows = bench.workspace.review.changes(ALL)
        assert [(row["oldText"], row["newText"]) for row in rows] == [("four", "FOUR")]
        result = await bench.workspace.review.reject(only(*rows))
        assert (result.done, result.impossible) == ([rows[0]["changeId"]], [])
        assert editor.text("a.txt") == UNTIDY
        assert (tmp_path / "a.txt").read_text() == UNTIDY
        assert texts(bench) == []

    play(tmp_path, tidying(), case)


@pytest.mark.parametrize("opened", [True, False])
def test_a_turn_taken_back_takes_back_what_its_saves_changed(tmp_path: Path, opened: bool) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        if opened:
            editor.opens("a.txt")
        await agent_writes(bench, AGENTS)
        done(await bench.write("a.txt", AGENTS.replace("three", "THREE")))
        assert (tmp_path / "a.txt").read_text() == tidies(AGENTS.replace("three", "THREE"))
        assert (await bench.workspace.review.revert_turn(bench.session, 0)).impossible == []
        assert (tmp_path / "a.txt").read_text() == UNTIDY

    play(tmp_path, tidying(), case)


def test_what_a_save_changed_stays_while_some_of_the_agents_is_under_review(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, AGENTS.replace("two  ", "TWO"))
        first, second = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(first))
        assert editor.text("a.txt") == "one\ntwo\nthree\nFOUR\nfive\n"
        bench.workspace.review.keep(only(second))
        assert editor.text("a.txt") == "one\ntwo\nthree\nFOUR\nfive\n"
        assert texts(bench) == []
        assert bench.workspace.state.ledgers.get(from_path(str(tmp_path / "a.txt"))).ledger.hunks == ()

    play(tmp_path, tidying(), case)


def test_what_is_typed_while_a_save_works_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.typing = lambda: editor.types("a.txt", "mine ", 0)
        await agent_writes(bench, AGENTS)
        assert texts(bench) == [], "every line was changed by somebody who may be the user"
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == "mine one\ntwo\nthree\nFOUR\nfive\n"

    play(tmp_path, tidying(), case)


def test_undo_and_redo_of_what_a_save_changed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, AGENTS)
        for text, hunks in ((AGENTS, 2), (UNTIDY, 0)):
            editor.undoes("a.txt")
            await asyncio.sleep(1)
            assert editor.text("a.txt") == text
            assert len(texts(bench)) == hunks
        for text, hunks in ((AGENTS, 2), (tidies(AGENTS), 1)):
            editor.redoes("a.txt")
            await asyncio.sleep(1)
            assert editor.text("a.txt") == text
            assert len(texts(bench)) == hunks

    play(tmp_path, tidying(), case)


def test_what_a_save_changed_survives_a_restart_as_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(UNTIDY)
    journal = MemoryJournal()

    async def first(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, AGENTS)

    async def second(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        assert texts(bench) == [("four", "FOUR")]
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == UNTIDY

    async def main(case: Case) -> None:
        editor = FakeEditor(tidying(), tmp_path)
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            editor.attach(bench.workspace.apply)
            await case(bench, editor)

    run(main(first))
    run(main(second))


def test_hunks_that_touch_are_put_back_by_one_edit(tmp_path: Path) -> None:
    """An editor tells what touches as one change, which would look as if it had been made over typing."""
    (tmp_path / "a.txt").write_text("one\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, "one\ntwo  \nthree")
        assert editor.text("a.txt") == "one\ntwo\nthree\n"
        assert (await bench.workspace.review.reject(ALL)).impossible == []
        label, sent = editor.sent[-1]
        assert (label, len(sent.edits)) == ("reject", 1)
        assert editor.text("a.txt") == "one\n"

    play(tmp_path, tidying(), case)
