"""Documents without a file: agents read and change them by the name that the prompt gives them, as long as they are open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import DocumentUri, normalise
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.review.review import Selector
from tests.mcp.test_tools import tools
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, MemoryJournal, a_workspace
from tests.workspace.test_guests import Person, a_guest

NAME = "untitled:Untitled-1"
ALL = Selector(everything=True)
TEXT = "one\ntwo\nthree\n"

Case = Callable[[Bench, FakeEditor], Awaitable[None]]


def play(folder: Path, case: Case, **options: Any) -> FakeEditor:
    """A case with `NAME` open, which says `TEXT`."""

    async def main() -> FakeEditor:
        editor = FakeEditor(VSCODE, folder, answer=options.pop("answer", lambda question: None))
        async with a_workspace(folder, editor, **options) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens(NAME)
            editor.types(NAME, TEXT)
            await case(bench, editor)
            await bench.workspace.reviews_stored()
        return editor

    return run(main())


def refusal(answer: object) -> Refusal:
    assert isinstance(answer, Refusal), answer
    return answer


def test_it_is_read_and_changed_where_it_is_and_never_saved(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert await bench.read(NAME) == TEXT
        assert await bench.read(NAME, 2, 1) == "two\n"
        editor.types(NAME, "typed\n")
        done = await bench.write(NAME, TEXT.replace("two", "TWO"))
        assert done == WriteDone(saved=False, note="it has no file yet; the user saves it")
        assert editor.text(NAME) == "one\nTWO\nthree\ntyped\n"
        assert await bench.read(NAME) == editor.text(NAME)
        editor.undoes(NAME)
        assert editor.text(NAME) == "one\ntwo\nthree\ntyped\n"

    editor = play(tmp_path, case, settings={"afterWrite": "always"})
    assert len(editor.sent) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_an_agent_changed_in_it_is_under_review(tmp_path: Path) -> None:
    journal = MemoryJournal()

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        await bench.write(NAME, TEXT.replace("two", "TWO"))
        (row,) = await bench.workspace.review.listed(ALL)
        assert (row["uri"], row["oldText"], row["newText"]) == (NAME, "two", "TWO")
        (entry,) = journal.entries.values()
        assert (entry.path, entry.before, entry.after) == (NAME, TEXT, TEXT.replace("two", "TWO"))
        done = await bench.workspace.review.reject(ALL)
        assert not done.impossible
        assert editor.text(NAME) == TEXT

    play(tmp_path, case, journal=journal)


def test_the_next_one_of_its_name_is_another_one(tmp_path: Path) -> None:
    """Editors give the name of a closed one to the next."""
    journal = MemoryJournal()

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        await bench.write(NAME, TEXT.replace("two", "TWO"))
        editor.closes(NAME)
        assert refusal(await bench.read(NAME)).kind is Kind.NOT_FOUND
        assert refusal(await bench.write(NAME, "new\n")).kind is Kind.NOT_FOUND
        await bench.workspace.reviews_stored()
        assert await bench.workspace.review.listed(ALL) == []
        assert journal.ledgers == {}
        editor.opens(NAME)
        editor.types(NAME, "TWO\nmine\n")
        await asyncio.sleep(1)
        assert await bench.workspace.review.listed(ALL) == []
        # what the agent knew of the other one is no base: it would take the user's line away, or put it twice
        assert refusal(await bench.write(NAME, "one\nTWO\nthree\n")).kind is Kind.CONFLICT
        assert editor.text(NAME) == "TWO\nmine\n"

    play(tmp_path, case, journal=journal)


@pytest.mark.parametrize("participants", ["", "\n", None])
@pytest.mark.parametrize("folder", ["", "../elsewhere/"])
def test_its_review_goes_on_in_the_file_that_it_is_saved_as(
    tmp_path: Path, participants: str | None, folder: str
) -> None:
    """`participants`: what the editor's save adds to the text; None where the editor says which file it is."""
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    journal = MemoryJournal()
    name = f"{folder}saved.md"

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        await bench.write(NAME, TEXT.replace("two", "TWO"))
        if participants is None:
            named(bench, editor, name)
        else:
            saved_as(editor, name, participants)
        await bench.workspace.reviews_stored()
        (row,) = await bench.workspace.review.listed(ALL)
        assert (row["uri"], row["oldText"], row["newText"]) == (editor.uri(name), "two", "TWO")
        assert list(journal.ledgers) == [editor.uri(name)]
        if not folder:
            # what the agent knows of it is the base of its next write
            editor.types(name, "mine\n", at=0)
            assert not isinstance(await bench.write(name, TEXT.replace("two", "TWO!")), Refusal)
            assert editor.text(name) == "mine\none\nTWO!\nthree\n" + (participants or "")
            editor.replaces(name, "mine\n", "")
        done = await bench.workspace.review.reject(ALL)
        assert not done.impossible
        assert editor.text(name) == TEXT + (participants or "")
        # the next one of its name is another one
        editor.opens(NAME)
        editor.types(NAME, "new\n")
        assert await bench.workspace.review.listed(ALL) == []
        assert refusal(await bench.write(NAME, "one\n")).kind is Kind.CONFLICT

    play(root, case, journal=journal)


def saved_as(editor: FakeEditor, name: str, participants: str = "") -> None:
    """As VS Code does it: makes the file and opens it empty, puts the text in, saves, then empties the other one and closes it."""
    text = editor.text(NAME)
    path = os.path.join(editor.folder, name)
    Path(path).write_text("")
    editor.opens(name)
    editor.types(name, text)
    if participants:
        editor.types(name, participants)
    editor.saves(name)
    editor.replaces(NAME, text, "")
    editor.closes(NAME)


def named(bench: Bench, editor: FakeEditor, name: str) -> None:
    """As our set-up files do it where a buffer gets a file: they say which (`workspace/didRenameFiles`)."""
    Path(editor.folder, name).write_text(editor.text(NAME))
    editor.opens(name)
    bench.workspace.renamed([(DocumentUri(NAME), normalise(editor.uri(name)))])
    editor.closes(NAME)


def test_a_text_that_is_copied_elsewhere_stays_under_review_where_it_is(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        await bench.write(NAME, TEXT.replace("two", "TWO"))
        (tmp_path / "copy.md").write_text("")
        editor.opens("copy.md")
        editor.types("copy.md", editor.text(NAME))
        assert [row["uri"] for row in await bench.workspace.review.listed(ALL)] == [NAME]
        editor.types(NAME, "more\n")
        editor.closes(NAME)
        assert await bench.workspace.review.listed(ALL) == []

    play(tmp_path, case)


def test_a_file_that_says_the_same_already_is_not_what_it_was_saved_as(tmp_path: Path) -> None:
    """The user opens it, to compare, and throws the document without a file away."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        await bench.write(NAME, TEXT.replace("two", "TWO"))
        (tmp_path / "same.md").write_text(editor.text(NAME))
        editor.opens("same.md")
        editor.closes(NAME)
        assert await bench.workspace.review.listed(ALL) == []

    play(tmp_path, case)


def test_an_agent_that_waits_for_the_users_decision_hears_it_from_the_file(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read(NAME)
        write = asyncio.ensure_future(bench.write(NAME, TEXT.replace("two", "TWO")))
        await asyncio.sleep(1)
        saved_as(editor, "saved.md")
        await asyncio.sleep(1)
        assert not write.done(), "nothing is decided yet"
        bench.workspace.review.keep(ALL)
        assert isinstance(await write, WriteDone)

    play(tmp_path, case, settings={"writes": "confirm"})


@pytest.mark.parametrize(("writes", "asked"), [("ask", 1), ("deny", 0)])
def test_the_settings_about_writing_count(tmp_path: Path, writes: str, asked: int) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert await bench.read(NAME) == TEXT
        kind = Kind.DENIED_BY_USER if asked else Kind.DENIED_BY_POLICY
        assert refusal(await bench.write(NAME, "new\n")).kind is kind
        assert editor.text(NAME) == TEXT

    editor = play(tmp_path, case, settings={"writes": writes})
    assert [f"change {NAME}" in question.text for question in editor.asked] == [True] * asked


async def test_agents_tools_know_it_by_its_name(tmp_path: Path) -> None:
    editor = FakeEditor(VSCODE, tmp_path)
    async with tools(tmp_path, editor) as call:
        editor.attach(call.bench.workspace.apply)
        editor.opens(NAME)
        editor.types(NAME, TEXT)
        assert await call.told("OpenDocuments") == {
            "documents": [{"path": NAME, "unsaved": True, "lines": 4}]
        }
        assert await call.text("Read", file_path=NAME) == TEXT
        await call.text("Edit", file_path=NAME, old_string="two", new_string="TWO")
        await call.text("Append", file_path=NAME, content="four")
        edits = [{"file_path": NAME, "old_string": "one", "new_string": "ONE"}]
        await call.text("EditMany", edits=edits)
        assert editor.text(NAME) == "ONE\nTWO\nthree\nfour"
        assert "not found" in (await call.no("Read", file_path="untitled:Untitled-2")).lower()
        assert "not found" in (await call.no("Write", file_path="untitled:Untitled-2", content="x")).lower()
    assert list(tmp_path.iterdir()) == []


async def test_it_is_none_of_a_guests(tmp_path: Path) -> None:
    """A guest was let into a folder, and this is in none."""
    folder = tmp_path / "ws"
    folder.mkdir()
    person = Person()
    person.answers.put_nowait("allow")
    async with a_guest(folder, person) as guest:
        guest.bench.open(NAME, TEXT)
        assert "Untitled" not in await guest.text("OpenDocuments")
        session = guest.bench.workspace.state.sessions
        (visitor,) = [one for one in session if one.guest]
        for answer in (
            await guest.bench.read(NAME, session=visitor.id),
            await guest.bench.write(NAME, "x", session=visitor.id),
        ):
            assert refusal(answer).kind is Kind.OUTSIDE
        assert guest.bench.text(NAME) == TEXT
