"""What an agent wrote on the disk in lines that the user has changed and not saved is its author's, also where others write the file before
the two fit together again, or the document is closed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.demo.model import Closed
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import NEOVIM, VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, play
from tests.workspace.test_review import ALL

TEXT = "one\ntwo\nthree\nfour\nfive\n"
AGENTS = TEXT.replace("two", "TWO")
OTHERS = "zero\n" + AGENTS


async def told() -> None:
    """All that editor and sidecar have to say is said (in the fake's time)."""
    await asyncio.sleep(5)


def agents(bench: Bench) -> list[tuple[object, object]]:
    rows = bench.workspace.review.changes(ALL)
    return [(row["oldText"], row["newText"]) for row in rows if not row.get("unknown")]


def puts(editor: FakeEditor, text: str) -> None:
    """Some program that is not the agent's."""
    Path(editor.folder, "a.txt").write_text(text)


async def apart(turn: Turn, editor: FakeEditor) -> None:
    """The user's line and the agent's do not go together; then some program writes elsewhere in the file."""
    editor.opens("a.txt")
    await turn.bench.read("a.txt")
    editor.replaces("a.txt", "two", "my own")
    await told()
    turn.says("edit", "a.txt")
    turn.puts("a.txt", AGENTS)
    await told()
    turn.says("edit", "a.txt", status="completed")
    await told()
    puts(editor, OTHERS)
    await turn.bench.read("a.txt")
    await told()
    assert editor.text("a.txt") == TEXT.replace("two", "my own")


both = pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vs code", "neovim"])


@both
@pytest.mark.parametrize("after_the_turn", [False, True], ids=["in the turn", "after it"])
def test_they_fit_together_again(tmp_path: Path, habits: Habits, after_the_turn: bool) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def fit(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "my own", "two")
        await told()
        bench.workspace.conflicts.rows()
        await bench.read("a.txt")
        await told()
        assert editor.text("a.txt") == OTHERS

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await apart(turn, editor)
        if not after_the_turn:
            await fit(turn.bench, editor)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if after_the_turn:
            await fit(bench, editor)
        assert agents(bench) == [("two", "TWO")]
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == "zero\n" + TEXT

    play(tmp_path, habits, script, after=after)


@both
def test_the_file_is_written_once_more_while_they_are_brought_together(
    tmp_path: Path, habits: Habits
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await apart(turn, editor)
        editor.replaces("a.txt", "my own", "two")
        await told()
        turn.bench.workspace.conflicts.rows()
        await asyncio.sleep(0.2)
        puts(editor, "more\n" + OTHERS)
        await told()
        await turn.bench.read("a.txt")
        assert editor.text("a.txt") == "more\n" + OTHERS

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert agents(bench) == [("two", "TWO")]
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == "more\nzero\n" + TEXT

    play(tmp_path, habits, script, after=after)


@both
def test_the_document_is_closed(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.closes("a.txt")
        await told()
        assert agents(bench) == [("two", "TWO")]
        await bench.workspace.review.reject(ALL)
        assert (tmp_path / "a.txt").read_text() == "zero\n" + TEXT

    play(tmp_path, habits, apart, after=after)


@both
@pytest.mark.parametrize("typed", ["one", "two"], ids=["elsewhere", "in that line"])
@pytest.mark.parametrize("pause", [0.1, 0.4, 0.7, 1.2])
@pytest.mark.parametrize("again", [False, True], ids=["closed", "opened anew"])
def test_the_document_is_closed_while_its_change_is_looked_at(
    tmp_path: Path, habits: Habits, typed: str, pause: float, again: bool
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await turn.bench.read("a.txt")
        editor.replaces("a.txt", typed, "my own")
        await told()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS)
        turn.says("edit", "a.txt", status="completed")
        reading = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(pause)
        editor.closes("a.txt")
        if again:
            editor.opens("a.txt")
        await reading
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert (tmp_path / "a.txt").read_text() == AGENTS
        assert agents(bench) == [("two", "TWO")]
        await bench.workspace.review.reject(ALL)
        assert (tmp_path / "a.txt").read_text() == TEXT

    play(tmp_path, habits, script, after=after)


@both
@pytest.mark.parametrize("pause", [0.1, 0.3, 0.4])
@pytest.mark.parametrize("later", [0.0, 0.05])
def test_the_document_is_closed_while_its_change_is_looked_at_and_others_write_its_file(
    tmp_path: Path, habits: Habits, pause: float, later: float
) -> None:
    """What they wrote comes on top of the agent's change, which is still being brought into the document (hands, Neovim 0.11, seed 3005037)."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await turn.bench.read("a.txt")
        editor.replaces("a.txt", "four", "my own")
        await told()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS)
        turn.says("edit", "a.txt", status="completed")
        reading = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(pause)
        puts(editor, OTHERS)
        editor.closes("a.txt")
        await asyncio.sleep(later)
        turn.says("read", "a.txt")
        turn.says("read", "a.txt", status="completed")
        await reading
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await told()
        assert ("two", "TWO") in agents(bench)
        await bench.workspace.review.reject(ALL)
        assert "TWO" not in (editor.text("a.txt") or "")

    play(tmp_path, habits, script, after=after)


@both
def test_the_document_is_closed_with_a_rejection_that_was_not_saved(tmp_path: Path, habits: Habits) -> None:
    """It is opened with the file's text, while what the agent wrote there on top is being looked at: the rejected change is beneath that, and
    under review (hands, Neovim 0.11, seed 3007005)."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await turn.bench.write("a.txt", AGENTS)
        await told()
        assert (tmp_path / "a.txt").read_text() == AGENTS
        editor.replaces("a.txt", "one", "my own")
        await told()
        await turn.bench.workspace.review.reject(ALL)
        await told()
        assert (tmp_path / "a.txt").read_text() == AGENTS
        tick()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS.replace("one\nTWO", "ONE\nTWO MORE"))
        turn.says("edit", "a.txt", status="completed")
        reading = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(0.1)
        editor.closes("a.txt")
        editor.opens("a.txt")
        await reading
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == AGENTS.replace("one\nTWO", "ONE\nTWO MORE")
        await bench.workspace.review.reject(ALL)
        await told()
        assert editor.text("a.txt") == TEXT

    play(tmp_path, habits, script, after=after)


@both
@pytest.mark.parametrize("ends", ["closed", "fits again"])
@pytest.mark.parametrize("when", ["before the turn", "in the turn", "between two of the agent's"])
def test_what_a_program_wrote_in_those_lines_before_the_agent_is_not_the_agents(
    tmp_path: Path, habits: Habits, when: str, ends: str
) -> None:
    """The change from the disk, of which nothing has come into the document, begins with the program's (hands, Emacs, seed 580017)."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def conflict(bench: Bench, editor: FakeEditor) -> None:
        tick()
        puts(editor, (tmp_path / "a.txt").read_text().replace("two", "a program's two"))
        tick()
        await bench.read("a.txt")
        await told()
        assert "my own" in (editor.text("a.txt") or ""), "a case that shows nothing"

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.replaces("a.txt", "two", "my own")
        await told()
        if when == "before the turn":
            await conflict(bench, editor)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if when == "between two of the agent's":
            turn.says("edit", "a.txt")
            turn.puts("a.txt", (tmp_path / "a.txt").read_text().replace("one", "ONE"))
            await told()
            turn.says("edit", "a.txt", status="completed")
            await told()
        if when != "before the turn":
            await conflict(turn.bench, editor)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", (tmp_path / "a.txt").read_text().replace("five", "FIVE"))
        await told()
        turn.says("edit", "a.txt", status="completed")
        await told()
        if ends == "closed":
            editor.closes("a.txt")
        else:
            editor.replaces("a.txt", "my own", "two")
        await told()
        turn.bench.workspace.conflicts.rows()
        await turn.bench.read("a.txt")
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert ends == "closed" or "FIVE" in (editor.text("a.txt") or ""), "a case that shows nothing"
        assert ("five", "FIVE") in agents(bench)
        assert not [new for _, new in agents(bench) if "program" in str(new)]
        assert "a program's two" in (tmp_path / "a.txt").read_text()

    play(tmp_path, habits, script, before=before, after=after)


def test_an_undo_that_goes_back_over_a_reload_is_the_users(tmp_path: Path) -> None:
    """Neovim 0.11 tells it as an edit, a closing and an opening with what is there now; that is unsaved work, and no old text of the file."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS)
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt", status="completed")
        await told()
        assert editor.text("a.txt") == AGENTS
        editor.undoes("a.txt")
        uri = editor.uri("a.txt")
        editor.model.flush(uri)
        editor.model.emit(Closed(uri))
        editor.model.opened(editor.buffer("a.txt"))
        await told()
        assert await turn.bench.read("a.txt") == TEXT
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == TEXT
        assert agents(bench) == []

    play(tmp_path, NEOVIM, script, after=after)


@both
@pytest.mark.parametrize("pause", [0.0, 0.05, 0.14, 0.16, 0.3])
@pytest.mark.parametrize("again", [0.0, 0.06, 1.0], ids=["opened anew at once", "soon", "later"])
@pytest.mark.parametrize("rejects", [False, True], ids=["", "after a rejection"])
def test_the_document_is_closed_while_the_agent_writes_in_another_place(
    tmp_path: Path, habits: Habits, pause: float, again: float, rejects: bool
) -> None:
    """What it wrote is thrown away with the document; what it had put in the file is not (hands, Neovim 0.11, seed 3001553)."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def writes(turn: Turn, old: str, new: str) -> None:
        now = await turn.bench.read("a.txt")
        assert isinstance(now, str)
        await turn.bench.write("a.txt", now.replace(old, new))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await writes(turn, "four", "FOUR")
        await told()
        editor.replaces("a.txt", "two", "my own")
        await told()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", AGENTS.replace("four", "FOUR"))
        await told()
        turn.says("edit", "a.txt", status="completed")
        if rejects:
            await turn.bench.workspace.review.reject(ALL)
        writing = asyncio.ensure_future(writes(turn, "one", "ONE"))
        await asyncio.sleep(pause)
        editor.closes("a.txt")
        await asyncio.sleep(again)
        editor.opens("a.txt")
        await writing
        await told()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        said = (tmp_path / "a.txt").read_text()
        assert editor.text("a.txt") == said
        words = ("one", "ONE"), ("two", "TWO"), ("four", "FOUR")
        assert agents(bench) == [(old, new) for old, new in words if new in said]
        await bench.workspace.review.reject(ALL)
        await told()
        assert editor.text("a.txt") == TEXT

    play(tmp_path, habits, script, after=after)
