"""`"writes": "deny"`, and an agent that changes files all the same, because it never asks: it is stopped, and not used any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sidecar.acp.permission import question
from sidecar.workspace.ports.ports import AgentFailed, Option
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.repositories import git
from tests.support.workspaces import Bench, a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn, listed

Case = Callable[[Turn, FakeEditor], Awaitable[None]]
STOPPED = (
    "agent has changed {} by itself, though your settings deny that. It was stopped, and is not used any more until you start the"
    " editor again or allow writing. The change is listed, and can be rejected."
)


class Cancelled(Agent):
    def __init__(self) -> None:
        super().__init__()
        self.prompts = 0

    async def prompt(self, session_id: str, blocks: object) -> str:
        self.prompts += 1
        return await super().prompt(session_id, ())


def play(
    folder: Path, script: Case, *, writes: str = "deny", after: Callable[[Bench], Awaitable[None]]
) -> tuple[Cancelled, list[str]]:
    agents = Cancelled()

    async def main() -> list[str]:
        (folder / "a.txt").write_text(BASE)
        (folder / ".agent").mkdir()
        git(folder, "init", "--quiet")
        fake = FakeEditor(VSCODE, folder)
        async with a_workspace(folder, fake, agents, {"writes": writes}) as bench:
            agents.bench = bench
            agents.script = lambda turn: script(turn, fake)
            fake.attach(bench.workspace.apply)
            fake.opens("a.txt")
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(3)
            await after(bench)
        return [words for level, words in fake.shown if level == "warning"]

    return agents, run(main())


async def edits_it(turn: Turn, editor: FakeEditor) -> None:
    turn.says("edit", "a.txt")
    turn.puts("a.txt", CHANGED)
    await asyncio.sleep(2)
    turn.says("edit", "a.txt", status="completed")


def a_call_that_puts(kind: str, name: str, text: str) -> Case:
    """A tool call of this kind, which names no file, and while it runs, a file says this."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says(kind)
        turn.puts(name, text)
        await asyncio.sleep(2)
        turn.says(kind, status="completed")

    return script


runs_a_command = a_call_that_puts("execute", "a.txt", CHANGED)
makes_a_file = a_call_that_puts("execute", "new.txt", "new\n")
notes_something_of_its_own = a_call_that_puts("other", ".agent/log.txt", "hello\n")
"""In a repository, where it is found and listed."""


async def refused_and_edits_it(turn: Turn, editor: FakeEditor) -> None:
    assert await asks(turn, "edit") == "no"
    await edits_it(turn, editor)


async def asks(turn: Turn, kind: str) -> str | None:
    options = (Option("yes", "allow_once", "Yes"), Option("no", "reject_once", "No"))
    call = {"toolCallId": "c1", "kind": kind}
    return await turn.bench.workspace.ask(question("q", "agent", turn.session, call, options))


async def is_not_used_any_more(bench: Bench) -> None:
    outcome = await bench.workspace.start_prompt(bench.session, [])[2]
    assert "it has changed" in str(outcome.get("error")), outcome
    with pytest.raises(AgentFailed, match="agent is not used: your settings deny writing and commands"):
        await bench.workspace.new_session("agent", str(bench.folder))
    await bench.workspace.new_session("other", str(bench.folder))


@pytest.mark.parametrize(
    ("script", "name"),
    [
        (edits_it, "a.txt"),
        (runs_a_command, "a.txt"),
        (makes_a_file, "new.txt"),
        (refused_and_edits_it, "a.txt"),
    ],
)
def test_it_is_stopped_and_not_used_any_more(tmp_path: Path, script: Case, name: str) -> None:
    async def after(bench: Bench) -> None:
        assert [row[0] for row in listed(bench)] == [name]
        await is_not_used_any_more(bench)

    agents, shown = play(tmp_path, script, after=after)
    assert [words for words in shown if "by itself" in words] == [STOPPED.format(name)]
    assert (agents.prompts, agents.cancelled[:1] != []) == (1, True)


async def test_what_is_found_when_its_session_is_closed(tmp_path: Path) -> None:
    async with a_workspace(tmp_path, settings={"writes": "deny"}) as bench:
        closed = bench.workspace.state.sessions.get(await bench.another_session())
        assert closed is not None
        await bench.workspace.close_session(closed.id)
        bench.workspace._denied_writers.wrote(closed, bench.path("a.txt"), None)
        with pytest.raises(AgentFailed, match="agent is not used"):
            await bench.workspace.new_session()


async def reads_it(turn: Turn, editor: FakeEditor) -> None:
    turn.says("read", "a.txt")
    await asyncio.sleep(2)
    turn.says("read", "a.txt", status="completed")


async def while_a_refused_command_is_told_of(turn: Turn, editor: FakeEditor) -> None:
    """What somebody else changes then is not known to be its doing."""
    turn.says("execute")
    assert await asks(turn, "execute") == "no"
    turn.puts("a.txt", CHANGED)
    await asyncio.sleep(2)
    turn.says("execute", status="failed")


async def goes_on(bench: Bench) -> None:
    outcome = await bench.workspace.start_prompt(bench.session, [])[2]
    assert "error" not in outcome


@pytest.mark.parametrize("script", [reads_it, while_a_refused_command_is_told_of, notes_something_of_its_own])
def test_who_is_not_known_to_have_written_goes_on(tmp_path: Path, script: Case) -> None:
    agents, shown = play(tmp_path, script, after=goes_on)
    assert [words for words in shown if "by itself" in words] == []
    assert agents.prompts == 2


def test_where_writing_is_not_denied_nobody_is_stopped(tmp_path: Path) -> None:
    agents, shown = play(tmp_path, edits_it, writes="review", after=goes_on)
    assert [words for words in shown if "by itself" in words] == []
    assert agents.prompts == 2
