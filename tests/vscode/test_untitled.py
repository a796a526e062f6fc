"""Documents without a file in the real workbench: agents get their text, and read and change them by the name that they get it with."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import Window

NEW = """
const document = await vscode.workspace.openTextDocument({ content: args[0], language: 'markdown' });
await vscode.window.showTextDocument(document);
return document.uri.toString();
"""
TEXT = (
    "return vscode.workspace.textDocuments.find((one) => one.uri.toString() === args[0])?.getText() ?? null"
)


def test_an_untitled_document_is_read_and_changed(window: Window) -> None:
    name = window.js(NEW, "one\ntwo\nthree\n")
    assert name.startswith("untitled:")
    window.type("typed ")
    eventually(
        lambda: any(row["uri"] == name for row in window.command("sidecar.status")["documents"]),
        "the sidecar has it",
    )

    def text() -> Any:
        return window.js(TEXT, name)

    window.prompt(scripted.steps(scripted.read(name), scripted.write(name, "typed one\nTWO\nthree\n")))
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
