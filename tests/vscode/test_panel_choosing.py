"""What a person chooses in the panel: the agent, and its mode, model and options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e import scripted
from tests.support.fake_agent import __file__ as FAKE_AGENT
from tests.support.waiting import eventually
from tests.vscode import able_agent
from tests.vscode.conftest import Configure
from tests.vscode.panel import Panel
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)


def begin(window: Window) -> Panel:
    """A new conversation with the able agent."""
    panel = Panel(window)
    window.command("acpSidecar.panel.new")
    panel.button(f"Start with {able_agent.NAME}").click()
    panel.says(f"{able_agent.NAME} is ready.")
    return panel


def asked(window: Window, method: str) -> list[dict[str, Any]]:
    """What the able agent was asked so far, but for the session."""
    lines = (window.server.folder / able_agent.RECEIVED).read_text().splitlines()
    found = [one["params"] for one in map(json.loads, lines) if one.get("method") == method]
    return [{key: value for key, value in one.items() if key != "sessionId"} for one in found]


def test_there_are_pickers_however_the_conversation_was_made(window: Window) -> None:
    """By a command, chosen from the list; and continued after the server was started again."""
    panel = Panel(window)
    opened = window.command("sidecar.newSession", {"agent": able_agent.NAME})
    words = f"begun by a command {opened['sessionId']}"
    window.command("sidecar.prompt", {"sessionId": opened["sessionId"], "prompt": words, "wait": True})
    window.command("acpSidecar.panel.sessions")
    panel.page.locator(".sessions li .session").filter(has_text=words).click()
    for label, value in (("Mode", "code"), ("Model", "small"), ("Effort", "low")):
        expect(panel.page.get_by_label(label, exact=True)).to_have_value(value)
    window.command("acpSidecar.restart")
    window.until_server_runs()
    panel.button("Continue", exact=True).click()
    for label, value in (("Mode", "code"), ("Model", "small"), ("Effort", "low")):
        expect(panel.page.get_by_label(label, exact=True)).to_have_value(value)


@pytest.mark.parametrize(
    ("label", "before", "wish", "method", "params"),
    [
        ("Mode", "code", "ask", "session/set_mode", {"modeId": "ask"}),
        ("Model", "small", "large", "session/set_model", {"modelId": "large"}),
        ("Effort", "low", "high", "session/set_config_option", {"configId": "effort", "value": "high"}),
    ],
)
def test_what_is_picked_is_asked_of_the_agent_and_what_it_refuses_stays(
    window: Window, label: str, before: str, wish: str, method: str, params: dict[str, Any]
) -> None:
    panel = begin(window)
    picker = panel.page.get_by_label(label, exact=True)
    expect(picker).to_have_value(before)
    picker.select_option("locked")
    panel.says("locked is not for you")
    expect(picker).to_have_value(before)
    picker.select_option(wish)
    eventually(lambda: params in asked(window, method), f"the agent is asked for {params}")
    expect(picker).to_have_value(wish)
    panel.prompt(scripted.steps({"say": "still here"}))
    panel.answers("still here")
    expect(picker).to_have_value(wish)


def test_a_conversation_is_forked_and_both_go_on(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "the **trunk**"}))
    panel.answers("the trunk")
    panel.ready()
    panel.button("Fork: start a new conversation from this one").click()
    panel.says("Forked from")
    panel.answers("the trunk")
    expect(panel.page.locator("header .title")).to_contain_text("(fork)")
    expect(panel.page.get_by_label("Mode", exact=True)).to_have_value("code")
    panel.prompt(scripted.steps({"say": "a **branch**"}))
    panel.answers("a branch")
    panel.ready()
    rows = [row for row in window.command("sidecar.listSessions", {}) if row["open"]]
    titles = {
        str(row.get("title", "")).endswith("(fork)"): row["sessionId"]
        for row in rows
        if row["agent"] == able_agent.NAME
    }
    trunk = window.command("sidecar.transcript", {"sessionId": titles[False]})
    assert "a **branch**" not in json.dumps(trunk)
    assert "the **trunk**" in json.dumps(window.command("sidecar.transcript", {"sessionId": titles[True]}))


def test_sub_agents_compaction_notices_and_names_are_shown_also_after_a_reload(window: Window) -> None:
    panel = begin(window)
    meta = {"claudeCode": {"toolName": "Read", "parentToolUseId": "task"}}
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "task",
        "title": "Look around",
        "status": "in_progress",
    }
    panel.prompt(
        scripted.steps(
            {"update": {"sessionUpdate": "notice", "severity": "warning", "title": "No server here"}},
            {"update": {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}},
            {"update": call},
            {"update": {**call, "toolCallId": "t", "title": "Look at the file", "_meta": meta}},
            {"update": {**call, "sessionUpdate": "tool_call_update", "status": "completed"}},
            {"say": "all told"},
        )
    )
    panel.answers("all told")

    def shown() -> None:
        expect(panel.page.locator(".notice.warning")).to_have_text("No server here")
        expect(panel.page.locator(".compaction")).to_have_text("Conversation compacted")
        fold = panel.page.locator(".below > .fold")
        expect(fold).to_have_text("Sub-agent: 1 step")
        fold.click()
        expect(panel.page.locator(".below-body .tool .title")).to_have_text("Look at the file")
        expect(panel.page.locator(".below-body .tool-name")).to_have_text("Read")

    shown()
    window.reload()
    window.until_server_runs()
    panel = Panel(window)
    panel.answers("all told")
    shown()


def test_a_switch_shows_what_the_agent_made_of_it(window: Window) -> None:
    """This one searches the web exactly when it makes an effort: it says no to the switch, by its answer."""
    panel = begin(window)
    switch = panel.button("Web search")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    wish = {"configId": "web", "type": "boolean", "value": True}
    eventually(lambda: wish in asked(window, "session/set_config_option"), "the agent is asked")
    panel.page.get_by_label("Effort").select_option("high")
    expect(switch).to_have_attribute("aria-pressed", "true")
    panel.page.get_by_label("Effort").select_option("low")
    expect(switch).to_have_attribute("aria-pressed", "false")


def test_what_the_agent_changes_by_itself_is_shown(window: Window) -> None:
    panel = begin(window)
    mode = {"sessionUpdate": "current_mode_update", "currentModeId": "ask"}
    options = {
        "sessionUpdate": "config_option_update",
        "configOptions": able_agent.options("high", web=True),
    }
    panel.prompt(scripted.steps({"update": mode}, {"update": options}, {"say": "changed"}))
    panel.answers("changed")
    expect(panel.page.get_by_label("Mode", exact=True)).to_have_value("ask")
    expect(panel.page.get_by_label("Effort")).to_have_value("high")
    expect(panel.button("Web search")).to_have_attribute("aria-pressed", "true")
    expect(panel.page.get_by_label("Model", exact=True)).to_have_value("small")


# --- Agents

FOUND = """#!/bin/sh
exec {python} -S {agent} '{{"prompted": true}}'
"""


def row(panel: Panel, name: str) -> Locator:
    return panel.page.locator(".agents li").filter(has_text=name)


def start_page(window: Window) -> Panel:
    """Shown when the conversation that was shown is deleted."""
    panel = Panel(window)
    window.command("sidecar.newSession", {"agent": scripted.NAME})
    window.prompt(scripted.steps({"say": "not for long"}))
    window.command("acpSidecar.panel.sessions")
    talk = panel.page.locator(".sessions li").filter(has_text="not for long").first
    talk.locator(".session").click()
    panel.answers("not for long")
    window.command("acpSidecar.panel.sessions")
    talk.hover()
    talk.get_by_label("Delete").click()
    talk.get_by_role("button", name="Delete", exact=True).click()
    expect(talk).to_have_count(0)  # before that, Close was once without effect
    panel.button("Close", exact=True).click()
    expect(panel.button("Try it")).to_be_visible()
    return panel


def test_agents_on_path_are_offered_and_the_demo_is_never_begun_with(
    window: Window, configure: Configure, tmp_path: Path
) -> None:
    panel = start_page(window)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    configure(
        {
            "acpSidecar.agents": {"absent": {"command": str(bin_folder / "not-there")}},
            "acpSidecar.defaultAgent": "",
            "acpSidecar.env": {"PATH": str(bin_folder)},
        }
    )
    # not installed: one sentence, one button
    lacking = row(panel, "absent")
    expect(lacking.locator(".needs")).to_contain_text("not-there")
    expect(lacking.get_by_role("button")).to_have_count(1)
    # nothing but the demo: neither a message nor a new conversation begins it
    panel.box.fill("hello")
    panel.box.press("Enter")
    expect(panel.page.get_by_role("heading", name="Choose or add an agent")).to_be_visible()
    demo = row(panel, "demo")
    expect(demo.locator(".tag")).to_have_text("demo, no AI")
    expect(demo.get_by_role("button", name="Send to demo")).to_be_visible()
    panel.button("Close", exact=True).click()
    expect(panel.box).to_have_value("hello")
    window.command("acpSidecar.panel.new")
    expect(panel.page.get_by_role("heading", name="New conversation with")).to_be_visible()
    expect(demo.get_by_role("button", name="Start with demo")).to_be_visible()
    assert [one for one in window.command("sidecar.listSessions", {}) if one["open"]] == []
    panel.button("Close", exact=True).click()
    expect(panel.box).to_have_value("hello")

    program = bin_folder / "gemini"
    program.write_text(FOUND.format(python=sys.executable, agent=FAKE_AGENT))
    program.chmod(0o755)
    window.command("acpSidecar.panel.sessions")
    panel.button("Refresh").click()
    panel.button("Close", exact=True).click()
    found = row(panel, "Gemini CLI")
    found.get_by_role("button", name="Start with Gemini CLI").click()
    card = panel.page.get_by_role("group", name="May this program be started?")
    expect(card.get_by_label("Command", exact=True)).to_contain_text(str(program))
    expect(card.locator("button[aria-disabled=false]").first).to_be_attached()
    card.locator("button.allow").click()
    panel.ready()
    panel.prompt(scripted.steps({"say": "found me"}))
    panel.answers("found me")
