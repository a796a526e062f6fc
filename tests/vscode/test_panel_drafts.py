"""What is in the prompt box stays there, wherever the panel goes; and what was sent before is sent again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.panel import Panel
from tests.vscode.test_panel import STOPPED, begin, fresh
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

HALF = "half a thought"


def move(window: Window, to: str) -> None:
    """As a person does: *View: Move View*, the view, the place."""
    window.js("keep.move = vscode.commands.executeCommand('workbench.action.moveView'); return null;")
    chosen = window.page.locator(".quick-input-list .monaco-list-row.focused")
    for words in ("Agent", to):  # by keyboard: rows change under the pointer while the list fills
        expect(
            window.page.locator(".quick-input-list .monaco-list-row", has_text=words).first
        ).to_be_visible()
        window.page.keyboard.type(words)
        expect(chosen.filter(has_text=words)).to_be_visible()
        window.page.keyboard.press("Enter")


def test_the_view_is_moved_and_takes_conversation_and_draft_along(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "remember the rain"}))
    panel.answers("remember the rain")
    panel.ready()
    panel.box.fill(HALF)
    try:
        for to, part in (
            ("New Panel Entry", ".part.panel"),
            ("New Side Bar Entry", ".part.sidebar"),
            ("New Secondary Side Bar Entry", ".part.auxiliarybar"),
        ):
            move(window, to)
            expect(window.page.locator(f"{part} .composite.title", has_text="Agent").first).to_be_visible()
            panel.answers("remember the rain")
            expect(panel.box).to_have_value(HALF)
            panel.prompt(scripted.steps({"say": f"in {part}"}))  # it works there
            panel.answers(f"in {part}")
            panel.ready()
            panel.box.fill(HALF)
    finally:
        window.command("workbench.action.resetViewLocations")
    Panel(window).answers("in .part.auxiliarybar")


def test_a_draft_stays_while_a_list_is_shown(window: Window) -> None:
    panel = begin(window)
    panel.box.fill(HALF)
    for command in ("acpSidecar.panel.sessions", "acpSidecar.panel.new"):
        window.command(command)
        panel.button("Close", exact=True).click()
        expect(panel.box).to_have_value(HALF)


def test_each_conversation_has_a_draft_of_its_own(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "the first of two"}))
    panel.answers("the first of two")
    panel.ready()
    panel.box.fill(HALF)
    panel = begin(window)
    expect(panel.box).to_have_value("")
    panel.box.fill("another")
    window.command("acpSidecar.panel.sessions")
    panel.page.locator(".sessions li .session").filter(has_text="the first of two").first.click()
    panel.answers("the first of two")
    expect(panel.box).to_have_value(HALF)


def test_what_is_added_while_the_panel_is_hidden_joins_the_draft(window: Window) -> None:
    file = window.file("rain.py", "x = 1\n")
    panel = begin(window)
    panel.box.fill(HALF)
    panel.box.blur()
    window.command("workbench.action.closeAuxiliaryBar")
    window.open(file)
    window.command("acpSidecar.panel.add")
    panel = Panel(window)
    expect(panel.page.locator(".box .chip")).to_have_text([f"{window.folder.name}/rain.py"])
    expect(panel.box).to_have_value(HALF)


def test_what_was_sent_before_comes_back_with_the_arrow(window: Window) -> None:
    panel = begin(window)
    sent = [scripted.steps({"say": f"number {number}"}) for number in range(2)]
    for number, text in enumerate(sent):
        panel.prompt(text)
        panel.answers(f"number {number}")
        panel.ready()
    panel.box.fill(HALF)
    panel.box.press("Home")
    for text in reversed(sent):
        panel.box.press("ArrowUp")
        expect(panel.box).to_have_value(text)
        panel.box.press("Home")
    panel.box.press("End")
    panel.box.press("ArrowDown")
    panel.box.press("End")
    panel.box.press("ArrowDown")
    expect(panel.box).to_have_value(HALF)


def test_a_message_is_edited_and_sent_again(window: Window) -> None:
    """The last one, with its turn undone before; then the first one, as it is, its turn kept."""
    file = window.file("a.txt", "one\n")
    window.open(file)
    panel = begin(window)
    texts = ["one\ntwo\n", "one\ntwo\nthree\n"]
    for turn, text in enumerate(texts):
        panel.prompt(fresh(turn, scripted.read(file), scripted.write(file, text), {"say": f"turn {turn}"}))
        panel.answers(f"turn {turn}")
        panel.ready()
    messages = panel.page.locator(".user")
    for at, undo, button, text in (
        (1, "one\ntwo\n", "Undo this turn and send", "one\ntwo\n3\n"),
        (0, "one\ntwo\n3\n", "Send", "one\ntwo\n4\n"),
    ):
        count = messages.count()
        messages.nth(at).hover()
        messages.nth(at).get_by_label("Edit and send again").click()
        edit = messages.nth(at).get_by_label("Edit message")
        edit.fill(
            fresh(
                2 + at,
                scripted.read(file),
                scripted.write(file, text),
                {"say": {"answer": f"{2 + at} read {file}"}},
            )
        )
        messages.nth(at).get_by_role("button", name=button, exact=True).click()
        expect(messages).to_have_count(count + 1)
        window.until_text(file, text)
        panel.ready()
        read = [one["result"]["content"] for one in window.answers() if "content" in one.get("result", {})]
        assert read[-1] == undo  # what the agent saw first
    expect(messages.nth(1).get_by_text("Undone")).to_be_visible()
    expect(messages.nth(0).get_by_role("button", name="Undo this turn")).to_be_visible()
    messages.nth(0).get_by_role("button", name="Undo this turn").click()  # the first, without git
    expect(messages.nth(0).get_by_text("Undone")).to_be_visible()
    eventually(lambda: "two" not in (window.text(file) or ""), "what the first turn added is gone")


def test_a_message_that_is_being_edited_is_left_by_escape_and_waits_while_a_turn_runs(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "first"}))
    panel.answers("first")
    panel.ready()
    panel.prompt(scripted.steps({"say": "begun"}, *STOPPED))
    panel.answers("begun")
    first = panel.page.locator(".user").first
    first.hover()
    first.get_by_label("Edit and send again").click()
    first.get_by_label("Edit message").press("Escape")
    expect(first.get_by_label("Edit message")).to_have_count(0)
    first.hover()
    first.get_by_label("Edit and send again").click()
    first.get_by_label("Edit message").fill("later")
    first.get_by_role("button", name="Send", exact=True).click()
    expect(panel.page.get_by_label("Queued messages")).to_contain_text("later")
    panel.button("Remove from the queue").click()
    expect(panel.page.get_by_label("Queued messages")).to_have_count(0)
    panel.button("Stop").click()
    panel.says("Stopped.")
    expect(panel.box).to_have_value("")
