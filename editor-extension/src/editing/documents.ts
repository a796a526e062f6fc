/** Documents by the protocol's URIs. */

import * as vscode from "vscode";

/** The open document; undefined when there is none. Nothing is opened. */
export function openDocument(uri: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === wanted);
}

/**
 * Whether it has unsaved text. A key pressed while a save runs makes the document say it has none, until the next key; its tab knows
 * better.
 */
export function isUnsaved(document: vscode.TextDocument): boolean {
  const name = document.uri.toString();
  return (
    document.isDirty ||
    vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .some((tab) => tab.isDirty && tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === name)
  );
}

/** Whether the workbench's commands that know no other document would work on this one. */
export function isActive(document: vscode.TextDocument): boolean {
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  return (
    vscode.window.activeTextEditor?.document === document &&
    // a diff's editor is active too, but the commands would take the diff
    tab?.input instanceof vscode.TabInputText &&
    tab.input.uri.toString() === document.uri.toString()
  );
}
