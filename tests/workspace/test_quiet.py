"""Nothing comes from an agent, or a turn ends without an answer: the conversation says so."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import Option, Question
from sidecar.workspace.sessions.quiet import SILENT_SECONDS
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, a_workspace

Turn = Callable[[Bench, "Agents"], Awaitable[str]]


class Agents(IdleAgents):
    """Each turn is what `turn` does; it gives the stop reason."""

    def __init__(self, turn: Callable[[], Awaitable[str]]) -> None:
        super().__init__()
        self.turn = turn
        self.sign = 0.0
        self.words: builtins.list[str] = []

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, Any]]) -> str:
        return await self.turn()

    def silent_for(self, session_id: str) -> float:
        return asyncio.get_running_loop().time() - self.sign

    def last_words(self, session_id: str) -> builtins.list[str]:
        return self.words


def says(bench: Bench, agents: Agents, kind: str = "agent_message_chunk", **more: Any) -> None:
    agents.sign = asyncio.get_running_loop().time()
    update: Json = {"sessionUpdate": kind, "content": {"type": "text", "text": "hello"}, **more}
    bench.workspace.session_update(bench.session, update)


def told(folder: Path, turn: Turn, *, turns: int = 1, **editor: Any) -> list[str]:
    """The lines in the conversation."""

    async def main() -> list[str]:
        fake = FakeEditor(VSCODE, folder, **editor)
        agents = Agents(lambda: turn(bench, agents))
        async with a_workspace(folder, fake, agents) as bench:
            fake.attach(bench.workspace.apply)
            await asyncio.sleep(100)  # its last sign is long ago
            for _ in range(turns):
                await bench.workspace.start_prompt(bench.session, [{"type": "text", "text": "go"}])[2]
            await asyncio.sleep(2 * SILENT_SECONDS)
        return [words for _, words in fake.notices]

    return run(main())


SIGN = "No sign of agent for 30 seconds. It may be waiting for its model. You can go on waiting, or stop the turn."
EMPTY = "agent ended the turn without an answer."


@pytest.mark.parametrize(("seconds", "count"), [(SILENT_SECONDS - 1, 0), (SILENT_SECONDS + 1, 1), (200.0, 1)])
def test_silence_is_told_once_a_turn(tmp_path: Path, seconds: float, count: int) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        says(bench, agents)
        await asyncio.sleep(seconds)
        says(bench, agents)
        return "end_turn"

    assert told(tmp_path, turn, turns=2) == [SIGN] * count * 2


def test_an_agent_that_gives_signs_is_not_silent(tmp_path: Path) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        for _ in range(10):
            says(bench, agents, "agent_thought_chunk")
            await asyncio.sleep(SILENT_SECONDS - 1)
        says(bench, agents)
        return "end_turn"

    assert told(tmp_path, turn) == []


def test_nor_one_whose_tool_runs(tmp_path: Path) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        says(bench, agents, "tool_call", toolCallId="c", kind="execute", status="in_progress")
        await asyncio.sleep(200)
        says(bench, agents, "tool_call_update", toolCallId="c", status="completed")
        return "end_turn"

    assert told(tmp_path, turn) == []


def test_nor_one_that_waits_for_the_user(tmp_path: Path) -> None:
    async def answer(_: Question) -> str:
        await asyncio.sleep(200)
        return "yes"

    async def turn(bench: Bench, agents: Agents) -> str:
        option = Option("yes", "allow_once", "Yes")
        assert (
            await bench.workspace.ask(Question("q", bench.session, "write", "?", (option,), "", {})) == "yes"
        )
        says(bench, agents)
        return "end_turn"

    assert told(tmp_path, turn, answer=answer) == []


def test_a_turn_without_an_answer_is_told(tmp_path: Path) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        says(bench, agents, "agent_thought_chunk")
        return "end_turn"

    assert told(tmp_path, turn) == [EMPTY]


def test_with_what_the_agent_wrote_to_its_error_output_meanwhile(tmp_path: Path) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        agents.words = ["401 invalid x-api-key"]
        return "end_turn"

    assert told(tmp_path, turn, turns=2) == [
        f"{EMPTY} Its error output ends:\n  401 invalid x-api-key",
        EMPTY,
    ]


@pytest.mark.parametrize("stop", ["cancelled", "refusal", "max_tokens"])
def test_one_that_ended_otherwise_says_so_itself(tmp_path: Path, stop: str) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        return stop

    assert told(tmp_path, turn) == []


@pytest.mark.parametrize("kind", ["agent_message_chunk", "tool_call", "plan"])
def test_one_that_said_or_did_something_is_none(tmp_path: Path, kind: str) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        says(bench, agents, kind, toolCallId="c", status="completed", entries=[])
        return "end_turn"

    assert told(tmp_path, turn) == []


def test_what_happened_to_a_session_is_said_in_its_conversation(tmp_path: Path) -> None:
    async def turn(bench: Bench, agents: Agents) -> str:
        bench.workspace.notice(bench.session, "It was started again.")
        bench.workspace.notice("nobody", "It was started again, too.")
        says(bench, agents)
        return "end_turn"

    assert told(tmp_path, turn) == ["It was started again."]
