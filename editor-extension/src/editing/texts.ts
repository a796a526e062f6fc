/** Changes the text of a document. */

import * as vscode from "vscode";
import { replacement, type Replacement } from "./replacements";

/** Where an undo step begins and ends: an edit without a stop before it belongs to the step of the one before, if that has none after it. */
export interface UndoStops {
  readonly undoStopBefore: boolean;
  readonly undoStopAfter: boolean;
}

/** Applies the edits as one undo step. False if the text changed meanwhile, because the editor then refuses. */
export async function apply(document: vscode.TextDocument, replacements: readonly Replacement[]): Promise<boolean> {
  const edit = new vscode.WorkspaceEdit();
  for (const one of replacements) {
    edit.replace(document.uri, new vscode.Range(document.positionAt(one.start), document.positionAt(one.end)), one.text);
  }
  return vscode.workspace.applyEdit(edit);
}

/**
 * The same for the document of this editor, as long as that is shown. Its cursor stays at the end of a range that is replaced up to it, and
 * at the start of one that begins there; an edit of the workspace would push it away.
 */
export async function replaceInEditor(
  editor: vscode.TextEditor,
  replacements: readonly Replacement[],
  stops: UndoStops = { undoStopBefore: true, undoStopAfter: true },
): Promise<boolean> {
  const { document } = editor;
  try {
    return await editor.edit((builder) => {
      for (const one of replacements) {
        builder.replace(new vscode.Range(document.positionAt(one.start), document.positionAt(one.end)), one.text);
      }
    }, stops);
  } catch {
    return apply(document, replacements); // the user has turned to another file in this moment
  }
}

/** Makes `text` the document's text. */
export async function replaceAll(document: vscode.TextDocument, text: string): Promise<boolean> {
  return document.getText() === text || apply(document, [replacement(document.getText(), text)]);
}
