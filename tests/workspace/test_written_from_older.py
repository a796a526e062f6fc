"""An agent reads a file on the disk and writes it back there. What the user saved in between it had not read, and so has not taken away."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.refusal import Refusal
from sidecar.workspace.ports.ports import Option, Question
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, WELL_BEHAVED, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, TAKES_EDITS, Turn, every_editor, listed, opened, play

FIVE = BASE.replace("five", "FIVE")


async def saves(editor: FakeEditor, old: str, new: str) -> None:
    """The user types, and saves."""
    editor.replaces("a.txt", old, new)
    await asyncio.sleep(1)
    assert editor.saves("a.txt")
    await asyncio.sleep(1)
    tick()


async def calls(turn: Turn, kind: str, *names: str, call: str, puts: str | None = None) -> None:
    turn.says(kind, *names, call=call)
    tick()
    if puts is not None:
        turn.puts("a.txt", puts)
    await asyncio.sleep(0.1)
    tick()
    turn.says(kind, *names, call=call, status="completed")
    await asyncio.sleep(2)
    tick()


TAKES_AT_ONCE = {name: replace(habits, reloads=0.05) for name, habits in TAKES_EDITS.items()}
"""Editors that take what is new on the disk at once. Some tell of it as of any change, some close the document and open it again."""
IN_PLACE = {name: habits for name, habits in TAKES_AT_ONCE.items() if not habits.reopens}
takes_in_place = pytest.mark.parametrize("habits", list(IN_PLACE.values()), ids=list(IN_PLACE))
takes_at_once = pytest.mark.parametrize("habits", list(TAKES_AT_ONCE.values()), ids=list(TAKES_AT_ONCE))


async def writes_anew(turn: Turn, editor: FakeEditor, text: str, takes: str, waits: float = 0.0) -> None:
    """A command writes the file. Of that, the editor `takes` "what it writes"; or the file is empty first, and it takes "that it is empty" or "both"."""
    turn.says("execute", call="w")
    tick()
    for puts, is_taken in (("", takes != "what it writes"), (text, takes != "that it is empty")):
        if puts or is_taken:
            turn.puts("a.txt", puts)
        if is_taken:
            await asyncio.sleep(waits)
            editor.looks_at_disk()
            await asyncio.sleep(0.06)
        tick()
    turn.says("execute", call="w", status="completed")
    await asyncio.sleep(4)


async def after_is_reviewed(bench: Bench, editor: FakeEditor) -> None:
    """The agent's change is the agent's, and nothing else is."""
    assert editor.text("a.txt") == FIVE.replace("one", "typed\none")
    assert [(old.strip(), new.strip()) for _, old, new in listed(bench)] == [("five", "FIVE")]
    assert await bench.read("a.txt") == FIVE.replace("one", "typed\none")
    assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    assert editor.text("a.txt") == BASE.replace("one", "typed\none")


@pytest.mark.parametrize(
    "reloads", [None, 0.05, 0.3], ids=["", "the editor takes it at once", "the editor takes it while we look"]
)
@pytest.mark.parametrize("reads", ["read", "execute", "in no call"])
@every_editor
def test_what_was_saved_after_it_had_read_stays(
    tmp_path: Path, habits: Habits, reads: str, reloads: float | None
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        if reads != "in no call":
            await calls(turn, reads, *(["a.txt"] if reads == "read" else []), call="r")
        await saves(editor, "one", "typed\none")
        turn.says("edit", "a.txt", call="w")
        tick()
        turn.puts("a.txt", FIVE)
        if reloads is not None:
            await asyncio.sleep(0.3)
            editor.looks_at_disk()
        tick()
        turn.says("edit", "a.txt", call="w", status="completed")
        await asyncio.sleep(3)

    play(tmp_path, replace(habits, reloads=reloads), script, before=opened, after=after_is_reviewed)


@pytest.mark.parametrize("waits", [0.0, 0.7])
@pytest.mark.parametrize("takes", ["that it is empty", "both"])
@takes_at_once
def test_what_was_saved_after_it_had_read_stays_though_it_empties_the_file_first(
    tmp_path: Path, habits: Habits, takes: str, waits: float
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="r")
        await saves(editor, "one", "typed\none")
        await writes_anew(turn, editor, FIVE, takes, waits)

    play(tmp_path, habits, script, before=opened, after=after_is_reviewed)


@takes_at_once
def test_what_it_had_read_and_taken_away_is_not_put_back(tmp_path: Path, habits: Habits) -> None:
    """The editor takes at once what it wrote of that."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "one", "typed\none")
        await calls(turn, "read", "a.txt", call="r")
        await writes_anew(turn, editor, FIVE, "what it writes")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("one", "typed\none")

    play(tmp_path, habits, script, before=opened, after=after)


@takes_at_once
def test_what_is_put_back_is_there_once(tmp_path: Path, habits: Habits) -> None:
    """The editor takes two texts, one after the other, and the user types after the first one, which was made under what is under review from before."""
    first, later = FIVE.replace("two", "TWO"), FIVE.replace("two", "TWO").replace("four", "FOUR")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "edit", "a.txt", call="w1", puts=BASE.replace("two", "TWO"))
        await calls(turn, "execute", call="r")
        await saves(editor, "one", "typed\none")
        await writes_anew(turn, editor, first, "what it writes")
        editor.replaces("a.txt", "three", "mine\nthree")
        await asyncio.sleep(1)
        await calls(turn, "edit", "a.txt", call="w2", puts=later)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        users = BASE.replace("one", "typed\none").replace("three", "mine\nthree")
        assert editor.text("a.txt") == users.replace("two", "TWO").replace("four", "FOUR").replace(
            "five", "FIVE"
        )
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == users

    play(tmp_path, habits, script, before=opened, after=after)


@takes_at_once
def test_a_file_that_is_opened_anew_gets_nothing(tmp_path: Path, habits: Habits) -> None:
    """The agent had read what was saved there before it was closed."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "one", "typed\none")
        await saves(editor, "typed\n", "")
        await saves(editor, "two", "TWO")
        editor.closes("a.txt")
        await calls(turn, "read", "a.txt", call="r")
        turn.says("execute", call="w")
        tick()
        turn.puts("a.txt", FIVE)
        tick()
        editor.opens("a.txt")
        await asyncio.sleep(1)
        turn.says("execute", call="w", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE
        assert len(listed(bench)) == 2

    play(tmp_path, habits, script, before=opened, after=after)


@takes_at_once
def test_undoing_brings_nothing_twice(tmp_path: Path, habits: Habits) -> None:
    """Neovim tells of the undo of a reload as of the reload."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="r")
        await saves(editor, "one", "typed\none")
        await writes_anew(turn, editor, FIVE, "what it writes")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        said = [editor.text("a.txt")]
        for _ in range(3):
            editor.undoes("a.txt")
            await asyncio.sleep(3)
            said.append(editor.text("a.txt"))
        assert said[0] == FIVE.replace("one", "typed\none")
        assert set(said[1:]) <= {FIVE, BASE, BASE.replace("one", "typed\none")}

    play(tmp_path, habits, script, before=opened, after=after)


async def asks_and_writes_twice(turn: Turn, editor: FakeEditor, *, announces: bool = True) -> None:
    """Kilo: asks, sends us the change made in what the file says by then, and writes what it had made of its read. The user saves while it
    asks. It may announce the call only when it is over."""
    await calls(turn, "read", "a.txt", call="r")
    about = {"toolCallId": "w", "paths": [turn.bench.path("a.txt")]}
    asked = Question(
        "q", turn.session, "write", "?", (Option("y", "allow_once", "Yes"),), "", about, behind=True
    )
    if announces:
        turn.says("edit", "a.txt", call="w")
    assert await turn.bench.workspace.ask(asked) == "y"
    await saves(editor, "one", "typed\none")
    sent = await turn.bench.write("a.txt", FIVE.replace("one", "typed\none"), turn.session)
    assert not isinstance(sent, Refusal)
    tick()
    await asyncio.sleep(1)
    turn.puts("a.txt", FIVE)
    tick()
    turn.says("edit", "a.txt", call="w", status="completed")
    await asyncio.sleep(3)


@pytest.mark.parametrize("announces", [True, False], ids=["", "not announced"])
@every_editor
def test_what_was_saved_while_it_asked_stays_though_it_sends_its_change_of_that_first(
    tmp_path: Path, habits: Habits, announces: bool
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await asks_and_writes_twice(turn, editor, announces=announces)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()  # late
        assert editor.text("a.txt") == FIVE.replace("one", "typed\none")
        assert not bench.workspace.conflicts.rows()
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("one", "typed\none")

    play(tmp_path, habits, script, before=opened, after=after, answer=lambda _: "y")


@pytest.mark.parametrize("typed", ["", "typed\n"], ids=["", "after the user saved"])
@every_editor
def test_what_it_writes_on_top_of_what_it_sent_in_the_same_call_is_its_own(
    tmp_path: Path, habits: Habits, typed: str
) -> None:
    """One of its lines is another one by then, and one is as it was."""
    sent = typed + BASE.replace("one", "ONE A").replace("three", "thre3")
    written = sent.replace("ONE A", "ONE B").replace("four", "FOUR")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if typed:
            await saves(editor, "one", f"{typed}one")
        turn.says("edit", "a.txt", call="w")
        assert not isinstance(await turn.bench.read("a.txt", session=turn.session), Refusal)
        assert not isinstance(await turn.bench.write("a.txt", sent, turn.session), Refusal)
        tick()
        turn.puts("a.txt", written)
        tick()
        turn.says("edit", "a.txt", call="w", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()
        assert not bench.workspace.conflicts.rows()
        assert editor.text("a.txt") == written
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == typed + BASE

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_what_it_sent_in_an_earlier_call_it_has_read(tmp_path: Path, habits: Habits) -> None:
    """It sends two changes through us, the second one after it has read the first, and goes on with both (inflight seed 1810004169)."""
    first = "}\nA\n" + BASE
    second = "}\nA\nB\n}\n" + BASE
    written = "} }\nC A\nB\n}\n}\n" + BASE

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt", call="w1")
        assert not isinstance(await turn.bench.write("a.txt", first, turn.session), Refusal)
        await asyncio.sleep(1)
        tick()
        turn.says("edit", "a.txt", call="w1", status="completed")
        await calls(turn, "read", "a.txt", call="r")
        turn.says("edit", "a.txt", call="w2")
        assert not isinstance(await turn.bench.write("a.txt", second, turn.session), Refusal)
        tick()
        turn.puts("a.txt", written)
        tick()
        turn.says("edit", "a.txt", call="w2", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()
        await asyncio.sleep(2)
        assert editor.text("a.txt") == written
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("new", ["FIVE", "a line that is much longer than the user's"])
@every_editor
def test_what_it_sent_says_nothing_of_what_it_had_read(tmp_path: Path, habits: Habits, new: str) -> None:
    """Its own line is in both: in what it sends, made in what the file says by then, and in what it made of its read."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        turn.says("edit", "a.txt", call="w")
        await saves(editor, "one", "typed\none")
        sent = BASE.replace("one", "typed\none").replace("five", new)
        assert not isinstance(await turn.bench.write("a.txt", sent, turn.session), Refusal)
        tick()
        turn.puts("a.txt", BASE.replace("five", new))
        tick()
        turn.says("edit", "a.txt", call="w", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()
        assert editor.text("a.txt") == BASE.replace("one", "typed\none").replace("five", new)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("one", "typed\none")

    play(tmp_path, habits, script, before=opened, after=after)


async def reads_and_writes(turn: Turn, editor: FakeEditor) -> None:
    await calls(turn, "read", "a.txt", call="r")
    await saves(editor, "one", "typed\none")
    await calls(turn, "edit", "a.txt", call="w", puts=FIVE)


@pytest.mark.parametrize("writes", [reads_and_writes, asks_and_writes_twice])
@every_editor
def test_it_reads_next_what_it_had_written_over(tmp_path: Path, habits: Habits, writes: Any) -> None:
    """It is unsaved text of the user's again, and goes with the next prompt: it is saved for an agent that reads the disk."""
    found: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        found.append((tmp_path / "a.txt").read_text())
        if len(found) == 1:
            await writes(turn, editor)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        assert found == [BASE, FIVE.replace("one", "typed\none")]

    play(tmp_path, habits, script, before=opened, after=after, answer=lambda _: "y")


@every_editor
def test_what_it_wrote_through_us_it_may_take_back_in_a_later_call(tmp_path: Path, habits: Habits) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt", call="w1")
        assert not isinstance(await turn.bench.write("a.txt", "mine\n" + BASE, turn.session), Refusal)
        turn.says("edit", "a.txt", call="w1", status="completed")
        await asyncio.sleep(2)
        tick()
        await calls(turn, "edit", "a.txt", call="w2", puts=FIVE)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_what_was_saved_before_it_read_it_may_take_away(tmp_path: Path, habits: Habits) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "one", "typed\none")
        await calls(turn, "read", "a.txt", call="r")
        await calls(turn, "edit", "a.txt", call="w", puts=FIVE)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("one", "typed\none")

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_what_was_saved_before_the_prompt_it_may_take_away(tmp_path: Path, habits: Habits) -> None:
    """It reads with commands, which nobody can see: what the file said before its turn, it has not read."""

    async def before(bench: Bench, editor: FakeEditor) -> None:
        await opened(bench, editor)
        await asyncio.sleep(1)
        await saves(editor, "one\n", "one\ndef old():\n    return 1\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="w", puts=FIVE.replace("one\n", "one\ndef new():\n    pass\n"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == FIVE.replace("one\n", "one\ndef new():\n    pass\n")

    play(tmp_path, habits, script, before=before, after=after)


@every_editor
def test_the_same_line_is_a_conflict(tmp_path: Path, habits: Habits) -> None:
    """The user's text stays in the editor, unless it has taken the disk's by itself: then it can be had back from the conflict."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        await saves(editor, "two", "two of mine")
        await calls(turn, "edit", "a.txt", call="w", puts=BASE.replace("two", "TWO"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == BASE.replace("two", "two of mine")
        (row,) = bench.workspace.conflicts.rows()
        assert [hunk["agent"] for hunk in row["hunks"]] == ["TWO\n"]

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_it_goes_on_with_what_it_wrote(tmp_path: Path, habits: Habits) -> None:
    """Twice without reading again, while the user saves twice; and it may go back on its own work."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "read", "a.txt", call="r")
        await saves(editor, "one", "typed\none")
        await calls(turn, "edit", "a.txt", call="w1", puts=BASE.replace("five", "5a\n5b"))
        await saves(editor, "three", "three\nmore")
        await calls(turn, "edit", "a.txt", call="w2", puts=BASE.replace("five", "5a"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        mine = BASE.replace("one", "typed\none").replace("three", "three\nmore")
        assert editor.text("a.txt") == mine.replace("five", "5a")
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == mine

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_what_it_wrote_before_the_file_was_opened_is_what_it_goes_on_with(
    tmp_path: Path, habits: Habits
) -> None:
    """Though little of that is left: nobody else has written the file, and nothing can be in conflict."""
    first = BASE.replace("one", "1a").replace("three", "3a").replace("five", "5a")
    second = BASE.replace("one", "1b").replace("three", "3b").replace("five", "5a").replace("four", "4b")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.txt").write_text(BASE)
        tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "edit", "a.txt", call="w1", puts=first)
        editor.opens("a.txt")
        await asyncio.sleep(2)
        await calls(turn, "edit", "a.txt", call="w2", puts=second)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.looks_at_disk()
        assert not bench.workspace.conflicts.rows()
        assert editor.text("a.txt") == second
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, script, before=before, after=after)


@pytest.mark.parametrize("habits", [WELL_BEHAVED, VSCODE], ids=["", "vscode"])
def test_a_command_that_works_on_the_newest_text_is_taken_as_it_is(tmp_path: Path, habits: Habits) -> None:
    """A formatter changes every line, the user's too."""
    code = "".join(f"def f{i}():\n\treturn [{i},{i + 1}]\n\n" for i in range(12))
    typed = "def mine():\n\treturn [7,8]\n\n"

    def formatted(text: str) -> str:
        return text.replace("\t", "    ").replace(",", ", ")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(code)
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="r")
        await saves(editor, "def f5", typed + "def f5")
        await calls(turn, "execute", call="w", puts=formatted((tmp_path / "a.txt").read_text()))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == formatted(code.replace("def f5", typed + "def f5"))
        assert not bench.workspace.conflicts.rows()

    play(tmp_path, habits, script, before=before, after=after)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", TAKES_EDITS)
def test_law(tmp_path: Path, name: str, seed: int) -> None:
    """Whatever it had read when: all that the user saved since is there, and all that it wrote last, and nothing else."""
    chance = random.Random(seed)
    lines = [f"line {number}" for number in range(24)]
    rows = {"user": list(range(0, 24, 4)), "agent": list(range(2, 24, 4))}

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        knows = (tmp_path / "a.txt").read_text()
        for step in range(chance.randrange(2, 7)):
            match chance.choice(["read", "execute", "saves", "saves", "edit", "edit"]):
                case "saves":
                    row = chance.choice(rows["user"])
                    await saves(editor, lines[row] + "\n", f"user {step} at {row}\n")
                    lines[row] = f"user {step} at {row}"
                case "edit":
                    row = chance.choice(rows["agent"])
                    knows = knows.replace(lines[row] + "\n", f"agent {step} at {row}\n")
                    lines[row] = f"agent {step} at {row}"
                    kind, names = chance.choice([("edit", ["a.txt"]), ("execute", [])])
                    await calls(turn, kind, *names, call=f"c{step}", puts=knows)
                case kind:
                    # A command may read it, which cannot be seen: then it may know less than it could
                    await calls(turn, kind, *(["a.txt"] if kind == "read" else []), call=f"c{step}")
                    if kind == "read" or chance.random() < 0.5:
                        knows = (tmp_path / "a.txt").read_text()
                        for row in rows["agent"]:
                            assert lines[row] in knows

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt").splitlines() == lines
        await bench.workspace.review.reject(Selector(everything=True))
        left = editor.text("a.txt").splitlines()
        assert [left[row] for row in rows["user"]] == [lines[row] for row in rows["user"]]
        assert [left[row] for row in rows["agent"]] == [f"line {row}" for row in rows["agent"]]

    play(tmp_path, TAKES_EDITS[name], script, before=before, after=after)


@pytest.mark.parametrize("says", [True, False], ids=["says so", ""])
def test_what_it_says_it_began_with_it_had_read(tmp_path: Path, says: bool) -> None:
    """Somebody wrote on top of what it had written itself, and it replaces both (hands, Helix, seed 600020)."""
    others, text = "others\nfirst\n" + BASE, "second\n" + BASE

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt", call="c1")
        turn.puts("a.txt", "first\n" + BASE)
        turn.says("edit", "a.txt", call="c1", status="completed")
        await asyncio.sleep(3)
        tick()
        turn.puts("a.txt", others)
        await asyncio.sleep(3)
        tick()
        diff = [{"type": "diff", "path": turn.bench.path("a.txt"), "oldText": others, "newText": text}]
        turn.says("edit", "a.txt", call="c2", content=diff if says else [])
        turn.puts("a.txt", text)
        turn.says("edit", "a.txt", call="c2", status="completed")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == (text if says else "others\n" + text)

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("habits", [WELL_BEHAVED, VSCODE], ids=["well behaved", "VS Code"])
def test_what_the_user_has_brought_back_stays(tmp_path: Path, habits: Habits) -> None:
    """The user undoes a change that is saved, and does not save that. What an agent's tool puts in the place of the change takes none of it away."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, BASE, "short\n")
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        tick()
        await calls(turn, "edit", "a.txt", call="w", puts="tool\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == BASE
        assert (tmp_path / "a.txt").read_text() == "tool\n"

    play(tmp_path, habits, script, before=opened, after=after)


@every_editor
def test_what_it_writes_again_after_a_rejection(tmp_path: Path, habits: Habits) -> None:
    """It has read what was there then: a line of that is in its text, and none that only its own text had."""
    first = "agent66\ntwo\nagent65\nfour\nagent64\n"
    second = "agent67\ntwo\nagent69\nagent68\nfive\n"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="first", puts=first)
        assert editor.text("a.txt") == first
        assert not (await turn.bench.workspace.review.reject(Selector(everything=True))).impossible
        if editor.text("a.txt") != (tmp_path / "a.txt").read_text():
            assert editor.saves("a.txt")
        await asyncio.sleep(3)
        tick()
        await calls(turn, "execute", call="second", puts=second)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == second
        rejected = await bench.workspace.review.reject(Selector(everything=True))
        assert rejected.done
        assert not rejected.impossible
        assert editor.text("a.txt") == BASE

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("through_us", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_only_like_its_own_rejected_lines_is_written_anew(
    tmp_path: Path, at_once: bool, through_us: bool
) -> None:
    """What the user rejected does not come back when this is rejected in its turn. (turns seed 1885181602)"""
    first = BASE.replace("one", "agent47").replace("four", "agent46")
    second = BASE.replace("one", "agent51").replace("four", "agent52").replace("five", "agent53")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if through_us:
            await turn.bench.read("a.txt")
            await turn.bench.write("a.txt", first)
        else:
            await calls(turn, "execute", call="first", puts=first)
        review = turn.bench.workspace.review
        rows = [str(row["changeId"]) for row in review.changes(Selector(everything=True))]
        assert len(rows) == 2
        for ids in (rows,) if at_once else ([one] for one in rows):
            assert not (await review.reject(Selector(change_ids=frozenset(ids)))).impossible
            if editor.text("a.txt") != (tmp_path / "a.txt").read_text():
                assert editor.saves("a.txt")
            await asyncio.sleep(1)
        tick()
        await calls(turn, "execute", call="second", puts=second)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == second
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


@every_editor
@pytest.mark.parametrize(
    "line", ["two, fixed", "two", "", "  draft"], ids=["changed", "taken back", "deleted", "moved in"]
)
def test_what_was_saved_beside_its_own_line_stays_though_it_writes_that_anew(
    tmp_path: Path, habits: Habits, line: str
) -> None:
    """It has not read what the user saved there."""
    mine = f"one\n{line}\nthree\nfour\nfive\nmine\n".replace("\n\n", "\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "edit", "a.txt", call="first", puts=BASE.replace("two", "draft"))
        await saves(editor, editor.text("a.txt"), mine)
        await calls(turn, "edit", "a.txt", call="second", puts=BASE.replace("two", "final"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == mine

    play(tmp_path, habits, script, before=opened, after=after)


def test_a_rejected_block_that_is_written_anew(tmp_path: Path) -> None:
    """Lines that stand elsewhere, too (an empty one), do not show that it is the same."""
    first, second = (BASE.replace("two\n", f"two\ndef {name}\n\nend\n") for name in ("first", "second"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await calls(turn, "execute", call="first", puts=first)
        assert not (await turn.bench.workspace.review.reject(Selector(everything=True))).impossible
        if (tmp_path / "a.txt").read_text() != BASE:
            assert editor.saves("a.txt")
        await asyncio.sleep(1)
        tick()
        await calls(turn, "execute", call="second", puts=second)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == second
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_a_line_of_the_users_that_is_back_stays_though_its_own_line_is_written_anew(tmp_path: Path) -> None:
    """The agent wrote while the line was deleted, and has not read that it is there again."""
    without = BASE.replace("five\n", "")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "five\n", "")
        await calls(turn, "edit", "a.txt", call="first", puts=without.replace("two", "draft"))
        await saves(editor, editor.text("a.txt"), BASE)
        await calls(turn, "edit", "a.txt", call="second", puts=without.replace("two", "final"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt").endswith("four\nfive\n")

    play(tmp_path, VSCODE, script, before=opened, after=after)


@pytest.mark.parametrize("first", ["", "AGENT"], ids=["", "an agent wrote before it"])
@every_editor
def test_what_was_saved_right_before_a_write_is_what_that_was_made_of(
    tmp_path: Path, habits: Habits, first: str
) -> None:
    """The user saves twice in one line. Nobody has seen the bytes of the second save when a command writes the file, and the editor takes that at
    once. Of what it shows of the save, nothing stands beside another line of that. (turns seed 1885191879)"""
    users = BASE.replace("three", "second")
    written = f"{first or 'one'}\nits own\nsecond\nits own, too\nand this\n"

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", call="c1")
        tick()
        await saves(editor, "three", "first")
        if first:
            turn.puts("a.txt", editor.text("a.txt").replace("one", first))
            editor.looks_at_disk()
            tick()
        turn.says("execute", call="c1", status="completed")
        editor.replaces("a.txt", "first", "second")
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        tick()
        turn.says("execute", call="c2")
        tick()
        turn.puts("a.txt", written)
        editor.looks_at_disk()
        tick()
        turn.says("execute", call="c2", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert "second" in editor.text("a.txt")
        await bench.workspace.review.reject(Selector(everything=True))
        await asyncio.sleep(2)
        assert editor.text("a.txt") == users

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("takes", ["what it writes", "that it is empty", "both"])
@takes_at_once
def test_what_was_saved_right_before_a_write_that_was_made_of_an_earlier_save_stays(
    tmp_path: Path, habits: Habits, takes: str
) -> None:
    """The user saves twice in one line. The agent has read only the first save, and nobody has seen the bytes of the second one when a command writes the
    file, and the editor takes that at once. The first save is nearer to what is written. A command may empty the file first."""
    first, second = (BASE.replace("three", line) for line in ("first", "second"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "three", "first")
        await calls(turn, "execute", call="r")
        editor.replaces("a.txt", "first", "second")
        assert editor.saves("a.txt")
        tick()
        await writes_anew(turn, editor, first.replace("five", "FIVE"), takes)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == second.replace("five", "FIVE")
        assert [(old.strip(), new.strip()) for _, old, new in listed(bench)] == [("five", "FIVE")]
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        await asyncio.sleep(2)
        assert editor.text("a.txt") == second

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("takes", ["what it writes", "that it is empty", "both"])
@takes_at_once
def test_what_was_saved_right_before_a_write_that_was_made_of_it_may_be_taken_away(
    tmp_path: Path, habits: Habits, takes: str
) -> None:
    """What is written shows that the agent has read the second save: what else is gone of that is the agent's change."""
    second = BASE.replace("one", "a line of mine").replace("three", "second")
    written = second.replace("second", "a long line of its own").replace("five", "FIVE")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "three", "first")
        await calls(turn, "execute", call="r")
        editor.replaces("a.txt", editor.text("a.txt"), second)
        assert editor.saves("a.txt")
        tick()
        await writes_anew(turn, editor, written, takes)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == written
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        await asyncio.sleep(2)
        assert editor.text("a.txt") == second

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("then", ["", "the user saves", "it removes it"])
@takes_in_place
def test_what_was_saved_right_before_a_command_emptied_the_file_is_what_that_took_away(
    tmp_path: Path, habits: Habits, then: str
) -> None:
    """Nobody has seen the bytes of that save, and the editor shows at once that the file is empty."""
    second = BASE.replace("three", "second")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await saves(editor, "three", "first")
        editor.replaces("a.txt", "first", "second")
        assert editor.saves("a.txt")
        tick()
        turn.says("execute", call="w")
        tick()
        turn.puts("a.txt", "")
        editor.looks_at_disk()
        await asyncio.sleep(0.06)
        tick()
        if then == "the user saves":
            editor.replaces("a.txt", "", "typed\n")
            assert editor.saves("a.txt")
        elif then:
            Path(turn.bench.path("a.txt")).unlink()
        await asyncio.sleep(2)
        tick()
        turn.says("execute", call="w", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        await asyncio.sleep(2)
        assert editor.text("a.txt") == second + ("typed\n" if then == "the user saves" else "")

    play(tmp_path, habits, script, before=opened, after=after)
