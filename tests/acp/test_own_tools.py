"""How an agent's own tools are led to ours, and what happens when ours are not there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.agents import HostedAgents
from sidecar.acp.own_tools.table import NONE, TABLE, own_tools_of
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import SessionRequest
from tests.acp.test_agents import HANGS, LADDER, LIMITS
from tests.support.acp_wire import FakeWorkspace
from tests.support.agents import command, received

OURS = {"name": "sidecar", "command": "/bin/sidecar", "args": ["mcp"], "env": []}
THEIRS = {"name": "theirs", "command": "/bin/theirs", "args": [], "env": []}


class Tools(FakeWorkspace):
    def __init__(self, ready: bool) -> None:
        super().__init__()
        self.ready = ready
        self.waited: list[str] = []

    async def own_tools_ready(self, session_id: str) -> bool:
        self.waited.append(session_id)
        return self.ready


async def opened(
    tmp_path: Path, agent: str, ready: bool, *sessions: str, own: str = "sidecar", beside: bool = False
) -> tuple[Tools, list[Any]]:
    """What `session/new` was asked with, each time."""
    trace, tools = tmp_path / "trace", Tools(ready)
    agents = HostedAgents({agent: command({}, trace)}, limits=LIMITS, ladder=LADDER)
    agents.serve(tools)
    servers = (OURS, THEIRS) if own else (THEIRS,)
    try:
        async with asyncio.timeout(HANGS):
            for session in sessions or ("S1",):
                await agents.open_session(
                    SessionRequest(
                        session, agent, str(tmp_path), mcp_servers=servers, own_server=own, own_beside=beside
                    )
                )
    finally:
        await agents.aclose()
    return tools, [m["params"] for m in received(trace) if m.get("method") == "session/new"]


async def test_claude_is_told_to_use_ours_for_its_own(tmp_path: Path) -> None:
    tools, (params,) = await opened(tmp_path, "claude-code", True)
    options = params["_meta"]["claudeCode"]["options"]
    names = {name: f"mcp__sidecar__{name}" for name in ("Read", "Edit", "Write")}
    assert options == {"toolAliases": names, "allowedTools": list(names.values())}
    assert params["mcpServers"] == [{**OURS, "args": ["mcp", "--numbered"]}, THEIRS]
    assert tools.waited == ["S1"], "its tools would lead nowhere if ours were not there"


async def test_an_agent_that_does_not_start_ours_keeps_its_own(tmp_path: Path) -> None:
    """A policy of its user's may forbid the server. The session is opened again as it is without, and further ones are at once."""
    tools, asked = await opened(tmp_path, "claude-code", False, "S1", "S2")
    assert ["_meta" in params for params in asked] == [True, False, False]
    assert asked[1]["mcpServers"] == asked[2]["mcpServers"] == [THEIRS]
    assert tools.waited == ["S1"]


@pytest.mark.parametrize("beside", [False, True])
async def test_others_are_given_ours_only_when_the_user_wants_that(tmp_path: Path, beside: bool) -> None:
    """fast-agent refuses a second session when it is given a server of the same name with another token."""
    tools, (params,) = await opened(tmp_path, "somebody", False, beside=beside)
    assert "_meta" not in params
    assert params["mcpServers"] == ([OURS, THEIRS] if beside else [THEIRS])
    assert tools.waited == []


async def test_nothing_is_led_to_a_server_that_is_switched_off(tmp_path: Path) -> None:
    tools, (params,) = await opened(tmp_path, "claude-code", True, own="")
    assert "_meta" not in params
    assert params["mcpServers"] == [THEIRS]
    assert tools.waited == []


ROWS = [
    ("claude-code", AgentCommand("/x/claude-agent-acp"), True),
    ("mine", AgentCommand("npx", ("-y", "@agentclientprotocol/claude-agent-acp@1.2")), True),
    ("mine", AgentCommand("/x/agent", ("--model", "claude")), False),
    ("demo", AgentCommand("/x/demo"), False),
]


@pytest.mark.parametrize(("agent", "started", "live"), ROWS)
def test_a_row_is_found_by_what_the_user_configured(agent: str, started: AgentCommand, live: bool) -> None:
    assert own_tools_of(agent, started).live is live


def test_no_agent_has_two_rows() -> None:
    names = [name for row in TABLE for name in row.names]
    assert len(names) == len(set(names))
    assert NONE.meta("x") == {}
