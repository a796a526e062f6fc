"""A command has emptied a file that is open, and the editor took that. What the journal keeps of its review until the file is filled, as the sidecar may
end there; and what the document says then."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.core.kept_hunks import from_json
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import BASE, CHANGED, Turn, every_editor, listed, opened, play
from tests.workspace.test_whose import reject_all, runs

AGAIN = CHANGED.replace("two", "TWO")


@pytest.mark.parametrize("custom", [True, False])
def test_the_review_is_kept_as_it_was_before(tmp_path: Path, custom: bool) -> None:
    """Of the empty text it would say where the agent's lines had been in a text that nobody has any more."""
    journal = MemoryJournal()

    def kept(turn: Turn) -> tuple[str, list[tuple[str, str]]]:
        text, hunks = journal.ledgers[turn.bench.uri("a.txt")]
        return text, [(hunk.old, hunk.text) for hunk in from_json(hunks)]

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(4)
        before = CHANGED, [("four", "FOUR")]
        assert kept(turn) == before
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.5)
        assert editor.text("a.txt") == ""
        assert kept(turn) == before
        tick()
        (tmp_path / "a.txt").write_text(AGAIN)
        editor.looks_at_disk()
        await asyncio.sleep(4)
        turn.says("execute", call="c2", status="completed")
        await asyncio.sleep(4)
        assert kept(turn) == (AGAIN, [("two", "TWO"), ("four", "FOUR")])

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [row[1:] for row in listed(bench)] == [("two", "TWO"), ("four", "FOUR")]

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


@pytest.mark.parametrize("seconds", [0.2, 0.7], ids=["", "while it is looked at"])
@pytest.mark.parametrize("custom", [True, False])
def test_what_the_user_saves_once_it_is_filled_is_kept(tmp_path: Path, custom: bool, seconds: float) -> None:
    """Before anybody has looked at what it was filled with."""
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(4)
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(seconds)
        tick()
        (tmp_path / "a.txt").write_text(AGAIN)
        editor.model.reload(editor.uri("a.txt"))
        editor.replaces("a.txt", "five", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(4)
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        both = [("two", "TWO"), ("four", "FOUR")]
        assert [row[1:] for row in listed(bench)] == both
        _, hunks = journal.ledgers[bench.uri("a.txt")]
        assert [(hunk.old, hunk.text) for hunk in from_json(hunks)] == both

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
def test_what_stays_empty_is_kept_so(tmp_path: Path, custom: bool) -> None:
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(6)
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        text, hunks = journal.ledgers[bench.uri("a.txt")]
        assert text == ""
        assert [(hunk.old, hunk.text) for hunk in from_json(hunks)] == [(BASE, "")]

    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
def test_what_is_filled_as_it_was_is_in_the_document_again(tmp_path: Path, custom: bool) -> None:
    """Even if the editor does not take it. (turns seed 1885053462)"""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await runs(turn, "a.txt", CHANGED)
        await asyncio.sleep(4)
        turn.says("execute", call="c2")
        for text in ("", CHANGED):
            tick()
            (tmp_path / "a.txt").write_text(text)
            if not text:
                editor.model.reload(editor.uri("a.txt"))
            await asyncio.sleep(0.3)
        await asyncio.sleep(4)
        assert editor.text("a.txt") == CHANGED
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [row[1:] for row in listed(bench)] == [("four", "FOUR")]

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("opened_later", [False, True])
def test_what_the_user_had_emptied_is_not_filled(tmp_path: Path, opened_later: bool, custom: bool) -> None:
    """Nobody filled the file with anything else than what it had said before."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        if opened_later:
            tick()
            (tmp_path / "a.txt").write_text("")
            editor.model.reload(editor.uri("a.txt"))
            await asyncio.sleep(0.3)
            tick()
            editor.closes("a.txt")
            await asyncio.sleep(1)
            (tmp_path / "a.txt").write_text(BASE)
            await asyncio.sleep(1)
            tick()
            editor.opens("a.txt")
            await asyncio.sleep(2)
            tick()
        editor.replaces("a.txt", BASE, "")
        await asyncio.sleep(5)
        if not opened_later:
            tick()
            (tmp_path / "a.txt").write_text("")
            await asyncio.sleep(0.7)
        tick()
        (tmp_path / "a.txt").write_text(BASE)
        await asyncio.sleep(4)
        turn.says("execute", status="completed")
        await asyncio.sleep(4)
        assert editor.text("a.txt") == ""

    play(tmp_path, VSCODE, script, before=opened, custom=custom)


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("seconds", [None, 0.0, 0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("is_saved", [True, False])
def test_it_is_moved_before_the_editor_takes_what_it_was_filled_with(
    tmp_path: Path, is_saved: bool, seconds: float | None, custom: bool
) -> None:
    """Nobody but the agent has emptied the document, though the file is not there any more: its text comes back, also over the empty one when that was
    saved."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "a.txt")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(0.3)
        tick()
        if seconds is not None:
            (tmp_path / "a.txt").write_text(CHANGED)
            await asyncio.sleep(seconds)
        tick()
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        tick()
        await asyncio.sleep(4)
        turn.says("execute", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        if is_saved:
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
            await asyncio.sleep(2)
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        await asyncio.sleep(2)
        _ = editor.saves("a.txt") or editor.overwrites("a.txt")
        assert (tmp_path / "a.txt").read_text() == editor.text("a.txt") == BASE
        assert not (tmp_path / "b.txt").exists()
        await asyncio.sleep(2)
        assert not listed(bench)

    play(tmp_path, VSCODE, script, before=opened, after=after, custom=custom)


@every_editor
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("text", ["", "\n"], ids=["empty", "a line end"])
@pytest.mark.parametrize("had_read", [False, True], ids=["", "under review before"])
def test_what_stays_empty_is_under_review(
    tmp_path: Path, had_read: bool, text: str, custom: bool, habits: Habits
) -> None:
    """Also if the editor reloads by closing and opening."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        if had_read:
            await runs(turn, "a.txt", CHANGED)
            await asyncio.sleep(8)  # longer than eglot 1.9 asks its user
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text(text)
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(6)
        turn.says("execute", call="c2", status="completed")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        [(_, old, new)] = listed(bench)
        assert (old.strip("\n"), new.strip("\n")) == (BASE.strip("\n"), "")
        await reject_all(bench)
        await asyncio.sleep(2)
        assert editor.text("a.txt").strip("\n") == BASE.strip("\n")
        assert not listed(bench)

    play(tmp_path, habits, script, before=opened, after=after, custom=custom)


@every_editor
@pytest.mark.parametrize("seconds", [0.3, 1.0, 3.0])
def test_what_it_is_filled_with_is_one_change(tmp_path: Path, seconds: float, habits: Habits) -> None:
    """Whether or not the editor takes that, too."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", call="c2")
        tick()
        (tmp_path / "a.txt").write_text("")
        editor.model.reload(editor.uri("a.txt"))
        await asyncio.sleep(seconds)
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(4)
        turn.says("execute", call="c2", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED, editor.text("a.txt")
        await reject_all(bench)
        await asyncio.sleep(2)
        assert editor.text("a.txt") == BASE
        assert not listed(bench)

    play(tmp_path, habits, script, before=opened, after=after)
