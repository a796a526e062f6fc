/**
 * Notebooks with unsaved changes. The server has each of them as a document whose text is what would be saved now. Its edits become
 * changes of the cells, undone in the notebook's editor like the user's own. Clean notebooks are files like others: the workbench reloads
 * them when their file changes.
 */

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, TextDocumentEdit, TextEdit } from "vscode-languageclient/node";
import type { SaveAnswer, SaveParams } from "../../lsp_ext";
import { openDocument } from "../documents";
import { offsetAt, replacedAll, replacement } from "../replacements";
import { after, asEdit, dataOf, textOf, TYPE } from "./content";
import { NotInCells, parsed, steps } from "./steps";

export interface Server {
  opened(uri: string, languageId: string, version: number, text: string): void;
  changed(uri: string, version: number, changes: readonly { range: TextEdit["range"]; text: string }[]): void;
  saved(uri: string): void;
  closed(uri: string): void;
}

interface Shown {
  readonly notebook: vscode.NotebookDocument;
  /** What the server knows. */
  text: string;
  version: number;
  /** Milliseconds that it took to make the text. */
  cost: number;
  timer?: NodeJS.Timeout | undefined;
}

/** A notebook with many outputs is told less often than it changes: this many times as long apart as it takes. */
const RELAXED = 10;

export class Notebooks implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly beginning = new Set<string>();
  private readonly events = new vscode.EventEmitter<void>();
  private readonly disposable: vscode.Disposable;
  /** One after the other, so that the server is told of each change before the next thing happens. */
  private working: Promise<unknown> = Promise.resolve();

  constructor(private readonly server: Server) {
    this.disposable = vscode.Disposable.from(
      this.events,
      vscode.workspace.onDidChangeNotebookDocument(({ notebook }) => this.later(notebook.uri.toString())),
      vscode.workspace.onDidSaveNotebookDocument(({ uri }) => void this.oneByOne(() => this.saved(uri.toString()))),
    );
  }

  /** The server has begun or ceased to have the text of one. */
  get onDidChange(): vscode.Event<void> {
    return this.events.event;
  }

  dispose(): void {
    this.shown.forEach(({ timer }) => clearTimeout(timer));
    this.disposable.dispose();
  }

  /** A new server knows nothing yet. */
  forget(): void {
    this.shown.forEach(({ timer }) => clearTimeout(timer));
    this.shown.clear();
  }

  /** Whether the server has its text. */
  has(uri: string): boolean {
    return this.shown.has(vscode.Uri.parse(uri).toString());
  }

  /** These have unsaved changes now, as URIs, and no others. */
  follow(dirty: ReadonlySet<string>): void {
    for (const uri of this.shown.keys()) {
      if (!dirty.has(uri)) {
        void this.oneByOne(() => this.end(uri, dirty));
      }
    }
    for (const uri of dirty) {
      if (!this.shown.has(uri) && !this.beginning.has(uri) && tellable(uri) !== undefined) {
        this.beginning.add(uri);
        void this.oneByOne(() => this.begin(uri)).finally(() => this.beginning.delete(uri));
      }
    }
  }

  /** The file was opened as text as well. Its text is told by that document from now on. */
  openedAsText(uri: string): void {
    const one = this.shown.get(uri);
    if (one !== undefined) {
      this.take(uri, one);
    }
  }

  apply({ edit }: ApplyWorkspaceEditParams): Promise<ApplyWorkspaceEditResult> | undefined {
    const [only, ...more] = edit.documentChanges ?? [];
    if (only === undefined || more.length > 0 || !("textDocument" in only) || !this.has(only.textDocument.uri)) {
      return undefined;
    }
    return this.oneByOne(() => this.applied(only));
  }

  save({ uri, version }: SaveParams): Promise<SaveAnswer> {
    return this.oneByOne(async () => {
      const one = this.shown.get(vscode.Uri.parse(uri).toString());
      if (one === undefined || !(await this.tell(one)) || one.version !== version) {
        return { saved: false };
      }
      return { saved: await one.notebook.save() };
    });
  }

  private async applied({ textDocument, edits }: TextDocumentEdit): Promise<ApplyWorkspaceEditResult> {
    const one = this.shown.get(vscode.Uri.parse(textDocument.uri).toString());
    if (one === undefined || !(await this.tell(one)) || one.version !== textDocument.version) {
      return { applied: false };
    }
    const { notebook, text } = one;
    const wanted = replacedAll(text, (edits as TextEdit[]).map((edit) => asReplacement(text, edit)));
    try {
      const made = steps(parsed(text), parsed(wanted));
      const version = notebook.version;
      if ((await textOf(after(notebook, made))) !== wanted) {
        return { applied: false, failureReason: vscode.l10n.t("the new text is not what the notebook's editor would save") };
      }
      const applied = notebook.version === version && (await vscode.workspace.applyEdit(asEdit(notebook, made)));
      await this.tell(one);
      return { applied };
    } catch (error) {
      if (error instanceof NotInCells) {
        return { applied: false, failureReason: error.message };
      }
      throw error;
    }
  }

  private async begin(uri: string): Promise<void> {
    const notebook = tellable(uri);
    const text = notebook && (await textOf(dataOf(notebook)));
    if (notebook === undefined || text === undefined || notebook.isClosed || this.shown.has(uri)) {
      return;
    }
    this.shown.set(uri, { notebook, text, version: 1, cost: 0 });
    this.server.opened(uri, TYPE, 1, text);
    this.events.fire();
  }

  private async end(uri: string, dirty: ReadonlySet<string>): Promise<void> {
    const one = this.shown.get(uri);
    if (one === undefined || dirty.has(uri)) {
      return;
    }
    if (!one.notebook.isClosed) {
      await this.tell(one);
    }
    this.take(uri, one);
  }

  private take(uri: string, one: Shown): void {
    clearTimeout(one.timer);
    if (this.shown.delete(uri)) {
      this.server.closed(uri);
      this.events.fire();
    }
  }

  private async saved(uri: string): Promise<void> {
    const one = this.shown.get(uri);
    if (one !== undefined && (await this.tell(one))) {
      this.server.saved(uri);
    }
  }

  private later(uri: string): void {
    const one = this.shown.get(uri);
    if (one !== undefined && one.timer === undefined) {
      one.timer = setTimeout(() => {
        one.timer = undefined;
        void this.oneByOne(() => this.tell(one));
      }, one.cost * RELAXED);
    }
  }

  /** Tells the server what the notebook says now. False if that is not to be had. */
  private async tell(one: Shown): Promise<boolean> {
    const begun = performance.now();
    const uri = one.notebook.uri.toString();
    const text = one.notebook.isClosed ? undefined : await textOf(dataOf(one.notebook));
    one.cost = performance.now() - begun;
    if (text === undefined || this.shown.get(uri) !== one) {
      return false;
    }
    if (text !== one.text) {
      const { start, end, text: by } = replacement(one.text, text);
      const range = { start: placeAt(one.text, start), end: placeAt(one.text, end) };
      one.text = text;
      one.version++;
      this.server.changed(uri, one.version, [{ range, text: by }]);
    }
    return true;
  }

  private oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.working.then(work);
    this.working = result.catch(() => undefined);
    return result;
  }
}

/** The open notebook, if its text can be told to the server: it is a file, and no document of its own tells another text of it. */
function tellable(uri: string): vscode.NotebookDocument | undefined {
  const found = vscode.workspace.notebookDocuments.find((one) => !one.isClosed && one.uri.toString() === uri);
  const isOurs = found?.notebookType === TYPE && found.uri.scheme === "file" && !openDocument(uri);
  return isOurs ? found : undefined;
}

function asReplacement(text: string, { range, newText }: TextEdit): { start: number; end: number; text: string } {
  const at = ({ line, character }: TextEdit["range"]["start"]): number => offsetAt(text, line, character);
  return { start: at(range.start), end: at(range.end), text: newText };
}

function placeAt(text: string, offset: number): TextEdit["range"]["start"] {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length - 1, character: offset - (before.lastIndexOf("\n") + 1) };
}
