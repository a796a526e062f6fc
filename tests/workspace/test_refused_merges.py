"""An editor without anything of ours (no reload, no lenses) refuses to take what changed on the disk: the sidecar tries again, and then says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.model import Answer
from sidecar.workspace.ports.ports import AgentFailed
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import HELIX, KATE, WELL_BEHAVED, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn

MINE = CHANGED.replace("one", "mine")
"""Both changes."""


def play(
    folder: Path,
    refusals: int,
    after: Callable[[Bench, FakeEditor], Awaitable[None]],
    *,
    habits: Habits = WELL_BEHAVED,
    **editor: Any,
) -> FakeEditor:
    """The user has changed line 1, an agent then changes line 4 on the disk; the editor refuses that many edits."""
    agents = Agent()

    async def edits(turn: Turn) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(10)
        turn.says("edit", "a.txt", status="completed")

    async def main() -> FakeEditor:
        fake = FakeEditor(habits, folder, custom=False, **editor)
        refusal, left = fake.model.refusal, [refusals]

        def refuses(step: Any) -> Answer | None:
            left[0] -= 1
            return Answer(False, "busy") if left[0] >= 0 else refusal(step)

        fake.model.refusal = refuses
        (folder / "a.txt").write_text(BASE)
        async with a_workspace(folder, fake, agents) as bench:
            agents.bench, agents.script = bench, edits
            fake.attach(bench.workspace.apply)
            fake.opens("a.txt")
            await asyncio.sleep(1)
            fake.replaces("a.txt", "one", "mine")
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(20)
            await after(bench, fake)
        return fake

    return run(main())


def told(fake: FakeEditor) -> list[str]:
    return [words for level, words in fake.shown if level == "warning"]


@pytest.mark.parametrize("refusals", [1, 2])
def test_it_is_tried_again(tmp_path: Path, refusals: int) -> None:
    async def after(bench: Bench, fake: FakeEditor) -> None:
        assert fake.text("a.txt") == MINE
        assert bench.workspace.conflicts.rows() == []

    assert told(play(tmp_path, refusals, after)) == []


WORDS = "{} was changed on disk and your editor does not accept that change (line 4). Your text is unchanged. Decide there with the lenses or code actions, or compare before you save."


@pytest.mark.parametrize(("refusals", "habits"), [(3, WELL_BEHAVED), (5, HELIX), (999, KATE)])
def test_then_it_is_a_conflict_and_the_user_is_told(tmp_path: Path, refusals: int, habits: Habits) -> None:
    async def after(bench: Bench, fake: FakeEditor) -> None:
        (row,) = bench.workspace.conflicts.rows()
        (hunk,) = row["hunks"]
        assert (hunk["mine"], hunk["agent"], row["agent"]) == ("four\n", "FOUR\n", "agent")
        assert fake.text("a.txt") == BASE.replace("one", "mine")
        assert len(fake.sent) == 3, "and then it is left alone"
        with pytest.raises(AgentFailed, match="would refuse the agent's, too"):
            await bench.workspace.resolver.resolve(str(row["conflictId"]), "ask")

    assert told(play(tmp_path, refusals, after, habits=habits)) == [WORDS.format(tmp_path / "a.txt")]


@pytest.mark.parametrize(("take", "text"), [("agent", MINE), ("mine", BASE.replace("one", "mine"))])
def test_it_can_be_decided(tmp_path: Path, take: Any, text: str) -> None:
    """The agent's side by another try, which the editor may take by now; the user's by leaving it, so that saving writes over the disk."""

    async def after(bench: Bench, fake: FakeEditor) -> None:
        (row,) = bench.workspace.conflicts.rows()
        done = await bench.workspace.resolver.resolve(row["conflictId"], take)
        assert done["outcome"] == take
        assert fake.text("a.txt") == text
        assert bench.workspace.conflicts.rows() == []
        await asyncio.sleep(20)
        assert fake.overwrites("a.txt")
        await asyncio.sleep(20)
        assert (bench.folder / "a.txt").read_text() == text
        assert fake.text("a.txt") == text

    play(tmp_path, 3, after)


def test_a_newer_text_on_the_disk_is_tried_again(tmp_path: Path) -> None:
    async def after(bench: Bench, fake: FakeEditor) -> None:
        assert len(bench.workspace.conflicts.rows()) == 1
        (bench.folder / "a.txt").write_text(CHANGED.replace("five", "FIVE"))
        assert await bench.read("a.txt") == MINE.replace("five", "FIVE")
        assert fake.text("a.txt") == MINE.replace("five", "FIVE")
        assert bench.workspace.conflicts.rows() == []

    play(tmp_path, 3, after)


def test_saving_ends_it(tmp_path: Path) -> None:
    async def after(bench: Bench, fake: FakeEditor) -> None:
        assert fake.overwrites("a.txt")
        await asyncio.sleep(5)
        assert bench.workspace.conflicts.rows() == []
        assert (bench.folder / "a.txt").read_text() == BASE.replace("one", "mine")

    play(tmp_path, 3, after)
