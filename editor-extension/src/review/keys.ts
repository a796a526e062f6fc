/**
 * Context keys for the `when` clauses of package.json. They describe the active tab. `resource in …` would compare the
 * window's URIs with this host's, and the two differ in a remote window.
 */

import * as vscode from "vscode";
import type { Review } from "./state";
import { activeUri, cursor } from "./target";

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
    active();
  };
  const active = (): void => {
    const uri = activeUri();
    set("fileHasChanges", uri !== undefined && review.model.of(uri).length > 0);
    set("fileHasConflicts", uri !== undefined && review.conflicts.of(uri).length > 0);
    onCursor();
  };
  const onCursor = (): void => {
    const where = cursor();
    set("onChange", where !== undefined && review.model.at(where.uri, where.line) !== undefined);
  };
  all();
  return vscode.Disposable.from(
    review.model.onDidChange(all),
    review.conflicts.onDidChange(all),
    vscode.window.onDidChangeActiveTextEditor(active),
    vscode.window.tabGroups.onDidChangeTabs(active),
    vscode.window.tabGroups.onDidChangeTabGroups(active),
    vscode.window.onDidChangeTextEditorSelection(onCursor),
  );
}
