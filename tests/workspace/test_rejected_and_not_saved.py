"""What is rejected in a document with unsaved work of the user's is not saved, and the file still says it: what becomes of that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.retold import Told
from sidecar.core.versions import Author
from sidecar.workspace.review.applying import Change, Step
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, EGLOT_OURS, NEOVIM_OURS, VSCODE, WELL_BEHAVED, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, opened, opened_and_typed, play
from tests.workspace.test_in_flight import LATE
from tests.workspace.test_put_right import sent
from tests.workspace.test_whose import reject_all, rows, runs

MINE = BASE.replace("one", "mine")
either = pytest.mark.parametrize("custom", [True, False])


@either
def test_emptied_and_filled_where_the_user_has_unsaved_work(tmp_path: Path, custom: bool) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.looks_at_disk()
        await asyncio.sleep(0.3)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [(str(r["oldText"]).strip(), str(r["newText"]).strip()) for r in rows(bench)] == [
            ("four", "FOUR")
        ]
        assert editor.text("a.txt") == CHANGED.replace("one", "mine")
        await reject_all(bench)
        assert editor.text("a.txt") == MINE

    play(tmp_path, VSCODE, script, before=opened_and_typed, after=after, custom=custom)


@pytest.mark.parametrize("name", [name for name, habits in EDITORS.items() if not habits.refuses])
@pytest.mark.parametrize("by", ["a rejection", "an undone turn", "another write"])
@either
def test_what_the_user_had_not_saved_before_a_command_is_saved_by_nobody_else(
    tmp_path: Path, name: str, by: str, custom: bool
) -> None:
    """The editor loads what the command wrote, and gets the user's text on top."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(3)
        if by == "another write":
            await turn.bench.read("a.txt", session=turn.session)
            wanted = editor.text("a.txt").replace("five", "FIVE")
            await turn.bench.write("a.txt", wanted, session=turn.session)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        if by == "a rejection":
            await reject_all(bench)
        elif by == "an undone turn":
            await bench.workspace.review.revert_turn(bench.session, 1)
        await asyncio.sleep(5)
        assert ("FOUR" in editor.text("a.txt")) == (by == "another write")
        assert "mine" in editor.text("a.txt")
        assert editor.buffer("a.txt").dirty
        assert "mine" not in (tmp_path / "a.txt").read_text()

    play(tmp_path, EDITORS[name], script, before=opened_and_typed, after=after, custom=custom)


@either
@pytest.mark.parametrize("by", ["its command", "us"])
@pytest.mark.parametrize("door", ["reject", "revert"])
@pytest.mark.parametrize("ends", ["closes", "saves", "takes it back and closes", "closes and opens"])
def test_it_is_made_in_the_file_once_that_is_closed(
    tmp_path: Path, custom: bool, by: str, door: str, ends: str
) -> None:
    """Not before: the user's next save would be a question. However soon it is opened again."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if by == "us":
            await turn.bench.read("a.txt", session=turn.session)
            await turn.bench.write("a.txt", CHANGED, session=turn.session)
        else:
            await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(3)
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(3)
        editor.replaces("a.txt", "one", "mine")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        path = tmp_path / "a.txt"
        if door == "reject":
            await reject_all(bench)
        else:
            change = Change(str(path), (Step(CHANGED, BASE),), "revert")
            assert (await bench.workspace.applier.apply(change)).result == "applied"
        assert (editor.text("a.txt"), path.read_text()) == (MINE, CHANGED)
        if ends == "saves":
            assert editor.saves("a.txt")
        elif ends == "takes it back and closes":
            editor.undoes("a.txt")
        await asyncio.sleep(1)
        editor.closes("a.txt")
        if ends == "closes and opens":
            editor.opens("a.txt")
        await asyncio.sleep(3)
        stays = ends == "takes it back and closes"
        assert path.read_text() == (CHANGED if stays else MINE if ends == "saves" else BASE)
        assert len(await bench.workspace.review.listed(Selector())) == (1 if stays else 0)
        await reject_all(bench)
        said = editor.text("a.txt") if ends == "closes and opens" else path.read_text()
        assert said == (MINE if ends == "saves" else BASE)

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@pytest.mark.parametrize("habits", [NEOVIM_OURS, EGLOT_OURS], ids=["neovim", "eglot"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_the_file_says_next_is_listed_where_the_editor_closes_the_document_to_read_it(
    tmp_path: Path, habits: Habits, at_once: bool
) -> None:
    """With that, what was rejected goes from the file, so that it says something else than what the editor was to read."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", BASE.replace("two", "TWO"), session=turn.session)
        await asyncio.sleep(1)
        editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(1)
        await reject_all(turn.bench)
        assert "TWO" in (tmp_path / "a.txt").read_text()
        await runs(turn, "a.txt", BASE.replace("two", "TWO").replace("five", "FIVE"))
        await asyncio.sleep(0 if at_once else 3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == MINE.replace("five", "FIVE")
        assert [(str(r["oldText"]).strip(), str(r["newText"]).strip()) for r in rows(bench)] == [
            ("five", "FIVE")
        ]
        await reject_all(bench)
        assert editor.text("a.txt") == MINE

    play(tmp_path, habits, script, before=opened, after=after)


async def _writes_saves_and_rejects(
    turn: Turn, editor: FakeEditor, agents: Sequence[str], old: str, new: str
) -> None:
    """An agent's texts, one after the other, are saved; the user changes `old` to `new`, rejects everything, and closes the document without saving."""
    for text in agents:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", text, session=turn.session)
        await asyncio.sleep(3)
    assert editor.saves("a.txt") or editor.overwrites("a.txt")
    await asyncio.sleep(3)
    editor.replaces("a.txt", old, new)
    await asyncio.sleep(1)
    await reject_all(turn.bench)
    assert editor.text("a.txt") == BASE.replace(old, new)
    editor.closes("a.txt")


def test_each_change_goes_from_the_file_whose_place_says_the_same_there(tmp_path: Path) -> None:
    """Also where the user has typed beside it, in a line that is not saved."""
    first, second = "one and more\ntwo\nthree\nfour\nfive\n", "one and more\ntwo\nTHREE\nfour\nfive\n"
    agents = [
        first,
        second,
        second.replace("two", "also some two"),
        second.replace("two", "new\nalso some two"),
    ]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await _writes_saves_and_rejects(turn, editor, agents, "two", "two, mine")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert (tmp_path / "a.txt").read_text() == BASE
        assert rows(bench) == []

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_a_line_goes_from_the_file_although_the_agent_had_changed_the_next_one_unsaved(
    tmp_path: Path,
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", BASE.replace("four", "new\nfour"), session=turn.session)
        await asyncio.sleep(1)
        assert "new" in (tmp_path / "a.txt").read_text()
        editor.replaces("a.txt", "one", "mine")
        await asyncio.sleep(1)
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", MINE.replace("four", "new\nFOUR"), session=turn.session)
        await asyncio.sleep(1)
        await reject_all(turn.bench)
        assert editor.text("a.txt") == MINE
        editor.closes("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert (tmp_path / "a.txt").read_text() == BASE
        assert rows(bench) == []

    play(tmp_path, VSCODE, script, before=opened, after=after)


class JournalBehind(MemoryJournal):
    """One that has not been told yet that what was rejected is under review again."""

    async def told(self, path: str) -> list[Told]:
        rejected = [id for id, state in self.states.items() if state == "rejected"]
        found = []
        for id, one in self.entries.items():
            fate = "takes back" if one.agent == "reject" else "taken back" if id in rejected else "open"
            found.append(Told(Author(one.session, one.turn, id), one.before, one.after, fate))
        return found


@pytest.mark.parametrize("seconds", [0.0, 0.3, 3.0])
def test_what_cannot_go_from_the_file_is_under_review_again(tmp_path: Path, seconds: float) -> None:
    agents = ["new\none\ntwo\nthree\nfour\nfive\n", "new\none\ntwo\nthree\nfour more\nfive\n"]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await _writes_saves_and_rejects(turn, editor, agents, "four", "")

        await asyncio.sleep(seconds)
        editor.opens("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert (tmp_path / "a.txt").read_text() == BASE.replace("four", "four more")
        assert [(row["oldText"], row["newText"]) for row in rows(bench)] == [("", " more")]
        await reject_all(bench)
        assert editor.text("a.txt") == BASE

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=JournalBehind())


@pytest.mark.parametrize("typed", ["", "typed\n"])
def test_it_is_made_once_and_where_it_belongs_in_a_document_that_is_opened_and_typed_in_again(
    tmp_path: Path, typed: str
) -> None:
    """While the user types on, in an editor that makes an edit in the text that it has then."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)
        await asyncio.sleep(3)
        editor.saves("a.txt")
        await asyncio.sleep(3)
        editor.replaces("a.txt", "one", "mine")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        assert (editor.text("a.txt"), (tmp_path / "a.txt").read_text()) == (MINE, CHANGED)
        asked = len(editor.sent)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "again\n", at=0)
        editor.flushes()
        await sent(editor, asked + 1)
        editor.types("a.txt", typed, at=0)
        await asyncio.sleep(10)
        assert editor.text("a.txt") == f"{typed}again\n{BASE}"

    play(tmp_path, LATE, script, before=opened, after=after, custom=False, arrives_after=0.2)


def test_it_is_tried_once_where_it_does_not_come_to_its_place(tmp_path: Path) -> None:
    """In the text that is damaged then nothing is looked for again; the user is told once."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)
        await asyncio.sleep(3)
        editor.saves("a.txt")
        await asyncio.sleep(3)
        editor.replaces("a.txt", "one", "mine")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        asked = len(editor.sent)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "again\n", at=0)
        editor.flushes()
        await sent(editor, asked + 1)
        editor.types("a.txt", "typed\n", at=0)
        for number in range(2, 7):
            await sent(editor, asked + number)
            editor.types("a.txt", f"word{number}\n", at=0)
        await asyncio.sleep(60)
        assert [label for label, _ in editor.sent[asked:] if label == "Rejected"] == ["Rejected"]
        assert len(editor.sent) == asked + 6
        assert len([message for _, message in editor.shown if "undo" in message]) == 1

    play(tmp_path, LATE, script, before=opened, after=after, custom=False, arrives_after=0.2)


def test_it_is_followed_into_the_document_that_is_opened_again_meanwhile(tmp_path: Path) -> None:
    """What is typed there is unsaved work, too, in which the rejected text is not wanted."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)
        await asyncio.sleep(3)
        editor.saves("a.txt")
        await asyncio.sleep(3)
        editor.replaces("a.txt", "one", "mine")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await reject_all(bench)
        asked = len(editor.sent)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "again\n", at=0)
        editor.flushes()
        await sent(editor, asked + 1)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "again\n", at=0)
        editor.flushes()
        await asyncio.sleep(20)
        assert editor.text("a.txt") == f"again\n{BASE}"
        (again,) = bench.workspace.state.documents
        assert len(again.still_taken_back()) == 1

    habits = replace(WELL_BEHAVED, thinks=5.0)
    play(tmp_path, habits, script, before=opened, after=after, custom=False, arrives_after=0.2)
