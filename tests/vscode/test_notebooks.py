"""Notebooks in the real workbench: agents read unsaved cells, and change them where the user sees them and can undo it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.reviewing import title_button
from tests.vscode.window import Window

OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["1\n"]}


def code(name: str, source: list[str], outputs: list[Any] | None = None) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1 if outputs else None,
        "id": name,
        "metadata": {},
        "outputs": outputs or [],
        "source": source,
    }


NOTEBOOK = {
    "cells": [
        code("first", ["print(1)"], [OUTPUT]),
        {"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["# Words"]},
        code("last", ["last = 3\n", "last"]),
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}

SHOW = """
const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(args[0]));
await vscode.window.showNotebookDocument(notebook);
"""
FOUND = "const notebook = vscode.workspace.notebookDocuments.find((one) => one.uri.fsPath === args[0]);\n"
SAYS = (
    FOUND
    + """
return { dirty: notebook.isDirty, cells: notebook.getCells().map((cell) => ({
  kind: cell.kind, text: cell.document.getText(), language: cell.document.languageId, outputs: cell.outputs.length,
  count: cell.metadata.execution_count ?? null })) };
"""
)
TYPE = (
    FOUND
    + """
const { document } = notebook.cellAt(args[1]);
const edit = new vscode.WorkspaceEdit();
edit.insert(document.uri, document.lineAt(document.lineCount - 1).range.end, args[2]);
return await vscode.workspace.applyEdit(edit);
"""
)


def text_of(notebook: Any) -> str:
    return json.dumps(notebook, indent=1, sort_keys=True) + "\n"


def shown(window: Window, name: str = "a.ipynb", text: str | None = None) -> Path:
    """A notebook in its editor."""
    window.configure({"acpSidecar.notify": False})  # Escape would close that message first
    file = window.file(name, text_of(NOTEBOOK) if text is None else text)
    window.js(SHOW, str(file))
    eventually(lambda: window.active_tab()["kind"] == "notebook", "the notebook is shown")
    return file


def cells(window: Window, file: Path) -> list[str]:
    return [cell["text"] for cell in window.js(SAYS, str(file))["cells"]]


def typed(window: Window, file: Path, cell: int, text: str) -> None:
    """VS Code's own extension then takes away, a moment later, the number with which an edited cell was run."""
    assert window.js(TYPE, str(file), cell, text)

    def done() -> bool:
        said = window.js(SAYS, str(file))
        return said["dirty"] and said["cells"][cell]["count"] is None

    eventually(done, "it has unsaved changes")


def in_first_cell(window: Window) -> None:
    focused = window.page.locator(".notebookOverlay .monaco-editor.focused")

    def clicked() -> bool:
        window.page.locator(".notebookOverlay .code-cell-row .view-line").first.click()
        try:
            focused.wait_for(timeout=3_000)
        except (
            PlaywrightTimeout
        ):  # the notebook has drawn the cell anew, and the click went to what was there before
            return False
        return True

    eventually(clicked, "the first cell has the focus")


def pressed(window: Window, key: str) -> None:
    """With the focus on the list of cells."""
    in_first_cell(window)
    window.keys("Escape")
    window.keys(key)


def reads(window: Window, file: Path) -> Any:
    """What an agent reads, once the sidecar has been told the text."""

    def read() -> str | None:
        window.prompt(scripted.steps(scripted.read(file)))
        return window.answers()[-1].get("result", {}).get("content")

    return json.loads(eventually(read, "an agent reads it"))


def sources(notebook: Any) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def writes(window: Window, file: Path, notebook: Any) -> dict[str, Any]:
    content = notebook if isinstance(notebook, str) else json.dumps(notebook)
    window.prompt(scripted.steps(scripted.write(file, content)))
    return window.answers()[-1]


def test_unsaved_cells_are_read_and_changed_in_place(window: Window) -> None:
    file = shown(window)
    typed(window, file, 2, " + 1")
    before = file.read_text()
    read = reads(window, file)
    assert sources(read) == ["print(1)", "# Words", "last = 3\nlast + 1"]
    assert read["cells"][0]["outputs"] == [OUTPUT]

    read["cells"][0]["source"] = "print(2)"
    read["cells"].insert(1, {"cell_type": "code", "source": ["new = 'é'"]})
    assert "result" in writes(window, file, read)
    expected = ["print(2)", "new = 'é'", "# Words", "last = 3\nlast + 1"]
    told = window.js(SAYS, str(file))
    assert [cell["text"] for cell in told["cells"]] == expected
    assert [cell["outputs"] for cell in told["cells"]] == [1, 0, 0, 0], "outputs stay"
    assert [cell["language"] for cell in told["cells"]] == ["python", "python", "markdown", "python"]
    assert told["dirty"]
    assert file.read_text() == before, "the user has not saved it"
    assert [row["state"] for row in window.changes(file)], "it is under review"

    # One step back takes the agent's change out, and nothing of the user's
    pressed(window, "Control+z")
    eventually(lambda: cells(window, file) == ["print(1)", "# Words", "last = 3\nlast + 1"], "it is undone")
    pressed(window, "Control+Shift+z")
    eventually(lambda: cells(window, file) == expected, "it is there again")

    read = reads(window, file)
    window.command("workbench.action.files.save")
    eventually(lambda: not window.js(SAYS, str(file))["dirty"], "it is saved")
    assert json.loads(file.read_text()) == read, "what agents read is what is saved"
    assert reads(window, file) == read


def test_what_the_user_types_meanwhile_stays(window: Window) -> None:
    file = shown(window)
    typed(window, file, 2, " + 1")
    read = reads(window, file)
    typed(window, file, 2, " + 2")
    read["cells"][0]["source"] = ["print(2)"]
    assert "result" in writes(window, file, read)
    assert cells(window, file) == ["print(2)", "# Words", "last = 3\nlast + 1 + 2"]
    in_first_cell(window)
    window.keys("Control+z")
    eventually(
        lambda: cells(window, file) == ["print(1)", "# Words", "last = 3\nlast + 1 + 2"],
        "what changed in a cell only is undone there",
    )


def test_a_change_is_rejected_in_the_cells(window: Window) -> None:
    file = shown(window)
    typed(window, file, 2, " + 1")
    read = reads(window, file)
    read["cells"][0]["source"] = ["print(2)"]
    assert "result" in writes(window, file, read)
    expect(title_button(window, "Keep All")).to_be_visible()
    # what the row in the view does: it leads to the notebook, not to the file's text
    (change,) = window.changes(file)
    window.command("acpSidecar.review.show", {"uri": file.as_uri(), "line": change["range"]["start"]["line"]})
    assert [tab["kind"] for tab in window.tabs()] == ["notebook"]
    title_button(window, "Reject All").click()
    eventually(lambda: cells(window, file) == ["print(1)", "# Words", "last = 3\nlast + 1"], "it is put back")


def test_what_cells_cannot_have_is_refused_in_words(window: Window) -> None:
    file = shown(window)
    typed(window, file, 2, " + 1")
    read = reads(window, file)
    forged = json.loads(json.dumps(read))
    forged["cells"][0]["outputs"][0]["text"] = ["forged\n"]
    refused = writes(window, file, forged)["error"]
    assert refused["data"]["errorKind"] == "editor_refused"
    assert "outputs of cells come from running them" in refused["message"]
    refused = writes(window, file, "{}\n")["error"]
    assert "is open as a notebook, and the new text is not a notebook" in refused["message"]
    assert cells(window, file) == ["print(1)", "# Words", "last = 3\nlast + 1"]


def test_a_clean_notebook_is_edited_on_disk_and_that_is_said(window: Window) -> None:
    file = shown(window)
    changed = json.loads(file.read_text())
    changed["cells"][0]["source"] = ["print(2)"]
    answer = writes(window, file, text_of(changed))
    assert "edited on disk: it is open in a notebook" in answer["result"]["_meta"]["note"]
    assert file.read_text() == text_of(changed)
    eventually(lambda: cells(window, file)[0] == "print(2)", "its editor shows it")
    # and no other document of it keeps the user's unsaved cells from agents
    typed(window, file, 2, " + 1")
    assert sources(reads(window, file)) == ["print(2)", "# Words", "last = 3\nlast + 1"]


def test_a_notebook_that_is_saved_in_another_form(window: Window) -> None:
    """What agents read is what would be saved, whatever the file says now."""
    file = shown(window, text=json.dumps(NOTEBOOK, indent=4) + "\n")
    typed(window, file, 0, " # typed")
    read = reads(window, file)
    window.prompt(scripted.steps(scripted.read(file)))
    text = window.answers()[-1]["result"]["content"]
    window.command("workbench.action.files.save")
    eventually(lambda: not window.js(SAYS, str(file))["dirty"], "it is saved")
    assert file.read_text() == text
    assert sources(read)[0] == "print(1) # typed"
