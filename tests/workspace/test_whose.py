"""Whose a change on the disk is: an agent's only with evidence. What the user does meanwhile is theirs, and no rejection takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, listed, opened, play

ALL = Selector(everything=True)


def rows(bench: Bench) -> list[Mapping[str, Any]]:
    return [dict(row) for row in bench.workspace.review.changes(Selector())]


def apart(bench: Bench) -> list[str]:
    """Names of files of which something is listed as not known by whom."""
    return [row["uri"].rpartition("/")[2] for row in rows(bench) if row.get("unknown")]


def short(rows: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    return [(old.strip(), new.strip()) for _, old, new in rows]


async def runs(turn: Turn, name: str, text: str, call: str = "c1") -> None:
    """A command of the agent's changes a file."""
    turn.says("execute", call=call)
    tick()
    turn.puts(name, text)
    tick()
    turn.says("execute", call=call, status="completed")
    tick()


async def reject_all(bench: Bench) -> None:
    result = await bench.workspace.review.reject(ALL)
    assert not result.impossible
    await asyncio.sleep(2)


def test_a_file_that_a_command_changed_and_the_user_has_open_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        editor.opens("a.txt")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        editor.replaces("a.txt", "one", "mine")
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("custom", [True, False])
def test_what_the_agent_writes_and_then_formats(tmp_path: Path, custom: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)
        tick()
        await runs(turn, "a.txt", CHANGED.replace("two", "TWO"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after, custom=custom)


def test_the_users_line_between_two_edits_of_the_agents(tmp_path: Path) -> None:
    """A call names an open file, the agent edits, the user types and saves, the agent edits again, the user closes."""

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(BASE)
        editor.opens("a.txt")
        await asyncio.sleep(1)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(2)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(2)
        tick()
        turn.puts("a.txt", CHANGED.replace("one", "mine").replace("two", "TWO"))
        await asyncio.sleep(2)
        editor.closes("a.txt")
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("two", "TWO"), ("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=before, after=after)


@pytest.mark.parametrize("open_after", [0.0, 0.02, 0.05, 0.1, 0.5])
def test_a_file_that_is_opened_while_its_change_is_journalled(tmp_path: Path, open_after: float) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    class Slow(MemoryJournal):
        async def begin(self, entry: Any, takes_back: Any = ()) -> str:
            await asyncio.sleep(0.2)
            return await super().begin(entry, takes_back)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        tick()
        turn.puts("a.txt", CHANGED)
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        await asyncio.sleep(open_after)
        editor.opens("a.txt")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, after=after, journal=Slow())


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("later", [0.0, 6.0])
@pytest.mark.parametrize("name", ["a.txt", "b.txt"], ids=["the agent's file", "another"])
def test_a_shell_edit_after_the_turn_is_the_users(
    tmp_path: Path, name: str, later: float, is_open: bool
) -> None:
    """`later`: how many seconds later than three."""
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "b.txt").write_text(BASE)
    was = CHANGED if name == "a.txt" else BASE

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            editor.opens(name)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(later)
        tick()
        (tmp_path / name).write_text(was.replace("one", "mine"))
        await asyncio.sleep(3)
        assert short(listed(bench)) == [("four", "FOUR")]
        assert not apart(bench)
        await reject_all(bench)
        assert (tmp_path / name).read_text() == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, before=before, after=after)


def test_a_shell_edit_while_a_command_runs_counts_as_its(tmp_path: Path) -> None:
    """Nobody can tell the two apart, and so the docs say it."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        await asyncio.sleep(1)
        tick()
        (tmp_path / "a.txt").write_text(BASE.replace("one", "mine"))
        tick()
        await asyncio.sleep(1)
        turn.says("execute", status="completed")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("o", "mi")]

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("names_it", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_call_that_is_heard_of_late(tmp_path: Path, names_it: bool, first: bool) -> None:
    """The agent goes on while we are held up; nothing of what it said before its change was heard before that."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if not first:
            turn.says("execute", call="c0")
            tick()
            turn.says("execute", call="c0", status="completed")
            await asyncio.sleep(2)
            tick()
        turn.puts("a.txt", CHANGED)
        for _ in range(20):
            tick()
        if names_it:
            turn.says("edit", "a.txt")
        else:
            turn.says("execute")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        assert apart(bench) == []

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_shell_edit_while_no_act_runs_is_listed_apart(tmp_path: Path, is_open: bool) -> None:
    """Kept by Keep all, left alone by Reject all and Undo turn, taken back when it is picked."""
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "settings.json").write_text("{}\n")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            editor.opens("settings.json")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(2)
        tick()
        (tmp_path / "settings.json").write_text('{"theme": "dark"}\n')
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        assert apart(bench) == ["settings.json"]
        review = bench.workspace.review
        assert not (await review.revert_turn(bench.session, 1)).impossible
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE
        assert (tmp_path / "settings.json").read_text() == '{"theme": "dark"}\n'
        assert apart(bench) == ["settings.json"]
        await review.reject(Selector(frozenset(row["changeId"] for row in rows(bench))))
        await asyncio.sleep(2)
        assert (tmp_path / "settings.json").read_text() == "{}\n"

    editor = play(tmp_path, VSCODE, script, before=before, after=after)
    assert len(editor.outcomes[0]["changes"]) == 1, "the turn's own"


@pytest.mark.parametrize("is_open", [True, False])
def test_what_an_agent_adds_to_a_line_that_nobody_is_known_to_have_written(
    tmp_path: Path, is_open: bool
) -> None:
    """Is the agent's, and the rest is not. Whoever rejects it has the line as it was."""
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "b.txt").write_text(BASE)
    shell = BASE.replace("two", "shell")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "b.txt", CHANGED)
        await asyncio.sleep(2)
        tick()
        (tmp_path / "a.txt").write_text(shell)
        await asyncio.sleep(4)
        tick()
        assert await turn.bench.read("a.txt", session=turn.session) == shell
        await turn.bench.write("a.txt", shell.replace("shell", "she agent ll"), session=turn.session)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        (row,) = (row for row in rows(bench) if row["uri"].endswith("a.txt"))
        assert (row["oldText"], row["newText"]) == ("shell", "she agent ll")
        assert "unknown" not in row
        assert "earlier" not in row
        assert not (await bench.workspace.review.reject(Selector(frozenset([row["changeId"]])))).impossible
        await asyncio.sleep(2)
        assert (tmp_path / "a.txt").read_text() == shell
        (row,) = (row for row in rows(bench) if row["uri"].endswith("a.txt"))
        assert (row["oldText"], row["newText"], row["unknown"]) == ("two", "shell", True)
        await bench.workspace.review.reject(Selector(frozenset([row["changeId"]])))
        await asyncio.sleep(2)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=before, after=after)


def test_keep_all_keeps_what_is_listed_apart(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", status="completed")
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert apart(bench) == ["a.txt"]
        bench.workspace.review.keep(ALL)
        assert not rows(bench)
        assert (tmp_path / "a.txt").read_text() == CHANGED

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("when", ["in the turn", "after it"])
@pytest.mark.parametrize("committed", [True, False])
def test_what_the_user_brings_back_is_never_the_agents(tmp_path: Path, when: str, committed: bool) -> None:
    """The agent removes a file, and the user restores it (`git checkout f`): rejecting must not remove it again."""
    (tmp_path / "f.txt").write_text(BASE)

    async def restores() -> None:
        await asyncio.sleep(2)
        tick()
        (tmp_path / "f.txt").write_text(BASE if committed else "other\n")
        await asyncio.sleep(3)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "f.txt")
        tick()
        (tmp_path / "f.txt").unlink()
        tick()
        turn.says("execute", status="completed")
        if when == "in the turn":
            await restores()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if when != "in the turn":
            await restores()
        assert not listed(bench)
        assert not [row for row in await bench.workspace.review.listed(Selector()) if not row.get("unknown")]
        await reject_all(bench)
        assert (tmp_path / "f.txt").read_text() == (BASE if committed else "other\n")

    play(tmp_path, VSCODE, script, after=after)


def test_what_the_user_brings_back_in_a_later_turn_is_never_the_agents(tmp_path: Path) -> None:
    """The removal was kept, and a command runs while the user restores the file: it is not the one that a command of this turn made."""
    (tmp_path / "f.txt").write_text(BASE)
    turns = 0

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal turns
        turns += 1
        turn.says("execute", call=f"c{turns}")
        tick()
        if turns == 1:
            (tmp_path / "f.txt").unlink()
        else:
            (tmp_path / "f.txt").write_text(BASE)
            (tmp_path / "made.txt").write_text("made\n")
        tick()
        turn.says("execute", call=f"c{turns}", status="completed")
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        bench.workspace.review.keep(ALL)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(3)
        assert [row["uri"].rpartition("/")[2] for row in rows(bench)] == ["made.txt"]
        await reject_all(bench)
        assert (tmp_path / "f.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after)


def test_what_an_agent_removes_and_brings_back_as_it_was_long_before(tmp_path: Path) -> None:
    """With `git checkout f`, say: what the user had done in the file since then comes back when everything is rejected."""
    path = tmp_path / "f.txt"
    path.write_text(BASE)
    mine = CHANGED.replace("one", "mine")
    turns = 0

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal turns
        turns += 1
        for call, text in enumerate([CHANGED] if turns == 1 else [None, BASE]):
            turn.says("execute", call=f"c{turns}.{call}")
            tick()
            path.unlink() if text is None else path.write_text(text)
            tick()
            turn.says("execute", call=f"c{turns}.{call}", status="completed")
            await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        path.write_text(mine)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        await reject_all(bench)
        assert path.read_text() == BASE.replace("one", "mine")

    play(tmp_path, VSCODE, script, after=after, custom=False)


def test_a_turn_that_only_counts_lists_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("read")
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not rows(bench)

    editor = play(tmp_path, VSCODE, script, after=after)
    assert editor.outcomes[0]["changes"] == []


def test_truncated_and_filled_later(tmp_path: Path) -> None:
    """`command > file` is told of at the moment of truncation: the text before it is that of the turn's start."""
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text("")
        turn.says("execute", "a.txt")
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        await asyncio.sleep(1)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert short(listed(bench)) == [("four", "FOUR")]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, after=after)


@pytest.mark.parametrize("is_open", [True, False], ids=["open", ""])
@pytest.mark.parametrize(
    "says", ["what it began with", "nothing of that", "that it was empty", "what it had read"]
)
@pytest.mark.parametrize("others", [1, 2])
def test_what_a_call_says_it_began_with_is_not_its_own(
    tmp_path: Path, others: int, says: str, is_open: bool
) -> None:
    """Others write the file right before the agent's tool does, and nobody looks in between (hands, Neovim, seed 590005)."""
    theirs = "".join(f"{number} others\n" for number in range(others)) + BASE
    text = "the agent's\n" + theirs

    async def script(turn: Turn, editor: FakeEditor) -> None:
        olds = {"what it began with": theirs, "that it was empty": "", "what it had read": BASE}
        diff = [
            {"type": "diff", "path": turn.bench.path("a.txt"), "oldText": olds.get(says), "newText": text}
        ]
        turn.says("edit", "a.txt", content=[] if says == "nothing of that" else diff)
        turn.puts("a.txt", text)
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        own = says == "what it began with"
        assert listed(bench) == [("a.txt", "", "the agent's\n" if own else text.removesuffix(BASE))]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == (theirs if own else BASE)

    async def begins(bench: Bench, editor: FakeEditor) -> None:
        await opened(bench, editor)
        if not is_open:
            editor.closes("a.txt")

    play(tmp_path, VSCODE, script, before=begins, after=after)


@pytest.mark.parametrize("found", [True, False], ids=["found before", "not found"])
@pytest.mark.parametrize("earlier", ["none", "just now", "a while ago"])
def test_what_a_call_began_with_may_have_been_found_there_before(
    tmp_path: Path, earlier: str, found: bool
) -> None:
    """Another call came between a program's write and the agent's, and had the sidecar look at the file (hands, Helix, seed 630005)."""
    first = BASE if earlier == "none" else BASE.replace("two\n", "two, the agent's\n")
    theirs = "a program's\n" + first
    text = theirs.replace("four\n", "four, the agent's\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        def edits(call: str, old: str, new: str) -> None:
            diff = [{"type": "diff", "path": turn.bench.path("a.txt"), "oldText": old, "newText": new}]
            turn.puts("a.txt", new)
            turn.says("edit", "a.txt", call=call, content=diff)
            turn.says("edit", "a.txt", call=call, status="completed")

        if earlier != "none":
            edits("first", BASE, first)
        await asyncio.sleep(3 if earlier == "a while ago" else 0)
        tick()
        turn.puts("a.txt", theirs)
        if found:
            turn.says("read", "b.txt", call="reads")
        edits("last", theirs, text)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == "a program's\n" + BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_calls_that_say_they_began_with_what_each_other_made(tmp_path: Path) -> None:
    """However they go round, each text is asked about once."""
    first, second, third = (f"{'x' * 40}{i}\n" + BASE for i in range(3))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for call, old, new in (("c1", second, third), ("c2", first, second), ("c3", third, first)):
            diff = [{"type": "diff", "path": turn.bench.path("a.txt"), "oldText": old, "newText": new}]
            turn.says("edit", "a.txt", call=call, content=diff)
        turn.puts("a.txt", third)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == third
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_text() == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)
