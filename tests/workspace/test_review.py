"""Review: hunks of agents' work are listed, kept, rejected and taken back by turn, and survive a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.kept_hunks import from_json
from sidecar.core.ledger import Author
from sidecar.core.uri import DocumentUri, from_path
from sidecar.lsp import ext
from sidecar.lsp.commands import parse
from sidecar.lsp.review import selector
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, a_workspace
from tests.workspace.test_writes import BASE, done, every_editor, play

ALL = Selector(everything=True)
WANTED = BASE.replace("two", "TWO").replace("five", "FIVE")


async def agent_writes(bench: Bench, content: str, session: str | None = None) -> None:
    await bench.read("a.txt", session=session)
    done(await bench.write("a.txt", content, session))


def only(*rows: Mapping[str, object]) -> Selector:
    return Selector(change_ids=frozenset(str(row["changeId"]) for row in rows))


def texts(bench: Bench, selector: Selector = ALL) -> list[tuple[object, object]]:
    return [(row["oldText"], row["newText"]) for row in bench.workspace.review.changes(selector)]


@every_editor
def test_a_rejected_hunk_is_put_back_and_the_other_stays(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        first, second = bench.workspace.review.changes(ALL)
        assert (first["oldText"], first["newText"], second["newText"]) == ("two", "TWO", "FIVE")
        result = await bench.workspace.review.reject(only(first))
        assert (result.done, result.impossible) == ([first["changeId"]], [])
        assert editor.text("a.txt") == BASE.replace("five", "FIVE")
        assert texts(bench) == [("five", "FIVE")]
        await asyncio.sleep(1)
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        if not habits.undo_joins:
            assert editor.text("a.txt") == WANTED, "rejecting is one undo step"
            assert texts(bench) == [("two", "TWO"), ("five", "FIVE")], (
                "and undone, the hunk is back under review"
            )

    play(tmp_path, habits, case)


@every_editor
def test_changes_are_listed_while_a_rejection_is_on_its_way(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, BASE + "more\n")
        rejection = asyncio.ensure_future(bench.workspace.review.reject(ALL))
        seen: set[int] = set()
        versions: set[object] = set()
        while not rejection.done():
            rows = bench.workspace.review.changes(ALL)
            seen.update(row["range"]["start"]["line"] for row in rows)
            versions.update(row["version"] for row in rows)
            assert bench.workspace.review.text_before(ALL) in (None, BASE)
            await asyncio.sleep(0.001)
        assert seen == {BASE.count("\n")}
        assert len(versions) == 1, "the places are those in the text before"
        assert texts(bench) == []

    play(tmp_path, habits, case)


@every_editor
def test_rejecting_keeps_what_was_typed_since(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        result = await bench.workspace.review.reject(ALL)
        assert not result.impossible
        assert editor.text("a.txt") == "typed\n" + BASE
        assert texts(bench) == []

    play(tmp_path, habits, case)


def test_the_users_lines_inside_a_hunk_become_theirs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    added = BASE + "a1\na2\na3\n"

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, added)
        editor.replaces("a.txt", "a2", "mine")
        assert not (await bench.workspace.review.reject(ALL)).impossible
        assert editor.text("a.txt") == BASE + "mine\n"

    play(tmp_path, VSCODE, case)


@every_editor
def test_what_is_kept_while_a_rejection_is_made_stays_kept(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        first, second = bench.workspace.review.changes(ALL)
        rejection = asyncio.ensure_future(bench.workspace.review.reject(only(first)))
        while editor.text("a.txt") == WANTED:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.001)
        assert bench.workspace.review.keep(only(second)).done == [second["changeId"]]
        assert (await rejection).done == [first["changeId"]]
        assert texts(bench) == []
        assert editor.text("a.txt") == BASE.replace("five", "FIVE")

    play(tmp_path, habits, case)


def test_kept_hunks_leave_the_review_and_stay(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        first = bench.workspace.review.changes(ALL)[0]
        assert bench.workspace.review.keep(only(first)).done == [first["changeId"]]
        assert texts(bench) == [("five", "FIVE")]
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == BASE.replace("two", "TWO")

    play(tmp_path, VSCODE, case)


@every_editor
def test_the_users_undo_counts_as_reject_and_redo_revives(tmp_path: Path, habits: Habits) -> None:
    if habits.undo_joins:
        pytest.skip("here one undo takes typing along, so there is nothing exact to say")
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        assert len(texts(bench)) == 2
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        assert texts(bench) == []
        editor.redoes("a.txt")
        await asyncio.sleep(1)
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]

    play(tmp_path, habits, case)


def test_a_second_agent_inside_the_first_ones_hunk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        other = await bench.another_session()
        await agent_writes(bench, BASE + "a1\na2\na3\n")
        await agent_writes(bench, BASE + "a1\nb2\na3\n", other)
        await bench.workspace.review.reject(Selector(session_id=bench.session))
        assert "b2" in editor.text("a.txt"), "the other agent's work stands"
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, case)


def test_rejecting_the_second_agents_work_gives_the_firsts_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        other = await bench.another_session()
        await agent_writes(bench, BASE + "a1\na2\na3\n")
        await agent_writes(bench, BASE + "a1\nb2\na3\n", other)
        await bench.workspace.review.reject(Selector(session_id=other))
        assert editor.text("a.txt") == BASE + "a1\na2\na3\n"

    play(tmp_path, VSCODE, case)


def test_a_turn_is_taken_back_and_a_running_one_is_cancelled_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def main() -> None:
        class Agents(IdleAgents):
            def cancel(self, session_id: str) -> None:
                super().cancel(session_id)
                assert self.stop is not None
                self.stop.set_result("cancelled")

        agents, editor = Agents(), FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor, agents) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            _, turn, outcome = bench.workspace.start_prompt(bench.session, [{"type": "text", "text": "go"}])
            await asyncio.sleep(0.1)
            await agent_writes(bench, WANTED)
            result = await bench.workspace.review.revert_turn(bench.session, turn)
            assert len(result.done) == 2
            assert editor.text("a.txt") == BASE
            ended = await outcome
            assert ended["stopReason"] == "cancelled"
            assert agents.cancelled == [bench.session]

    run(main())


def test_hunks_come_back_after_a_restart_against_the_restored_buffer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    journal = MemoryJournal()

    async def first() -> None:
        editor = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            await agent_writes(bench, WANTED)
            await asyncio.sleep(1)

    async def second() -> None:
        editor = FakeEditor(VSCODE, tmp_path)
        (tmp_path / "a.txt").write_text("typed\n" + WANTED)
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]
            await bench.workspace.review.reject(ALL)
            assert editor.text("a.txt") == "typed\n" + BASE
            await asyncio.sleep(1)

    run(first())
    assert from_path(str(tmp_path / "a.txt")) in journal.ledgers
    run(second())
    assert not journal.ledgers


@pytest.mark.parametrize("custom", [True, False])
def test_rejecting_a_file_that_an_agent_made_removes_it(tmp_path: Path, custom: bool) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("new.txt", "made\n"))
        assert not (await bench.workspace.review.reject(ALL)).impossible
        assert not (tmp_path / "new.txt").exists()
        assert texts(bench) == []

    play(tmp_path, VSCODE, case, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
def test_a_made_file_that_somebody_worked_on_since_is_not_removed(tmp_path: Path, custom: bool) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("new.txt", "made\n"))
        (tmp_path / "new.txt").write_text("made\nmine\n")
        assert not (await bench.workspace.review.reject(ALL)).impossible
        assert (tmp_path / "new.txt").read_text() == "mine\n"

    play(tmp_path, VSCODE, case, custom=custom)


def test_a_made_file_that_is_open_stays_as_an_empty_one(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("new.txt", "made\n"))
        editor.opens("new.txt")
        await bench.workspace.review.reject(ALL)
        assert editor.text("new.txt") == ""
        editor.undoes("new.txt")
        assert editor.text("new.txt") == "made\n"

    play(tmp_path, VSCODE, case)


def test_the_journal_knows_what_was_kept_and_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def main() -> None:
        journal = MemoryJournal()
        editor = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            await agent_writes(bench, BASE.replace("two", "TWO"))
            bench.workspace.review.keep(ALL)
            await agent_writes(bench, WANTED)
            await bench.workspace.review.reject(ALL)
            await asyncio.sleep(1)
        agents = {i: entry for i, entry in journal.entries.items() if entry.agent == "agent"}
        assert [journal.states[i] for i in agents] == ["kept", "rejected"]

    run(main())


def test_a_review_of_a_journal_without_agents_names_is_still_read() -> None:
    raw = b'[{"id": 1, "start": 0, "end": 1, "old": "", "versions": [["s", 2, "w", null, true, "x"]]}]'
    (hunk,) = from_json(raw)
    assert (hunk.author, hunk.text) == (Author("s", 2, "w", None, True), "x")


def test_the_text_before_a_turn_and_before_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        other = await bench.another_session()
        await agent_writes(bench, WANTED)
        await agent_writes(bench, WANTED + "more\n", other)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        uri = DocumentUri(bench.uri("a.txt"))
        before = bench.workspace.review.text_before
        assert before(Selector(uri=uri)) == "typed\n" + BASE
        assert before(Selector(uri=uri, session_id=other)) == "typed\n" + WANTED
        assert before(Selector(uri=uri, session_id="nobody")) is None
        assert editor.text("a.txt") == "typed\n" + WANTED + "more\n", "looking changes nothing"

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize("first", [True, False])
def test_a_hunk_of_two_turns_is_of_both_and_the_later_is_taken_back_by_itself(
    tmp_path: Path, first: bool
) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    once, twice = BASE.replace("two", "alpha beta"), BASE.replace("two", "alpha gamma")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        other = await bench.another_session()
        await agent_writes(bench, once)
        await agent_writes(bench, twice, other)
        (row,) = bench.workspace.review.changes(ALL)
        assert row["sessionId"] == other
        assert row["earlier"] == [{"sessionId": bench.session, "turn": 0, "agent": "agent"}]
        (same,) = bench.workspace.review.changes(Selector(session_id=bench.session))
        assert same == row, "asked for either, it is there"
        whose = bench.session if first else other
        one = Selector(change_ids=frozenset({str(row["changeId"])}), session_id=whose)
        result = await bench.workspace.review.reject(one)
        (left,) = bench.workspace.review.changes(ALL)
        if first:
            assert "later work" in result.impossible[0]["reason"]
            assert editor.text("a.txt") == twice
        else:
            assert editor.text("a.txt") == once
            assert left["sessionId"] == bench.session
            assert "earlier" not in left

    play(tmp_path, VSCODE, case)


def test_several_hunks_of_a_document_are_put_back_in_one_undo_step(tmp_path: Path) -> None:
    before, after = "a\n-\n-\nb\n-\n-\nc\n", "A\n-\n-\nB\n-\n-\nC\n"
    (tmp_path / "a.txt").write_text(before)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, after)
        first, _, third = bench.workspace.review.changes(ALL)
        assert len((await bench.workspace.review.reject(only(first, third))).done) == 2
        assert editor.text("a.txt") == before.replace("b", "B")
        await asyncio.sleep(1)
        editor.undoes("a.txt")
        assert editor.text("a.txt") == after

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize(
    ("argument", "ids"),
    [
        ({"changeId": "1@u"}, {"1@u"}),
        ({"changeIds": ["1@u", "2@u"]}, {"1@u", "2@u"}),
        ({"changeIds": ["1@u"], "changeId": "2@u"}, {"1@u", "2@u"}),
        ({"changeIds": []}, set[str]()),
        ({"all": True}, None),
    ],
)
def test_which_changes_a_command_names(argument: object, ids: set[str] | None) -> None:
    assert selector(parse(ext.KEEP, ext.Changes, argument)).change_ids == ids


def test_a_command_that_names_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="all: true"):
        selector(parse(ext.KEEP, ext.Changes, {}))


@pytest.mark.parametrize("lets_go", [False, True])
def test_a_made_file_that_the_editor_holds_unseen_is_taken_away(tmp_path: Path, lets_go: bool) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("new.txt", "made\n"))
        editor.model.open_hidden(editor.uri("new.txt"))
        await asyncio.sleep(1)
        assert (await bench.workspace.review.reject(ALL)).impossible == []
        await asyncio.sleep(1)
        assert not (tmp_path / "new.txt").exists()
        assert texts(bench) == []

    play(tmp_path, replace(VSCODE, lets_go=lets_go), case)


@every_editor
def test_lines_that_an_agent_deleted_are_put_back_after_undo_and_keep(tmp_path: Path, habits: Habits) -> None:
    if habits.undo_joins:
        pytest.skip("here one undo takes typing along, so there is nothing exact to say")
    base = "".join(f"line {number}\n" for number in range(1, 13))
    edited = (
        base.replace("line 2\n", "LINE 2\nand more\n").replace("line 7\n", "").replace("line 11", "LINE 11")
    )
    (tmp_path / "a.txt").write_text(base)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, edited)
        first, second, _third = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(second))
        await asyncio.sleep(1)
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        bench.workspace.review.keep(only(first))
        assert not (await bench.workspace.review.reject(ALL)).impossible
        await asyncio.sleep(1)
        assert editor.text("a.txt") == base.replace("line 2\n", "LINE 2\nand more\n")
        assert texts(bench) == []

    play(tmp_path, habits, case)
