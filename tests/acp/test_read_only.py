"""`"writes": "deny"`: how agents are started that would change files or run commands without asking, and when they are not started."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.agents import HostedAgents
from sidecar.acp.read_only import AS_EVER, DENIED, READ_ONLY, read_only_of
from sidecar.config import AgentCommand, Transport
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.test_agents import HANGS, LADDER, LIMITS, TEXT
from tests.acp.test_own_tools import Tools
from tests.support.acp_wire import FakeWorkspace
from tests.support.agents import command, received

CAN_LOAD = {
    "reply": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"fork": {}}},
    }
}


def modes(*ids: str, name: str = "s1") -> dict[str, Any]:
    told = {"currentModeId": ids[0], "availableModes": [{"id": one, "name": one} for one in ids]}
    return {"reply": {"sessionId": name, "modes": told}}


@asynccontextmanager
async def hosted(
    agent: str, started: AgentCommand, **options: Any
) -> AsyncGenerator[tuple[HostedAgents, FakeWorkspace]]:
    agents = HostedAgents({agent: started}, limits=LIMITS, ladder=LADDER, **{"read_only": True, **options})
    workspace = Tools(ready=True)
    agents.serve(workspace)
    try:
        async with asyncio.timeout(HANGS):
            yield agents, workspace
    finally:
        await agents.aclose()


def request(agent: str, folder: Path) -> SessionRequest:
    return SessionRequest("S1", agent, str(folder))


def asked(trace: Path, *methods: str) -> list[tuple[str, Any]]:
    return [(m["method"], m["params"]) for m in received(trace) if m.get("method") in methods]


def test_others_are_started_as_ever() -> None:
    assert read_only_of("somebody", AgentCommand("/x/somebody")) is AS_EVER


async def told(agents: HostedAgents, workspace: FakeWorkspace, agent: str, folder: Path) -> dict[str, Any]:
    """With what its process was started, in its own words."""
    await agents.open_session(request(agent, folder))
    await agents.prompt("S1", TEXT)
    return json.loads(workspace.updates[-1][1]["content"]["text"])


def telling(trace: Path, *names: str, env: dict[str, str] | None = None) -> AgentCommand:
    return command({"turns": [[{"cwd": True, "env": list(names)}]]}, trace, env)


@pytest.mark.parametrize("read_only", [True, False])
async def test_by_arguments(tmp_path: Path, read_only: bool) -> None:
    async with hosted("copilot", telling(tmp_path / "trace"), read_only=read_only) as (agents, workspace):
        more = (await told(agents, workspace, "copilot", tmp_path))["more"]
    assert more == (["--deny-tool=write", "--deny-tool=shell"] if read_only else [])


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("own_tools", [True, False])
@pytest.mark.parametrize(("agent", "variable"), [("opencode", "OPENCODE_CONFIG"), ("kilo", "KILO_CONFIG")])
async def test_by_a_program_that_it_loads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    variable: str,
    own_tools: bool,
    read_only: bool,
) -> None:
    """It does not start our server when its user wants its tools to be its own."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    started = telling(tmp_path / "trace", variable, READ_ONLY, "ACP_SIDECAR_TOOLS")
    server = {"name": "sidecar", "command": "/x/python", "args": [], "env": []}
    options: dict[str, Any] = {"own_tools": own_tools, "tool_server": lambda agent: server}
    async with hosted(agent, started, read_only=read_only, **options) as (agents, workspace):
        env = (await told(agents, workspace, agent, tmp_path))["env"]
    assert bool(env[variable]) == (own_tools or read_only)
    assert bool(env[READ_ONLY]) == read_only
    assert bool(env["ACP_SIDECAR_TOOLS"]) == own_tools


ELSEWHERE = Transport(("env",))
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "its user names the program": (
        "pi",
        {"env": {"PI_ACP_PI_COMMAND": "/x/pi"}},
        ": PI_ACP_PI_COMMAND is set already",
    ),
    "it runs elsewhere": ("opencode", {"transport": ELSEWHERE}, "where the agent runs"),
}


@pytest.mark.parametrize(("agent", "configured", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_kept_from_writing_is_not_started(
    tmp_path: Path, agent: str, configured: dict[str, Any], why: str
) -> None:
    trace = tmp_path / "trace"
    started = replace(command({}, trace), **configured)
    async with hosted(agent, started) as (agents, _):
        with pytest.raises(AgentFailed, match=why) as failed:
            await agents.open_session(request(agent, tmp_path))
    assert DENIED in failed.value.message
    assert not trace.exists()


async def test_claude_has_no_tools_that_write_in_any_session(tmp_path: Path) -> None:
    """What leads its tools to ours is told beside it."""
    trace, ours = tmp_path / "trace", {"name": "sidecar", "command": "/x", "args": [], "env": []}
    script = {"initialize": [CAN_LOAD]}
    for method in ("session/load", "session/fork"):
        script[method] = [{"reply": {"sessionId": method}}]
    async with hosted("claude", command(script, trace)) as (agents, _):
        await agents.open_session(request("claude", tmp_path))
        await agents.load_session(
            replace(request("claude", tmp_path), session_id="S2"), "earlier", replay=True
        )
        await agents.fork_session(replace(request("claude", tmp_path), session_id="S3"), "earlier")
        led = SessionRequest("S4", "claude", str(tmp_path), mcp_servers=(ours,), own_server="sidecar")
        await agents.open_session(led)
    told = [
        params["_meta"]["claudeCode"]["options"]
        for _, params in asked(trace, "session/new", "session/load", "session/fork")
    ]
    own = ["Bash", "PowerShell", "Monitor", "Edit", "Write", "NotebookEdit", "EnterWorktree", "ExitWorktree"]
    assert [options["disallowedTools"] for options in told] == [
        *[own] * 3,
        [*own, "mcp__sidecar__Edit", "mcp__sidecar__Write"],
    ]
    assert "toolAliases" in told[-1]


async def test_codex_stays_in_the_mode_in_which_it_cannot_write(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    option = {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "agent"}
    option["options"] = [{"value": one, "name": one} for one in ("agent", "read-only")]
    opened = modes("agent", "read-only")
    opened["reply"]["configOptions"] = [option]
    loaded = modes("agent", "read-only")
    script = {"initialize": [CAN_LOAD], "session/new": [opened], "session/load": [loaded]}
    async with hosted("codex", command(script, trace)) as (agents, _):
        session = await agents.open_session(request("codex", tmp_path))
        assert (session.modes or {})["currentModeId"] == "read-only"
        await agents.load_session(
            replace(request("codex", tmp_path), session_id="S2"), "earlier", replay=True
        )
        for choice in (agents.set_mode("S1", "agent"), agents.set_config_option("S1", "mode", "agent")):
            with pytest.raises(AgentFailed, match='stays in its mode "read-only"'):
                await choice
        await agents.set_mode("S1", "read-only")
    sent = asked(trace, "session/new", "session/load", "session/set_mode", "session/set_config_option")
    chosen = [(method, params.get("sessionId"), params.get("modeId")) for method, params in sent]
    assert chosen == [
        ("session/new", None, None),
        ("session/set_mode", "s1", "read-only"),
        ("session/load", "earlier", None),
        ("session/set_mode", "earlier", "read-only"),
        ("session/set_mode", "s1", "read-only"),
    ]


@pytest.mark.parametrize("opened", [modes("agent"), {"reply": {"sessionId": "s1"}}], ids=["others", "none"])
async def test_codex_without_that_mode_is_not_used(tmp_path: Path, opened: dict[str, Any]) -> None:
    script = {
        "initialize": [
            {"reply": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}}}
        ],
        "session/new": [opened],
    }
    async with hosted("codex", command(script, tmp_path / "trace")) as (agents, _):
        with pytest.raises(AgentFailed, match="mode") as failed:
            await agents.open_session(request("codex", tmp_path))
    assert DENIED in failed.value.message
    assert asked(tmp_path / "trace", "session/close")
