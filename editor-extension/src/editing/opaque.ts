/**
 * `sidecar/opaque`: files that are open in notebooks and custom editors, which text sync does not cover. While such a
 * file has unsaved changes, its text on disk is not what the user sees, so the server neither reads nor writes it. Notebooks
 * whose text the server is told otherwise (`notebooks/`) are not among them.
 */

import * as vscode from "vscode";
import type { Notebooks } from "./notebooks";

export type Tell = (uri: string, dirty: boolean) => void;

export class Opaque implements vscode.Disposable {
  /** URIs of files with unsaved changes that the server was told about. */
  private told = new Set<string>();
  private readonly disposable: vscode.Disposable;

  constructor(
    private readonly tell: Tell,
    private readonly notebooks: Notebooks,
  ) {
    this.disposable = vscode.Disposable.from(
      notebooks.onDidChange(() => this.look()),
      vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        notebooks.openedAsText(uri.toString());
        this.look();
      }),
      vscode.workspace.onDidCloseTextDocument(() => this.look()),
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
    this.notebooks.forget();
    this.look();
  }

  private look(saved?: vscode.NotebookDocument): void {
    const all = new Set([...dirtyTabs(), ...dirtyNotebooks(saved)]);
    this.notebooks.follow(all);
    const dirty = new Set([...all].filter((uri) => !this.notebooks.has(uri)));
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

/** Whether the file is open in a notebook or in a custom editor. */
export function isOpenElsewhere(uri: string): boolean {
  const name = vscode.Uri.parse(uri).toString();
  return (
    vscode.workspace.notebookDocuments.some((one) => !one.isClosed && one.uri.toString() === name) ||
    tabs().some(({ input }) => input instanceof vscode.TabInputCustom && input.uri.toString() === name)
  );
}

function dirtyTabs(): string[] {
  return tabs()
    .filter((tab) => tab.isDirty)
    .flatMap((tab) =>
      tab.input instanceof vscode.TabInputCustom || tab.input instanceof vscode.TabInputNotebook
        ? [tab.input.uri.toString()]
        : [],
    );
}

/** Documents without a tab, which another extension works on. The only event that says that one is clean is its save. */
function dirtyNotebooks(saved?: vscode.NotebookDocument): string[] {
  const inTabs = notebookTabs();
  return vscode.workspace.notebookDocuments
    .filter((one) => one !== saved && one.isDirty && !one.isClosed && !one.isUntitled)
    .map((one) => one.uri.toString())
    .filter((uri) => !inTabs.has(uri));
}

function notebookTabs(): Set<string> {
  return new Set(tabs().flatMap(({ input }) => (input instanceof vscode.TabInputNotebook ? [input.uri.toString()] : [])));
}

function tabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}
