"""What a change from outside the editor does to an open document; over every editor's habits where they matter."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sidecar.workspace.review.applying import ApplyResult, Change, Step
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import KATE, NEVER, VSCODE, Habits
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_writes import BASE, done, every_editor, play

ALL = Selector(everything=True)
WANTED = BASE.replace("two", "TWO").replace("five", "FIVE")


async def applies(bench: Bench, *steps: tuple[str, str], name: str = "a.txt") -> ApplyResult:
    change = Change(
        bench.path(name),
        tuple(Step(*step) for step in steps),
        "revert",
        session="revert-1",
        takes_back=("w1",),
    )
    return await bench.workspace.applier.apply(change)


async def agent_writes(bench: Bench, content: str) -> None:
    await bench.read("a.txt")
    done(await bench.write("a.txt", content))


def hunks(bench: Bench) -> list[tuple[object, object]]:
    return [(row["oldText"], row["newText"]) for row in bench.workspace.review.changes(ALL)]


def journal_of(bench: Bench) -> MemoryJournal:
    journal = bench.workspace.applier._journal
    assert isinstance(journal, MemoryJournal)
    return journal


@every_editor
def test_a_write_is_taken_back_and_what_was_typed_since_stays(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(2)
        applied = await applies(bench, (WANTED, BASE))
        assert applied.result == "applied"
        assert editor.text("a.txt") == "typed\n" + BASE
        assert hunks(bench) == []
        assert (tmp_path / "a.txt").read_text() == WANTED, "there was unsaved work of the user's"
        assert applied.saved is False
        assert "unsaved" in applied.reason
        journal = journal_of(bench)
        last = list(journal.entries)[-1]
        entry = journal.entries[last]
        assert (entry.agent, entry.session, entry.via) == ("revert", "revert-1", "editor")
        assert (entry.before, entry.after) == ("typed\n" + WANTED, "typed\n" + BASE)
        assert (journal.states[last], journal.taken_back[last]) == ("done", ("w1",))
        await asyncio.sleep(1)
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        if not habits.undo_joins:
            assert editor.text("a.txt") == "typed\n" + WANTED, "one undo step"

    play(tmp_path, habits, case)


@every_editor
def test_a_clean_document_is_saved_and_the_users_own_edits_are_nobodys_work(
    tmp_path: Path, habits: Habits
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        assert await applies(bench, (BASE, WANTED)) == ApplyResult("applied", saved=True)
        assert editor.text("a.txt") == (tmp_path / "a.txt").read_text() == WANTED
        assert hunks(bench) == []

    play(tmp_path, habits, case)


def test_typing_while_it_is_on_its_way_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        applying = asyncio.ensure_future(applies(bench, (WANTED, BASE)))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=0)
        assert (await applying).result == "applied"
        assert editor.text("a.txt") == "typed\n" + BASE
        assert len([label for label, _ in editor.sent if label == "revert"]) == 2, (
            "refused once, planned again"
        )

    play(tmp_path, VSCODE, case, arrives_after=0.1)


def test_later_work_in_the_same_place_is_a_conflict_and_nothing_is_done(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        editor.replaces("a.txt", "TWO", "mine")
        sent = len(editor.sent)
        applied = await applies(bench, (WANTED, BASE))
        assert applied.result == "conflict"
        assert "line 2" in applied.reason
        assert editor.text("a.txt") == WANTED.replace("TWO", "mine")
        assert len(editor.sent) == sent

    play(tmp_path, VSCODE, case)


def test_several_steps_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    first = BASE.replace("two", "2")
    second = BASE.replace("two", "mine\n2").replace("five", "5")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, first)
        editor.replaces("a.txt", "2", "mine\n2")
        await agent_writes(bench, second)
        sent = len(editor.sent)
        steps = ((second, first.replace("2", "mine\n2")), (first, BASE))
        assert (await applies(bench, *steps)).result == "applied"
        assert editor.text("a.txt") == BASE.replace("two", "mine\ntwo")
        assert len(editor.sent) == sent + 1

    play(tmp_path, VSCODE, case)


def test_a_step_that_was_never_made_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    first = BASE.replace("two", "2")
    never = BASE.replace("two", "zwei")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, first)
        assert (await applies(bench, (never, first), (first, BASE))).result == "applied"
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, case)


def test_all_steps_or_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        applied = await applies(bench, (BASE, WANTED), (BASE.replace("one", "1"), "else"))
        assert applied.result == "conflict"
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, case)


def test_steps_that_lead_back_are_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        for steps in ([(BASE, WANTED), (WANTED, BASE)], [(WANTED, BASE)], [(BASE, BASE)], []):
            assert await applies(bench, *steps) == ApplyResult("applied", saved=True)
        assert editor.sent == []
        assert journal_of(bench).entries == {}

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize("name", ["b.txt", "none/c.txt", "."])
def test_what_is_not_open_is_the_callers(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "b.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        assert not bench.workspace.applier.is_open(bench.path(name))
        assert await applies(bench, (BASE, WANTED), name=name) == ApplyResult("not_open")
        assert (tmp_path / "b.txt").read_text() == BASE

    play(tmp_path, VSCODE, case)


def test_paths_that_are_none(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        for path in ("a.txt", "", "/a\0b"):
            assert not bench.workspace.applier.is_open(path)
            applied = await bench.workspace.applier.apply(Change(path, (), "revert"))
            assert applied.result == "refused"

    play(tmp_path, VSCODE, case)


def test_a_document_that_is_open_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "link.txt").symlink_to("a.txt")
    os.link(tmp_path / "a.txt", tmp_path / "hard.txt")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("link.txt")
        assert bench.workspace.applier.is_open(bench.path("a.txt"))
        assert (await applies(bench, (BASE, WANTED))).result == "applied"
        assert editor.text("link.txt") == WANTED
        editor.opens("hard.txt")
        applied = await applies(bench, (WANTED, BASE))
        assert (applied.result, applied.reason) == (
            "refused",
            "it is open under 2 names; close all but one",
        )
        assert bench.workspace.applier.is_open(bench.path("a.txt"))

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize(
    "habits", [KATE, replace(VSCODE, document_changes=False)], ids=["kate", "unversioned"]
)
def test_an_editor_that_takes_no_edits(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        applied = await applies(bench, (BASE, WANTED))
        assert applied.result == "refused"
        assert "edit" in applied.reason
        assert editor.text("a.txt") == (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, habits, case)


def test_an_editor_that_never_answers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        applied = await applies(bench, (BASE, WANTED))
        assert applied.result == "refused"
        assert "not answered" in applied.reason
        again = await applies(bench, (BASE, WANTED))
        assert "still waits" in again.reason, "nothing more is planned on it"
        assert len(editor.sent) == 1

    play(tmp_path, replace(VSCODE, thinks=NEVER), case)


def test_a_cancelled_one_goes_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        with anyio.move_on_after(0.05) as scope:  # as the server does when a client goes away
            await applies(bench, (BASE, WANTED))
        assert scope.cancel_called
        assert editor.text("a.txt") == WANTED
        assert list(journal_of(bench).states.values()) == ["done"]
        assert bench.workspace.state.queues.lengths() == {}

    play(tmp_path, VSCODE, case, arrives_after=0.1)


def test_what_cannot_be_journalled_is_not_done(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        journal_of(bench).fail = "the disk is full"
        applied = await applies(bench, (BASE, WANTED))
        assert applied.result == "refused"
        assert "the disk is full" in applied.reason
        assert editor.sent == []

    play(tmp_path, VSCODE, case)


@every_editor
def test_lines_the_agent_deleted_are_there_again_and_no_longer_under_review(
    tmp_path: Path, habits: Habits
) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    without = BASE.replace("three\n", "")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, without)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(2)
        assert (await applies(bench, (without, BASE))).result == "applied"
        assert editor.text("a.txt") == "typed\n" + BASE
        assert hunks(bench) == []

    play(tmp_path, habits, case)


def test_line_ends_are_put_back_as_they_were(tmp_path: Path) -> None:
    before, after = "one\r\ntwo\nthree\r\n", "one\r\nTWO\r\nthree\r\n"
    (tmp_path / "a.txt").write_bytes(after.encode())

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        assert (await applies(bench, (after, before))).result == "applied"
        assert editor.text("a.txt") == before

    play(tmp_path, replace(VSCODE, line_ends="raw"), case)


def test_waits_for_an_agents_write_under_way(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        writing = asyncio.ensure_future(bench.write("a.txt", WANTED))
        await asyncio.sleep(0.05)
        applied = await applies(bench, (WANTED, BASE))
        done(await writing)
        assert applied.result == "applied"
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, case, arrives_after=0.1)
