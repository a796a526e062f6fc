"""What can be done without the panel."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import Window


def test_a_prompt_by_input_box(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    window.open(file)
    window.js("void vscode.commands.executeCommand('acpSidecar.prompt')")
    box = window.page.locator(".quick-input-widget input.input")
    box.fill(scripted.steps(scripted.write(file, "one\ntwo\n")))
    box.press("Enter")
    window.until_text(file, "one\ntwo\n")
    eventually(lambda: len(window.changes(file)) == 1, "the edit is under review")


def test_a_prompt_that_is_given_up(window: Window) -> None:
    window.js("keep.given = vscode.commands.executeCommand('acpSidecar.prompt')")
    # the widget is there, hidden, once any other question was asked
    expect(window.page.locator(".quick-input-widget input.input")).to_be_focused()
    window.keys("Escape")
    assert window.js("return (await keep.given) ?? null") is None
    assert window.command("sidecar.status")["sessions"] == []


def test_the_running_turn_is_stopped(window: Window) -> None:
    turn = window.begin(scripted.steps({"wait_for": "session/cancel"}))
    eventually(
        lambda: [each["running"] for each in window.command("sidecar.status")["sessions"]] == [True],
        "the turn runs",
    )
    window.command("acpSidecar.stop")
    assert turn.result()["stopReason"] == "cancelled"


def test_the_menu_of_the_status_bar(window: Window) -> None:
    window.page.locator("[id='acp-sidecar.acp-sidecar.acpSidecar.status']").click()
    rows = window.page.locator(".quick-input-list .monaco-list-row")
    rows.filter(has_text="Restart Server").wait_for()
    assert rows.first.inner_text().strip() == "Open Panel"
    rows.filter(has_text="New Session").wait_for()
    window.keys("Escape")
