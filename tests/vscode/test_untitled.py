"""Documents without a file in the real workbench: agents get their text, and read and change them by the name that they get it with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.reviewing import lens, until_lenses
from tests.vscode.test_panel import begin
from tests.vscode.test_panel_prompt import choose, last_prompt
from tests.vscode.window import Window

NEW = """
const document = await vscode.workspace.openTextDocument({ content: args[0], language: 'markdown' });
await vscode.window.showTextDocument(document);
return document.uri.toString();
"""
TEXT = (
    "return vscode.workspace.textDocuments.find((one) => one.uri.toString() === args[0])?.getText() ?? null"
)


def untitled(window: Window) -> str:
    """A document without a file, in which the user typed. Returns its name."""
    name = window.js(NEW, "one\ntwo\nthree\n")
    assert name.startswith("untitled:")
    window.type("typed ")
    eventually(
        lambda: any(row["uri"] == name for row in window.command("sidecar.status")["documents"]),
        "the sidecar has it",
    )
    return name


def test_an_untitled_document_is_read_and_changed(window: Window) -> None:
    name = untitled(window)

    def text() -> Any:
        return window.js(TEXT, name)

    window.prompt(scripted.steps(scripted.read(name), scripted.write(name, "typed one\nTWO\nthree\n")))
    assert "typed one\ntwo\nthree\n" in texts_of(last_prompt(window)), "its text went along"
    read, write = window.answers()[-2:]
    assert read["result"]["content"] == "typed one\ntwo\nthree\n"
    assert write["result"]["_meta"] == {"saved": False, "note": "it has no file yet; the user saves it"}
    assert text() == "typed one\nTWO\nthree\n"
    assert window.page.locator(".monaco-dialog-box").count() == 0, "nobody is asked for a file's name"
    (row,) = [row for row in window.command("sidecar.listChanges", {}) if row["uri"] == name]
    assert (row["oldText"], row["newText"]) == ("two", "TWO")
    lenses = window.page.locator(".codelens-decoration").filter(has_text="Keep")
    expect(lenses).to_have_count(1, timeout=30_000)
    window.undo()
    eventually(lambda: text() == "typed one\ntwo\nthree\n", "it is undone in one step")
    window.redo()
    eventually(lambda: text() == "typed one\nTWO\nthree\n", "it is there again")
    window.command("sidecar.reject", {"uri": name})
    eventually(lambda: text() == "typed one\ntwo\nthree\n", "it is rejected")


def test_it_is_added_to_the_prompt(window: Window) -> None:
    name = untitled(window)
    panel = begin(window)
    chips = panel.page.locator(".box .chip")
    window.focus_editor()
    window.keys("Control+Alt+l")
    expect(chips).to_have_text(["Untitled-1"])
    window.focus_editor()
    window.keys("Control+a")
    window.keys("Control+Alt+l")
    expect(chips).to_have_text(["Untitled-1", "Untitled-1:1-3"])
    panel.box.click()
    choose(window, panel, "@op", "Open files")
    expect(chips).to_have_count(2)  # it is there already
    window.page.keyboard.press("End")
    panel.box.fill(scripted.steps({"say": "got it"}))
    panel.box.press("Enter")
    panel.answers("got it")
    blocks = last_prompt(window)
    assert name in [block.get("uri") for block in blocks if block["type"] == "resource_link"]
    assert f"{name}#L1, lines 1–3:\n```\ntyped one\ntwo\nthree\n\n```" in texts_of(blocks)


def texts_of(blocks: list[Any]) -> str:
    return "\n".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)


def test_its_review_goes_on_when_it_is_saved_as_a_file(
    window: Window, request: pytest.FixtureRequest
) -> None:
    name = untitled(window)
    window.prompt(scripted.steps(scripted.read(name), scripted.write(name, "typed one\nTWO\nthree\n")))
    window.save()
    # VS Code's proposal for the name, which it puts in late
    expect(window.page.locator(".quick-input-widget input[type=text]").first).to_have_value(
        re.compile(r"\.md$")
    )
    window.page.keyboard.press("Enter")

    def file_of_it() -> Path | None:
        shown = window.active()
        return shown if shown is not None and shown.is_absolute() else None

    file = eventually(file_of_it, "it is a file", within=60)
    request.addfinalizer(file.unlink)
    window.until_text(file, "typed one\nTWO\nthree\n")
    until_lenses(window, file, {1: ["Keep", "Reject", "− 1 line"]})
    (row,) = window.command("sidecar.listChanges", {})
    assert row["uri"] == file.as_uri()
    lens(window, "Reject").click()
    window.until_text(file, "typed one\ntwo\nthree\n")
