"""A cancel at any moment of a prompt's way to its agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.acp.test_agents import HANGS, TEXT, agents
from tests.support.agents import command, received

STEPS = ["session/prompt", "session/cancel"]


@pytest.mark.parametrize("later", range(8))
async def test_cancel_at_every_step_of_a_prompt(later: int, tmp_path: Path) -> None:
    """The agent gets no prompt, or the prompt and then the cancel."""
    script = {"turns": [[{"wait_for": "session/cancel"}, {"stop": "cancelled"}]]}
    trace = tmp_path / "trace"
    async with agents(tmp_path, fake=command(script, trace)) as side:
        await side.open()
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        for _ in range(1 + later):  # the first lets `prompt` begin
            await asyncio.sleep(0)
        side.agents.cancel("S1")
        async with asyncio.timeout(HANGS / 2):
            assert await turn == "cancelled"
    told = [message["method"] for message in received(trace) if message["method"] in STEPS]
    assert told in ([], STEPS)
