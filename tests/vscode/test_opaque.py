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


def test_a_notebook_with_unsaved_changes(window: Window) -> None:
    file = window.file("a.ipynb", NOTEBOOK)
    window.js(
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
