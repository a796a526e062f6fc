"""What the user does while a document is taken from the disk: typing, saving, closing and opening again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.coordinates import TextEdit
from sidecar.core.refusal import Refusal
from sidecar.core.text import Position
from sidecar.demo.model import DocumentEdits, Event, Replacement
from sidecar.workspace.ports.ports import Reloaded
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EGLOT_OURS, NEOVIM_OURS, WELL_BEHAVED, Habits
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, listed
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_in_flight import LATE
from tests.workspace.test_put_right import sent
from tests.workspace.test_writes import BASE, play


async def taken(
    bench: Bench, editor: FakeEditor, typed: str, at: int, disk: str, seconds: float = 0.6
) -> asyncio.Future[object]:
    """A document with something unsaved, whose file says `disk` then: the editor is about to be asked to take that. It has half a second to
    do so by itself. Returns the read that led to it."""
    editor.opens("a.txt")
    editor.types("a.txt", typed, at=at)
    await asyncio.sleep(1)
    (bench.folder / "a.txt").write_text(disk)
    read = asyncio.ensure_future(bench.read("a.txt"))
    await asyncio.sleep(seconds)
    return read


@pytest.mark.parametrize(
    ("habits", "first"),
    [(WELL_BEHAVED, BASE), (NEOVIM_OURS, BASE), (NEOVIM_OURS, BASE.removesuffix("\n"))],
    ids=["", "neovim", "neovim, no final line end"],
)
def test_a_document_opened_anew_while_it_is_to_be_taken_from_the_disk(
    tmp_path: Path, habits: Habits, first: str
) -> None:
    """Its version is, by chance, the one that was meant: what was typed into it is gone with the reload, and comes back."""
    (tmp_path / "a.txt").write_text(first)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        changed = BASE.replace("five", "FIVE")
        read = await taken(bench, editor, "unsaved\n", 0, changed, 0.7)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=4)
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == changed.replace("two", "typed\ntwo")

    editor = play(tmp_path, habits, case, arrives_after=0.4)
    assert [label for label, _ in editor.sent] == ["Changed on disk"]


def test_what_comes_back_into_a_document_opened_anew_comes_to_its_place(tmp_path: Path) -> None:
    """The user types on, in an editor that makes an edit in the text that it has then."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        changed = BASE.replace("five", "FIVE")
        read = await taken(bench, editor, "unsaved\n", 0, changed, 0.7)
        editor.closes("a.txt")
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=4)
        editor.flushes()
        await sent(editor, 1)
        editor.types("a.txt", "more\n", at=0)
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == f"more\n{changed}".replace("two", "typed\ntwo")

    play(tmp_path, LATE, case, arrives_after=0.4)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_save_while_the_document_is_to_be_taken_from_the_disk(tmp_path: Path, refuses: bool) -> None:
    """The disk says by then what the user saved, and the unsaved lines would be put on top of themselves."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        read = await taken(bench, editor, "typed\n", BASE.index("four"), BASE.replace("one\ntwo", "ONE"), 0.7)
        assert editor.saves("a.txt")  # over what is there
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE.replace("four", "typed\nfour")

    play(tmp_path, replace(WELL_BEHAVED, refuses=refuses), case, arrives_after=0.4)


TAKEN_LATE = replace(WELL_BEHAVED, reload_takes=0.2)
"""VS Code: the request names a version, and what is typed until the disk's text is there is replaced with it."""


@pytest.mark.parametrize(
    ("before", "after"), [("x", ""), ("", "y"), ("x", "y")], ids=["before it is taken", "after it", "both"]
)
def test_what_is_typed_while_a_document_is_taken_from_the_disk_stays(
    tmp_path: Path, before: str, after: str
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        changed = BASE.replace("five", "FIVE")
        read = await taken(bench, editor, "u", 0, changed)
        editor.types("a.txt", before, at=1)
        await asyncio.sleep(0.2)
        assert editor.text("a.txt") == changed, "a case that shows nothing"
        editor.types("a.txt", after, at=0)
        await read
        await asyncio.sleep(5)
        text = editor.text("a.txt")
        assert sorted(text) == sorted(f"u{before}{after}{changed}")
        assert text.endswith(changed)
        assert await bench.read("a.txt") == text

    play(tmp_path, TAKEN_LATE, case)


@pytest.mark.parametrize("typed", ["", "x"])
def test_a_file_that_is_written_again_while_its_document_is_taken_from_the_disk(
    tmp_path: Path, typed: str
) -> None:
    """The edits that were to put the user's text on top were made for another text, in which they have another place."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        read = await taken(bench, editor, "-", BASE.index("ur"), f"more\n{BASE}")
        newer = f"{BASE}six\n"
        (tmp_path / "a.txt").write_text(newer)
        editor.types("a.txt", typed, at=0)
        texts = set[str]()
        for _ in range(500):
            await asyncio.sleep(0.01)
            texts.add(editor.text("a.txt"))
        await read
        assert newer in texts, "a case that shows nothing"
        assert not [text for text in texts if "fi-ve" in text]
        assert editor.text("a.txt") == f"{typed}{newer}".replace("four", "fo-ur")

    play(tmp_path, TAKEN_LATE, case)


@pytest.mark.parametrize("newer", ["more\n{}", "{}more\n", "{}"], ids=["before it", "behind it", "touched"])
def test_a_file_that_is_written_again_once_its_document_was_taken_from_the_disk(
    tmp_path: Path, newer: str
) -> None:
    """What was typed until it was taken comes back where it was, not where it would be in what the file says by then; and nothing twice."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        changed = BASE.replace("five", "FIVE")
        read = await taken(bench, editor, "u", BASE.index("two"), changed)
        editor.types("a.txt", "x", at=BASE.index("two") + 1)
        await asyncio.sleep(0.2)
        assert editor.text("a.txt") == changed, "a case that shows nothing"
        (tmp_path / "a.txt").write_text(newer.format(changed))
        await read
        await asyncio.sleep(5)
        wanted = newer.format(changed.replace("two", "uxtwo"))
        assert editor.text("a.txt") == await bench.read("a.txt") == wanted

    play(tmp_path, TAKEN_LATE, case)


def test_what_is_typed_where_the_disk_changed_is_a_conflict_though_the_disk_was_taken(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        read = await taken(bench, editor, "u\n", 0, BASE.replace("five", "FIVE"))
        editor.types("a.txt", "mine ", at=editor.text("a.txt").index("five"))
        await read
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "u\n" + BASE.replace("five", "mine five")
        assert [message for _, message in editor.shown if "changed on disk" in message]

    play(tmp_path, TAKEN_LATE, case)


def test_keys_that_go_on_all_the_time_keep_nothing_from_coming_back(tmp_path: Path) -> None:
    """Each of them makes the editor refuse what was planned for the text before it."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        changed = BASE.replace("five", "FIVE")
        read = await taken(bench, editor, "u", 0, changed)
        for _ in range(40):
            await asyncio.sleep(0.05)
            editor.types("a.txt", "k", at=0)
        await read
        await asyncio.sleep(5)
        await bench.read("a.txt")
        assert sorted(editor.text("a.txt")) == sorted("u" + 40 * "k" + changed)

    play(tmp_path, TAKEN_LATE, case, arrives_after=0.06)


def written_meanwhile(editor: FakeEditor, file: Path, first: str, then: str, seconds: float) -> list[str]:
    """What the editor takes from the disk, when it is first asked to, is `first`; the file says `then` so much later. Returns the documents that it was
    asked for."""
    read_again, asked = editor.model.reload, list[str]()

    def reload(uri: str) -> None:
        asked.append(uri)
        if len(asked) > 1:
            return read_again(uri)
        file.write_text(first)
        read_again(uri)
        if seconds:
            asyncio.get_running_loop().call_later(seconds, file.write_text, then)
        else:
            file.write_text(then)

    editor.model.reload = reload
    return asked


OPENED_AGAIN = pytest.mark.parametrize("habits", [NEOVIM_OURS, EGLOT_OURS], ids=["neovim", "emacs"])
"""Editors that tell a reload as the document's closing and opening."""


@OPENED_AGAIN
@pytest.mark.parametrize("typed", ["", "u\n"], ids=["clean", "unsaved"])
@pytest.mark.parametrize("later", ["", "k"], ids=["", "typed on"])
@pytest.mark.parametrize("first", ["", "one\n", BASE.replace("two", "TWO")], ids=["emptied", "half", "other"])
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.4])
def test_an_editor_that_takes_a_file_while_somebody_writes_it(
    tmp_path: Path, habits: Habits, typed: str, later: str, first: str, seconds: float
) -> None:
    """Many programs empty a file before they write it. What the editor has then is not what its user wants."""
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    newer = BASE.replace("five", "FIVE")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        asked = written_meanwhile(editor, file, first, newer, seconds)
        read = await taken(bench, editor, typed, 0, newer)
        asyncio.get_running_loop().call_later(0.05, editor.types, "a.txt", later, 0)
        await read
        assert asked, "a case that shows nothing"
        await asyncio.sleep(5)
        await bench.read("a.txt")
        await asyncio.sleep(5)
        text = editor.text("a.txt")
        assert await bench.read("a.txt") == text
        assert text.count(later) == 1 if later else True
        assert text.replace(later, "") == typed + newer

    play(tmp_path, habits, case)


@OPENED_AGAIN
@pytest.mark.parametrize("typed", ["", "u\n"], ids=["clean", "unsaved"])
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.4])
def test_what_an_agents_tool_writes_then_is_listed(
    tmp_path: Path, habits: Habits, typed: str, seconds: float
) -> None:
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    newer = BASE.replace("five", "FIVE")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", typed, at=0)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        asked = written_meanwhile(editor, file, "", newer, seconds)
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", newer)
        await turn.bench.read("a.txt")
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")
        assert asked, "a case that shows nothing"

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == typed + newer
        assert listed(bench) == [("a.txt", "five", "FIVE")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == typed + BASE

    play_turn(tmp_path, habits, script, before=before, after=after)


@OPENED_AGAIN
@pytest.mark.parametrize("seconds", [0.05, 0.3])
@pytest.mark.parametrize("later", [0.0, 0.05])
def test_an_editor_that_takes_a_file_that_somebody_wrote_on_while_it_is_looked_at(
    tmp_path: Path, habits: Habits, seconds: float, later: float
) -> None:
    """It takes both at once: what an agent's tool wrote, which is being brought in, and what somebody else wrote then."""
    file, changed = tmp_path / "a.txt", BASE.replace("four\nfive\n", "AGENT\n")
    file.write_text(BASE)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def others(editor: FakeEditor) -> None:
        await asyncio.sleep(seconds)
        file.write_text("others\n" + changed)
        await asyncio.sleep(later)
        editor.model.reload(editor.uri("a.txt"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        await asyncio.sleep(1)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", changed)
        turn.says("edit", "a.txt", status="completed")
        await asyncio.gather(others(editor), turn.bench.read("a.txt"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "others\n" + changed
        assert ("a.txt", "four\nfive", "AGENT") in listed(bench)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == "others\n" + BASE

    play_turn(tmp_path, habits, script, before=before, after=after)


@OPENED_AGAIN
@pytest.mark.parametrize("ended", [True, False], ids=["", "no final line end"])
@pytest.mark.parametrize("typed", ["", "u\n"], ids=["clean", "unsaved"])
@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.55, 0.7, 1.5, 3.0])
def test_an_agents_write_after_its_change_of_the_disk_was_taken(
    tmp_path: Path, habits: Habits, ended: bool, typed: str, seconds: float
) -> None:
    """Whichever of the two is entered first, both are listed. A save of the user's gave the file its final line end, which the document has only when it is opened again."""
    file, changed = tmp_path / "a.txt", BASE.replace("five", "FIVE")
    file.write_text(BASE if ended else BASE.removesuffix("\n"))

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "S", at=0)
        assert editor.saves("a.txt")
        editor.types("a.txt", typed, at=0)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", "S" + changed)
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(seconds)
        text = str(await turn.bench.read("a.txt"))
        assert "FIVE" in text
        assert await turn.bench.write("a.txt", text.replace("three", "THREE"))
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt").rstrip("\n") == (typed + "S" + changed.replace("three", "THREE")).rstrip(
            "\n"
        )
        assert listed(bench) == [("a.txt", "three", "THREE"), ("a.txt", "five", "FIVE")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt").rstrip("\n") == (typed + "S" + BASE).rstrip("\n")

    play_turn(tmp_path, habits, script, before=before, after=after)


@OPENED_AGAIN
@pytest.mark.parametrize(
    ("typed", "busy"), [("", False), ("S", False), ("S", True)], ids=["", "typed", "typed, busy"]
)
@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1, 0.3])
def test_what_is_saved_right_after_that_is_the_users(
    tmp_path: Path, habits: Habits, typed: str, busy: bool, seconds: float
) -> None:
    """The file may say what was saved already when the sidecar, if it is busy, is told that the document was opened again."""
    (tmp_path / "a.txt").write_text(BASE)
    mine = BASE.replace("two", "u\ntwo")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "u\n", at=BASE.index("two"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("five", "FIVE"))
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(2)
        assert editor.text("a.txt") == mine.replace("five", "FIVE"), "a case that shows nothing"
        tell, told = editor.model.emit, list[Event]()
        if busy:
            editor.model.emit = told.append
        for _ in range(3):
            if editor.text("a.txt") != mine:
                editor.undoes("a.txt")
        await asyncio.sleep(seconds)
        editor.types("a.txt", typed, at=0)
        assert editor.overwrites("a.txt")
        editor.model.emit = tell
        for event in told:
            tell(event)
        await asyncio.sleep(2)
        await turn.bench.read("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == (tmp_path / "a.txt").read_text() == typed + mine
        assert not list(bench.workspace.review.changes(Selector()))

    play_turn(tmp_path, habits, script, before=before, after=after)


@pytest.mark.parametrize("later", range(12))
@pytest.mark.parametrize("typed", ["", "u\n"], ids=["clean", "unsaved"])
def test_what_is_under_review_lies_in_the_document_after_that(tmp_path: Path, typed: str, later: int) -> None:
    """The document is told as closed and opened twice, the second time so many rounds of the event loop after what came on top of the disk's text."""
    (tmp_path / "a.txt").write_text(BASE)
    mine = BASE.replace("two", f"{typed}two")
    text = mine.replace("one", "ONE, and more of it")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", typed, at=BASE.index("two"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        assert await turn.bench.write("a.txt", text)
        editor.types("a.txt", "k\n", at=0)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", (tmp_path / "a.txt").read_text().replace("five", "FIVE"))
        read = asyncio.ensure_future(turn.bench.read("a.txt"))
        await asyncio.sleep(0.6)
        assert editor.text("a.txt") == "k\n" + text.replace("five", "FIVE"), "a case that shows nothing"
        tell, told = editor.model.emit, list[Event]()
        editor.model.emit = told.append
        editor.model.flush(editor.uri("a.txt"))
        on_top = len(told)
        while editor.text("a.txt") != "k\n" + text:
            editor.undoes("a.txt")
        editor.model.emit = tell
        for number, event in enumerate(told):
            for _ in range(later if number == on_top else 0):
                await asyncio.sleep(0)
            tell(event)
        await read
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == "k\n" + text
        rows = bench.workspace.review.rows(Selector())
        assert [row["newText"] for row in rows] == ["ONE, and more of it"]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == "k\n" + mine

    play_turn(tmp_path, replace(NEOVIM_OURS, top_told_later=0.2), script, before=before, after=after)


class SlowFirst(MemoryJournal):
    """Noting the first change takes a while."""

    slow = True

    async def begin(self, entry: Any, takes_back: Any = ()) -> str:
        is_slow, self.slow = self.slow, False
        if is_slow:
            await asyncio.sleep(1.2)
        return await super().begin(entry, takes_back)


@OPENED_AGAIN
@pytest.mark.parametrize("typed", ["", "u\n"], ids=["clean", "unsaved"])
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
def test_an_agents_write_that_is_on_its_way_when_its_tool_changes_the_file(
    tmp_path: Path, habits: Habits, typed: str, seconds: float
) -> None:
    """The write comes to the document while the editor is given time to take the file by itself: before the file's change, which is seen already."""
    file = tmp_path / "a.txt"
    file.write_text(BASE)
    answers: list[object] = []
    mine, journal = BASE.replace("two", f"{typed}two"), SlowFirst()

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", typed, at=BASE.index("two"))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        turn.says("edit", "a.txt")
        write = asyncio.ensure_future(turn.bench.write("a.txt", mine.replace("one", "ONE")))
        await asyncio.sleep(seconds)
        turn.puts("a.txt", file.read_text().replace("five", "FIVE"))
        turn.says("edit", "a.txt", status="completed")
        answers.append(await write)
        await asyncio.sleep(3)
        await turn.bench.read("a.txt")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        is_refused = isinstance(
            answers[0], Refusal
        )  # where the document was taken from the disk before the write came
        assert editor.text("a.txt") == mine.replace("one", "one" if is_refused else "ONE").replace(
            "five", "FIVE"
        )
        assert listed(bench) == [("a.txt", "one", "ONE"), ("a.txt", "five", "FIVE")][is_refused:]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == mine

    play_turn(tmp_path, habits, script, before=before, after=after, journal=journal)


@pytest.mark.parametrize(
    "habits", [NEOVIM_OURS, replace(NEOVIM_OURS, top_told_later=0.2)], ids=["", "told later"]
)
@pytest.mark.parametrize("seconds", [0.1, 0.45, 0.55, 0.7])
@pytest.mark.parametrize("arrives", [0.0, 0.05, 0.3])
def test_undoing_a_rejection_beyond_a_reload_puts_it_under_review_again(
    tmp_path: Path, habits: Habits, seconds: float, arrives: float
) -> None:
    """Nothing was under review when the document was told as closed and opened. Before that, the user had typed in one of the agent's lines, which was
    theirs then, and takes that back, too (hands, Neovim, seed 590004)."""
    (tmp_path / "a.txt").write_text(BASE)
    text = BASE.replace("two\n", "two\nAGENT\n")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        assert await turn.bench.write("a.txt", text)
        await asyncio.sleep(0.5)
        assert await turn.bench.write("a.txt", text.replace("five", "FIVE"))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "mine", at=text.index("AGENT") + len("AGENT"))
        await asyncio.sleep(0.2)
        editor.saves("a.txt")
        await asyncio.sleep(2)
        await bench.workspace.review.reject(Selector(everything=True))
        await asyncio.sleep(0.2)
        assert editor.text("a.txt") == text.replace("AGENT", "AGENTmine"), "a case that shows nothing"
        (tmp_path / "a.txt").write_text("nobody's\n" + (tmp_path / "a.txt").read_text())
        read = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(seconds)
        while "mine" in (editor.text("a.txt") or ""):
            editor.undoes("a.txt")
        await read
        await asyncio.sleep(3)
        assert (editor.text("a.txt") or "").endswith(text.replace("five", "FIVE"))
        assert [row["newText"] for row in bench.workspace.review.rows(Selector())] == ["AGENT\n", "FIVE"]

    play_turn(tmp_path, habits, script, before=before, after=after, arrives_after=arrives)


def test_a_document_that_was_taken_and_put_back_as_it_was_is_brought_together_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by an extension that finds other line ends than it was told. The document said what was meant only until then."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        async def puts_back(uri: str, version: int, edits: object, changes: object = ()) -> Reloaded:
            buffer, was = editor.buffer("a.txt"), editor.text("a.txt")
            editor.model.reload(uri)
            taken, end = buffer.version, buffer.place(len(buffer.text))
            back = Replacement(buffer.place(0), end, was)
            editor.model.apply_to(buffer, DocumentEdits(uri, None, (back,)), "on top")
            made = TextEdit(Position(0, 0), Position(*end), was)
            return Reloaded(buffer.version, taken, taken, (made,))

        monkeypatch.setattr(editor, "reload", puts_back)
        changed = BASE.replace("five", "FIVE")
        editor.opens("a.txt")
        await asyncio.sleep(1)
        (tmp_path / "a.txt").write_text(changed)
        assert await bench.read("a.txt") == changed
        assert editor.text("a.txt") == changed

    play(tmp_path, WELL_BEHAVED, case)
