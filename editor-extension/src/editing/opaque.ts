/**
 * `sidecar/opaque`: files that are open in notebooks and custom editors, which text sync does not cover. While such a
 * file has unsaved changes, its text on disk is not what the user sees, so the server neither reads nor writes it.
 */

import * as vscode from "vscode";

export type Tell = (uri: string, dirty: boolean) => void;

export class Opaque implements vscode.Disposable {
  /** URIs of files with unsaved changes that the server was told about. */
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

  /** A new server knows nothing yet. */
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

/** Documents without a tab, which another extension works on. The only event that says that one is clean is its save. */
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
