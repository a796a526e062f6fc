"""What the prompt box brings along, in the real workbench: the rows of `@` that the editor fills, files that are dropped, and the key."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.panel.test_prompt import DROP
from tests.support.waiting import eventually
from tests.vscode.code_server import RECEIVED
from tests.vscode.panel import Panel
from tests.vscode.test_panel import STOPPED, begin
from tests.vscode.test_panel_choosing import begin as begin_able
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(400)

PROBLEM = """
const found = vscode.languages.createDiagnosticCollection('tests');
keep.disposables = [...(keep.disposables ?? []), found];
const problem = new vscode.Diagnostic(new vscode.Range(1, 0, 1, 1), 'rain is expected', vscode.DiagnosticSeverity.Warning);
found.set(vscode.Uri.file(args[0]), [problem]);
"""
COMMAND = """
const terminal = vscode.window.createTerminal({ name: 'mine' });
keep.disposables = [...(keep.disposables ?? []), terminal];
terminal.show(true);
keep.shell = new Promise((resolve) => {
  const listening = vscode.window.onDidChangeTerminalShellIntegration((event) => {
    if (event.terminal === terminal) { listening.dispose(); resolve(event.shellIntegration); }
  });
});
const shell = await keep.shell;
const listening = [];
const started = new Promise((resolve) => listening.push(vscode.window.onDidStartTerminalShellExecution(resolve)));
const ended = new Promise((resolve) => listening.push(vscode.window.onDidEndTerminalShellExecution(resolve)));
shell.executeCommand(args[0]);
await started;
terminal.sendText(args[1]); // VS Code itself hands over no output that comes in one piece with the command's start
await ended;
listening.forEach((one) => one.dispose());
"""


def choose(window: Window, panel: Panel, typed: str, row: str) -> None:
    window.page.keyboard.type(typed)
    option = panel.page.get_by_role("option").filter(has_text=row)
    expect(option.first).to_be_visible(timeout=30_000)
    option.first.click()


def last_prompt(window: Window) -> list[Any]:
    """The blocks that an agent got last."""
    lines = (window.server.folder / RECEIVED).read_text().splitlines()
    prompts = [told for line in lines if (told := json.loads(line)).get("method") == "session/prompt"]
    return prompts[-1]["params"]["prompt"]


def test_what_the_editor_knows_is_mentioned(window: Window) -> None:
    (window.folder / "weather").mkdir()
    file = window.file("weather/rainfall.py", "one\ntwo\n")
    other = window.file("sun.py", "sun\n")
    window.open(other)
    window.open(file)
    window.js(PROBLEM, str(file))
    panel = begin(window)
    panel.prompt(scripted.steps(scripted.read(file), scripted.write(file, "one\nTWO\n"), {"say": "changed"}))
    panel.answers("changed")
    panel.ready()
    panel.box.click()
    window.page.keyboard.type("@weath")
    rows = panel.page.get_by_role("option")
    rows.filter(has=panel.page.locator(".codicon-folder")).filter(has_text="weather/").click(timeout=30_000)
    for typed, row, chip in (
        ("@prob", "Problems", "1 problem"),
        ("@diff", "Changes under review", "1 change"),
        ("@op", "Open files", "rainfall.py"),
    ):
        choose(window, panel, typed, row)
        expect(panel.page.locator(".box .chip").filter(has_text=chip).first).to_be_visible()
    folder = panel.page.locator(".box .chip").filter(has=panel.page.locator(".codicon-folder"))
    expect(folder).to_have_count(1)
    # all of it goes to the agent
    window.page.keyboard.press("End")
    panel.box.fill(scripted.steps({"say": "got it"}))
    panel.box.press("Enter")
    panel.answers("got it")
    sent = json.dumps(last_prompt(window))
    for words in (
        "weather/rainfall.py:2: warning: rain is expected",
        "-two",
        "+TWO",
        f'"{file.parent.as_uri()}"',
        f'"{file.as_uri()}"',
        f'"{other.as_uri()}"',
    ):
        assert words in sent, words


def test_the_last_output_of_a_terminal_is_mentioned(window: Window) -> None:
    panel = begin(window)
    window.js(COMMAND, "read line; echo rain-$line", "42", seconds=90)
    row = panel.page.get_by_role("option").filter(has_text="Terminal output")

    def is_offered() -> bool:  # what a terminal said may come after the end of its command
        panel.box.fill("")
        panel.box.press_sequentially("@term")
        try:
            row.wait_for(timeout=2_000)
        except PlaywrightError:
            return False
        return True

    eventually(is_offered, "the output is offered", within=60)
    row.click()
    expect(panel.page.locator(".box .chip")).to_have_text(["read line; echo rain-$line"])
    panel.box.fill(scripted.steps({"say": "got it"}))
    panel.box.press("Enter")
    panel.answers("got it")
    sent = json.dumps(last_prompt(window))
    assert "$ read line; echo rain-$line\\n" in sent
    assert "\\nrain-42" in sent


def test_notebooks_and_documents_without_a_file_are_mentioned(window: Window) -> None:
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    notebook = window.file("rain.ipynb", json.dumps(book))
    name = window.js(
        "await vscode.commands.executeCommand('vscode.openWith', vscode.Uri.file(args[0]), 'jupyter-notebook');"
        "const document = await vscode.workspace.openTextDocument({ content: 'not saved', language: 'markdown' });"
        "await vscode.window.showTextDocument(document, { preview: false });"
        "return document.uri.toString();",
        str(notebook),
    )
    panel = begin(window)
    panel.box.click()
    for typed, label, icon in (("@unti", "Untitled-", "new-file"), ("@rain.i", "rain.ipynb", "notebook")):
        window.page.keyboard.type(typed)
        row = panel.page.get_by_role("option").filter(has=panel.page.locator(f".codicon-{icon}"))
        expect(row.first).to_contain_text(label)
        row.first.click()
    choose(window, panel, "@op", "Open files")
    chips = panel.page.locator(".box .chip")
    expect(chips).to_have_count(2)  # these two are all that is open
    panel.box.fill(scripted.steps({"say": "got it"}))
    panel.box.press("Enter")
    panel.answers("got it")
    links = [one["uri"] for one in last_prompt(window) if one["type"] == "resource_link"]
    assert sorted(links) == sorted([name, notebook.as_uri()])
    # and from the menu of commands
    window.focus_editor()
    window.command("acpSidecar.panel.add")
    expect(chips).to_have_text([name.removeprefix("untitled:")])


def test_a_file_is_dragged_from_the_explorer_with_shift_held(window: Window) -> None:
    """With a real pointer. The workbench lets a drag into a page only while Shift is held."""
    file = window.file("drizzle.py", "x\n")  # the folders of other tests are in the Explorer, too
    panel = begin(window)
    window.command("workbench.view.explorer")
    window.command("workbench.files.action.refreshFilesExplorer")
    window.js("await vscode.commands.executeCommand('revealInExplorer', vscode.Uri.file(args[0]))", str(file))
    row = window.page.locator(".explorer-folders-view .monaco-list-row").filter(has_text="drizzle.py")
    expect(row).to_be_visible()
    chips = panel.page.locator(".box .chip")

    def drag() -> bool:
        here, there = row.bounding_box(), panel.box.bounding_box()
        assert here is not None
        assert there is not None
        mouse = window.page.mouse
        mouse.move(here["x"] + 60, here["y"] + 8)
        mouse.down()
        mouse.move(here["x"] + 70, here["y"] + 20, steps=4)
        window.page.keyboard.down("Shift")
        mouse.move(there["x"] + 40, there["y"] + 20, steps=10)
        mouse.move(there["x"] + 42, there["y"] + 22, steps=3)
        mouse.up()
        window.page.keyboard.up("Shift")
        try:
            chips.wait_for(timeout=5_000)
        except PlaywrightError:
            return False
        return True

    eventually(drag, "the file is in the prompt box", within=60)
    panel.box.fill(scripted.steps({"say": "got it"}))
    panel.box.press("Enter")
    panel.answers("got it")
    assert [one["uri"] for one in last_prompt(window) if one["type"] == "resource_link"] == [file.as_uri()]


def test_files_are_dropped_into_the_prompt(window: Window) -> None:
    file = window.file("rain.py", "x\n")
    panel = begin(window)
    uris = f"{file.as_uri()}\r\n{file.parent.as_uri()}\r\n"
    panel.page.evaluate(DROP, {"uris": uris, "kind": "application/vnd.code.uri-list", "files": []})
    chips = panel.page.locator(".box .chip")
    expect(chips).to_have_count(2)
    expect(chips.first).to_contain_text("rain.py")
    expect(chips.last.locator(".codicon-folder")).to_have_count(1)
    gone = (window.folder / "gone.py").as_uri()
    panel.page.evaluate(DROP, {"uris": gone, "kind": "text/uri-list", "files": []})
    window.notification("Only files and folders on this machine can be added.").first.wait_for(timeout=30_000)
    expect(chips).to_have_count(2)


def test_escape_pressed_twice_stops_the_turn(window: Window) -> None:
    panel = begin(window)
    panel.prompt(scripted.steps({"say": "begun"}, *STOPPED))
    panel.answers("begun")
    panel.box.press("Escape")
    panel.says("Press Escape again to stop the agent")
    expect(panel.button("Stop")).to_be_enabled()
    panel.box.press("Escape")
    panel.says("Stopped.")
    panel.ready()


def test_that_unsaved_text_went_along_is_a_line_in_the_conversation(window: Window) -> None:
    file = window.file("rain.py", "one\n")
    window.open(file)
    window.type("zero ")
    panel = begin_able(window)
    panel.prompt(scripted.steps({"say": "got it"}))
    panel.answers("got it")
    line = panel.page.locator(".log .notice.info").filter(has_text="was sent with the prompt")
    expect(line).to_have_text(re.compile(r"Your unsaved text of .*rain\.py was sent with the prompt\."))
    prompt = panel.page.locator(".log .user")
    assert line.bounding_box()["y"] > prompt.bounding_box()["y"]  # both are visible
    assert window.notifications() == []  # nothing lies over Send


def test_a_key_goes_to_the_prompt_and_back(window: Window) -> None:
    file = window.file("rain.py", "x\n")
    window.open(file)
    panel = begin(window)

    def is_in_prompt() -> bool:
        return panel.page.evaluate("document.hasFocus() && document.activeElement.tagName === 'TEXTAREA'")

    window.focus_editor()
    assert not is_in_prompt()
    window.keys("Control+Alt+p")
    eventually(is_in_prompt, "the prompt has the focus", within=30)
    panel.type("words")
    expect(panel.box).to_have_value("words")
    window.keys("Control+Alt+p")
    eventually(lambda: not is_in_prompt(), "the editor has it again", within=30)
    window.page.wait_for_selector(".editor-instance .monaco-editor.focused", timeout=30_000)
    window.page.keyboard.type("y")
    window.until_text(file, "yx\n")
    # and when the panel is hidden, it is shown
    window.command("workbench.action.closeAuxiliaryBar")
    window.focus_editor()
    window.keys("Control+Alt+p")
    panel = Panel(window)
    eventually(is_in_prompt, "the prompt has the focus", within=30)
    expect(panel.box).to_have_value("words")
