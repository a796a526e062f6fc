"""The first minute: a clean profile, no folder, no account, no network."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.waiting import eventually
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import OpenWindow
from tests.vscode.panel import Panel


def test_try_it(start_code_server: Callable[..., CodeServer], open_window: OpenWindow) -> None:
    server = start_code_server(machine={"acpSidecar.agents": {}, "acpSidecar.defaultAgent": ""})
    window = open_window(root=None, server=server)
    window.until_server_runs()
    panel = Panel(window)  # one click, on the icon
    panel.button("Try it").click()  # two
    eventually(
        lambda: any(one["label"] == "weather.py" for one in window.tabs()), "the sample is open", within=20
    )
    expect(panel.box).to_have_value(
        "The sum in rainfall(), in weather.py, is wrong. Please fix it.", timeout=20_000
    )
    file = window.active()
    assert file is not None
    original = window.text(file)
    assert original is not None
    window.type(" Mine.")
    expect(panel.page.locator(".tour li.now")).to_contain_text("Send the message")
    panel.button("Send", exact=True).click()  # three
    window.type(" And mine.")
    expect(panel.page.locator(".tour li.now")).to_contain_text("Take its edit back", timeout=30_000)
    text = window.text(file)
    assert text is not None
    assert "range(len(mm))" in text
    assert "roof. Mine. And mine." in text.replace('"""', " ").replace("  ", " ") or "Mine. And mine." in text
    assert window.changes(file) != []
    panel.button("Reject", exact=True).click()
    expect(panel.page.locator(".tour li.now")).to_have_count(0, timeout=10_000)
    back = window.text(file)
    assert back is not None
    assert "range(len(mm) - 1)" in back
    assert "And mine." in back
    assert "mine" not in file.read_text()
