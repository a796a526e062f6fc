"""An agent that was shown a text and then sends a change of it means that change, whatever it wrote or was shown before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.review import Selector
from sidecar.workspace.write_task import WriteDone
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import NEOVIM, VSCODE, WELL_BEHAVED, Habits
from tests.support.editor_time import run
from tests.support.meaning import PLACES, Values, changed, meant, text_of, values_of
from tests.support.workspaces import Bench, IdleAgents, a_workspace
from tests.workspace.test_in_flight import tool
from tests.workspace.test_writes import BASE, done, play_seen, refused

B = BASE.replace("two", "TWO")
MORE = B.replace("five", "FIVE")


async def undone(bench: Bench, editor: FakeEditor) -> None:
    editor.undoes("a.txt")


async def rejected(bench: Bench, editor: FakeEditor) -> None:
    await bench.workspace.review.reject(Selector(everything=True))


async def retyped(bench: Bench, editor: FakeEditor) -> None:
    editor.replaces("a.txt", "TWO", "two")


@pytest.mark.parametrize("habits", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
@pytest.mark.parametrize(
    "sent", [B, MORE, B.replace("one\n", "ONE\n")], ids=["the same", "and more", "and above"]
)
@pytest.mark.parametrize("at", [0, len(BASE)], ids=["typed above", "typed below"])
@pytest.mark.parametrize("taken_back", [undone, rejected, retyped])
def test_what_was_taken_back_is_made_again(
    tmp_path: Path,
    taken_back: Callable[[Bench, FakeEditor], Awaitable[None]],
    at: int,
    sent: str,
    habits: Habits,
) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", B))
        await asyncio.sleep(1)
        await taken_back(bench, editor)
        await asyncio.sleep(1)
        assert await bench.read("a.txt") == BASE
        editor.types("a.txt", "typed\n", at=at)
        await asyncio.sleep(1)
        done(await bench.write("a.txt", sent))
        assert editor.text("a.txt") == ("typed\n" + sent if at == 0 else sent + "typed\n")

    play_seen(tmp_path, habits, case)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("turn", [False, True], ids=["one turn", "the next turn"])
def test_a_line_that_the_user_made_longer_is_rewritten_once_it_was_shown(
    tmp_path: Path, turn: bool, saved: bool
) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "two", "two and more of it")
        if saved:
            editor.saves("a.txt")
        await asyncio.sleep(1)
        if turn:
            session = bench.workspace.state.sessions.get(bench.session)
            assert session is not None
            session.begin_turn()
            session.prompted()
        await bench.read("a.txt")
        done(await bench.write("a.txt", BASE.replace("two", "second")))
        assert editor.text("a.txt") == BASE.replace("two", "second")

    play_seen(tmp_path, VSCODE, case)


@pytest.mark.parametrize("part", [False, True], ids=["all of it", "a part"])
def test_a_line_of_the_users_that_was_shown_can_be_removed(tmp_path: Path, part: bool) -> None:
    """ "Remove my print": what is sent then is exactly what the agent wrote before."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        done(await bench.write("a.txt", B))
        await asyncio.sleep(1)
        editor.types("a.txt", "print('debug')\n", at=len("one\nTWO\n"))
        await asyncio.sleep(1)
        tool(bench, "read", "read", "a.txt")
        await bench.read("a.txt", *((2, 3) if part else ()))
        tool(bench, "read", "read", status="completed")
        done(await bench.write("a.txt", B))
        assert editor.text("a.txt") == B

    play_seen(tmp_path, VSCODE, case)


def test_a_read_in_a_call_that_edits_is_its_programs(tmp_path: Path) -> None:
    """Whoever the agent is: what it reads while a tool of its edits, its model does not see before it is written."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        tool(bench, "edit", "edit")
        await bench.read("a.txt")
        done(await bench.write("a.txt", BASE.replace("four", "FOUR")))
        tool(bench, "edit", "edit", status="completed")
        assert editor.text("a.txt") == "typed\n" + BASE.replace("four", "FOUR")
        tool(bench, "read", "read")
        await bench.read("a.txt")
        tool(bench, "read", "read", status="completed")
        tool(bench, "again", "edit")
        await bench.read("a.txt")
        done(await bench.write("a.txt", BASE))
        assert editor.text("a.txt") == BASE, "now it was shown what was typed"

    play_seen(tmp_path, VSCODE, case)


def test_an_edit_of_what_the_program_has_just_read_keeps_all_of_it(tmp_path: Path) -> None:
    """Tools that replace a piece of text make what they send of the text as it is, which their model need not know."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "two", "two and more of it")
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        tool(bench, "edit", "edit")
        now = await bench.read("a.txt")
        assert isinstance(now, str)
        done(await bench.write("a.txt", now.replace("two", "2")))
        assert editor.text("a.txt") == now.replace("two", "2")

    play_seen(tmp_path, VSCODE, case)


def test_a_text_that_only_the_program_read_can_be_replaced(tmp_path: Path) -> None:
    """The model was shown nothing and read nothing elsewhere: it means to replace whatever is there."""
    (tmp_path / "b.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("b.txt")
        editor.types("b.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        tool(bench, "edit", "edit")
        await bench.read("b.txt")
        done(await bench.write("b.txt", "new\n"))
        assert editor.text("b.txt") == "new\n"

    play_seen(tmp_path, VSCODE, case)


def test_a_conflict_ends_when_the_agent_reads_again(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "two", "two and more of it")
        await asyncio.sleep(1)
        wanted = BASE.replace("two", "second")
        tool(bench, "edit", "edit")
        await bench.read("a.txt")
        refused(await bench.write("a.txt", wanted), Kind.CONFLICT)
        tool(bench, "edit", "edit", status="failed")
        await bench.read("a.txt")
        tool(bench, "again", "edit")
        await bench.read("a.txt")
        done(await bench.write("a.txt", wanted))
        assert editor.text("a.txt") == wanted

    play_seen(tmp_path, VSCODE, case)


WAYS = "types types takes-back empties undoes redoes rejects saves turn reads reads part writes writes again more"
STEPS = st.lists(
    st.tuples(st.sampled_from(WAYS.split()), st.integers(0, PLACES - 1), st.integers(0, 9)),
    min_size=3,
    max_size=15,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(STEPS, st.booleans())
def test_every_history_ends_as_it_was_meant(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], rereads: bool
) -> None:
    """`rereads`: the agent's program reads once more just before each write, and what its model reads is a tool call."""
    run(_history(tmp_path_factory.mktemp("meant"), steps, rereads))


async def _history(folder: Path, steps: list[tuple[str, int, int]], rereads: bool) -> None:
    nothing: Values = ("",) * PLACES
    (folder / "a.txt").write_text(text_of(nothing))
    editor = FakeEditor(WELL_BEHAVED, folder)
    saw, known = nothing, [nothing]
    unseen: set[Values] = set()
    """What the program read by itself since the model was shown a text."""
    async with a_workspace(folder, editor, IdleAgents(rereads=rereads)) as bench:
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")

        async def reads(*where: int) -> None:
            tool(bench, "r", "read")
            await bench.read("a.txt", *where)
            tool(bench, "r", "read", status="completed")

        await reads()
        for step, place, number in steps:
            now, mine = values_of(editor.text("a.txt")), f"value{number} of somebody"
            match step:
                case "types" | "takes-back" | "empties":
                    theirs = {"types": mine, "takes-back": known[number % len(known)][place], "empties": ""}[
                        step
                    ]
                    start = text_of(now).index(f"<<{place}\n") + 4
                    end, line = text_of(now).index(f">>{place}\n"), theirs and theirs + "\n"
                    if theirs != now[place]:
                        editor.model.replace(editor.uri("a.txt"), start, end, line)
                case "undoes":
                    editor.undoes("a.txt")
                case "redoes":
                    editor.redoes("a.txt")
                case "rejects":
                    await bench.workspace.review.reject(Selector(everything=True))
                case "saves":
                    editor.saves("a.txt")
                case "turn":
                    session = bench.workspace.state.sessions.get(bench.session)
                    assert session is not None
                    session.begin_turn()
                    session.prompted()
                case "reads":
                    await reads()
                    saw = now
                    unseen.clear()
                case "part":
                    text = text_of(now)
                    await reads(text[: text.index(f"above {place}")].count("\n") + 1, 9)
                    saw = changed(saw, place, now[place])
                    unseen.clear()
                case _:
                    sent = known[number % len(known)] if step != "writes" else saw
                    sent = sent if step == "again" else changed(sent, place, mine)
                    if rereads:
                        await bench.read("a.txt")
                        unseen.add(now)
                    answer = await bench.write("a.txt", text_of(sent))
                    saw = await _ended(editor, answer, saw, now, sent, unseen - {saw})
                    if isinstance(answer, WriteDone):
                        unseen.clear()
                    known.append(sent)
            await asyncio.sleep(1)


async def _ended(
    editor: FakeEditor,
    answer: WriteDone | Refusal,
    saw: Values,
    now: Values,
    sent: Values,
    unseen: set[Values],
) -> Values:
    """What the agent knows then."""
    await asyncio.sleep(1)
    expected, then = meant(saw, now, sent), values_of(editor.text("a.txt"))
    if isinstance(answer, Refusal):
        assert answer.kind is Kind.CONFLICT
        assert then == now
        assert expected is None or unseen, answer
        return saw
    if not {value for text in unseen for value in text if value not in saw} & set(sent):
        # else it cannot be told from a change of what the program has read
        assert then == expected
    return sent
