/** Context keys: what `when` clauses of package.json ask. */

import * as vscode from "vscode";
import type { Review } from "./state";

export function keys(review: Review): vscode.Disposable {
  const known = new Map<string, string>();
  const set = (name: string, value: unknown): void => {
    const said = JSON.stringify(value);
    if (known.get(name) !== said) {
      known.set(name, said);
      void vscode.commands.executeCommand("setContext", `acpSidecar.${name}`, value);
    }
  };
  const all = (): void => {
    set("hasChanges", !review.model.isEmpty || review.conflicts.all.length > 0);
    set("changedFiles", review.model.uris);
    set("conflictFiles", review.conflicts.uris);
    cursor();
  };
  const cursor = (): void => {
    const editor = vscode.window.activeTextEditor;
    const uri = editor?.document.uri.toString();
    set("onChange", editor !== undefined && uri !== undefined && review.model.at(uri, editor.selection.active.line) !== undefined);
  };
  all();
  return vscode.Disposable.from(
    review.model.onDidChange(all),
    review.conflicts.onDidChange(all),
    vscode.window.onDidChangeActiveTextEditor(cursor),
    vscode.window.onDidChangeTextEditorSelection(cursor),
  );
}
