/**
 * Files that an agent created and that a rejection left empty while they were in a tab, where their text can be had back by an undo. They
 * are deleted when their last tab is closed, if they are still empty.
 */

import * as vscode from "vscode";
import { isText, openDocument, tabsOf } from "./documents";

export class Emptied implements vscode.Disposable {
  private readonly uris = new Set<string>();
  private readonly disposable = vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
    for (const { input } of closed) {
      if (isText(input) && tabsOf(input.uri).length === 0 && this.uris.delete(input.uri.toString())) {
        void deleteEmpty(input.uri);
      }
    }
  });

  /** The file is to be deleted, and is in a tab. */
  add(uri: vscode.Uri): void {
    this.uris.add(uri.toString());
  }

  dispose(): void {
    this.disposable.dispose();
  }
}

async function deleteEmpty(uri: vscode.Uri): Promise<void> {
  const document = openDocument(uri.toString());
  const stat = await vscode.workspace.fs.stat(uri).then(undefined, () => undefined);
  if (stat?.size === 0 && !document?.isDirty && !document?.getText()) {
    const edit = new vscode.WorkspaceEdit();
    edit.deleteFile(uri, { ignoreIfNotExists: true });
    await vscode.workspace.applyEdit(edit);
  }
}
