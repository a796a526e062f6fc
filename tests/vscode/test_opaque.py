"""Files that text sync does not reach: while they have unsaved changes, nobody reads or writes their files."""

from __future__ import annotations

import json

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import Window

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": ["1 + 1"], "metadata": {}, "outputs": [], "execution_count": None}
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)


def test_a_notebook_with_unsaved_changes_whose_file_is_open_as_text_too(window: Window) -> None:
    """The text that is told of the file is not the notebook's (test_notebooks.py has notebooks that are open by themselves)."""
    file = window.file("a.ipynb", NOTEBOOK)
    window.js(
        "await vscode.window.showTextDocument(vscode.Uri.file(args[0]), { preview: false });\n"
        "const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(args[0]));\n"
        "await vscode.window.showNotebookDocument(notebook);\n"
        "const edit = new vscode.WorkspaceEdit();\n"
        "const cell = new vscode.NotebookCellData(vscode.NotebookCellKind.Code, '2 + 2', 'python');\n"
        "edit.set(notebook.uri, [vscode.NotebookEdit.insertCells(0, [cell])]);\n"
        "await vscode.workspace.applyEdit(edit);",
        str(file),
    )
    eventually(lambda: any(tab["dirty"] for tab in window.tabs()), "the notebook is dirty")
    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "{}\n")))
    read, write = window.answers()[-2:]
    assert read["error"]["data"]["errorKind"] == write["error"]["data"]["errorKind"] == "open_elsewhere"
    assert "unsaved" in read["error"]["message"]
    assert file.read_text() == NOTEBOOK
    window.command("workbench.action.files.save")
    eventually(lambda: not any(tab["dirty"] for tab in window.tabs()), "the notebook is saved")
    saved = file.read_text()
    assert "2 + 2" in saved

    def reads() -> str | None:  # the tab may be clean a moment before the sidecar is told
        window.prompt(scripted.steps(scripted.read(file)))
        return window.answers()[-1].get("result", {}).get("content")

    eventually(lambda: reads() == saved, "an agent reads what was saved")


def test_a_custom_editor_with_unsaved_changes(window: Window) -> None:
    file = window.file("a.blob", "from the disk\n")
    turn = window.prompt(
        scripted.steps(scripted.read(file), scripted.write(file, "from the disk\nand an agent\n"))
    )
    assert file.read_text() == "from the disk\nand an agent\n"
    window.js(
        "await vscode.commands.executeCommand('vscode.openWith', vscode.Uri.file(args[0]), 'test-support.blob')",
        str(file),
    )
    eventually(lambda: window.active_tab()["kind"] == "custom", "the custom editor is shown")
    window.js("keep.blobs.change(args[0])", str(file))
    eventually(lambda: window.active_tab()["dirty"], "it has unsaved changes")

    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "from an agent\n")))
    read, write = window.answers()[-2:]
    assert read["error"]["data"]["errorKind"] == write["error"]["data"]["errorKind"] == "open_elsewhere"
    which = {"sessionId": turn["sessionId"], "turn": turn["turn"]}
    (refused,) = window.command("sidecar.revertTurn", which)["impossible"]
    assert "special editor" in refused["reason"]
    assert file.read_text() == "from the disk\nand an agent\n", "nothing is touched"
    assert window.active_tab()["dirty"]

    window.command("workbench.action.files.save")
    eventually(lambda: not window.active_tab()["dirty"], "it is saved")
    assert file.read_text() == "from the custom editor\n"
    eventually(
        lambda: (
            window.prompt(scripted.steps(scripted.read(file)))
            and window.answers()[-1].get("result", {}).get("content") == "from the custom editor\n"
        ),
        "an agent reads what was saved",
    )
