"""The first minute: a clean profile, no folder, no account, no network; and it is the demo that `make demo` plays in a terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from sidecar.demo import story
from sidecar.demo.run import SAMPLE
from tests.support.waiting import eventually
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import OpenWindow
from tests.vscode.panel import Panel
from tests.vscode.test_install import only_notification

pytestmark = pytest.mark.timeout(400)
"""Seconds; the first test of a process also packs the extension and starts what all share."""


def test_an_empty_window_and_try_it(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow
) -> None:
    script = story.of_sample((SAMPLE / story.SCRIPT.file).read_text())
    server = start_code_server(machine={"acpSidecar.agents": {}, "acpSidecar.defaultAgent": ""})
    window = open_window(root=None, server=server)
    window.until_server_runs()
    window.js("void vscode.commands.executeCommand('acpSidecar.prompt', 'hello')")
    only_notification(window, "An agent works in a folder. Open a folder first.")
    window.command("notifications.clearAll")

    panel = Panel(window)  # one click, on the icon
    panel.button("Try it").click()  # two
    eventually(lambda: any(one["label"] == script.name for one in window.tabs()), "the sample", within=60)
    expect(panel.box).to_have_value(script.prompt, timeout=60_000)
    step = panel.page.locator(".tour li.now")
    expect(step).to_contain_text("did not save it", timeout=30_000)
    eventually(lambda: window.active() is not None, "the sample is the active editor", within=30)
    file = window.active()
    assert file is not None
    assert file.name == script.name
    assert file.read_text() == script.on_disk
    window.until_text(file, script.unsaved, within=30)
    half = len(script.meanwhile.text) // 2
    window.type(script.meanwhile.text[:half])  # the cursor is where the script wants it
    expect(step).to_contain_text("Send the message", timeout=30_000)
    panel.button("Send", exact=True).click()  # three
    window.type(script.meanwhile.text[half:])
    expect(step).to_contain_text("Take back its edit", timeout=60_000)
    own = script.meanwhile.into(script.unsaved)
    bug = story.SCRIPT.mended.replace("))", ") - 1)")
    window.until_text(file, own.replace(bug, story.SCRIPT.mended), within=30)
    assert window.changes(file) != []
    assert file.read_text() == script.on_disk
    panel.button("Reject", exact=True).click()
    expect(step).to_have_count(0, timeout=30_000)
    window.until_text(file, own, within=30)
    assert own in script.possible_ends  # what the demo in the terminal asks for
