"""Why Gemini CLI's own read_file is not led to ours: each way in was tried, with the real agent. A test that fails here is good news: a newer
version has a way in. docs/agents.md has the reasons in words (agents_table.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.model_server import ModelServer, script
from tests.e2e.third_party import BASE, CHOSEN, KINDS, a_scene, delegated, first_result

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif("gemini" not in CHOSEN, reason="make agents was asked for others"),
]
GEMINI = KINDS["gemini"]
EVENTS = ("BeforeModel", "BeforeTool", "AfterTool")


def hooks(marks: Path) -> dict[str, Any]:
    """Each leaves its name in a file."""
    return {
        "hooks": {
            event: [
                {
                    "matcher": "*",
                    "hooks": [{"type": "command", "command": f"echo {event} >> {marks}; echo '{{}}'"}],
                }
            ]
            for event in EVENTS
        }
    }


async def reads(
    tmp_path: Path,
    workspace: Path,
    model: ModelServer,
    *,
    settings: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    prompt: str = "",
    own_tools: str = "live",
) -> None:
    """A turn in which it reads a file. `settings`: in its user's own file."""
    path = workspace / "a.txt"
    path.write_text(BASE)

    def environment(home: Path, url: str) -> dict[str, str]:
        told = GEMINI.environment(home, url)
        file = home / ".gemini" / "settings.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **(settings or {})}))
        return told

    kind = replace(GEMINI, environment=environment)
    async with a_scene(kind, tmp_path, workspace, model, env=env, ownTools=own_tools) as (product, session):
        turn: Any = await product.prompt(session, prompt or script(GEMINI.read(path)))
        assert turn.get("stopReason") == "end_turn", turn


def tools(body: Mapping[str, Any]) -> set[str]:
    """Those that its model may call."""
    return {tool["name"] for part in body.get("tools", []) for tool in part["functionDeclarations"]}


async def test_over_acp_its_tools_run_without_its_hooks(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    marks = tmp_path / "marks"
    await reads(tmp_path, workspace, model, settings=hooks(marks))
    assert "seven" in first_result(model)
    assert set(marks.read_text().split()) == {"BeforeModel"}


async def test_settings_that_its_environment_names_must_be_roots(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """And lie in a folder that only root can write to."""
    marks, file = tmp_path / "marks", tmp_path / "system.json"
    file.write_text(json.dumps(hooks(marks)))
    variables = ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH")
    await reads(tmp_path, workspace, model, env=dict.fromkeys(variables, str(file)))
    assert "seven" in first_result(model)
    assert not marks.exists()


async def test_no_other_tool_can_be_called_read_file(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """Neither those of MCP servers nor those of a command."""
    told = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    told.write_text(json.dumps([{"name": "read_file", "parametersJsonSchema": schema}]))
    commands = {"discoveryCommand": f"cat {told}", "callCommand": "cat"}
    await reads(tmp_path, workspace, model, settings={"tools": commands}, own_tools="all")
    assert "seven" in first_result(model), "its own was called"
    assert {"read_file", "discovered_tool_read_file", "mcp_sidecar_Read"} <= tools(model.requests[0])


async def test_without_read_file_its_sub_agents_cannot_read(
    tmp_path: Path, workspace: Path, model: ModelServer
) -> None:
    """They have tools of the agent's by name, and none of ours."""
    prompt = delegated(GEMINI, GEMINI.read(workspace / "a.txt"))
    left_out = {"tools": {"exclude": ["read_file"]}}
    await reads(tmp_path, workspace, model, settings=left_out, prompt=prompt, own_tools="all")
    (of_sub_agents,) = {frozenset(tools(body)) for body in model.requests if "complete_task" in tools(body)}
    assert "list_directory" in of_sub_agents
    assert not [name for name in of_sub_agents if "read" in name.lower()]
