"""What a write does, case by case; the ones about the editor run over every editor's habits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, KATE, NEVER, VSCODE, WELL_BEHAVED, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, QuietEditor, a_workspace

TAKES_EDITS = {name: habits for name, habits in EDITORS.items() if not habits.refuses}
every_editor = pytest.mark.parametrize("habits", list(TAKES_EDITS.values()), ids=list(TAKES_EDITS))

Case = Callable[[Bench, FakeEditor], Awaitable[None]]
BASE = "one\ntwo\nthree\nfour\nfive\n"


def play(
    folder: Path,
    habits: Habits,
    case: Case,
    *,
    settings: dict[str, object] | None = None,
    journal: MemoryJournal | None = None,
    rereads: bool = False,
    **editor: Any,
) -> FakeEditor:
    """Runs a case in virtual time over a fake editor with these habits."""

    async def main() -> FakeEditor:
        fake = FakeEditor(habits, folder, **editor)
        agents = IdleAgents(rereads=rereads)
        async with a_workspace(folder, fake, agents, settings=settings, journal=journal) as bench:
            bench.workspace.state.overlay.encoding = fake.capabilities.encoding
            fake.attach(bench.workspace.apply)
            await case(bench, fake)
            await asyncio.sleep(5)  # virtual: everything the editor still had to tell is told
            for uri, buffer in fake.model.documents.items():
                document = bench.workspace.state.overlay.get(uri)
                if document is None and habits.unopened in ("untold", "change first"):
                    continue  # a buffer of theirs that they told nobody about
                assert document is not None
                assert str(document.snapshot()) == buffer.text, "mirror = editor"
        return fake

    return run(main())


def play_seen(folder: Path, habits: Habits, case: Case, **more: Any) -> FakeEditor:
    """The same with a file of `BASE` that the user has open and the agent has read."""
    (folder / "a.txt").write_text(BASE)

    async def begun(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        await case(bench, editor)

    return play(folder, habits, begun, **more)


def lines(text: str) -> list[str]:
    return text.splitlines()


def done(answer: WriteDone | Refusal) -> WriteDone:
    assert isinstance(answer, WriteDone), answer
    return answer


def refused(answer: object, kind: Kind) -> Refusal:
    assert isinstance(answer, Refusal), answer
    assert answer.kind is kind, answer
    return answer


@every_editor
def test_an_edit_arrives_as_one_undo_step_and_is_saved(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        assert await bench.read("a.txt") == BASE
        wanted = BASE.replace("two", "TWO").replace("five", "FIVE")
        assert done(await bench.write("a.txt", wanted)).saved
        assert editor.text("a.txt") == wanted
        assert (tmp_path / "a.txt").read_text() == wanted
        assert await bench.read("a.txt") == wanted
        editor.undoes("a.txt")
        assert editor.text("a.txt") == BASE

    editor = play(tmp_path, habits, case)
    assert len(editor.sent) == 1
    assert all(len(edit.edits) == 2 for _, edit in editor.sent), "the smallest edits, not the whole text"


@every_editor
def test_both_on_one_line_is_a_conflict_with_three_texts(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.replaces("a.txt", "two", "mine")
        await asyncio.sleep(1)
        answer = refused(await bench.write("a.txt", BASE.replace("two", "agent's")), Kind.CONFLICT)
        assert editor.text("a.txt") == BASE.replace("two", "mine")
        (hunk,) = answer.data["hunks"]
        assert (hunk["base"].strip(), hunk["ours"].strip(), hunk["theirs"].strip()) == (
            "two",
            "mine",
            "agent's",
        )
        assert hunk["line"] == 2

    assert not play(tmp_path, habits, case).sent


def test_an_editor_that_refuses_every_edit(tmp_path: Path) -> None:
    """Clean: on the disk, when the user says so. With unsaved text: refused in words, never as a conflict."""
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("four", "FOUR")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        done(await bench.write("a.txt", wanted))
        assert "on disk" in editor.asked[0].text
        assert (tmp_path / "a.txt").read_text() == wanted

    play(tmp_path, KATE, case, custom=False, answer=lambda question: "allow")

    async def unsaved(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        answer = refused(await bench.write("a.txt", BASE.replace("two", "2")), Kind.EDITOR_REFUSED)
        assert "The file is unchanged" in answer.message
        assert editor.text("a.txt").startswith("typed\n")
        assert (tmp_path / "a.txt").read_text() == wanted

    play(tmp_path, KATE, unsaved, custom=False, answer=lambda question: "allow")


def test_no_applyedit_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def main() -> None:
        editor = QuietEditor(apply_edit=False)
        editor.answer = "reject"
        async with a_workspace(tmp_path, editor) as bench:
            bench.open("a.txt", BASE)
            await bench.read("a.txt")
            refused(await bench.write("a.txt", "x"), Kind.DENIED_BY_USER)
            assert (tmp_path / "a.txt").read_text() == BASE

    run(main())


def test_an_unanswered_edit_is_never_planned_again(tmp_path: Path) -> None:
    """The editor asks its user, who answers after 90 seconds; meanwhile nothing else is tried on this document."""
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("four", "FOUR")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        refused(await bench.write("a.txt", wanted), Kind.OUTCOME_UNKNOWN)
        assert editor.text("a.txt") == BASE
        another = await bench.another_session()
        second = asyncio.ensure_future(bench.write("a.txt", BASE + "six\n", another))
        await asyncio.sleep(20)
        assert len(editor.sent) == 1
        assert await bench.read("a.txt") == BASE
        refused(await second, Kind.OUTCOME_UNKNOWN)  # it was sent, and is thought about as long
        assert editor.text("a.txt") == wanted
        await asyncio.sleep(100)
        assert editor.text("a.txt") == wanted + "six\n"
        assert len(editor.sent) == 2
        (reviewed,) = list(bench.workspace.state.ledgers)
        assert len(reviewed.ledger.hunks) == 2, "the late one is in the ledger too"

    play(tmp_path, replace(WELL_BEHAVED, thinks=90.0), case)


def test_an_edit_that_is_never_answered(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        refused(await bench.write("a.txt", "x\n"), Kind.OUTCOME_UNKNOWN)
        refused(await bench.write("a.txt", "y\n"), Kind.OUTCOME_UNKNOWN)
        assert len(editor.sent) == 1
        assert editor.text("a.txt") == BASE

    play_seen(tmp_path, replace(WELL_BEHAVED, thinks=NEVER), case)


# Files that are not open


@every_editor
def test_an_unopened_file(tmp_path: Path, habits: Habits) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("two", "TWO")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("a.txt")
        assert done(await bench.write("a.txt", wanted)).saved
        assert (tmp_path / "a.txt").read_text() == wanted
        assert await bench.read("a.txt") == wanted

    play(tmp_path, habits, case)
    (tmp_path / "a.txt").write_text(BASE)
    assert not play(tmp_path, habits, case, custom=False).sent, "no way to save: on the disk"


@every_editor
def test_a_new_file_is_on_disk_when_the_answer_is_given(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert done(await bench.write("deep/er/new.txt", "hello\n")).saved
        assert (tmp_path / "deep/er/new.txt").read_text() == "hello\n"
        assert await bench.read("deep/er/new.txt") == "hello\n"

    play(tmp_path, habits, case)
    (tmp_path / "deep/er/new.txt").unlink()
    play(tmp_path, habits, case, custom=False)


def test_an_empty_new_file(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("new.txt", ""))
        assert (tmp_path / "new.txt").read_bytes() == b""

    play(tmp_path, VSCODE, case)
    (tmp_path / "new.txt").unlink()
    play(tmp_path, VSCODE, case, custom=False)


@pytest.mark.parametrize("custom", [True, False])
def test_a_file_that_was_read_and_is_gone_is_not_made_again(tmp_path: Path, custom: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("a.txt")
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        refused(await bench.write("a.txt", BASE + "x\n"), Kind.DELETED)
        assert not (tmp_path / "a.txt").exists()

    play(tmp_path, VSCODE, case, custom=custom)


def test_closed_while_the_edit_is_on_its_way(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("two", "TWO")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        done(await bench.write("a.txt", wanted))
        assert (tmp_path / "a.txt").read_text() == wanted

    play(tmp_path, replace(WELL_BEHAVED, closes_first=True, unopened="refused"), case)


def test_a_file_on_disk_changed_by_somebody_else_is_merged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("a.txt")
        (tmp_path / "a.txt").write_text("zero\n" + BASE)
        done(await bench.write("a.txt", BASE.replace("four", "FOUR")))
        assert (tmp_path / "a.txt").read_text() == "zero\n" + BASE.replace("four", "FOUR")

    play(tmp_path, VSCODE, case, custom=False)


# Saving


@pytest.mark.parametrize(
    ("policy", "dirty", "saved"),
    [
        ("save-if-was-clean", False, True),
        ("save-if-was-clean", True, False),
        ("always", True, True),
        ("never", False, False),
    ],
)
def test_after_write(tmp_path: Path, policy: str, dirty: bool, saved: bool) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        if dirty:
            editor.types("a.txt", "typed\n", at=0)
        answer = done(await bench.write("a.txt", BASE.replace("four", "FOUR")))
        assert answer.saved is saved
        assert ("FOUR" in (tmp_path / "a.txt").read_text()) is saved
        assert bool(answer.note) is not saved

    play_seen(tmp_path, VSCODE, case, settings={"afterWrite": policy})


def test_a_save_that_fails_is_still_a_write_that_succeeded(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        answer = done(await bench.write("a.txt", BASE.replace("four", "FOUR")))
        assert answer.saved is False
        assert "could not save" in answer.note
        assert "FOUR" in editor.text("a.txt")

    play_seen(tmp_path, replace(VSCODE, save_fails="always"), case)


def test_save_participants_do_not_disturb_the_next_write(tmp_path: Path) -> None:
    """A formatter changes the text at every save; the agent, which believes its own text, must not undo that."""
    (tmp_path / "a.txt").write_text(BASE)
    habits = replace(VSCODE, on_save=lambda text: text.replace("FOUR ", "FOUR"))

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        done(await bench.write("a.txt", BASE.replace("four", "FOUR ")))
        assert editor.text("a.txt") == BASE.replace("four", "FOUR")
        done(await bench.write("a.txt", BASE.replace("four", "FOUR ").replace("one", "ONE")))
        assert editor.text("a.txt") == BASE.replace("four", "FOUR").replace("one", "ONE")

    play(tmp_path, habits, case)


# Order


@every_editor
def test_pipelined_write_write_read(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        first = asyncio.ensure_future(bench.write("a.txt", BASE + "first\n"))
        second = asyncio.ensure_future(bench.write("a.txt", BASE + "second\n"))
        read = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.gather(first, second, read)
        assert read.result() == BASE + "second\n"
        assert editor.text("a.txt") == BASE + "second\n"

    play_seen(tmp_path, habits, case)


def test_a_read_that_was_answered_late_is_still_older_than_the_write_that_came_after_it(
    tmp_path: Path,
) -> None:
    """The agent sends all three at once, and the last write once more: what it was read does not have that write, and is no sign that it is gone."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        last = BASE + "first\nsecond\n"
        first = asyncio.ensure_future(bench.write("a.txt", BASE + "first\n"))
        read = asyncio.ensure_future(bench.read("a.txt"))
        second = asyncio.ensure_future(bench.write("a.txt", last))
        await asyncio.gather(first, read, second)
        editor.types("a.txt", "typed\n", at=len(BASE + "first\n"))
        await bench.write("a.txt", last)
        assert editor.text("a.txt") == BASE + "first\ntyped\nsecond\n"

    play_seen(tmp_path, VSCODE, case)


def test_a_write_of_a_dead_agent_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    async def case(bench: Bench, editor: FakeEditor) -> None:
        write = asyncio.ensure_future(bench.write(".git/config", "x"))
        await asyncio.sleep(1)
        assert editor.asked
        bench.workspace.agent_died([bench.session], "it died")
        refused(await write, Kind.DENIED_BY_USER)
        assert not (tmp_path / ".git/config").exists()
        assert editor.withdrawn

    async def later(_: object) -> str:
        await asyncio.sleep(60)
        return "allow"

    play(tmp_path, VSCODE, case, answer=later)


# Refusals that change nothing


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.bin", "text", Kind.BINARY),
        ("latin.txt", "text", Kind.UNDECODABLE),
        ("a.txt", "x" * 3000, Kind.TOO_LARGE),
        ("a.txt", "é" * 1500, Kind.TOO_LARGE),  # 3,000 bytes
        ("a.txt", "x" * 1500 + "\U0001f600", Kind.TOO_LARGE),  # 6,000 bytes as Python keeps it
        ("a.txt", "lone \ud800", Kind.UNENCODABLE),
        ("new.txt", "nul \0", Kind.UNENCODABLE),
        ("/etc/passwd", "x", Kind.OUTSIDE),
        ("folder", "x", Kind.NOT_A_FILE),
    ],
)
def test_refused_and_nothing_written(tmp_path: Path, name: str, content: str, kind: Kind) -> None:
    (tmp_path / "a.bin").write_bytes(b"a\0b")
    (tmp_path / "latin.txt").write_bytes("grün".encode("latin-1"))
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "folder").mkdir()

    async def case(bench: Bench, editor: FakeEditor) -> None:
        refused(await bench.write(name, content), kind)
        assert (tmp_path / "a.txt").read_text() == BASE
        assert not (tmp_path / "new.txt").exists()

    play(tmp_path, VSCODE, case, custom=False, settings={"maxFileBytes": 2000})


def test_a_journal_that_cannot_be_written_stops_the_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def main() -> None:
        journal = MemoryJournal()
        journal.fail = "disk full"
        editor = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, editor, journal=journal) as bench:
            editor.attach(bench.workspace.apply)
            for name in ("a.txt", "new.txt"):
                answer = refused(await bench.write(name, "x\n"), Kind.JOURNAL_FAILED)
                assert "disk full" in answer.message
            editor.opens("a.txt")
            refused(await bench.write("a.txt", "x\n"), Kind.JOURNAL_FAILED)
        assert (tmp_path / "a.txt").read_text() == BASE
        assert not (tmp_path / "new.txt").exists()
        assert not editor.sent

    run(main())


@pytest.mark.parametrize(
    ("mode", "answer", "written"), [("deny", "allow", False), ("ask", "allow", True), ("ask", None, False)]
)
def test_modes(tmp_path: Path, mode: str, answer: str | None, written: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.write("a.txt", "x\n")
        assert isinstance(result, WriteDone) is written

    editor = play(tmp_path, VSCODE, case, settings={"writes": mode}, answer=lambda question: answer)
    assert len(editor.asked) == (mode == "ask")


def test_protected_files_ask_in_every_mode_also_when_they_do_not_exist(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        refused(await bench.write(".vscode/settings.json", "{}"), Kind.DENIED_BY_USER)
        assert not (tmp_path / ".vscode").exists()

    editor = play(tmp_path, VSCODE, case)
    assert str(tmp_path / ".vscode/settings.json") in editor.asked[0].text


def test_a_failed_save_is_tried_again_at_the_end_of_the_turn(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("four", "FOUR")

    async def main() -> None:
        agents = IdleAgents()
        editor = FakeEditor(replace(VSCODE, save_fails="always"), tmp_path)
        async with a_workspace(tmp_path, editor, agents) as bench:
            editor.attach(bench.workspace.apply)
            editor.opens("a.txt")
            _, _, outcome = bench.workspace.start_prompt(bench.session, [])
            await asyncio.sleep(0.1)
            await bench.read("a.txt")
            assert done(await bench.write("a.txt", wanted)).saved is False
            editor.model.habits = VSCODE
            assert agents.stop is not None
            agents.stop.set_result("end_turn")
            await outcome
            assert (tmp_path / "a.txt").read_text() == wanted

    run(main())


def test_the_user_is_told_of_a_conflict_once_a_turn(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "two", "mine")
        for _ in range(3):
            refused(await bench.write("a.txt", BASE.replace("two", "agent's")), Kind.CONFLICT)

    editor = play_seen(tmp_path, VSCODE, case)
    ((_, words),) = editor.shown
    assert "near line 2" in words
    assert "Your text stays" in words


def test_what_an_agent_believes_follows_a_rename(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("old/a.txt")
        done(await bench.write("old/a.txt", BASE + "first\n"))
        (tmp_path / "old").rename(tmp_path / "new")
        bench.workspace.renamed([(from_path(bench.path("old")), from_path(bench.path("new")))])
        done(await bench.write("new/a.txt", BASE + "first\nsecond\n"))
        assert (tmp_path / "new/a.txt").read_text() == BASE + "first\nsecond\n"
        (row, *_) = bench.workspace.review.changes(Selector(everything=True))
        assert row["uri"] == bench.uri("new/a.txt")

    play(tmp_path, VSCODE, case, custom=False)


@every_editor
def test_typing_on_another_line_inside_the_lag_leaves_one_undo_step(tmp_path: Path, habits: Habits) -> None:
    """Typing behind the edit moves nothing: an editor that applies by old versions still applies at the right place."""
    (tmp_path / "a.txt").write_text(BASE)
    wanted = BASE.replace("two", "TWO")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        write = asyncio.ensure_future(bench.write("a.txt", wanted))
        await asyncio.sleep(0.05)
        editor.types("a.txt", "!", at=len(BASE) - 1)
        done(await write)
        await asyncio.sleep(3)
        assert editor.text("a.txt") == wanted[:-1] + "!\n"
        ((old, new),) = [
            (r["oldText"], r["newText"]) for r in bench.workspace.review.changes(Selector(everything=True))
        ]
        assert (old, new) == ("two", "TWO")
        if not habits.undo_joins:
            editor.undoes("a.txt")
            assert editor.text("a.txt") == BASE[:-1] + "!\n"

    play(tmp_path, habits, case, arrives_after=0.1)


def test_typing_into_an_editor_that_refuses_every_edit_is_not_a_conflict(tmp_path: Path) -> None:
    """A conflict would make the agent read and write for ever."""

    async def case(bench: Bench, editor: FakeEditor) -> None:

        async def typist() -> None:
            while True:
                editor.types("a.txt", "x", at=0)
                await asyncio.sleep(0.1)

        typing = asyncio.ensure_future(typist())
        refused(await bench.write("a.txt", BASE + "six\n"), Kind.EDITOR_REFUSED)
        typing.cancel()

    play_seen(tmp_path, KATE, case, custom=False)
