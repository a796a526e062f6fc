"""Conversations after a reload of the window, and those of the list: taken up again by agents that can, given to those that cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.vscode import able_agent
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


def reload(window: Window) -> Panel:
    """What was shown comes back by itself, to be read."""
    window.reload()
    window.until_server_runs()
    panel = Panel(window)
    expect(panel.button("Continue")).to_be_visible()
    expect(panel.box).to_have_count(0)
    return panel


def test_an_agent_that_cannot_load_is_given_the_conversation(window: Window) -> None:
    from tests.vscode.code_server import RECEIVED

    panel = begin(window)
    panel.prompt(scripted.steps({"say": "remember the **rain**"}))
    panel.answers("remember the rain")
    panel.ready()
    panel = reload(window)
    panel.answers("remember the rain")
    panel.says("Its agent cannot take it up again.")
    panel.button("Continue in new session").click()
    panel.says("What was said is attached to your next message.")
    expect(panel.page.locator(".box .chip")).to_have_text(["The conversation until now"])
    panel.prompt(fresh(1, {"say": "I see"}))
    panel.answers("I see")
    expect(panel.page.locator(".user .chip")).to_have_text(["The conversation until now"])
    expect(panel.page.locator(".box .chip")).to_have_count(0)
    own, given = prompts(window, RECEIVED)[-1][:2]
    assert json.loads(own["text"]) == [{"say": "I see"}]
    assert "remember the **rain**" in given["text"]
    panel.prompt(fresh(2, {"say": "and on"}))
    panel.answers("and on")
    assert len(prompts(window, RECEIVED)[-1]) == 1  # once is enough


def test_an_agent_that_can_load_goes_on_with_it(window: Window) -> None:
    panel = begin_able(window)
    panel.prompt(scripted.steps({"say": "remember the rain"}))
    panel.answers("remember the rain")
    panel.ready()
    before = asked(window, "session/load")
    panel = reload(window)
    panel.answers("remember the rain")
    expect(panel.page.get_by_text("cannot take it up again")).to_have_count(0)
    panel.page.get_by_role("button", name="Continue", exact=True).click()
    expect(panel.page.get_by_label("Mode", exact=True)).to_have_value("code")
    assert len(asked(window, "session/load")) == len(before) + 1
    panel.prompt(scripted.steps({"say": "I remember"}))
    panel.answers("I remember")
    assert len(prompts(window, able_agent.RECEIVED)[-1]) == 1


def test_one_of_the_list_is_read_and_goes_on(window: Window) -> None:
    """It was ended, and another one is shown."""
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "the older talk"}))
    panel.answers("the older talk")
    panel.ready()
    begin(window).prompt(scripted.steps({"say": "the newer talk"}))
    panel.answers("the newer talk")
    panel.ready()
    panel = reload(window)
    panel.answers("the newer talk")
    window.command("acpSidecar.panel.sessions")
    panel.page.locator(".sessions li .session").filter(has_text="the older talk").first.click()
    panel.answers("the older talk")
    panel.button("Continue").click()
    panel.prompt(fresh(1, {"say": "the older talk goes on"}))
    panel.answers("the older talk goes on")
