"""Conflicts: found on the disk and in refused writes, told with three texts, and decided: nothing of either side is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core import writes
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.refusal import Refusal
from sidecar.workspace.edits import conflicts
from sidecar.workspace.ports.ports import AgentFailed
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EGLOT_OURS, KATE, NEOVIM_OURS, VSCODE, WELL_BEHAVED, Habits
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, Turn, every_editor, listed, opened, opened_and_typed, play

MINE = BASE.replace("one", "mine")
THEIRS = BASE.replace("one", "theirs").replace("five", "FIVE")
Step = Callable[[Bench, FakeEditor], Awaitable[None]]
Rows = list[Mapping[str, Any]]


def told(bench: Bench) -> Rows:
    """What `sidecar/conflict` would say, from now on."""
    rows: Rows = []
    bench.workspace.conflicts.moved = lambda row: rows.append(dict(row))
    return rows


async def puts_theirs(turn: Turn, editor: FakeEditor) -> None:
    turn.says("edit", "a.txt")
    turn.puts("a.txt", THEIRS)
    await asyncio.sleep(2)


async def the_conflict(bench: Bench) -> Mapping[str, Any]:
    (row,) = bench.workspace.conflicts.rows()
    return dict(row)


@every_editor
def test_the_disk_s_is_told_with_the_three_texts(tmp_path: Path, habits: Habits) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        row = await the_conflict(bench)
        assert (row["state"], row["origin"], row["agent"]) == ("open", "disk", "agent")
        assert row["sessionId"] == bench.session
        assert row["uri"].endswith("a.txt")
        (hunk,) = row["hunks"]
        assert (hunk["base"], hunk["mine"], hunk["agent"]) == ("one\n", "mine\n", "theirs\n")
        assert hunk["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        assert editor.text("a.txt") == MINE

    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after)


@every_editor
@pytest.mark.parametrize("take", ["mine", "agent"])
def test_a_decision_about_the_disk(tmp_path: Path, habits: Habits, take: Any) -> None:
    """What does not clash comes along either way; one undo takes it back; the agent's part is under review. A client that asks
    for the conflicts at every edit asks in the middle of a reload, too, when the document says what the file does."""
    decided = {"mine": MINE, "agent": BASE.replace("one", "theirs")}[take].replace("five", "FIVE")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        conflict = await the_conflict(bench)
        (known,) = bench.workspace.conflicts

        def lists(*edited: object) -> None:
            bench.workspace.conflicts.rows()

        known.tracked.document.listeners.append(lists)
        answer = await bench.workspace.resolver.resolve(conflict["conflictId"], take)
        assert answer == {"conflictId": conflict["conflictId"], "outcome": take}
        assert editor.text("a.txt") == decided
        assert [(r["state"], r["outcome"]) for r in rows] == [("closed", take)]
        assert bench.workspace.conflicts.rows() == []
        news = {new.strip() for _, _, new in listed(bench)}
        assert news == {"FIVE", "theirs"} if take == "agent" else {"FIVE"}
        await asyncio.sleep(3)
        assert editor.text("a.txt") == decided, "decided once and for all"
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == MINE

    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after)


@pytest.mark.parametrize("take", ["mine", "agent"])
@pytest.mark.parametrize("lists", [True, False])
def test_a_decision_about_the_disk_that_the_editor_makes_late(tmp_path: Path, take: Any, lists: bool) -> None:
    """Nobody is told that their text is unchanged. Once it is made, everything is as if it had been made in time. `lists`: the client asks for the
    conflicts at every edit."""
    decided = {"mine": MINE, "agent": BASE.replace("one", "theirs")}[take].replace("five", "FIVE")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        conflict = (await the_conflict(bench))["conflictId"]
        (known,) = bench.workspace.conflicts
        if lists:
            known.tracked.document.listeners.append(lambda *edited: bench.workspace.conflicts.rows())
        with pytest.raises(AgentFailed, match=r"has not answered.* look at the file"):
            await bench.workspace.resolver.resolve(conflict, take)
        assert editor.text("a.txt") == MINE
        with pytest.raises(AgentFailed, match="has not answered"):
            await bench.workspace.resolver.resolve(conflict, "mine")
        await asyncio.sleep(60)
        assert editor.text("a.txt") == decided
        assert [(r["state"], r["outcome"]) for r in rows] == [("closed", take)]
        news = {new.strip() for _, _, new in listed(bench)}
        assert news == {"FIVE", "theirs"} if take == "agent" else {"FIVE"}
        editor.model.habits = WELL_BEHAVED
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == MINE

    habits = replace(WELL_BEHAVED, thinks=90)
    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after, custom=False)


def test_what_is_in_conflict_is_under_review_in_a_document_that_is_closed_before_the_editor_makes_the_decision(
    tmp_path: Path,
) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        conflict = (await the_conflict(bench))["conflictId"]
        with pytest.raises(AgentFailed, match="has not answered"):
            await bench.workspace.resolver.resolve(conflict, "agent")
        editor.closes("a.txt")
        await asyncio.sleep(60)
        assert [(r["state"], r["outcome"]) for r in rows] == [("closed", "closed")]
        assert {new.strip() for _, _, new in listed(bench)} == {"FIVE", "theirs"}
        editor.model.habits = WELL_BEHAVED
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "a.txt").read_text() == BASE

    habits = replace(WELL_BEHAVED, thinks=90, unopened="refused")
    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after, custom=False)


@pytest.mark.parametrize("take", ["mine", "agent"])
def test_a_decision_is_one_undo_step(tmp_path: Path, take: Any) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_conflict(bench)
        await bench.workspace.resolver.resolve(conflict["conflictId"], take)
        editor.undoes("a.txt")
        assert editor.text("a.txt") == MINE

    play(tmp_path, WELL_BEHAVED, puts_theirs, before=opened_and_typed, after=after, custom=False)


def test_a_later_change_of_the_disk_is_the_same_conflict(tmp_path: Path) -> None:
    """Measured from where it began: what the agent did first is neither lost nor taken for the user's."""
    again = THEIRS.replace("three", "THREE")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await puts_theirs(turn, editor)
        turn.puts("a.txt", again)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == MINE
        conflict = await the_conflict(bench)
        assert [h["agent"] for h in conflict["hunks"]] == ["theirs\n"]
        await bench.workspace.resolver.resolve(conflict["conflictId"], "mine")
        assert editor.text("a.txt") == again.replace("theirs", "mine")

    play(tmp_path, VSCODE, script, before=opened_and_typed, after=after)


async def takes_it_back(bench: Bench, editor: FakeEditor) -> None:
    Path(bench.path("a.txt")).write_text(BASE.replace("five", "FIVE"))
    bench.workspace.files_changed([bench.uri("a.txt")])
    await bench.read("a.txt")


async def saves(bench: Bench, editor: FakeEditor) -> None:
    editor.saves("a.txt")


async def closes(bench: Bench, editor: FakeEditor) -> None:
    editor.closes("a.txt")


@pytest.mark.parametrize(("step", "outcome"), [(takes_it_back, "gone"), (saves, "saved"), (closes, "closed")])
def test_ends_without_a_decision(tmp_path: Path, step: Step, outcome: str) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        await step(bench, editor)
        await asyncio.sleep(3)
        assert [r["outcome"] for r in rows if r["state"] == "closed"] == [outcome]
        assert bench.workspace.conflicts.rows() == []

    play(tmp_path, WELL_BEHAVED, puts_theirs, before=opened_and_typed, after=after)


@every_editor
@pytest.mark.parametrize("how", ["reloads", "types it"])
def test_what_the_user_takes_from_the_disk_is_under_review(tmp_path: Path, habits: Habits, how: str) -> None:
    """As if the user had chosen the agent's side, though nobody has asked for the conflicts."""

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        if how == "reloads":
            editor.model.reload(editor.uri("a.txt"))
        else:
            editor.replaces("a.txt", editor.text("a.txt"), THEIRS)
        await asyncio.sleep(3)
        assert [r["outcome"] for r in rows] in (["gone"], ["closed"])
        assert editor.text("a.txt") == THEIRS
        assert "theirs" in {new.strip() for _, _, new in listed(bench)}
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after)


def test_what_is_on_the_disk_of_a_closed_document_is_under_review(tmp_path: Path) -> None:
    """The user closed it without saving."""

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.closes("a.txt")
        await asyncio.sleep(3)
        assert "theirs" in {new.strip() for _, _, new in listed(bench)}
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, puts_theirs, before=opened_and_typed, after=after)


@every_editor
def test_what_the_user_undoes_is_no_conflict_any_more(tmp_path: Path, habits: Habits) -> None:
    """The agent's text comes into the buffer then, under review, as if there never had been one."""

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = told(bench)
        editor.replaces("a.txt", "mine", "one")
        await asyncio.sleep(1)
        assert bench.workspace.conflicts.rows() == []
        await asyncio.sleep(3)
        assert [r["outcome"] for r in rows] == ["gone"]
        assert editor.text("a.txt") == THEIRS
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, puts_theirs, before=opened_and_typed, after=after)


async def refused_write(turn: Turn, editor: FakeEditor) -> None:
    assert await turn.bench.read("a.txt") == BASE
    editor.replaces("a.txt", "one", "mine")
    await asyncio.sleep(1)
    answer = await turn.bench.write("a.txt", THEIRS, session=turn.session)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "conflict"


def test_in_a_large_text_it_is_looked_for_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody else waits for what is compared on the event loop."""
    on_the_loop: list[str] = []

    def noted(where: str) -> Callable[[str, str, str], Merged | Conflict]:
        def merges(base: str, ours: str, theirs: str) -> Merged | Conflict:
            if threading.current_thread() is threading.main_thread():
                on_the_loop.append(where)
            return merge(base, ours, theirs)

        return merges

    for module in (writes, conflicts):
        monkeypatch.setattr(module, "merge", noted(module.__name__))
    base = BASE + "a line\n" * 50_000

    async def script(turn: Turn, editor: FakeEditor) -> None:
        (turn.bench.folder / "large.txt").write_text(base)
        editor.opens("large.txt")
        await asyncio.sleep(1)
        assert await turn.bench.read("large.txt", session=turn.session) == base
        editor.replaces("large.txt", "one", "mine")
        await asyncio.sleep(0.1)
        rows = told(turn.bench)
        answer = await turn.bench.write("large.txt", base.replace("one", "theirs"), session=turn.session)
        assert isinstance(answer, Refusal)
        (row,) = rows
        (hunk,) = row["hunks"]
        assert (hunk["base"], hunk["mine"], hunk["agent"]) == ("one\n", "mine\n", "theirs\n")
        assert hunk["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        assert not on_the_loop
        assert turn.bench.workspace.conflicts.rows() == [row]
        assert not on_the_loop
        editor.replaces("large.txt", "mine", "my own")
        (row,) = turn.bench.workspace.conflicts.rows()
        (hunk,) = row["hunks"]
        assert hunk["mine"] == "my own\n"

    play(tmp_path, WELL_BEHAVED, script, custom=False)


@every_editor
@pytest.mark.parametrize("take", ["mine", "agent"])
def test_a_decision_about_a_refused_write(tmp_path: Path, habits: Habits, take: Any) -> None:
    decided = {"mine": MINE, "agent": THEIRS}[take]

    async def after(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_conflict(bench)
        assert conflict["origin"] == "write"
        await bench.workspace.resolver.resolve(conflict["conflictId"], take)
        assert editor.text("a.txt") == decided
        assert bench.workspace.conflicts.rows() == []
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == MINE

    play(tmp_path, habits, refused_write, before=opened, after=after)


@pytest.mark.parametrize("disk_first", [True, False])
def test_the_same_wish_on_the_disk_and_as_a_write_is_one_conflict(tmp_path: Path, disk_first: bool) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        if disk_first:
            turn.puts("a.txt", THEIRS)
            await asyncio.sleep(2)
        answer = await turn.bench.write("a.txt", THEIRS, session=turn.session)
        assert isinstance(answer, Refusal)
        if not disk_first:
            turn.puts("a.txt", THEIRS)
            await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_conflict(bench)
        assert (conflict["origin"], conflict["agent"]) == ("disk", "agent")
        await bench.workspace.resolver.resolve(conflict["conflictId"], "agent")
        assert editor.text("a.txt") == THEIRS
        assert bench.workspace.conflicts.rows() == []

    play(tmp_path, VSCODE, script, before=opened_and_typed, after=after)


def test_a_write_that_succeeds_after_all_ends_it(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        rows = told(turn.bench)
        await refused_write(turn, editor)
        await turn.bench.read("a.txt")
        answer = await turn.bench.write("a.txt", MINE.replace("five", "FIVE"), session=turn.session)
        assert not isinstance(answer, Refusal)
        assert [(r["state"], r.get("outcome")) for r in rows] == [("open", None), ("closed", "gone")]

    play(tmp_path, VSCODE, script, before=opened)


@pytest.mark.parametrize("script", [puts_theirs, refused_write])
def test_the_agent_is_asked_once_its_turn_is_over(tmp_path: Path, script: Any) -> None:
    prompts: list[Sequence[Mapping[str, Any]]] = []

    async def asks(turn: Turn, editor: FakeEditor) -> None:
        if prompts:
            return
        prompts.append([])
        await script(turn, editor)
        agents = turn.bench.workspace._agents
        heard = agents.prompt

        async def hears(session_id: str, blocks: Sequence[Mapping[str, Any]]) -> str:
            prompts.append(blocks)
            return await heard(session_id, blocks)

        agents.prompt = hears
        (row,) = turn.bench.workspace.conflicts.rows()
        answer = await turn.bench.workspace.resolver.resolve(str(row["conflictId"]), "ask")
        assert answer["outcome"] == "asked"
        assert len(prompts) == 1, "not while it works"

    async def after(bench: Bench, editor: FakeEditor) -> None:
        words = str(prompts[1][0]["text"])
        assert [w for w in ("a.txt", "one", "mine", "theirs") if w not in words] == []
        assert editor.text("a.txt") == MINE
        left = [row["asked"] for row in bench.workspace.conflicts.rows()]
        assert left == ([True] if script is puts_theirs else [])

    before = opened_and_typed if script is puts_theirs else opened
    play(tmp_path, WELL_BEHAVED, asks, before=before, after=after)


@pytest.mark.parametrize("seen", [True, False])
def test_a_save_that_was_not_carried_out_decides_nothing(tmp_path: Path, seen: bool) -> None:
    """Neovim asks whether to write over what the agent put there, the user says no, and Neovim tells a save all the same. What the agent
    writes next is measured from what the disk said, not from a text that never was there."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", THEIRS)
        if seen:
            await asyncio.sleep(2)
        assert not editor.saves("a.txt")
        await asyncio.sleep(2)
        assert turn.bench.workspace.conflicts.rows()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", THEIRS.replace("theirs\n", ""))
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == MINE
        assert await the_conflict(bench)

    play(tmp_path, NEOVIM_OURS, script, before=opened_and_typed, after=after)


@pytest.mark.parametrize("habits", [VSCODE, EGLOT_OURS, NEOVIM_OURS], ids=["vscode", "eglot", "neovim"])
def test_what_an_agent_wrote_stays_under_review_beside_a_programs_change_that_does_not_fit(
    tmp_path: Path, habits: Habits
) -> None:
    """A check-out puts the old text back on the disk, and the user types where it does so: the document keeps the agent's line."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        seen = await turn.bench.read("a.txt")
        assert isinstance(seen, str)
        await turn.bench.write("a.txt", f"agent\n{seen}")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "five", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "mine", "mine typed")
        (bench.folder / "a.txt").write_text(BASE)
        await asyncio.sleep(10)
        await the_conflict(bench)
        assert [new for _, _, new in listed(bench)] == ["agent\n"]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("five", "mine typed")

    play(tmp_path, habits, script, before=opened, after=after)


def test_what_cannot_be_decided_says_why(tmp_path: Path) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        with pytest.raises(AgentFailed, match="no open conflict"):
            await bench.workspace.resolver.resolve("c99", "mine")
        conflict = await the_conflict(bench)
        bench.workspace.agent_died([bench.session], "it crashed")
        with pytest.raises(AgentFailed, match="no agent to ask"):
            await bench.workspace.resolver.resolve(conflict["conflictId"], "ask")
        assert editor.text("a.txt") == MINE

    play(tmp_path, WELL_BEHAVED, puts_theirs, before=opened_and_typed, after=after)


def test_an_editor_that_takes_no_edits_keeps_the_conflict(tmp_path: Path) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_conflict(bench)
        with pytest.raises(AgentFailed, match="your text is unchanged"):
            await bench.workspace.resolver.resolve(conflict["conflictId"], "agent")
        assert editor.text("a.txt") == MINE
        assert await the_conflict(bench) == conflict

    play(tmp_path, KATE, puts_theirs, before=opened_and_typed, after=after, custom=False)


def test_the_change_on_the_disk_is_journalled_once(tmp_path: Path) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_conflict(bench)
        await bench.workspace.resolver.resolve(conflict["conflictId"], "agent")

    journal = MemoryJournal()
    play(tmp_path, VSCODE, puts_theirs, before=opened_and_typed, after=after, journal=journal)
    assert [(e.before, e.after) for e in journal.entries.values()] == [(BASE, THEIRS)]
    assert list(journal.states.values()) == ["done"]


@every_editor
@pytest.mark.parametrize("by", ["everything", "the turn"])
@pytest.mark.parametrize("lists", [True, False])
def test_what_a_rejection_makes_room_for_is_rejected_with_it(
    tmp_path: Path, habits: Habits, by: str, lists: bool
) -> None:
    """What an agent wrote in lines of the file in which the document, which is not saved, has earlier work of its own.
    `lists`: the client asks for the conflicts at every edit, and so ends this one before we do."""
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", MINE.replace("four", "FOUR"), session=turn.session)
        assert (tmp_path / "a.txt").read_text() == BASE
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("four", "fourth").replace("two", "TWO"))
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")
        await the_conflict(turn.bench)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        review = bench.workspace.review
        (known,) = bench.workspace.conflicts

        def edited(*edited: object) -> None:
            bench.workspace.conflicts.rows()

        if lists:
            known.tracked.document.listeners.append(edited)
        if by == "the turn":
            result = await review.revert_turn(bench.session, 1)
        else:
            result = await review.reject(Selector(everything=True))
        assert not result.impossible
        assert (editor.text("a.txt"), listed(bench)) == (MINE, [])
        assert bench.workspace.conflicts.rows() == []
        await asyncio.sleep(5)
        assert (editor.text("a.txt"), listed(bench)) == (MINE, [])
        written = [one for one, entry in journal.entries.items() if entry.session == bench.session]
        assert {journal.states[one] for one in written} == {"rejected"}
        editor.closes("a.txt")
        await asyncio.sleep(5)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, habits, script, before=opened_and_typed, after=after, journal=journal)
