"""Conversations after a reload of the window, and those of the list: taken up again by agents that can, given to those that cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.vscode import able_agent
from tests.vscode.code_server import RECEIVED
from tests.vscode.panel import Panel
from tests.vscode.test_panel import begin, fresh
from tests.vscode.test_panel_choosing import asked
from tests.vscode.test_panel_choosing import begin as begin_able
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)


def prompts(window: Window, received: str) -> list[list[dict[str, Any]]]:
    """What an agent was prompted with so far."""
    lines = map(json.loads, (window.server.folder / received).read_text().splitlines())
    return [one["params"]["prompt"] for one in lines if one.get("method") == "session/prompt"]


def test_after_a_reload_an_agent_takes_the_conversation_up_or_is_given_it(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "it will **rain**"}))
    panel.answers("it will rain")
    panel.ready()
    panel = begin_able(window)
    panel.prompt(scripted.steps({"say": "it will **snow**"}))
    panel.answers("it will snow")
    panel.ready()
    loads = len(asked(window, "session/load"))

    window.reload()
    window.until_server_runs()
    # what was shown is there again by itself; its agent can load it
    panel = Panel(window)
    panel.answers("it will snow")
    expect(panel.box).to_have_count(0)
    expect(panel.page.get_by_text("cannot continue it")).to_have_count(0)
    panel.button("Continue", exact=True).click()
    expect(panel.page.get_by_label("Mode", exact=True)).to_have_value("code")
    assert len(asked(window, "session/load")) == loads + 1
    panel.prompt(scripted.steps({"say": "I remember the snow"}))
    panel.answers("I remember the snow")
    assert len(prompts(window, able_agent.RECEIVED)[-1]) == 1  # it was given nothing

    # another one of the list; its agent cannot
    window.command("acpSidecar.panel.sessions")
    panel.page.locator(".sessions li .session").filter(has_text="rain").first.click()
    panel.answers("it will rain")
    panel.says("Its agent cannot continue it.")
    expect(panel.box).to_have_count(0)
    panel.button("Continue in new session").click()
    panel.says("The conversation is attached to your next message.")
    expect(panel.page.locator(".box .chip")).to_have_text(["The conversation so far"])
    panel.prompt(fresh(1, {"say": "I see"}))
    panel.answers("I see")
    expect(panel.page.locator(".user .chip")).to_have_text(["The conversation so far"])
    expect(panel.page.locator(".box .chip")).to_have_count(0)
    own, given = prompts(window, RECEIVED)[-1][:2]
    assert json.loads(own["text"]) == [{"say": "I see"}]
    assert "it will **rain**" in given["text"]
    panel.prompt(fresh(2, {"say": "and on"}))
    panel.answers("and on")
    assert len(prompts(window, RECEIVED)[-1]) == 1  # once is enough
