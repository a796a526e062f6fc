"""What happens between sending an edit and knowing its end: typing, undo, saving and closing, in editors that take it where it does not
belong. Each case is one cause that `tests/inflight` found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.refusal import Kind, Refusal
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import (
    EGLOT_19,
    EGLOT_117,
    HELIX,
    LSP_MODE,
    NEOVIM,
    NEVER,
    VSCODE,
    WELL_BEHAVED,
    Habits,
)
from tests.support.file_time import tick
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_writes import BASE, done, play, play_seen, refused

LATE = replace(WELL_BEHAVED, lag=0.5, version_when_told=True, order="answer first")
"""Takes edits for a text that it has left already, and tells that later."""
UNCHECKED = replace(WELL_BEHAVED, first_version=0, unchecked=frozenset({0}))


def hunks(bench: Bench) -> list[str]:
    return [hunk.text for reviewed in bench.workspace.state.ledgers for hunk in reviewed.ledger.hunks]


def tool(bench: Bench, call: str, kind: str, path: str = "", status: str = "in_progress") -> None:
    update: dict[str, object] = {"sessionUpdate": "tool_call", "toolCallId": call, "title": call}
    if path:
        update["locations"] = [{"path": bench.path(path)}]
    bench.workspace.session_update(bench.session, {**update, "kind": kind, "status": status})


@pytest.mark.parametrize("habits", [LATE, EGLOT_117, replace(LATE, lag_restarts=True)])
def test_a_misplaced_edit_is_put_right_once_it_is_told(tmp_path: Path, habits: Habits) -> None:
    """Not two seconds later: the user types on."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR")))
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1.1)
        assert len(editor.sent) == 2, "it landed a line too high, and was put right"
        assert editor.text("a.txt") == "typed\n" + BASE.replace("four", "FOUR")
        done(await write)

    play_seen(tmp_path, habits, case)


def test_what_is_typed_around_a_change_under_review_leaves_it_there(tmp_path: Path) -> None:
    """Emacs tells what was typed before and after it as one edit that spans it."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", BASE.replace("four", "FOUR")))
        write = asyncio.ensure_future(
            bench.write("a.txt", BASE.replace("four", "FOUR").replace("one", "ONE"))
        )
        await asyncio.sleep(0)
        editor.replaces("a.txt", "three\nFOUR\nfive\n", "three!\nFOUR\nfive!\n")
        done(await write)
        assert hunks(bench) == ["ONE", "FOUR"]

    play_seen(tmp_path, replace(WELL_BEHAVED, lag=0.5), case)


def test_a_save_that_formats_while_an_edit_is_on_its_way_moves_no_hunk(tmp_path: Path) -> None:
    """Another session's turn ends, and saves what could not be saved before: what the save adds lies in a text that the review does not know yet."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", BASE.replace("five", "FIVE")))
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("five", "FIVE").replace("two", "2")))
        await asyncio.sleep(0.1)
        assert "2" in editor.text("a.txt")
        tracked = next(iter(bench.workspace.state.documents))
        assert tracked.flight is not None
        await bench.workspace._writer._saver.save(tracked)  # as `save_again` does at the end of a turn
        done(await write)
        last = next(iter(bench.workspace.state.ledgers)).ledger.hunks[-1]
        assert editor.text("a.txt")[last.start : last.end] == "FIVE"

    spaced = replace(WELL_BEHAVED, answers_after=1.0, on_save=lambda text: text.replace("2\n", "2 \n"))
    play_seen(tmp_path, spaced, case)


def test_what_was_typed_into_a_misplaced_edit_stays_and_what_that_took_away_is_back(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "typed ", at=4)
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO\nand more")))
        await asyncio.sleep(0.1)
        assert editor.text("a.txt") == "one\nTWO\nand moreed two\nthree\nfour\nfive\n"
        editor.types("a.txt", "mine\n", at=8)
        refused(await write, Kind.CONFLICT)
        text = editor.text("a.txt")
        assert "typed two\n" in text
        assert "mine\n" in text
        assert "TWO" not in text
        assert any("typing" in message for _, message in editor.shown)

    play_seen(tmp_path, LATE, case)


def test_an_edit_that_is_misplaced_and_never_answered_is_put_right(tmp_path: Path) -> None:
    """After the minute that an answer may take, what the document shows counts."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "typed\n", at=4)
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        await asyncio.sleep(1.0)
        assert "typed" not in editor.text("a.txt")
        await write
        await asyncio.sleep(100)
        assert "typed\n" in editor.text("a.txt")

    play_seen(tmp_path, replace(LATE, answers_after=NEVER), case)


@pytest.mark.parametrize("answers_after", [NEVER, 90.0])
def test_an_edit_that_is_made_after_its_time_and_at_a_wrong_place_is_taken_out(
    tmp_path: Path, answers_after: float
) -> None:
    """The agent was told that nobody knows, and to read again."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        await asyncio.sleep(69.9)
        editor.types("a.txt", "typed\n", at=4)
        refused(await write, Kind.OUTCOME_UNKNOWN)
        await asyncio.sleep(100)
        assert editor.text("a.txt") == BASE.replace("two", "typed\ntwo")
        assert not hunks(bench)

    play_seen(tmp_path, replace(LATE, thinks=70.0, answers_after=answers_after), case)


def test_what_is_taken_out_late_is_not_left_to_the_user(tmp_path: Path) -> None:
    """Whoever undoes it, as they were told to, would undo their own typing."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        await asyncio.sleep(69.9)
        editor.types("a.txt", "typed\n", at=4)
        refused(await write, Kind.OUTCOME_UNKNOWN)
        editor.model.habits = LATE
        await asyncio.sleep(10)
        assert editor.text("a.txt") == BASE.replace("two", "typed\ntwo")
        assert [label for label, _ in editor.sent] == ["agent", "agent, put right"]
        assert not [message for _, message in editor.shown if "undo" in message]

    play_seen(tmp_path, replace(LATE, thinks=70.0), case)


def test_an_edit_that_is_made_and_never_answered_is_the_agents(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", BASE.replace("two", "TWO")))
        assert hunks(bench) == ["TWO"]

    play_seen(tmp_path, replace(WELL_BEHAVED, answers_after=NEVER), case)


@pytest.mark.parametrize("undone", [1, 2])
def test_a_misplaced_edit_that_the_user_undid_is_not_made_again(tmp_path: Path, undone: int) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR")))
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(0.1)
        for _ in range(undone):
            editor.undoes("a.txt")
        refused(await write, Kind.CONFLICT)
        assert editor.text("a.txt") == ("typed\n" + BASE if undone == 1 else BASE)
        assert not hunks(bench)

    play_seen(tmp_path, LATE, case)


def test_a_correction_that_newer_typing_refuses_is_tried_again(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR")))
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(0.65)
        assert len(editor.sent) == 2
        editor.types("a.txt", "more\n", at=0)  # while the correction is on its way
        editor.flushes()
        done(await write)
        assert editor.text("a.txt") == "more\ntyped\n" + BASE.replace("four", "FOUR")

    play_seen(tmp_path, LATE, case, arrives_after=0.1)


def test_whole_texts_are_told_apart_too(tmp_path: Path) -> None:
    """An editor that tells whole texts and compares no version: what was typed is known, and so is what our edit took of it."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=0)
        done(await write)
        assert editor.text("a.txt") == "typed\n" + BASE.replace("two", "TWO")

    play_seen(tmp_path, replace(UNCHECKED, full_text=True), case, arrives_after=0.3)


@pytest.mark.parametrize("saves_twice", [False, True])
def test_what_the_user_saved_and_undid_stays_undone(tmp_path: Path, saves_twice: bool) -> None:
    """The disk's newer text is the editor's own, so nothing of it is brought into the buffer again."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")  # and saved before anybody has looked at the file
        editor.types("a.txt", "typed\n", at=0)
        editor.saves("a.txt")
        if saves_twice:
            editor.types("a.txt", "more\n", at=0)
            editor.saves("a.txt")
            editor.undoes("a.txt")
        editor.undoes("a.txt")
        assert await bench.read("a.txt") == BASE
        await asyncio.sleep(3)
        assert editor.text("a.txt") == BASE
        assert not editor.sent

    play(tmp_path, WELL_BEHAVED, case)


def test_the_same_text_on_the_disk_and_through_us_counts_once(tmp_path: Path) -> None:
    """Beside unsaved lines, and where equal lines leave open which of them was replaced."""
    base = "one\n    return\n    return\nend\n"
    (tmp_path / "a.txt").write_text(base)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "mine\n", at=base.index("end"))
        await bench.read("a.txt", 1, 1)
        wanted = base.replace("    return\n", "new\n", 1)
        tool(bench, "edit", "execute")
        (tmp_path / "a.txt").write_text(wanted)
        await bench.read("b.txt")
        done(await bench.write("a.txt", wanted))
        assert editor.text("a.txt") == wanted.replace("end", "mine\nend")

    play(tmp_path, WELL_BEHAVED, case)


@pytest.mark.parametrize("seconds", [20.0, 90.0])
def test_a_file_that_the_editor_makes_late_is_not_made_twice(tmp_path: Path, seconds: float) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        answer = await bench.write("new.txt", "new\n")
        if seconds > 60:
            refused(answer, Kind.OUTCOME_UNKNOWN)
            assert not (tmp_path / "new.txt").exists()
            await asyncio.sleep(60)
        else:
            assert done(answer).saved
        assert (tmp_path / "new.txt").read_text() == "new\n"
        assert hunks(bench) == ["new\n"]

    play(tmp_path, replace(WELL_BEHAVED, thinks=seconds), case)


def test_a_file_that_the_editor_never_makes(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        refused(await bench.write("new.txt", "new\n"), Kind.OUTCOME_UNKNOWN)
        assert not (tmp_path / "new.txt").exists()

    play(tmp_path, replace(WELL_BEHAVED, thinks=NEVER), case)


def test_an_edit_misplaced_and_saved_before_the_document_was_closed(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR\nmore")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(0.3)
        assert editor.text("a.txt").startswith("typed\none\ntwo\nFOUR\nmore")
        editor.saves("a.txt")
        editor.closes("a.txt")
        done(await write)
        assert (tmp_path / "a.txt").read_text() == "typed\n" + BASE.replace("four", "FOUR\nmore")

    play_seen(tmp_path, replace(UNCHECKED, answers_after=3.0), case, arrives_after=0.2)


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "opened again"])
def test_what_an_edit_overwrote_in_a_document_that_was_saved_and_closed_is_back(
    tmp_path: Path, *, opened: bool
) -> None:
    """The document says what was expected of the edit, because that took away what the editor had not told."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "four", "mine")
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR")))
        await asyncio.sleep(0.05)
        assert "mine" not in editor.text("a.txt")
        editor.saves("a.txt")
        editor.closes("a.txt")
        await asyncio.sleep(0.001)
        if opened:
            editor.opens("a.txt")
        refused(await write, Kind.CONFLICT)
        await asyncio.sleep(5)
        assert (editor.text("a.txt") if opened else (tmp_path / "a.txt").read_text()) == BASE.replace(
            "four", "mine"
        )

    play_seen(tmp_path, EGLOT_117, case)


def test_an_edit_misplaced_in_a_document_that_was_saved_closed_and_opened_again(tmp_path: Path) -> None:
    """Before the editor has answered: what the edit took away comes back in the document that is open now."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO\nmore")))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed\n", at=4)
        await asyncio.sleep(0.3)
        assert "typed" not in editor.text("a.txt")
        editor.saves("a.txt")
        editor.closes("a.txt")
        await asyncio.sleep(0.1)
        editor.opens("a.txt")
        editor.types("a.txt", "zero\n", at=0)
        await write
        await asyncio.sleep(5)
        text = editor.text("a.txt")
        assert text.startswith("zero\none\n")
        assert "typed\n" in text
        assert text.endswith("three\nfour\nfive\n")

    play_seen(tmp_path, replace(UNCHECKED, answers_after=3.0), case, arrives_after=0.2)


def test_what_a_misplaced_edit_took_away_is_no_agents_work_once_it_is_back(tmp_path: Path) -> None:
    """Saved with the edit in it, closed, and put right on the disk: nothing is left there for anybody to review."""
    journal = MemoryJournal()
    (tmp_path / "a.txt").write_text("one two\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        write = asyncio.ensure_future(bench.write("a.txt", "1 2\n"))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "typed ", at=4)
        await asyncio.sleep(0.3)
        assert editor.text("a.txt") != "one typed two\n"
        editor.saves("a.txt")
        editor.closes("a.txt")
        refused(await write, Kind.CONFLICT)
        assert (tmp_path / "a.txt").read_text() == "one typed two\n"
        assert not hunks(bench)
        assert set(journal.states.values()) == {"unknown", "failed"}

    play(tmp_path, replace(UNCHECKED, answers_after=3.0), case, arrives_after=0.2, journal=journal)


def test_an_edit_that_is_done_again_is_not_taken_for_one_that_comes_late(tmp_path: Path) -> None:
    """The user takes it back, types, and makes it again, all before the editor has answered (inflight seeds 1970004703, 2000003168)."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        done(await write)
        assert editor.text("a.txt") == BASE.replace("two", "TWO")
        uri, at = editor.uri("a.txt"), BASE.index("two")
        editor.model.replace(uri, at, at + 3, "two")
        await asyncio.sleep(1)
        editor.types("a.txt", "typed\n", at=len(BASE))
        await asyncio.sleep(1)
        editor.model.replace(uri, at, at + 3, "TWO")
        await asyncio.sleep(100)
        assert editor.text("a.txt") == BASE.replace("two", "TWO") + "typed\n"

    play_seen(tmp_path, replace(WELL_BEHAVED, answers_after=90.0), case)


@pytest.mark.parametrize(
    ("thinks", "waits"), [(20.0, 60.0), (70.0, 200.0), (20.0, 5.0)], ids=["", "long", "given up"]
)
def test_what_comes_from_the_disk_is_taken_out_if_the_user_has_saved_over_it(
    tmp_path: Path, thinks: float, waits: float
) -> None:
    """The editor asks its user before it makes the edit. Nobody may wait for it any more by then."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(BASE.replace("two\n", ""))
        tick()
        reading = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(2)
        assert editor.saves("a.txt")
        await asyncio.sleep(waits - 2)
        reading.cancel()
        await asyncio.sleep(200)
        assert editor.text("a.txt") == BASE

    play_seen(tmp_path, replace(WELL_BEHAVED, thinks=thinks), case, custom=False)


@pytest.mark.parametrize("waits", [60.0, 5.0], ids=["", "given up"])
def test_what_comes_from_the_disk_is_under_review_also_if_nobody_waits_for_it(
    tmp_path: Path, waits: float
) -> None:
    """The editor asks its user first, and whoever had the file looked at has gone by then. (inflight seed 2000021328)"""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
        await asyncio.sleep(0.1)
        tool(bench, "sed", "edit", "a.txt")
        (tmp_path / "a.txt").write_text(BASE.replace("two", "TWO"))
        tick()
        reading = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(waits)
        reading.cancel()
        await asyncio.sleep(200)
        assert editor.text("a.txt") == BASE.replace("two", "TWO")
        assert hunks(bench) == ["TWO"]
        turn.cancel()

    play_seen(tmp_path, replace(WELL_BEHAVED, thinks=20.0), case, custom=False)


def test_an_edit_made_where_nobody_sees_it(tmp_path: Path) -> None:
    """Closed in the moment, taken all the same, and nothing told: neither done nor refused."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        refused(await bench.write("a.txt", BASE.replace("two", "TWO")), Kind.OUTCOME_UNKNOWN)
        assert (tmp_path / "a.txt").read_text() == BASE

    play_seen(tmp_path, replace(LSP_MODE, closes_first=True), case)


@pytest.mark.parametrize("crlf", [0, 3], ids=["LF", "mixed line ends"])
def test_an_edit_made_where_nobody_sees_it_until_the_document_is_opened(tmp_path: Path, crlf: int) -> None:
    """The text with which it is opened is the disk's with the edit, and so the edit is the agent's, also if the user types at once."""
    (tmp_path / "a.txt").write_bytes(BASE.replace("\n", "\r\n", crlf).encode())

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        assert isinstance(await bench.read("a.txt"), str)
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("two", "TWO")))
        await asyncio.sleep(0.4)
        editor.opens("a.txt")
        await asyncio.sleep(0.02)
        editor.types("a.txt", "typed ", at=0)
        done(await write)
        await asyncio.sleep(5)
        assert hunks(bench) == ["TWO"]
        assert editor.text("a.txt") == "typed " + BASE.replace("two", "TWO").replace("\n", "\r\n", crlf)

    play(tmp_path, replace(LSP_MODE, closes_first=True), case, arrives_after=0.1)


def test_an_edit_made_where_nobody_sees_it_though_the_document_had_its_text(tmp_path: Path) -> None:
    """The user made the same change, and closed the document without saving before the edit arrived: it came to another text, the file's."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "zero\n", at=0)
        text = await bench.read("a.txt")
        assert isinstance(text, str)
        write = asyncio.ensure_future(bench.write("a.txt", text.replace("two", "TWO")))
        await asyncio.sleep(0.05)
        at = text.index("two")
        editor.model.replace(editor.uri("a.txt"), at, at + len("two"), "TWO")
        editor.closes("a.txt")
        await write
        editor.opens("a.txt")
        assert editor.text("a.txt") != BASE
        await asyncio.sleep(5)
        assert editor.text("a.txt") == BASE

    play_seen(tmp_path, LSP_MODE, case, arrives_after=0.2)


@pytest.mark.parametrize("saves", [True, False], ids=["saved", "left unsaved"])
def test_a_document_closed_right_after_a_save_was_not_left_unsaved(tmp_path: Path, saves: bool) -> None:
    """lsp-mode opens it for a write and tells nobody, so that the write is made on the disk; the user then sees the old text, which is no unsaved work
    on top of that (inflight seed 1810003331)."""
    mine = BASE.replace("two", "mine")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(1)
        editor.replaces("a.txt", "two", "mine")
        if saves:
            editor.saves("a.txt")
        editor.closes("a.txt")
        text = mine if saves else BASE
        assert await bench.read("a.txt") == text
        await bench.write("a.txt", text.replace("five", "FIVE"))
        assert (tmp_path / "a.txt").read_text() == text.replace("five", "FIVE"), "a case that shows nothing"
        editor.opens("a.txt")
        assert editor.text("a.txt") == text, "a case that shows nothing"
        await bench.write("a.txt", text.replace("five", "FIVE").replace("one", "ONE"))
        assert editor.text("a.txt") == text.replace("five", "FIVE").replace("one", "ONE")

    play_seen(tmp_path, LSP_MODE, case)


@pytest.mark.parametrize("unopened", ["hidden", "change first", "untold"])
def test_an_edit_that_opens_its_document_again_elsewhere(tmp_path: Path, unopened: str) -> None:
    """Closed without saving while the edit for the unsaved text is on its way: it is made on the file's text, at the wrong place."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(0.1)
        await bench.read("a.txt")
        wanted = ("typed\n" + BASE).replace("three", "THREE")
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await asyncio.sleep(0.05)
        editor.closes("a.txt")
        if unopened == "untold":
            await asyncio.sleep(0.5)
            editor.opens("a.txt")  # tells what was made of it
        answer = await write
        assert not isinstance(answer, Refusal) or answer.kind is Kind.CONFLICT
        if unopened == "untold":
            assert editor.text("a.txt") == BASE.replace("three", "THREE")
        else:
            assert (tmp_path / "a.txt").read_text() == BASE.replace("three", "THREE")

    habits = replace(WELL_BEHAVED, unopened=unopened)
    play(tmp_path, habits, case, arrives_after=0.2)


def test_of_what_came_twice_from_the_disk_into_a_file_that_was_saved_and_closed_the_user_is_told(
    tmp_path: Path,
) -> None:
    """The editor opens the document again with the disk's text, and makes there an edit that was for the unsaved text without that. (inflight seed
    2000032940)"""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=len(BASE))
        await asyncio.sleep(0.1)
        (tmp_path / "a.txt").write_text("from the disk\n" + BASE)
        tick()
        reading = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(2.0)
        assert editor.sent, "its user is asked"
        editor.closes("a.txt")
        for _ in range(400):
            buffer = editor.model.documents.get(editor.uri("a.txt"))
            if buffer is not None and buffer.text.count("from the disk") == 2:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # it has answered, and not told yet what it made
        editor.opens("a.txt")
        assert editor.saves("a.txt")
        editor.closes("a.txt")
        await reading
        await asyncio.sleep(60.0)
        assert [words for _, words in editor.shown if "which was saved and closed" in words]

    play(tmp_path, EGLOT_19, case, custom=False, arrives_after=0.05)


def test_an_edit_is_not_made_again_while_its_user_types_on(tmp_path: Path) -> None:
    """The editor tells nothing until they pause, not even that it made the edit."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write("a.txt", BASE.replace("four", "FOUR\nmore")))
        await asyncio.sleep(0.1)
        assert "FOUR" in editor.text("a.txt")
        for _ in range(50):
            editor.types("a.txt", "x", at=0)
            await asyncio.sleep(0.2)
        done(await write)
        assert editor.text("a.txt") == 50 * "x" + BASE.replace("four", "FOUR\nmore")
        assert len(editor.sent) == 1

    play_seen(tmp_path, replace(LATE, lag_restarts=True), case)


@pytest.mark.parametrize("typed", ["", "typed\n"])
def test_an_edit_that_is_seen_when_nobody_waits_for_it_any_more(tmp_path: Path, typed: str) -> None:
    """Made on the file's text in a buffer that nobody was told of. Where it belongs it is the agent's; elsewhere it goes."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        if typed:
            editor.types("a.txt", typed, at=0)
        await asyncio.sleep(0.1)
        await bench.read("a.txt")
        wanted = (typed + BASE).replace("three", "THREE")
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await asyncio.sleep(0.05)
        editor.closes("a.txt")
        refused(await write, Kind.OUTCOME_UNKNOWN)
        await asyncio.sleep(100)
        editor.opens("a.txt")
        assert "THREE" in editor.text("a.txt")
        await asyncio.sleep(5)
        assert editor.text("a.txt") == (BASE if typed else wanted)
        assert hunks(bench) == ([] if typed else ["THREE"])

    play(tmp_path, replace(WELL_BEHAVED, unopened="untold"), case, arrives_after=0.2)


@pytest.mark.parametrize("unopened", ["hidden", "change first"])
@pytest.mark.parametrize("user", ["closes without saving", "saves, closes and edits anew"])
def test_an_edit_that_leads_to_what_was_expected_on_another_text(
    tmp_path: Path, user: str, unopened: str
) -> None:
    """The document was closed with the edit on its way, and what the edit takes away is not what the agent had seen: the one line that
    differs. The text is as expected then, and the user's line gone with it."""
    (tmp_path / "a.txt").write_text("theirs\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.replaces("a.txt", "theirs", "seen once")
        await asyncio.sleep(0.1)
        await bench.read("a.txt")
        write = asyncio.ensure_future(bench.write("a.txt", "agent's\n"))
        await asyncio.sleep(0.05)
        if user != "closes without saving":
            editor.replaces("a.txt", "seen once", "typed now")
            editor.saves("a.txt")
        editor.closes("a.txt")
        left = "theirs\n" if user == "closes without saving" else "typed now\n"
        assert (tmp_path / "a.txt").read_text() == left
        refused(await write, Kind.CONFLICT)
        await asyncio.sleep(1)
        editor.opens("a.txt")
        assert editor.text("a.txt") == left
        assert not hunks(bench)

    play(tmp_path, replace(WELL_BEHAVED, unopened=unopened), case, arrives_after=0.2)


def test_a_version_left_out_by_an_editor_that_tells_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        for _ in range(3):
            editor.types("a.txt", "typed\n", at=0)
            await asyncio.sleep(0.1)
        await asyncio.sleep(4)
        assert bench.text("a.txt") == editor.text("a.txt")

    play(tmp_path, replace(HELIX, version_step=2), case)


@pytest.mark.parametrize("habits", [NEOVIM, HELIX, replace(WELL_BEHAVED, full_text=True)])
def test_a_new_file_told_changed_before_it_is_told_open(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert not isinstance(await bench.write("new.txt", "new\nfile\n"), Refusal)
        assert await bench.read("new.txt") == "new\nfile\n"

    play(tmp_path, replace(habits, unopened="change first"), case)


def test_a_line_end_that_comes_with_a_save_beside_one_that_was_typed(tmp_path: Path) -> None:
    """Neovim ends a last line that had no end, also an empty one: that is nothing anybody has put on the disk."""
    (tmp_path / "a.txt").write_text("one")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        editor.types("a.txt", "\ntwo\n", at=3)
        assert editor.saves("a.txt")
        await asyncio.sleep(1)
        assert (tmp_path / "a.txt").read_text() == "one\ntwo\n\n"
        assert await bench.read("a.txt") == "one\ntwo\n"
        done(await bench.write("a.txt", "one\ntwo\nthree\n"))
        await asyncio.sleep(5)
        assert editor.text("a.txt") == "one\ntwo\nthree\n"
        assert [label for label, _ in editor.sent] == ["agent"]

    play(tmp_path, NEOVIM, case, custom=False)


@pytest.mark.parametrize("habits", [HELIX, VSCODE], ids=["helix", "vscode"])
def test_a_save_that_is_told_late_takes_nothing_back(tmp_path: Path, habits: Habits) -> None:
    """Helix brings the text that it saved, with keys typed since: agents go on reading what the user sees."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "first ", at=0)
        editor.saves("a.txt")
        await asyncio.sleep(0.03)
        editor.types("a.txt", "second ", at=6)
        await asyncio.sleep(3)
        assert editor.text("a.txt") == "first second " + BASE
        assert await bench.read("a.txt") == "first second " + BASE
        await bench.write("a.txt", "first second " + BASE.replace("four", "FOUR"))
        assert editor.text("a.txt") == "first second " + BASE.replace("four", "FOUR")

    play_seen(tmp_path, replace(habits, save_takes=0.02), case)


def test_what_the_user_undoes_while_a_save_runs_is_no_formatting(tmp_path: Path) -> None:
    """What a save changes counts as known to the agent, and what the user takes back meanwhile came back with its next write. (Seed 2000007987
    of the fuzzer.)"""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        text = BASE.replace("one", "ONE")
        write = asyncio.ensure_future(bench.write("a.txt", text))
        await asyncio.sleep(0.1)
        assert editor.text("a.txt") == text
        editor.undoes("a.txt")
        done(await write)
        done(await bench.write("a.txt", text.replace("five", "FIVE")))
        assert editor.text("a.txt") == BASE.replace("five", "FIVE")

    play_seen(tmp_path, replace(WELL_BEHAVED, save_takes=0.3), case)
