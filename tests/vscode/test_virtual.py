"""Windows with folders that are on no disk: nothing is started where there is no other, and agents never work in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.support.waiting import eventually
from tests.vscode.conftest import OpenWindow
from tests.vscode.processes import own_server
from tests.vscode.reviewing import lenses
from tests.vscode.test_install import errors, says_why_it_is_off

VIRTUAL = {"uri": "test-support:/virtual", "name": "virtual"}
"""Its files are the support extension's."""
STATE = """
const ours = vscode.extensions.getExtension('acp-sidecar.acp-sidecar');
const commands = await vscode.commands.getCommands(true);
return { known: ours !== undefined, commands: commands.filter((name) => /^(acpS|s)idecar\\./.test(name)) };
"""


def workspace_of(path: Path, folders: Sequence[dict[str, str]]) -> Path:
    path.write_text(json.dumps({"folders": folders}))
    return path


def test_without_a_folder_on_the_disk_nothing_runs(open_window: OpenWindow, tmp_path: Path) -> None:
    virtual = workspace_of(tmp_path / "virtual.code-workspace", [VIRTUAL])
    window = open_window(root=None, workspace=virtual)
    read = "return (await vscode.workspace.openTextDocument(vscode.Uri.parse('test-support:/virtual/a.txt'))).getText()"
    assert window.js(read) == "one\ntwo\n", "the folder is there"
    # An extension that is not active yet would be known all the same
    assert window.js(STATE) == {"known": False, "commands": []}
    assert own_server(window) is None
    says_why_it_is_off(window, "virtual")

    # With one that is on the disk beside it, agents work there
    folder = tmp_path / "real"
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text("one\ntwo\n")
    both = workspace_of(tmp_path / "both.code-workspace", [VIRTUAL, {"path": str(folder)}])
    window.visit(both)
    window.until_server_runs()
    assert own_server(window) is not None
    window.js("keep.made = vscode.commands.executeCommand('acpSidecar.newSession')")
    picks = window.page.locator(".quick-input-list .monaco-list-row")
    picks.filter(has_text="demo").click()
    made = window.js("return await keep.made")
    (session,) = window.command("sidecar.status")["sessions"]
    assert (session["sessionId"], session["cwd"]) == (made["sessionId"], str(folder))
    window.command(
        "sidecar.prompt", {"sessionId": made["sessionId"], "prompt": f"Look at {file}", "wait": True}
    )
    window.open(file)
    eventually(lambda: lenses(window, file), "its edit is under review", within=30)
    window.command("sidecar.newSession", {"agent": "demo"})
    assert {one["cwd"] for one in window.command("sidecar.status")["sessions"]} == {str(folder)}
    assert errors(window) == []
