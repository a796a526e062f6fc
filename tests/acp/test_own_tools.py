"""How an agent's own tools are led to ours, and what happens when ours are not there."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.agents import HostedAgents
from sidecar.acp.own_tools.table import NONE, TABLE, own_tools_of
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.test_agents import HANGS, LADDER, LIMITS, TEXT
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
async def test_copilot_is_started_with_a_file_that_names_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    """It refuses servers that are programs when they come with a session. The file has the secret, and goes with the process."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    trace, tools = tmp_path / "trace", Tools(ready=False)
    started = command({"turns": [[{"cwd": True}]]}, trace)
    ours = {**OURS, "env": [{"name": "T", "value": "1"}]}
    agents = HostedAgents(
        {"copilot": started}, limits=LIMITS, ladder=LADDER, tool_server=lambda agent: ours, beside=beside
    )
    agents.serve(tools)
    request = SessionRequest(
        "S1", "copilot", str(tmp_path), mcp_servers=(OURS, THEIRS), own_server="sidecar", own_beside=beside
    )
    try:
        async with asyncio.timeout(HANGS):
            await agents.open_session(request)
            await agents.prompt("S1", TEXT)
            more = json.loads(tools.updates[-1][1]["content"]["text"])["more"]
            files = [path for path in tmp_path.joinpath("state").rglob("*") if path.is_file()]
            if beside:
                (file,) = files
                assert more == ["--additional-mcp-config", f"@{file}"]
                told = {
                    "type": "local",
                    "tools": ["*"],
                    "command": "/bin/sidecar",
                    "args": ["mcp"],
                    "env": {"T": "1"},
                }
                assert json.loads(file.read_text()) == {"mcpServers": {"sidecar": told}}
                if os.name == "posix":
                    assert file.stat().st_mode & 0o077 == 0
            else:
                assert (more, files) == ([], [])
            await agents.close_session("S1")
            assert not any(file.exists() for file in files)
    finally:
        await agents.aclose()
    (params,) = [m["params"] for m in received(trace) if m.get("method") == "session/new"]
    assert params["mcpServers"] == [THEIRS]


@pytest.mark.parametrize(
    "script", [{"start": [{"exit": 1}]}, {"turns": [[{"exit": 1}]]}], ids=["at its start", "in a turn"]
)
async def test_a_copilot_that_ends_by_itself_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: dict[str, Any]
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    agents = HostedAgents(
        {"copilot": command(script, tmp_path / "trace")},
        limits=LIMITS,
        ladder=LADDER,
        tool_server=lambda agent: OURS,
        beside=True,
    )
    agents.serve(Tools(ready=False))

    async def a_turn() -> None:
        await agents.open_session(SessionRequest("S1", "copilot", str(tmp_path)))
        await agents.prompt("S1", TEXT)

    try:
        async with asyncio.timeout(HANGS):
            with pytest.raises(AgentFailed):
                await a_turn()
            assert [path for path in tmp_path.joinpath("state").rglob("*") if path.is_file()] == []
    finally:
        await agents.aclose()


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
