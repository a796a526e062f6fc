"""`writes: "confirm"`: the answer to a write waits until the user has kept or rejected it, and says what they said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.workspace.edits.verdicts import NOT_DECIDED
from sidecar.workspace.edits.write_task import Replacing, WriteDone
from sidecar.workspace.ports.ports import Opens
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.workspaces import Bench, QuietEditor, a_workspace
from tests.workspace.test_review import ALL, only
from tests.workspace.test_writes import BASE, Case, done, every_editor, play_seen, refused

CONFIRM: dict[str, object] = {"writes": "confirm"}
WANTED = BASE.replace("two", "TWO").replace("five", "FIVE")
NOT_KEPT = "the user did not keep your change of {}"

Answer = asyncio.Future[WriteDone | Refusal]


async def waits(
    bench: Bench, content: str = WANTED, session: str | None = None, name: str = "a.txt"
) -> Answer:
    """A write that has reached the document, and is not answered."""
    writing = asyncio.ensure_future(bench.write(name, content, session))
    await asyncio.sleep(30)
    assert not writing.done()
    return writing


async def under_review(bench: Bench) -> None:
    there = asyncio.Event()
    bench.workspace.state.ledgers.on_moved.append(lambda reviewed: there.set())
    await asyncio.wait_for(there.wait(), 30)


def confirmed(folder: Path, habits: Habits, case: Case, **settings: object) -> FakeEditor:
    return play_seen(folder, habits, case, settings={**CONFIRM, **settings})


@every_editor
def test_what_is_kept_is_saved_and_then_answered(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        assert editor.text("a.txt") == WANTED
        assert (tmp_path / "a.txt").read_text() == BASE, "nothing is saved before the user has decided"
        first, second = bench.workspace.review.changes(ALL)
        bench.workspace.review.keep(only(first))
        await asyncio.sleep(5)
        assert not writing.done(), "half of it is not decided"
        assert (tmp_path / "a.txt").read_text() == BASE
        bench.workspace.review.keep(only(second))
        assert done(await writing).saved
        assert (tmp_path / "a.txt").read_text() == WANTED

    editor = confirmed(tmp_path, habits, case)
    words = "agent waits until you keep or reject its change to a.txt."
    assert [said for _, said in editor.notices] == [words], "in the conversation"
    buttons = dict(zip([said for _, said in editor.shown], editor.buttons, strict=True))
    assert words in buttons, "and for a user who looks elsewhere"
    assert buttons[words] == Opens.change(editor.uri("a.txt"))


@every_editor
def test_what_is_rejected_is_answered_with_the_users_reason(tmp_path: Path, habits: Habits) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        rejected = await bench.workspace.review.reject(ALL, "keep the names short")
        assert sorted(rejected.told) == sorted(rejected.done)
        answer = refused(await writing, Kind.REJECTED)
        assert answer.message == (
            f'{NOT_KEPT.format(bench.path("a.txt"))}. The user says: "keep the names short". '
            "Read the file again before you go on"
        )
        assert (editor.text("a.txt"), (tmp_path / "a.txt").read_text()) == (BASE, BASE)
        assert await bench.read("a.txt") == BASE

    confirmed(tmp_path, habits, case)


def test_one_is_kept_and_one_rejected(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        first, second = bench.workspace.review.changes(ALL)
        await bench.workspace.review.reject(only(first), "not this one")
        await asyncio.sleep(5)
        assert not writing.done()
        bench.workspace.review.keep(only(second))
        words = refused(await writing, Kind.REJECTED).message
        assert "kept 1 of your 2 changes" in words
        assert '"not this one"' in words
        assert (tmp_path / "a.txt").read_text() == BASE.replace("five", "FIVE"), "what is kept is saved"

    confirmed(tmp_path, VSCODE, case)


def test_a_rejection_without_a_reason_tells_nobody_one(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        assert (await bench.workspace.review.reject(ALL)).told == []
        assert "says" not in refused(await writing, Kind.REJECTED).message

    confirmed(tmp_path, VSCODE, case)


def test_undo_is_a_rejection(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        editor.undoes("a.txt")
        refused(await writing, Kind.REJECTED)
        assert (tmp_path / "a.txt").read_text() == BASE

    confirmed(tmp_path, VSCODE, case)


def test_what_the_user_typed_meanwhile_is_not_saved_with_it(tmp_path: Path) -> None:
    """As with every other save after a write: a file with unsaved work of the user's is left to them."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        editor.replaces("a.txt", "three", "my own")
        await asyncio.sleep(5)
        bench.workspace.review.keep(ALL)
        answer = done(await writing)
        assert not answer.saved
        assert "unsaved changes" in answer.note
        assert editor.text("a.txt") == WANTED.replace("three", "my own")
        assert (tmp_path / "a.txt").read_text() == BASE

    confirmed(tmp_path, VSCODE, case)


def test_lines_that_the_user_changes_inside_it_are_still_to_be_decided(tmp_path: Path) -> None:
    """Typing in the middle of a change makes two of it."""
    wanted = BASE + "a\nb\nc\n"

    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench, wanted)
        editor.replaces("a.txt", "b\n", "B\n")
        await asyncio.sleep(5)
        first, second = bench.workspace.review.changes(ALL)
        bench.workspace.review.keep(only(first))
        await asyncio.sleep(5)
        assert not writing.done()
        bench.workspace.review.keep(only(second))
        done(await writing)

    confirmed(tmp_path, VSCODE, case)


def test_a_later_write_of_the_same_lines_is_decided_for_both(tmp_path: Path) -> None:
    later = "one\nall of the others\n"

    async def case(bench: Bench, editor: FakeEditor) -> None:
        first = await waits(bench)
        second = await waits(bench, later)
        assert not first.done(), "its lines are part of a larger change now"
        bench.workspace.review.keep(ALL)
        assert done(await first).saved
        assert done(await second).saved
        assert (tmp_path / "a.txt").read_text() == later

    confirmed(tmp_path, VSCODE, case)


def test_a_read_meanwhile_sees_it_and_is_not_held_up(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        assert await bench.read("a.txt") == WANTED
        bench.workspace.review.keep(ALL)
        await writing

    confirmed(tmp_path, VSCODE, case)


def test_a_stop_answers_and_what_is_kept_later_is_saved(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench)
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        session.end_turn()
        answer = done(await writing)
        assert (answer.saved, answer.note) == (False, NOT_DECIDED)
        assert len(bench.workspace.review.changes(ALL)) == 2, "it stays under review"
        bench.workspace.review.keep(ALL)
        await asyncio.sleep(5)
        assert (tmp_path / "a.txt").read_text() == WANTED

    confirmed(tmp_path, VSCODE, case)


def test_a_write_that_changes_nothing_waits_for_nobody(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert done(await bench.write("a.txt", BASE)).undecided is None

    confirmed(tmp_path, VSCODE, case)


def test_a_file_that_is_not_open_stays_open_until_it_is_decided(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("b.txt")
        writing = await waits(bench, name="b.txt")
        assert editor.text("b.txt") == WANTED
        assert (tmp_path / "b.txt").read_text() == BASE
        bench.workspace.review.keep(Selector(uri=from_path(str(tmp_path / "b.txt"))))
        assert done(await writing).saved
        assert (tmp_path / "b.txt").read_text() == WANTED

    confirmed(tmp_path, VSCODE, case)


def test_a_new_file_that_is_rejected_goes(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        writing = await waits(bench, "new\n", name="new.txt")
        assert editor.text("new.txt") == "new\n"
        await bench.workspace.review.reject(ALL)
        refused(await writing, Kind.REJECTED)
        await asyncio.sleep(5)
        assert not (tmp_path / "new.txt").exists()

    confirmed(tmp_path, VSCODE, case)


def test_where_no_editor_takes_it_the_answer_waits_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def main(decide: Callable[[Bench], Any]) -> WriteDone | Refusal:
        async with a_workspace(tmp_path, QuietEditor(), settings=CONFIRM) as bench:
            await bench.read("a.txt")
            writing = asyncio.ensure_future(bench.write("a.txt", WANTED))
            await under_review(bench)
            assert (tmp_path / "a.txt").read_text() == WANTED
            assert not writing.done()
            await decide(bench)
            return await writing

    async def keep(bench: Bench) -> None:
        bench.workspace.review.keep(ALL)

    async def reject(bench: Bench) -> None:
        await bench.workspace.review.reject(ALL, "why?")

    assert '"why?"' in refused(asyncio.run(main(reject)), Kind.REJECTED).message
    assert (tmp_path / "a.txt").read_text() == BASE
    assert done(asyncio.run(main(keep))).saved


def test_edits_made_together_are_decided_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        answers: list[WriteDone] = []
        for name in ("a.txt", "b.txt"):
            ticket = bench.workspace.ticket(bench.session, bench.path(name), "write")
            change = Replacing(lambda text: text.replace("two", "TWO"))
            answers.append(done(await bench.workspace.edit(ticket, change, wait=False)))
        both = asyncio.gather(*(bench.workspace.decided(bench.session, answer) for answer in answers))
        await asyncio.sleep(5)
        of_a, of_b = bench.workspace.review.changes(ALL)
        bench.workspace.review.keep(only(of_b))
        await bench.workspace.review.reject(only(of_a))
        first, second = await both
        refused(first, Kind.REJECTED)
        assert done(second).saved

    confirmed(tmp_path, VSCODE, case)
