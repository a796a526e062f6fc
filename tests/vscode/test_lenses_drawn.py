"""The editor forgets that lenses have changed when it loses the focus a moment later, as by a click into the panel."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.vscode.reviewing import agent_writes, until_lenses
from tests.vscode.window import Window

BASE = "".join(f"line {i}\n" for i in range(1, 21))
WANTED = BASE.replace("line 3\n", "line three\n").replace("line 15\n", "line fifteen\n")
LENSES = {2: ["Keep", "Reject", "− 1 line"], 14: ["Keep", "Reject", "− 1 line"]}

# The extension knows that a change was kept, and the editor is told; at once the focus goes elsewhere, before the editor has asked.
KEEP_AND_LEAVE = """
const lenses = () => vscode.commands.executeCommand('vscode.executeCodeLensProvider', vscode.Uri.file(args[0]), 100);
await vscode.commands.executeCommand('sidecar.keep', { changeIds: [args[1]] });
for (const start = Date.now(); Date.now() - start < 30_000 && (await lenses()).length !== 3; );
await vscode.commands.executeCommand('workbench.action.focusSideBar');
"""


def test_lenses_are_drawn_though_the_focus_leaves_just_then(window: Window) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    first, _ = sorted(window.changes(file), key=lambda change: change["range"]["start"]["line"])
    window.focus_editor()
    window.settle()
    window.js(KEEP_AND_LEAVE, str(file), first["changeId"], seconds=60)
    expect(window.page.locator(".editor-instance .monaco-editor.focused")).to_have_count(0)
    drawn = window.page.locator(".codelens-decoration").filter(has_text=re.compile(r"\w"))
    expect(drawn).to_have_count(1)
