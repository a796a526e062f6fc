"""What is taken back in a document with unsaved work goes from its file, too, if that is closed without a save."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.core.ledger import Author
from sidecar.core.retold import Told
from sidecar.journal.entry import TAKES_BACK, Entry, JournalFailed
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, NEOVIM, VSCODE, Habits
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_review import ALL, agent_writes, only, texts
from tests.workspace.test_writes import done, play

TEXT = "one\ntwo\nthree\nfour\nfive\n"
AGENTS = "one\nTWO\nthree\nfour\nFIVE\n"


async def told() -> None:
    """All that editor and sidecar have to say is said (in the fake's time)."""
    await asyncio.sleep(5)


async def begun(bench: Bench, editor: FakeEditor) -> None:
    """The agent's work is saved, and something is typed that is not."""
    editor.opens("a.txt")
    await agent_writes(bench, AGENTS)
    if Path(editor.folder, "a.txt").read_text() != AGENTS:
        editor.saves("a.txt")
    await told()
    assert Path(editor.folder, "a.txt").read_text() == AGENTS
    editor.types("a.txt", "mine ", 0)
    await told()


@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
def test_it_is_closed_without_a_save(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        first, _ = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(first))
        assert editor.text("a.txt") == "mine one\ntwo\nthree\nfour\nFIVE\n"
        assert file.read_text() == AGENTS
        editor.closes("a.txt")
        await told()
        assert file.read_text() == "one\ntwo\nthree\nfour\nFIVE\n"
        assert texts(bench) == [("five", "FIVE")]

    play(tmp_path, EDITORS[name], case)


def test_what_the_user_brought_back_by_an_undo_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        first, second = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(second))
        await bench.workspace.review.reject(only(first))
        editor.undoes("a.txt")
        await told()
        assert editor.text("a.txt") == "mine one\nTWO\nthree\nfour\nfive\n"
        editor.closes("a.txt")
        await told()
        assert (tmp_path / "a.txt").read_text() == "one\nTWO\nthree\nfour\nfive\n"

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize("waits", [0.0, 5.0], ids=["at once", ""])
def test_what_the_user_brought_back_and_saved_is_not_rejected_any_more(tmp_path: Path, waits: float) -> None:
    """Even if they then delete it and close the document without a save (hands, Neovim 0.11, seed 3001801)."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        first, _ = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(first))
        editor.undoes("a.txt")
        await told()
        editor.saves("a.txt")
        await asyncio.sleep(waits)
        editor.replaces("a.txt", "TWO", "two")
        editor.closes("a.txt")
        await told()
        assert (tmp_path / "a.txt").read_text() == "mine " + AGENTS
        if not waits:
            editor.opens("a.txt")
            await told()
        assert texts(bench) == [("two", "TWO"), ("five", "FIVE")]

    play(tmp_path, VSCODE, case)


def test_what_was_put_back_by_hand_and_saved_since_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        editor.saves("a.txt")
        await told()
        editor.types("a.txt", "TWO\n", len("mine one\ntwo\n"))
        editor.saves("a.txt")
        await told()
        editor.types("a.txt", "more ", 0)
        editor.closes("a.txt")
        await told()
        assert (tmp_path / "a.txt").read_text() == "mine one\ntwo\nTWO\nthree\nfour\nfive\n"

    play(tmp_path, VSCODE, case)


def test_an_agent_goes_on_with_what_the_file_says_then(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        editor.closes("a.txt")
        await told()
        assert await bench.read("a.txt") == TEXT
        done(await bench.write("a.txt", TEXT.replace("four", "FOUR")))
        assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree\nFOUR\nfive\n"
        assert texts(bench) == [("four", "FOUR")]

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize("elsewhere", [True, False], ids=["elsewhere", "in the same line"])
def test_somebody_else_has_written_the_file_meanwhile(tmp_path: Path, elsewhere: bool) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    theirs = AGENTS.replace("four", "four!") if elsewhere else AGENTS.replace("TWO", "TWO!")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        first, _ = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(first))
        (tmp_path / "a.txt").write_text(theirs)
        editor.closes("a.txt")
        await told()
        wanted = "one\ntwo\nthree\nfour!\nFIVE\n" if elsewhere else theirs
        assert (tmp_path / "a.txt").read_text() == wanted

    play(tmp_path, VSCODE, case)


def test_beside_unsaved_text_in_the_next_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        editor.types("a.txt", "mine, too\n", len("mine one\n"))
        editor.types("a.txt", "mine, too\n", len("mine one\nmine, too\nTWO\n"))
        await told()
        await bench.workspace.review.reject(ALL)
        editor.closes("a.txt")
        await told()
        assert (tmp_path / "a.txt").read_text() == TEXT

    play(tmp_path, VSCODE, case)


@pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vs code", "neovim"])
@pytest.mark.parametrize("typed", ["", "typed "], ids=["not typed in", "typed in"])
def test_it_is_opened_again_at_once(tmp_path: Path, habits: Habits, typed: str) -> None:
    """The file stays as it is beside unsaved text; from the document it goes, with a save to come."""
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        editor.closes("a.txt")
        editor.opens("a.txt")
        if typed:
            editor.types("a.txt", typed, 0)
        await told()
        assert editor.text("a.txt") == typed + TEXT
        if typed:
            editor.saves("a.txt")
            await told()
        assert (tmp_path / "a.txt").read_text() == typed + TEXT
        assert texts(bench) == []

    play(tmp_path, habits, case)


class Telling(MemoryJournal):
    """Tells what led to a file's text, as the one on the disk does."""

    async def told(self, path: str, text: str | None = None) -> list[Told]:
        gone = {write for one in self.taken_back.values() for write in one}
        found: list[Told] = []
        for number, entry in self.entries.items():
            fate = "takes back" if entry.agent in TAKES_BACK else "taken back" if number in gone else "open"
            author = Author(entry.session, entry.turn, number, agent=entry.agent)
            found.append(Told(author, entry.before, entry.after, fate))
        return found


def test_what_an_agent_wrote_there_meanwhile_is_listed(tmp_path: Path) -> None:
    """Into the very line that the user had changed. Neovim opens the document anew with what the file says, and once more when that is put right."""
    file = tmp_path / "a.txt"
    file.write_text(TEXT)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        bench = turn.bench
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        editor.replaces("a.txt", "two", "my own")
        await told()
        file.write_text("zero\n" + AGENTS)  # by some program
        await bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", "zero\n" + AGENTS.replace("TWO", "NEW"))
        await told()
        turn.says("edit", "a.txt", status="completed")
        said = "zero\nmine one\nmy own\nthree\nfour\nfive\n"
        assert await bench.read("a.txt") == said
        done(await bench.write("a.txt", said.replace("four", "FOUR")))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.closes("a.txt")
        editor.opens("a.txt")
        await told()
        assert file.read_text() == editor.text("a.txt") == "zero\none\nNEW\nthree\nfour\nfive\n"
        assert texts(bench) == [("two", "NEW")]
        await bench.workspace.review.reject(ALL)
        assert editor.text("a.txt") == "zero\n" + TEXT

    play_turn(tmp_path, NEOVIM, script, after=after, journal=Telling())


def test_no_file_is_left_to_be_put_right(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        (tmp_path / "a.txt").unlink()
        editor.closes("a.txt")
        await told()
        assert not (tmp_path / "a.txt").exists()

    play(tmp_path, VSCODE, case)


def test_it_is_listed_again_where_the_file_could_not_be_put_right(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(TEXT)

    class Full(MemoryJournal):
        async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
            if entry.agent == "reject" and entry.via == "disk":
                raise JournalFailed("no space left")
            return await super().begin(entry, takes_back)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await begun(bench, editor)
        await bench.workspace.review.reject(ALL)
        editor.closes("a.txt")
        await told()
        assert file.read_text() == AGENTS
        rows = await bench.workspace.review.listed(ALL)
        assert [(row["oldText"], row["newText"]) for row in rows] == [("two", "TWO"), ("five", "FIVE")]

    play(tmp_path, VSCODE, case, journal=Full())
