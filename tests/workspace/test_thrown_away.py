"""A document is closed, or goes back to its file, with unsaved work: under review is what agents left in the file."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_rejected_on_disk import AGENTS, TEXT, begun, told
from tests.workspace.test_review import ALL, agent_writes, only, texts
from tests.workspace.test_whose import runs
from tests.workspace.test_writes import play

takes_edits = pytest.mark.parametrize(
    "name", [name for name, habits in EDITORS.items() if not habits.refuses]
)


Away = Callable[[FakeEditor], None]


def closes(editor: FakeEditor) -> None:
    editor.closes("a.txt")


def reverts(editor: FakeEditor) -> None:
    editor.replaces("a.txt", editor.text("a.txt"), AGENTS)


async def changed_again(bench: Bench, editor: FakeEditor) -> None:
    """After `begun`, the agent makes another change in the place of one, and takes back the other."""
    await begun(bench, editor)
    await agent_writes(bench, editor.text("a.txt").replace("TWO", "2").replace("FIVE", "five"))
    await told()
    assert texts(bench) == [("two", "2")]


def now(bench: Bench) -> str:
    document = bench.workspace.state.overlay.get(bench.uri("a.txt"))
    return (bench.folder / "a.txt").read_text() if document is None else str(document.snapshot())


@takes_edits
@pytest.mark.parametrize("away", [closes, reverts])
def test_what_the_file_says_of_agents_is_under_review(tmp_path: Path, name: str, away: Away) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await changed_again(bench, editor)
        away(editor)
        await told()
        assert now(bench) == AGENTS
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]
        await bench.workspace.review.reject(ALL)
        await told()
        assert now(bench) == TEXT

    play(tmp_path, EDITORS[name], case)


@takes_edits
def test_what_was_saved_just_before_is_not_thrown_away(tmp_path: Path, name: str) -> None:
    """Nobody has found the save on the disk yet."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await changed_again(bench, editor)
        editor.saves("a.txt")
        closes(editor)
        await told()
        assert "2" in now(bench)
        assert texts(bench) == [("two", "2")]

    play(tmp_path, EDITORS[name], case)


@takes_edits
def test_also_where_somebody_else_wrote_it_since(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await changed_again(bench, editor)
        file.write_text(AGENTS + "six\n")
        editor.looks_at_disk()
        await told()
        closes(editor)
        await told()
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]

    play(tmp_path, EDITORS[name], case)


def test_what_an_agent_wrote_there_meanwhile_is_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await changed_again(turn.bench, editor)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS.replace("four", "FOUR"))
        turn.says("edit", "a.txt", status="completed")
        editor.looks_at_disk()
        await told()
        assert editor.text("a.txt") == "mine one\n2\nthree\nFOUR\nfive\n"
        closes(editor)
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("two", "TWO"), ("four", "FOUR"), ("five", "FIVE")]
        await bench.workspace.review.reject(ALL)
        await told()
        assert now(bench) == TEXT

    play_turn(tmp_path, VSCODE, script, after=after)


@takes_edits
def test_what_the_user_kept_is_not(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        five = bench.workspace.review.changes(ALL)[1]
        await agent_writes(bench, editor.text("a.txt").replace("TWO", "2"))
        bench.workspace.review.keep(only(five))
        await told()
        closes(editor)
        await told()
        assert texts(bench) == [("two", "TWO")]

    play(tmp_path, EDITORS[name], case)


@takes_edits
def test_what_comes_back_with_the_unsaved_text_is_under_review_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await changed_again(bench, editor)
        unsaved = editor.text("a.txt")
        reverts(editor)
        await told()
        editor.replaces("a.txt", AGENTS, unsaved)
        await told()
        assert texts(bench) == [("two", "2")]

    play(tmp_path, EDITORS[name], case)


@pytest.mark.parametrize("name", ["vscode", "neovim", "eglot 1.17"])
@pytest.mark.parametrize("seconds", [0, 0.01, 0.3, 5])
@pytest.mark.parametrize("rejected", [False, True])
def test_what_was_in_conflict_with_it_is_taken_and_is_too(
    tmp_path: Path, name: str, seconds: float, rejected: bool
) -> None:
    """VS Code closes a document without a save by first taking what its file says."""
    file = tmp_path / "a.txt"
    file.write_text(TEXT)
    theirs = AGENTS.replace("three", "agents\nthree")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(turn.bench, AGENTS, turn.session)
        if file.read_text() != AGENTS:
            editor.saves("a.txt")
        await told()
        editor.types("a.txt", "mine\n", at=8)
        await told()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", theirs)
        turn.says("edit", "a.txt", status="completed")
        editor.looks_at_disk()
        await told()
        assert "agents" not in editor.text("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]
        if rejected:  # which is thrown away, too
            await bench.workspace.review.reject(ALL)
            await told()
        editor.replaces("a.txt", editor.text("a.txt"), theirs)
        await asyncio.sleep(seconds)
        closes(editor)
        await told()
        assert texts(bench) == [("two", "TWO"), ("", "agents\n"), ("five", "FIVE")]
        await bench.workspace.review.reject(ALL)
        await told()
        assert now(bench) == TEXT

    play_turn(tmp_path, EDITORS[name], script, after=after)


@pytest.mark.parametrize("name", ["vscode", "neovim", "eglot 1.17"])
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3, 0.6, 3])
@pytest.mark.parametrize("types", [False, True])
def test_what_was_in_conflict_when_it_was_closed_and_opened_again_at_once_is_too(
    tmp_path: Path, name: str, seconds: float, types: bool
) -> None:
    """And typed in and saved before anybody had found out whose that was."""
    file = tmp_path / "a.txt"
    file.write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await told()
        editor.replaces("a.txt", "two", "mine")
        await told()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS)
        turn.says("edit", "a.txt", status="completed")
        looks = asyncio.ensure_future(turn.bench.read("a.txt", session=turn.session))
        await asyncio.sleep(seconds)
        editor.closes("a.txt")
        editor.opens("a.txt")
        if types:
            editor.types("a.txt", "typed", at=editor.text("a.txt").index("VE"))
            editor.saves("a.txt")
        await looks
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")][: 1 if types else 2]
        await bench.workspace.review.reject(ALL)
        await told()
        assert now(bench) == (TEXT.replace("five", "FItypedVE") if types else TEXT)

    play_turn(tmp_path, EDITORS[name], script, after=after)


def tokens(text: object, kind: str) -> set[str]:
    return set(re.findall(rf"{kind}\d+x", str(text)))


class Played:
    """Steps drawn at random, of a user, an agent and a program of nobody's. All that is put anywhere has a name of its own."""

    def __init__(self, seed: int, bench: Bench, editor: FakeEditor) -> None:
        self.random = random.Random(seed)
        self.bench = bench
        self.editor = editor
        self.file = bench.folder / "a.txt"
        self.number = 0
        self.kept: set[str] = set()
        self.written_over: set[str] = set()

    def new(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}x"

    async def step(self) -> None:
        await self.random.choice(
            [self.types, self.types, self.writes, self.writes, self.writes, self.saves, self.adds, self.keeps]
        )()
        await told()

    async def types(self) -> None:
        starts = [0, *(at + 1 for at, said in enumerate(self.editor.text("a.txt")) if said == "\n")]
        self.editor.types("a.txt", f"{self.new('u')} ", self.random.choice(starts))

    async def writes(self) -> None:
        text = await self.bench.read("a.txt")
        assert isinstance(text, str)
        lines = text.splitlines()
        at = self.random.randrange(len(lines))
        how = self.random.choice(["line", "more", "new", "gone"])
        said = lines[at]
        lines[at : at + 1] = {
            "line": [self.new("a")],
            "more": [f"{said} {self.new('a')}"],
            "new": [self.new("a"), said],
            "gone": [],
        }[how]
        wanted = "\n".join([*lines, ""])
        self.written_over |= tokens(text, "a") - tokens(wanted, "a")
        await self.bench.write("a.txt", wanted)

    async def saves(self) -> None:
        self.editor.saves("a.txt")

    async def adds(self) -> None:
        self.file.write_text(f"{self.new('d')}\n" + self.file.read_text())
        self.editor.looks_at_disk()

    async def keeps(self) -> None:
        self.bench.workspace.review.keep(ALL)
        self.kept |= tokens(self.editor.text("a.txt"), "a") | self.written_over


def under_review(bench: Bench) -> set[str]:
    """The names of which something is: a change may be told without what two names have in common."""
    reviewed = bench.workspace.state.ledgers.get(bench.uri("a.txt"))
    if reviewed is None:
        return set()
    found = [(one[0], one.start(), one.end()) for one in re.finditer(r"a\d+x", str(reviewed.text))]
    return {
        name
        for name, start, end in found
        if any(hunk.start < end and start < hunk.end for hunk in reviewed.ledger.hunks)
    }


@pytest.mark.parametrize("name", ["vscode", "neovim", "eglot 1.17", "helix"])
@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens_the_file_has_under_review_what_it_says_of_agents(
    tmp_path: Path, name: str, seed: int
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await told()
        played = Played(seed, bench, editor)
        for step in [*([played.step] * 10), played.types, played.writes, played.writes]:
            await step()
            await told()
        closes(editor)
        await told()
        said = played.file.read_text()
        assert tokens(said, "a") - played.kept <= under_review(bench)
        rows = bench.workspace.review.changes(ALL)
        assert not any(tokens(row["newText"], "[ud]") - tokens(row["oldText"], "[ud]") for row in rows)
        await bench.workspace.review.reject(ALL)
        await told()
        assert tokens(now(bench), "a") <= played.kept
        assert tokens(said, "u") <= tokens(now(bench), "u")

    play(tmp_path, EDITORS[name], case)


@takes_edits
@pytest.mark.parametrize("away", [closes, reverts])
def test_what_an_agents_own_tool_puts_in_the_place_of_its_work_is_under_review_with_that(
    tmp_path: Path, name: str, away: Away
) -> None:
    """Also where the editor closes the document and opens it again to read the file, and then has the unsaved work again."""
    path = tmp_path / "a.txt"
    first = TEXT.replace("two\n", "two\nnew1x line\n\n")
    then = first.replace("new1x line\n\n", "new2x line\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", first, session=turn.session)
        await asyncio.sleep(2)
        assert path.read_text() == first or editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(1)
        editor.replaces("a.txt", "five", "mine")
        await asyncio.sleep(1)
        turn.says("edit", "a.txt")
        tick()
        turn.puts("a.txt", then)
        tick()
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(4)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        path.write_text(TEXT)
        editor.opens("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.closes("a.txt") if away is closes else editor.replaces("a.txt", editor.text("a.txt"), then)
        await told()
        assert now(bench) == then
        assert not (await bench.workspace.review.reject(ALL)).impossible
        await told()
        assert now(bench) == TEXT
        if away is closes and bench.uri("a.txt") in editor.model.documents:
            editor.closes("a.txt")  # opened for the edit, which some editors do not tell

    play_turn(tmp_path, EDITORS[name], script, before=before, after=after)


@pytest.mark.parametrize("name", ["vscode", "neovim", "eglot 1.17"])
@pytest.mark.parametrize("seconds", [0.02, 0.3])
@pytest.mark.parametrize("opened", [0, 0.3, None])
@pytest.mark.parametrize("twice", [False, True])
def test_what_was_rejected_in_it_is_not_beneath_what_others_wrote_over_it(
    tmp_path: Path, name: str, seconds: float, opened: float | None, twice: bool
) -> None:
    """Nobody can take it back a second time, and it would be in the way of whoever takes back anything in that place."""
    file = tmp_path / "a.txt"
    file.write_text(TEXT)
    left = TEXT.replace("two", "others'")
    theirs = left.replace("three", "theirs")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(turn.bench, AGENTS, turn.session)
        if file.read_text() != AGENTS:
            editor.saves("a.txt")
        await told()
        editor.replaces("a.txt", "three", "mine")
        await told()
        if twice:  # a command of the agent's first, which leaves in the file what is rejected
            await runs(turn, "a.txt", AGENTS.replace("three", "theirs"), call="c0")
            await told()
        turn.puts("a.txt", theirs)
        editor.looks_at_disk()
        await told()
        await turn.bench.workspace.review.reject(ALL)
        await told()
        assert editor.text("a.txt") == TEXT.replace("three", "mine")
        turn.says("edit", "a.txt")
        tick()
        turn.puts("a.txt", theirs + "agents\n")
        tick()
        turn.says("edit", "a.txt", status="completed")
        looks = asyncio.ensure_future(turn.bench.read("a.txt", session=turn.session))
        await asyncio.sleep(seconds)
        closes(editor)
        if opened is not None:
            await asyncio.sleep(opened)
            editor.opens("a.txt")
        await looks
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert texts(bench)[-1] == ("", "agents\n")
        await bench.workspace.review.reject(Selector(everything=True, known_only=True))
        await told()
        assert now(bench) == (left if twice else theirs)
        assert not any("earlier" in row for row in bench.workspace.review.changes(ALL))

    play_turn(tmp_path, EDITORS[name], script, after=after)
