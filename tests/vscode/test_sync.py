"""What the sidecar hears of documents, in the order in which it happened."""

from __future__ import annotations

from tests.e2e import scripted
from tests.vscode.window import Window

# Opened by the workbench: what an extension opens stays a document for minutes after its tab was closed.
EDIT_AND_THROW_AWAY = """
for (const path of args[0]) {
  await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(path), { preview: false });
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.fsPath !== path) throw new Error(`${path} is not active`);
  await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), 'typed '));
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
}
"""


def test_a_document_that_is_closed_without_saving_is_its_file_again(window: Window) -> None:
    """The last edit, which takes back what was typed, and the closing happen in one moment."""
    files = [window.file(f"{n}.txt", f"{n}\n") for n in range(10)]
    window.js(EDIT_AND_THROW_AWAY, [str(file) for file in files], seconds=120)
    window.prompt(scripted.steps(*(scripted.read(file) for file in files)))
    read = [answer.get("result", answer.get("error")) for answer in window.answers()[-len(files) :]]
    assert read == [{"content": f"{n}\n"} for n in range(10)]
