/** Changing what a document says. */

import * as vscode from "vscode";
import { replacement, type Replacement } from "./replacements";

/** One undo step. The editor refuses it when the text moved on meanwhile: then false. */
export async function apply(document: vscode.TextDocument, replacements: readonly Replacement[]): Promise<boolean> {
  const edit = new vscode.WorkspaceEdit();
  for (const one of replacements) {
    edit.replace(document.uri, new vscode.Range(document.positionAt(one.start), document.positionAt(one.end)), one.text);
  }
  return vscode.workspace.applyEdit(edit);
}

/** Makes the document say `text`. */
export async function replaceAll(document: vscode.TextDocument, text: string): Promise<boolean> {
  return document.getText() === text || apply(document, [replacement(document.getText(), text)]);
}
