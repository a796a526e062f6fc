"""`acp-sidecar revert` beside a sidecar whose editor has the file open, where only the disk can be put right: the document has it then, too."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sidecar.journal import Store
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.journals import entry
from tests.support.workspaces import Bench, a_workspace
from tests.turns.doors import CommandLine, quick_folder
from tests.turns.journals import SlowJournal
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("does", ["removes it", "changes its mode"])
@pytest.mark.parametrize("typed", ["", "mine"])
def test_a_file_that_is_open(tmp_path: Path, does: str, typed: str, extension: bool) -> None:
    """What an editor without our extension was given as an edit is unsaved there; a save would bring the agent's work back."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)

    async def works(turn: Turn) -> None:
        for step in ("writes it", does):
            turn.says("execute", call=step)
            tick()
            if step == "writes it":
                turn.puts("a.txt", CHANGED)
            elif step == "removes it":
                path.unlink()
            else:
                path.chmod(0o755)
            tick()
            turn.says("execute", call=step, status="completed")
            await asyncio.sleep(4)
            if typed and step == "writes it":
                editor.replaces("a.txt", "one", typed)
            await asyncio.sleep(1)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        said = await command_line.revert_beside(bench.workspace, "--session", bench.session)
        assert not said.refused
        editor.sees_on_disk("a.txt")
        await asyncio.sleep(3)
        assert (path.read_text(), path.stat().st_mode & 0o777) == (BASE, 0o644)
        assert editor.text("a.txt") == (BASE.replace("one", typed) if typed else BASE)
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("typed", ["", "mine"])
def test_an_open_file_whose_changed_text_became_bytes(tmp_path: Path, typed: str, extension: bool) -> None:
    """The editor has not read the text again when the command line asks for the change in it; or it has what the user typed into that, unsaved. The disk
    has it either way, and there is nothing to try again."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)

    async def works(turn: Turn) -> None:
        for step in ("writes it", "makes bytes of it"):
            turn.says("execute", call=step)
            tick()
            if step == "writes it":
                turn.puts("a.txt", CHANGED)
            else:
                path.write_bytes(b"\0\xc0\xff")
            tick()
            editor.looks_at_disk()
            turn.says("execute", call=step, status="completed")
            await asyncio.sleep(4)
            if typed and step == "writes it":
                editor.replaces("a.txt", "FOUR", typed)
            await asyncio.sleep(1)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        unsaved = BASE.replace("four", typed) if typed else "\0\ufffd\ufffd"
        assert editor.text("a.txt") == unsaved
        said = await command_line.revert_beside(bench.workspace, "--session", bench.session)
        assert (said.refused, said.on_disk, path.read_text()) == (False, [str(path)], BASE)
        assert editor.text("a.txt") == unsaved
        editor.sees_on_disk("a.txt")
        await asyncio.sleep(3)
        assert editor.text("a.txt") == (unsaved if typed else BASE)
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("typed", ["", "mine"])
@pytest.mark.parametrize("door", ["the command line", "the review"])
def test_a_command_that_empties_an_open_file_and_fills_it(
    tmp_path: Path, door: str, typed: str, extension: bool
) -> None:
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)

    async def works(turn: Turn) -> None:
        if typed:
            editor.replaces("a.txt", "one", typed)
        await asyncio.sleep(1)
        turn.says("execute")
        tick()
        path.write_text("")
        editor.looks_at_disk()
        await asyncio.sleep(0.3)
        tick()
        path.write_text(CHANGED)
        editor.looks_at_disk()
        tick()
        await asyncio.sleep(3)
        turn.says("execute", status="completed")
        await asyncio.sleep(1)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        if door == "the review":
            assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        else:
            words = "--session", bench.session
            assert not (await command_line.revert_beside(bench.workspace, *words)).refused
        await asyncio.sleep(3)
        assert editor.text("a.txt") == (BASE.replace("one", typed) if typed else BASE)
        assert not typed or typed not in path.read_text()
        assert await bench.workspace.review.listed(Selector()) == []
        if path.read_text() != editor.text("a.txt"):
            assert editor.saves("a.txt") or editor.overwrites("a.txt")
        await asyncio.sleep(3)
        assert path.read_text() == editor.text("a.txt")
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


def commands(path: Path, *texts: str | None) -> Callable[[Turn], Awaitable[None]]:
    """One command a turn, after which the file says the next text; None: it is gone."""
    left = list(texts)

    async def works(turn: Turn) -> None:
        turn.says("execute")
        tick()
        text = left.pop(0)
        if text is None:
            path.unlink()
        else:
            turn.puts("a.txt", text)
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(5)

    return works


@pytest.mark.parametrize("extension", [True, False])
def test_later_work_is_taken_back_while_an_open_file_is_gone(tmp_path: Path, extension: bool) -> None:
    """In the document; the file is back without it, once the rest is taken back."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)
    works = commands(path, CHANGED, CHANGED.replace("FOUR", "VIER").replace("two", "zwei"), None)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        sessions = [bench.session, await bench.another_session()]
        for session in (*sessions, bench.session):
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
        for session in reversed(sessions):
            said = await command_line.revert_beside(bench.workspace, "--session", session)
            assert not said.refused
            await asyncio.sleep(3)
        assert path.read_text() == editor.text("a.txt") == BASE
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("typed", ["", "mine"])
def test_what_was_rejected_in_an_open_file_that_is_gone_does_not_come_back_with_it(
    tmp_path: Path, typed: str, extension: bool
) -> None:
    """Some of a turn's work; another's is on top of the rest, and comes off first."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)
    first = CHANGED.replace("two", "zwei")
    works = commands(path, first, first.replace("FOUR", "VIER"), None)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        one, other = bench.session, await bench.another_session()
        for session in (one, other, other):
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
        if typed:
            editor.replaces("a.txt", "one", typed)
        await bench.workspace.review.revert_turn(one, 1)
        assert "VIER" in editor.text("a.txt")
        assert "two" in editor.text("a.txt")
        for words in ("--turn", f"{other}:1"), ("--session", other):
            await command_line.revert_beside(bench.workspace, *words)
            editor.sees_on_disk("a.txt")
            await asyncio.sleep(3)
        await bench.workspace.review.reject(Selector(everything=True))
        await asyncio.sleep(3)
        assert editor.text("a.txt") == (BASE.replace("one", typed) if typed else BASE)
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("seconds", [2, 15])
def test_what_the_command_line_brings_back_is_nobodys(tmp_path: Path, seconds: float) -> None:
    """Right after the turn, too: rejecting everything leaves it."""
    folder = tmp_path.resolve()
    path = folder / "b.txt"
    path.write_text(BASE)

    async def works(turn: Turn) -> None:
        turn.says("execute")
        tick()
        path.unlink()
        tick()
        turn.says("execute", status="completed")
        await asyncio.sleep(1)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(seconds)
        assert not (await command_line.revert_beside(bench.workspace, "--session", bench.session)).refused
        assert path.read_text() == BASE
        await asyncio.sleep(15)
        assert await bench.workspace.review.listed(Selector()) == []
        await bench.workspace.review.reject(Selector(everything=True))
        assert path.read_text() == BASE

    beside(folder, FakeEditor(VSCODE, folder), works, then)


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_taken_back_beneath_later_work_does_not_come_back_when_that_goes(
    tmp_path: Path, is_open: bool
) -> None:
    """The second agent put right what the first had done, so that nothing was left to do in the file."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder)
    works = commands(path, BASE.replace("two", "zwei"), BASE.replace("one", "eins"))

    async def then(bench: Bench, command_line: CommandLine) -> None:
        one, other = bench.session, await bench.another_session()
        if not is_open:
            editor.closes("a.txt")
        for session in (one, other):
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
        assert [dict(row)["sessionId"] for row in await bench.workspace.review.listed(Selector())] == [other]
        assert not (await command_line.revert_beside(bench.workspace, "--session", one)).refused
        await bench.workspace.review.revert_turn(other, 1)
        await asyncio.sleep(3)
        assert path.read_text() == BASE
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
def test_what_is_taken_back_does_not_come_back_with_a_file_that_was_removed_and_made_anew(
    tmp_path: Path, extension: bool
) -> None:
    """Each agent made it anew where it was removed, so that each began with what it had said."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)
    works = commands(path, None, CHANGED, None, BASE.replace("two", "zwei"))

    async def then(bench: Bench, command_line: CommandLine) -> None:
        one, other = bench.session, await bench.another_session()
        for session in (one, other, one, one):
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
        for session in (other, one):
            assert not (await command_line.revert_beside(bench.workspace, "--session", session)).refused
            editor.sees_on_disk("a.txt")
            await asyncio.sleep(3)
        assert path.read_text() == BASE
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
def test_what_is_unsaved_is_taken_back_in_the_editor_also_where_the_file_was_removed_before(
    tmp_path: Path, extension: bool
) -> None:
    """The agent had removed the file, and the user brought it back. What the agent sent then, the editor has not saved."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)
    removes = commands(path, None)

    async def works(turn: Turn) -> None:
        if path.exists() and editor.uri("a.txt") not in editor.model.documents:
            return await removes(turn)
        await turn.bench.read("a.txt", session=turn.session)
        await turn.bench.write("a.txt", CHANGED, session=turn.session)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        editor.closes("a.txt")
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        path.write_text(BASE)
        await asyncio.sleep(15)
        editor.opens("a.txt")
        await asyncio.sleep(1)
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        assert editor.text("a.txt") == CHANGED
        assert not (await command_line.revert_beside(bench.workspace, "--session", bench.session)).refused
        editor.sees_on_disk("a.txt")
        await asyncio.sleep(3)
        assert editor.text("a.txt") == path.read_text() == BASE
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


@pytest.mark.parametrize("extension", [True, False])
def test_what_an_editor_has_not_saved_and_the_disk_never_had_is_taken_back_with_what_the_disk_had(
    tmp_path: Path, extension: bool
) -> None:
    """The agent had sent the editor one change, and made another on the disk before it removed the file."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder, custom=extension)
    overwrites, removes = commands(path, BASE.replace("two", "zwei")), commands(path, None)

    async def works(turn: Turn) -> None:
        await turn.bench.read("a.txt", session=turn.session)
        text = editor.text("a.txt").replace("four", "FOUR")
        await turn.bench.write("a.txt", text, session=turn.session)
        await overwrites(turn)
        await removes(turn)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        editor.replaces("a.txt", "five", "mine")
        await bench.workspace.start_prompt(bench.session, [])[2]
        await asyncio.sleep(15)
        assert "FOUR" in editor.text("a.txt")
        assert not (await command_line.revert_beside(bench.workspace, "--session", bench.session)).refused
        editor.sees_on_disk("a.txt")
        await asyncio.sleep(3)
        assert path.read_text() == BASE
        assert editor.text("a.txt") == BASE.replace("five", "mine")
        assert await bench.workspace.review.listed(Selector()) == []

    beside(folder, editor, works, then)


def test_what_an_editor_never_saved_does_not_hide_what_is_in_the_file(tmp_path: Path) -> None:
    """The newest write put a line back, and the sidecar was ended before that was saved. The user has worked in the file since."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder)
    first = CHANGED.replace("two", "TWO")

    async def works(turn: Turn) -> None:
        pass

    async def then(bench: Bench, command_line: CommandLine) -> None:
        editor.closes("a.txt")
        path.write_text(first.replace("five", "mine"))
        with Store(command_line.journal) as store:
            for before, after, via in ((BASE, first, "disk"), (first, CHANGED, "editor")):
                store.finish(store.begin(entry(before, after, str(path), root=str(folder), via=via)), "done")
        editor.opens("a.txt")
        await asyncio.sleep(1)
        assert not (await command_line.revert_beside(bench.workspace, "--session", "s")).refused
        await asyncio.sleep(3)
        assert editor.text("a.txt") == BASE.replace("five", "mine")

    beside(folder, editor, works, then)


@pytest.mark.parametrize("then_happens", ["nothing", "the user edits it", "the command line is killed"])
def test_what_comes_back_in_a_file_of_which_nothing_was_under_review(
    tmp_path: Path, then_happens: str
) -> None:
    """Another session had put the first one's change right and removed the file. The removal is rejected, and that leaves nothing to review. The rest of
    that session's work is taken back by the command line, which brings the change back, and may be killed before it stored its review."""
    folder = tmp_path.resolve()
    path, editor = folder / "a.txt", FakeEditor(VSCODE, folder)

    async def then(bench: Bench, command_line: CommandLine) -> None:
        review, other = bench.workspace.review, await bench.another_session()
        for session in (bench.session, other, other):
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
        assert len((await review.reject(Selector(everything=True))).done) == 1
        assert (path.read_text(), await review.listed(Selector())) == (BASE, [])
        assert not (await command_line.revert_beside(bench.workspace, "--session", other)).refused
        assert path.read_text() == CHANGED
        wanted = BASE
        if then_happens == "the user edits it":
            path.write_text(CHANGED.replace("two", "mine"))
            wanted = BASE.replace("two", "mine")
        elif then_happens == "the command line is killed":
            with Store(command_line.journal) as store:
                store.forget_ledger(bench.uri("a.txt"))
        assert [dict(row)["sessionId"] for row in await review.listed(Selector())] == [bench.session]
        await review.reject(Selector(everything=True))
        assert (path.read_text(), await review.listed(Selector())) == (wanted, [])

    beside(folder, editor, commands(path, CHANGED, BASE, None), then, is_open=False)


def beside(
    folder: Path,
    editor: FakeEditor,
    works: Callable[[Turn], Awaitable[None]],
    then: Callable[[Bench, CommandLine], Awaitable[None]],
    *,
    is_open: bool = True,
) -> None:
    """The editor with `a.txt` open (or not), an agent that `works` in its turns, and a terminal beside them. `then` uses these, later on."""

    async def main(journal_folder: Path) -> None:
        journal, agents = SlowJournal(journal_folder, 0), Agent()
        async with a_workspace(folder, editor, agents, journal=journal) as bench:
            bench.workspace.state.overlay.encoding = editor.capabilities.encoding
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            (folder / "a.txt").write_text(BASE)
            (folder / "a.txt").chmod(0o644)
            if is_open:
                editor.opens("a.txt")
            await asyncio.sleep(1)
            await then(bench, CommandLine(journal_folder, lambda line: None))
        await journal.close()

    with tempfile.TemporaryDirectory(dir=quick_folder()) as journal_folder:
        run(main(Path(journal_folder)))
