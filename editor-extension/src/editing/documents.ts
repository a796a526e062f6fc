/** Finds documents by the protocol's URIs. */

import * as vscode from "vscode";

/** The open document; undefined if there is none. Opens nothing. */
export function openDocument(uri: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === wanted);
}

/**
 * Whether the document has unsaved text. After a key is pressed during a save, the document says that it has none until
 * the next key; its tab knows better.
 */
export function isUnsaved(document: vscode.TextDocument): boolean {
  return document.isDirty || tabsOf(document.uri).some((tab) => tab.isDirty);
}

/** Whether this document is the one that workbench commands without an argument would act on. */
export function isActive(document: vscode.TextDocument): boolean {
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  return (
    vscode.window.activeTextEditor?.document === document &&
    // a diff's editor is active too, but the commands would act on the diff
    tab?.input instanceof vscode.TabInputText &&
    tab.input.uri.toString() === document.uri.toString()
  );
}

/** The tabs that show it as text. */
export function tabsOf(uri: vscode.Uri): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => isText(input) && input.uri.toString() === uri.toString());
}

export function isText(input: unknown): input is vscode.TabInputText {
  return input instanceof vscode.TabInputText;
}
