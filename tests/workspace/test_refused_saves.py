"""Laws about saves that the editor tells of and did not make: what the user typed stays until the disk has said it, whatever programs and agents write
there; and what programs wrote there before the agent did is not the agent's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import NEOVIM, NEOVIM_OURS, VSCODE, Habits
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, Turn, listed, opened, play


class People:
    """A user who types and saves beside an agent and a program that write the disk."""

    def __init__(self, turn: Turn, editor: FakeEditor, random: Random) -> None:
        self._turn, self._editor, self._random = turn, editor, random
        self._path = Path(turn.bench.path("a.txt"))
        self.unsaved: list[str] = []
        """What was typed and never was on the disk."""
        self._tokens = 0

    async def work(self) -> None:
        steps = [self.types, self.types, self.saves, self.checks_out, self.program, self.agent, self.agent]
        for _ in range(14):
            self._random.choice(steps)()
            self.look()
            await asyncio.sleep(self._random.choice([0, 0, 0.1, 0.4, 3]))
            self.look()

    def look(self) -> None:
        disk = self._path.read_text()
        self.unsaved = [token for token in self.unsaved if token not in disk]

    def types(self) -> None:
        self._tokens += 1
        token = f"u{self._tokens}x"
        text = self._editor.text("a.txt")
        at = self._random.choice([0, *(i + 1 for i, char in enumerate(text) if char == "\n")])
        self._editor.types("a.txt", f"{token}\n", at=at)
        self.unsaved.append(token)

    def saves(self) -> None:
        self._editor.saves("a.txt")

    def checks_out(self) -> None:
        self._turn.puts("a.txt", BASE)

    def program(self) -> None:
        self._turn.puts("a.txt", f"program {self._random.random()}\n{self._path.read_text()}")

    def agent(self) -> None:
        """Its tool takes a line away, or adds one."""
        lines = self._path.read_text().splitlines(keepends=True)
        at = self._random.randrange(len(lines))
        lines[at : at + 1] = self._random.choice([[], [lines[at], "agent\n"], ["agent\n"]])
        self._turn.says("edit", "a.txt", call=f"c{self._random.random()}")
        self._turn.puts("a.txt", "".join(lines) or "\n")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("habits", [NEOVIM, NEOVIM_OURS, VSCODE], ids=["neovim", "neovim, ours", "vscode"])
def test_what_never_was_on_the_disk_is_still_there(tmp_path: Path, habits: Habits, seed: int) -> None:
    people: list[People] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        people.append(People(turn, editor, Random(seed)))
        await people[0].work()
        await asyncio.sleep(5)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        (user,) = people
        assert [token for token in user.unsaved if token not in editor.text("a.txt")] == []

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("later", [0, 0.06, 0.4])
@pytest.mark.parametrize("agent_later", [0.2, 0.3, 0.5])
@pytest.mark.parametrize("habits", [NEOVIM, NEOVIM_OURS], ids=["neovim", "neovim, ours"])
def test_what_a_program_wrote_before_the_agent_is_not_the_agents(
    tmp_path: Path, habits: Habits, agent_later: float, later: float, closes: bool
) -> None:
    """The user types and saves meanwhile, and Neovim, which was told not to write over that file, tells of each save. It may be closed without a save
    before anybody has found out that there was none."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.puts("a.txt", f"program\n{BASE}")
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        tick()
        await asyncio.sleep(later)
        editor.saves("a.txt")
        editor.replaces("a.txt", "three\n", "three and\n")
        editor.saves("a.txt")
        await asyncio.sleep(0.03)
        editor.replaces("a.txt", "three and\n", "three and more\n")
        await asyncio.sleep(agent_later)
        tick()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", f"agent\nprogram\n{BASE}")
        turn.says("edit", "a.txt", status="completed")
        await asyncio.sleep(0.05)
        if closes:
            editor.saves("a.txt")
            await asyncio.sleep(0.1)
            editor.closes("a.txt")
            await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", "agent\n")]

    play(tmp_path, habits, script, before=opened, after=after)


@pytest.mark.parametrize("closed_later", [0.1, 0.3, 0.5, 1])
@pytest.mark.parametrize("habits", [NEOVIM, NEOVIM_OURS], ids=["neovim", "neovim, ours"])
def test_nor_is_it_if_both_wrote_before_such_saves(
    tmp_path: Path, habits: Habits, closed_later: float
) -> None:
    """The agent had read what the program wrote, and the text of a save that was not made did not come after that."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.puts("a.txt", f"program\n{BASE}")
        turn.bench.workspace.files_changed([turn.bench.uri("a.txt")])
        tick()
        await asyncio.sleep(0.2)
        tick()
        turn.says("edit", "a.txt")
        turn.puts("a.txt", f"agent\nprogram\n{BASE}")
        turn.says("edit", "a.txt", status="completed")
        editor.saves("a.txt")
        await asyncio.sleep(0.05)
        editor.replaces("a.txt", "three\n", "three and\n")
        editor.saves("a.txt")
        await asyncio.sleep(0.05)
        editor.replaces("a.txt", "three and\n", "three and more\n")
        editor.saves("a.txt")
        await asyncio.sleep(closed_later)
        editor.closes("a.txt")
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", "agent\n")]

    play(tmp_path, habits, script, before=opened, after=after)
