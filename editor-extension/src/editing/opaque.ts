/**
 * `sidecar/opaque`: files that are open where text sync does not reach, in notebooks and custom editors. While one has unsaved
 * changes, its text on the disk is not what the user sees, and the server neither reads nor writes it.
 */

import * as vscode from "vscode";

export type Tell = (uri: string, dirty: boolean) => void;

export class Opaque implements vscode.Disposable {
  /** What the server was told: URIs of files with unsaved changes. */
  private told = new Set<string>();
  private readonly disposable: vscode.Disposable;

  constructor(private readonly tell: Tell) {
    this.disposable = vscode.Disposable.from(
      vscode.window.tabGroups.onDidChangeTabs(() => this.look()),
      vscode.workspace.onDidChangeNotebookDocument(() => this.look()),
      vscode.workspace.onDidSaveNotebookDocument((saved) => this.look(saved)),
      vscode.workspace.onDidCloseNotebookDocument(() => this.look()),
    );
  }

  dispose(): void {
    this.disposable.dispose();
  }

  /** A new server knows nothing. */
  tellAll(): void {
    this.told = new Set();
    this.look();
  }

  private look(saved?: vscode.NotebookDocument): void {
    const dirty = new Set([...dirtyTabs(), ...dirtyNotebooks(saved)]);
    for (const uri of dirty) {
      if (!this.told.has(uri)) {
        this.tell(uri, true);
      }
    }
    for (const uri of this.told) {
      if (!dirty.has(uri)) {
        this.tell(uri, false);
      }
    }
    this.told = dirty;
  }
}

function dirtyTabs(): string[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => tab.isDirty)
    .flatMap((tab) =>
      tab.input instanceof vscode.TabInputCustom || tab.input instanceof vscode.TabInputNotebook
        ? [tab.input.uri.toString()]
        : [],
    );
}

/** Those without a tab, which another extension works on. Nothing tells when one becomes clean but its save. */
function dirtyNotebooks(saved?: vscode.NotebookDocument): string[] {
  const tabs = notebookTabs();
  return vscode.workspace.notebookDocuments
    .filter((one) => one !== saved && one.isDirty && !one.isClosed && !one.isUntitled)
    .map((one) => one.uri.toString())
    .filter((uri) => !tabs.has(uri));
}

function notebookTabs(): Set<string> {
  return new Set(
    vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .flatMap((tab) => (tab.input instanceof vscode.TabInputNotebook ? [tab.input.uri.toString()] : [])),
  );
}
