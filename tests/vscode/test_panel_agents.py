"""Agents in the panel: adding one, one that is not signed in, one that cannot be started, one that takes pictures."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.core.escape import command_line
from tests.panel.panel import EXTENSION
from tests.panel.test_conversation import PASTE
from tests.support import agents
from tests.support.waiting import eventually, written
from tests.vscode.conftest import Configure
from tests.vscode.panel import Panel
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

REGISTRY = json.loads((EXTENSION / "src" / "panel" / "host" / "registry.json").read_text())["agents"]
SIGNING = "signing"
OVERLOADED = {"code": -32000, "message": "The model `large` is overloaded. Try again at 12:00."}
"""JSON-RPC's code for any error of a server, which is ACP's for a sign-in, too."""
NPX = """#!/bin/sh
echo "$@" >> {calls}
exec sleep 600
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the runner of packages notes what it was asked to run, and where a sign-in is left."""
    return tmp_path


@pytest.fixture
def panel(window: Window, configure: Configure, place: Path) -> Panel:
    """What agents there are: one that wants a sign-in, one whose runner is missing; and an `npx` that fetches nothing."""
    runner = place / "bin" / "npx"
    runner.parent.mkdir()
    runner.write_text(NPX.format(calls=place / "calls"))
    runner.chmod(0o755)
    script = Path(__file__).with_name("signing_agent.py")
    signing = {"command": sys.executable, "args": [str(script), str(place / "signed-in")]}
    lacking = {"command": "npx", "args": ["--yes", "x@1.0.0"], "env": {"PATH": str(place / "nothing")}}
    Approvals(window.server.state).remember(AgentCommand(sys.executable, tuple(signing["args"]), {}))
    overloaded = agents.command({"session/new": [{"fail": OVERLOADED}]})
    Approvals(window.server.state).remember(overloaded)
    failing = {"command": overloaded.command, "args": list(overloaded.args)}
    configure(
        {
            "acpSidecar.agents": {SIGNING: signing, "lacking": lacking, "failing": failing},
            "acpSidecar.defaultAgent": "",
            # in the settings: VS Code itself takes PATH from the user's shell
            "acpSidecar.env": {"PATH": f"{runner.parent}{os.pathsep}{os.environ['PATH']}"},
        }
    )
    panel = Panel(window)
    window.command("acpSidecar.panel.new")
    expect(row(panel, SIGNING)).to_be_visible()
    return panel


def row(panel: Panel, name: str) -> Any:
    return panel.page.locator(".agents li").filter(has_text=name)


def test_an_agent_that_is_not_signed_in(window: Window, panel: Panel, place: Path) -> None:
    """One sentence, one button, a terminal; then the conversation begins by itself, and what was asked is still in the box."""
    row(panel, SIGNING).get_by_role("button", name="Start").click()
    notice = panel.page.locator(".notice", has_text="wants you to sign in first.")
    expect(notice).to_be_visible(timeout=60_000)
    expect(notice.get_by_role("button")).to_have_text(["Sign in"])
    panel.box.fill("hello")
    notice.get_by_role("button").click()
    terminal = window.page.locator(".terminal-wrapper.active .xterm")
    expect(terminal).to_be_visible(timeout=60_000)
    window.until_js(
        "return vscode.window.terminals.some((one) => one.name.startsWith('Sign in to'))",
        "terminal",
        within=30,
    )
    window.js(
        "vscode.window.terminals.find((one) => one.name.startsWith('Sign in to')).sendText(args[0])", "sesame"
    )
    panel.says("is ready.", within=90)
    assert (place / "signed-in").read_text() == "sesame"
    expect(panel.box).to_have_value("hello")
    panel.prompt(json.dumps([{"say": "welcome"}]))
    panel.says("welcome", within=60)


def test_an_error_that_asks_for_no_sign_in_is_told_in_the_agents_words(window: Window, panel: Panel) -> None:
    row(panel, "failing").get_by_role("button", name="Start").click()
    notice = panel.page.locator(".notice", has_text=OVERLOADED["message"])
    expect(notice).to_be_visible(timeout=60_000)
    expect(panel.page.get_by_role("button", name="Sign in")).to_have_count(0)


def test_an_agent_is_added_by_a_command_with_quotes_in_quotes(window: Window, panel: Panel) -> None:
    words = ["sh", "-c", """echo "it's $HOME" 'a b'"""]
    line = command_line(words)
    panel.button("Add agent").click()
    picker = window.page.locator(".quick-input-widget")
    box = picker.locator(".quick-input-box input")
    expect(box).to_be_focused(timeout=30_000)
    box.fill("another")
    picker.locator(".monaco-list-row", has_text="Another command").click()
    expect(picker).to_contain_text("started without a shell", timeout=30_000)
    box.fill(line)
    box.press("Enter")
    expect(picker).to_contain_text("A name for it", timeout=30_000)
    box.fill("quoting")
    box.press("Enter")
    dialog = window.page.get_by_role("dialog").filter(has_text="Add quoting?")
    expect(dialog).to_contain_text(line, timeout=30_000)
    dialog.get_by_role("button", name="Add", exact=True).click()
    row(panel, "quoting").get_by_role("button", name="Start").click(timeout=60_000)
    card = panel.page.get_by_role("group", name="May this program be started?")
    command = card.get_by_label("Command", exact=True)
    expect(command).to_contain_text("-c", timeout=60_000)
    # the program is told by its whole path
    assert shlex.split(command.inner_text())[1:] == words[1:]
    expect(card.locator(".question-text")).not_to_contain_text("echo")


def test_an_agent_whose_runner_is_missing(window: Window, panel: Panel) -> None:
    lacking = row(panel, "lacking")
    expect(lacking.locator(".needs")).to_have_text("Node.js was not found on this machine.", timeout=60_000)
    expect(lacking.get_by_role("button")).to_have_text(["Get Node.js"])
    lacking.get_by_role("button").click()
    dialog = window.page.get_by_role("dialog")
    expect(dialog).to_contain_text("nodejs.org", timeout=30_000)  # VS Code shows where it leads, and asks
    dialog.get_by_role("button", name="Cancel").click()


def test_an_agent_is_added_by_its_exact_command_and_nothing_is_fetched_before_a_yes(
    window: Window, panel: Panel, place: Path
) -> None:
    entry = next(one for one in REGISTRY if "npx" in one["distribution"])
    wanted = ["--yes", f"{entry['distribution']['npx']['package']}@{entry['version']}"]
    panel.button("Add agent").click()
    picker = window.page.locator(".quick-input-widget")
    box = picker.locator(".quick-input-box input")
    expect(box).to_be_focused(timeout=30_000)  # before, a space would press the button once more
    box.fill(entry["name"])
    expect(picker.locator(".monaco-list-row.focused").filter(has_text=wanted[1])).to_be_visible(
        timeout=30_000
    )
    box.press("Enter")
    dialog = window.page.get_by_role("dialog").filter(has_text=f"Add {entry['name']}?")
    expect(dialog).to_contain_text(" ".join(["npx", *wanted]), timeout=30_000)
    expect(dialog).to_contain_text("Nothing is downloaded now")
    dialog.get_by_role("button", name="Add", exact=True).click()
    settings = window.server.data / "Machine" / "settings.json"
    eventually(lambda: entry["id"] in settings.read_text(), "it is in the settings", within=30)
    assert json.loads(settings.read_text())["acpSidecar.agents"][entry["id"]] == {
        "command": "npx",
        "args": wanted,
    }
    calls = place / "calls"
    assert not calls.exists(), "adding runs nothing"
    row(panel, entry["id"]).get_by_role("button", name="Start").click(timeout=60_000)
    card = panel.page.get_by_role("group", name="May this program be started?")
    expect(card.get_by_label("Command", exact=True)).to_contain_text(wanted[1], timeout=60_000)
    assert not calls.exists(), "nothing runs before a yes"
    armed = card.locator("button[aria-disabled=false]")
    expect(armed.first).to_be_attached(timeout=30_000)
    card.locator("button.allow").click()
    assert written(calls, "it is started").split() == wanted


def test_modes_are_picked_and_commands_completed(window: Window, panel: Panel, place: Path) -> None:
    (place / "signed-in").write_text("sesame")
    row(panel, SIGNING).get_by_role("button", name="Start").click()
    panel.says("is ready.", within=60)
    expect(panel.page.get_by_label("Mode")).to_have_value("code")
    panel.box.click()
    window.page.keyboard.type("/fore")
    expect(panel.page.get_by_role("option")).to_contain_text(["/forecast"], timeout=30_000)
    window.keys("Tab")
    expect(panel.box).to_have_value("/forecast ")
    panel.page.get_by_label("Mode").select_option("ask")
    panel.says("mode ask", within=60)  # the agent's own words
    expect(panel.page.get_by_label("Mode")).to_have_value("ask")


def test_a_picture_is_pasted_and_goes_to_the_agent(window: Window, panel: Panel, place: Path) -> None:
    (place / "signed-in").write_text("sesame")
    row(panel, SIGNING).get_by_role("button", name="Start").click()
    panel.says("is ready.", within=60)
    panel.page.evaluate(PASTE, {"sizes": [3], "words": ""})
    expect(panel.page.locator(".box .chip")).to_have_text(["3.png"])
    panel.prompt(json.dumps([{"say": "seen"}]))
    panel.says("seen", within=60)
    expect(panel.page.locator(".user .chip")).to_have_text(["3.png"])
    (session,) = [one for one in window.command("sidecar.listSessions", {}) if one["open"]]
    record = window.command("sidecar.transcript", {"sessionId": session["sessionId"]})["entries"]
    prompt = next(one["prompt"] for one in record if one["type"] == "prompt")
    assert {"type": "image", "mimeType": "image/png", "data": "AAAA"} in prompt
