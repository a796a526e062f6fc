"""An agent that was shown a text and then sends a change of it means that change, whatever it wrote or was shown before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, WELL_BEHAVED
from tests.support.editor_time import run
from tests.support.meaning import PLACES, Values, changed, meant, text_of, values_of
from tests.support.workspaces import Bench, IdleAgents, a_workspace
from tests.workspace.test_in_flight import tool
from tests.workspace.test_writes import BASE, done, play_seen


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


WAYS = "types types takes-back empties undoes redoes rejects saves turn reads reads part writes writes again more"
STEPS = st.lists(
    st.tuples(st.sampled_from(WAYS.split()), st.integers(0, PLACES - 1), st.integers(0, 9)),
    min_size=3,
    max_size=15,
)


@example([("types", 0, 0), ("part", 0, 0), ("writes", 0, 1)], False)
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
    held: set[Values] = set()
    """What the disk held since the model was shown the whole text."""
    on_disk: set[Values] = set()
    """What of that a call that read a part through us may have read there."""
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
            held.add(values_of((folder / "a.txt").read_text()))
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
                    for texts in (unseen, held, on_disk):
                        texts.clear()
                case "part":
                    text = text_of(now)
                    await reads(text[: text.index(f"above {place}")].count("\n") + 1, 9)
                    saw = changed(saw, place, now[place])
                    unseen.clear()
                    on_disk |= held
                case _:
                    sent = known[number % len(known)] if step != "writes" else saw
                    sent = sent if step == "again" else changed(sent, place, mine)
                    if rereads:
                        await bench.read("a.txt")
                        unseen.add(now)
                    answer = await bench.write("a.txt", text_of(sent))
                    saw = await _ended(editor, answer, saw, now, sent, unseen - {saw}, on_disk)
                    if isinstance(answer, WriteDone):
                        unseen.clear()
                        on_disk.clear()
                    known.append(sent)
            await asyncio.sleep(1)


async def _ended(
    editor: FakeEditor,
    answer: WriteDone | Refusal,
    saw: Values,
    now: Values,
    sent: Values,
    unseen: set[Values],
    on_disk: set[Values],
) -> Values:
    """What the agent knows then."""
    await asyncio.sleep(1)
    expected, then = meant(saw, now, sent), values_of(editor.text("a.txt"))
    may_be_of_another = _has_of_another(sent, saw, unseen | on_disk)
    if isinstance(answer, Refusal):
        assert answer.kind is Kind.CONFLICT
        assert then == now
        assert expected is None or unseen or may_be_of_another, answer
        return saw
    assert then == expected or may_be_of_another
    return sent


def _has_of_another(sent: Values, saw: Values, others: set[Values]) -> bool:
    """Whether what was sent has something that the agent did not see, but one of `others` has: then it cannot be told from a change of that one."""
    only_there = {
        (place, value)
        for text in others
        for place, value in enumerate(text)
        if value != saw[place] and (value or value not in saw)
    }
    return bool(only_there & set(enumerate(sent)) or {value for _, value in only_there} - {*saw} & {*sent})
