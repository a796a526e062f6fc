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
from sidecar.acp.read_only import AS_EVER, DENIED, OTHERS, READ_ONLY, read_only_of
from sidecar.config import AgentCommand, Transport
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.test_agents import HANGS, LADDER, LIMITS, TEXT
from tests.acp.test_own_tools import Tools
from tests.support.acp_wire import FakeWorkspace
from tests.support.agents import command, received
from tests.support.waiting import eventually

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


def test_who_is_known_to_do_all_by_the_sidecar_is_started_as_ever() -> None:
    assert read_only_of("fast-agent", AgentCommand("/x/fast-agent-acp")) is AS_EVER
    assert read_only_of("qwen", AgentCommand("/x/qwen")) is OTHERS, "it runs commands by itself"
    assert read_only_of("somebody", AgentCommand("/x/somebody")) is OTHERS


async def told(agents: HostedAgents, workspace: FakeWorkspace, agent: str, folder: Path) -> dict[str, Any]:
    """With what its process was started, in its own words."""
    await agents.open_session(request(agent, folder))
    await agents.prompt("S1", TEXT)
    return json.loads(workspace.updates[-1][1]["content"]["text"])


def telling(trace: Path, *names: str, env: dict[str, str] | None = None) -> AgentCommand:
    return command({"turns": [[{"cwd": True, "env": list(names)}]]}, trace, env)


@pytest.mark.parametrize(
    ("agent", "is_offered"),
    [
        ("claude", False),
        ("codex", False),
        ("copilot", False),
        ("opencode", False),
        ("kilo", False),
        ("gemini", True),  # its user's settings may allow tools for good, in every mode
        ("fast-agent", True),
        ("somebody", True),
    ],
)
async def test_writing_is_offered_only_where_nothing_else_keeps_it_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, is_offered: bool
) -> None:
    """An agent that is offered only reading writes the disk with its own tool, if it can (docs/clients.md)."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    trace, kept = tmp_path / "trace", {"session/new": [modes("read-only", "default")]}
    for read_only in (False, True):
        async with hosted(agent, command(kept, trace), read_only=read_only) as (agents, _):
            await agents.open_session(request(agent, tmp_path))
    offered = [params["clientCapabilities"]["fs"] for _, params in asked(trace, "initialize")]
    both = {"readTextFile": True, "writeTextFile": True}
    assert offered == [both, both | {"writeTextFile": is_offered}]


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


def mode_option(now: str, *ids: str) -> dict[str, Any]:
    choices = [{"value": one, "name": one} for one in ids]
    return {
        "id": "m",
        "name": "M",
        "category": "mode",
        "type": "select",
        "currentValue": now,
        "options": choices,
    }


OFFERED: dict[str, tuple[dict[str, Any], str]] = {
    "a mode by name": (modes("code", "architect", "plan", "read-only"), "read-only"),
    "the next best": (modes("code", "ask", "plan"), "plan"),
    "as an option": (
        {"reply": {"sessionId": "s1", "configOptions": [mode_option("code", "code", "plan")]}},
        "plan",
    ),
    "none of these": (modes("code", "architect"), ""),
    "no modes": ({"reply": {"sessionId": "s1"}}, ""),
}


@pytest.mark.parametrize(("opened", "mode"), OFFERED.values(), ids=OFFERED)
async def test_an_unknown_agent_is_put_into_a_mode_in_which_it_only_reads(
    tmp_path: Path, opened: dict[str, Any], mode: str
) -> None:
    trace = tmp_path / "trace"
    async with hosted("somebody", command({"session/new": [opened]}, trace)) as (agents, _):
        await agents.open_session(request("somebody", tmp_path))
        if mode:
            choose = (
                agents.set_mode("S1", "code")
                if "modes" in opened["reply"]
                else agents.set_config_option("S1", "m", "code")
            )
            with pytest.raises(AgentFailed, match=f'stays in its mode "{mode}"'):
                await choose
    sent = asked(trace, "session/set_mode", "session/set_config_option")
    assert [params.get("modeId", params.get("value")) for _, params in sent] == [mode] * bool(mode)


async def test_that_mode_is_only_for_agents_that_are_to_be_kept_from_writing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    opened = modes("code", "plan")
    async with hosted("somebody", command({"session/new": [opened]}, trace), read_only=False) as (agents, _):
        await agents.open_session(request("somebody", tmp_path))
    assert asked(trace, "session/set_mode") == []


async def test_an_unknown_agent_that_refuses_its_mode_is_not_used(tmp_path: Path) -> None:
    refused = {"fail": {"code": -32603, "message": "not now"}}
    script = {"session/new": [modes("code", "plan")], "session/set_mode": [refused]}
    async with hosted("somebody", command(script, tmp_path / "trace")) as (agents, _):
        with pytest.raises(AgentFailed, match="not now") as failed:
            await agents.open_session(request("somebody", tmp_path))
    assert DENIED in failed.value.message


LEAVES: dict[str, dict[str, Any]] = {
    "by a mode": {"sessionUpdate": "current_mode_update", "currentModeId": "code"},
    "by an option": {
        "sessionUpdate": "config_option_update",
        "configOptions": [mode_option("code", "code", "plan")],
    },
}
PUT_BACK = f'somebody left its mode "plan" by itself and was put back: {DENIED}.'


@pytest.mark.parametrize("update", LEAVES.values(), ids=LEAVES)
async def test_an_agent_that_leaves_that_mode_is_led_back(tmp_path: Path, update: dict[str, Any]) -> None:
    trace = tmp_path / "trace"
    stays = {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
    # answered only when it is back
    turn = [{"update": stays}, {"update": update}, {"wait_for": "session/set_mode", "count": 2}]
    script = {"session/new": [modes("code", "plan")], "turns": [turn]}
    async with hosted("somebody", command(script, trace)) as (agents, workspace):
        await agents.open_session(request("somebody", tmp_path))
        assert await agents.prompt("S1", TEXT) == "end_turn"
        while not workspace.noticed:
            workspace.changed.clear()
            await workspace.changed.wait()
        assert workspace.noticed == [("S1", PUT_BACK)]
        assert workspace.updates[-1][1] == stays, "the editor is told, too"
    assert [params["modeId"] for _, params in asked(trace, "session/set_mode")] == ["plan", "plan"]


async def test_one_that_cannot_be_led_back_is_stopped_and_gets_no_more_prompts(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    once = [
        {"before": "session/prompt", "steps": [{"reply": {}}]},
        {"after": "session/prompt", "steps": [{"fail": {"code": -32603, "message": "no way back"}}]},
    ]
    turn = [{"update": LEAVES["by a mode"]}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]
    script = {"session/new": [modes("code", "plan")], "session/set_mode": once, "turns": [turn]}
    async with hosted("somebody", command(script, trace)) as (agents, workspace):
        await agents.open_session(request("somebody", tmp_path))
        assert await agents.prompt("S1", TEXT) == "cancelled"
        with pytest.raises(AgentFailed, match="no way back"):
            await agents.prompt("S1", TEXT)
        words = (
            f'somebody left its mode "plan" by itself and could not be put back, so it was stopped: {DENIED}.'
        )
        assert workspace.noticed == [("S1", words)]
    assert len(asked(trace, "session/prompt")) == 1


async def test_one_that_leaves_it_again_and_again_is_stopped(tmp_path: Path) -> None:
    leaves = {"update": LEAVES["by a mode"]}
    turn = [leaves, {"wait_for": "session/set_mode", "count": 2}, leaves, {"wait_for": "session/cancel"}]
    script = {
        "session/new": [modes("code", "plan")],
        "turns": [[*turn, {"stop": "cancelled"}], [{"say": "again"}]],
    }
    async with hosted("somebody", command(script, tmp_path / "trace")) as (agents, workspace):
        await agents.open_session(request("somebody", tmp_path))
        assert await agents.prompt("S1", TEXT) == "cancelled"
        again = f'somebody left its mode "plan" by itself again, so it was stopped: {DENIED}.'
        assert ("S1", again) in workspace.noticed
        assert await agents.prompt("S1", TEXT) == "end_turn", "put back before it"
    assert [params["modeId"] for _, params in asked(tmp_path / "trace", "session/set_mode")] == ["plan"] * 3


async def test_a_prompt_that_is_cancelled_while_it_is_led_back_is_never_sent(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    fails: Any = {
        "before": "session/cancel",
        "steps": [{"fail": {"code": -32603, "message": "no way back"}}],
    }
    choose: list[Any] = [
        {"before": "session/prompt", "steps": [{"reply": {}}]},
        {"after": "session/prompt", "steps": [fails]},  # and later ones are never answered
    ]
    turn = [{"update": LEAVES["by a mode"]}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]
    script = {"session/new": [modes("code", "plan")], "session/set_mode": choose, "turns": [turn]}
    async with hosted("somebody", command(script, trace)) as (agents, _):
        await agents.open_session(request("somebody", tmp_path))
        assert await agents.prompt("S1", TEXT) == "cancelled"
        second = asyncio.ensure_future(agents.prompt("S1", TEXT))
        await asyncio.to_thread(
            eventually, lambda: len(asked(trace, "session/set_mode")) == 3, "the agent has got it"
        )
        agents.cancel("S1")
        assert await second == "cancelled"
    assert len(asked(trace, "session/prompt")) == len(asked(trace, "session/cancel")) == 1
