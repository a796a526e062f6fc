"""A conversation in the panel with an agent that speaks only version 2 of ACP."""

from __future__ import annotations

import base64
from typing import Any

from playwright.sync_api import expect

from sidecar.approvals import Approvals
from tests.e2e import scripted
from tests.support import agents
from tests.vscode.conftest import Configure
from tests.vscode.panel import Panel
from tests.vscode.window import Window

NAME = "two"


def test_its_own_command_and_its_sub_agent_are_shown(window: Window, configure: Configure) -> None:
    """As those of other agents: live, with colours and how it ended; the sub-agent's work within it. Stop, where it cannot stop it alone, says what to do."""
    command = agents.command({"prompted": True, "speaks": 2})
    Approvals(window.server.state).remember(command)
    configure(
        {
            "acpSidecar.agents": {NAME: {"command": command.command, "args": list(command.args)}},
            "acpSidecar.defaultAgent": NAME,
        }
    )
    panel = Panel(window)
    window.command("acpSidecar.panel.new")
    panel.button(f"Start with {NAME}").click()
    panel.says(f"{NAME} is ready.")
    output = base64.b64encode(b"it \x1b[31mrained\x1b[0m\n").decode()
    call: dict[str, Any] = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    child: dict[str, Any] = {"sessionUpdate": "subagent_update", "sessionId": "child"}
    panel.prompt(
        scripted.steps(
            {"update": {"sessionUpdate": "state_update", "state": "running"}},
            {
                "update": {
                    **call,
                    "title": "weather",
                    "kind": "execute",
                    "content": [{"type": "terminal", "terminalId": "t"}],
                }
            },
            {"update": {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": output}},
            {"update": {**child, "title": "Look at the sky", "state": {"state": "running"}}},
            {"wait_for": "session/cancel"},
            {"update": {**child, "state": {"state": "idle"}}},
            {
                "update": {
                    "sessionUpdate": "terminal_update",
                    "terminalId": "t",
                    "exitStatus": {"exitCode": 3},
                }
            },
            {"update": {**call, "status": "failed"}},
        )
    )
    shown = panel.page.get_by_label("Output")
    expect(shown).to_have_text("it rained\n", use_inner_text=True, timeout=30_000)
    expect(panel.page.get_by_role("button", name="Look at the sky")).to_be_visible()
    panel.button("Stop this command").click()
    panel.says("two runs this command itself and cannot stop it alone. To end it, stop the turn.")
    panel.page.get_by_role("button", name="Stop", exact=True).click()
    panel.ready()
    expect(panel.page.locator(".tool-head .exit")).to_have_text("exit code 3")
