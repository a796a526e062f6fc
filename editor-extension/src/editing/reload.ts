/**
 * `sidecar/reload`: the document takes the disk's text and gets the user's own changes on top, so that it can be saved
 * again.
 *
 * The workbench's revert always acts on the active editor, whatever URI it is given, and has destroyed unsaved text in
 * the wrong document. So for any other document the answer is "not-active": the server merges by an edit, the file is
 * marked as newer on disk, and the reload follows when the user comes to the document.
 */

import * as vscode from "vscode";
import type { TextEdit } from "vscode-languageclient/node";
import type { ReloadAnswer, ReloadParams } from "../lsp_ext";
import { isActive, isUnsaved, openDocument, tabsOf } from "./documents";
import { carried, pushed, typedOn, undone, type Place } from "./caret";
import { haveSameLines, offsetAt, placeAt, replacedAll, replacement, type Replacement } from "./replacements";
import { Taking, type Taken } from "./taking";
import { replaceAll, replaceInEditor } from "./texts";

/** Of a file that is brought in by an edit of ours, too, so that it is one undo step. */
const MOST_BYTES = 8 * 1024 * 1024;
/** How often that edit is made anew, or the workbench is asked again to reload the file, because a key was pressed meanwhile. */
const TRIES = 10;
/** Until it is asked again after that. */
const LATER_MS = 1000;
/** How long a cursor that was put somewhere may take to be there. */
const BACK_MS = 2000;

interface Stat {
  readonly mtime: number;
  readonly size: number;
}

export class Reloading implements vscode.Disposable, vscode.FileDecorationProvider {
  /** Documents whose file was found to be newer while they were not active, with the file's state at that time. */
  private readonly newer = new Map<vscode.TextDocument, Stat | undefined>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChangeFileDecorations = this.changed.event;
  private readonly disposable: vscode.Disposable;
  private working: Promise<unknown> = Promise.resolve();

  constructor(private readonly log: (words: string) => void) {
    this.disposable = vscode.Disposable.from(
      this.changed,
      vscode.window.registerFileDecorationProvider(this),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor !== undefined && this.newer.has(editor.document)) {
          void this.oneByOne(() => this.lookedAt(editor.document));
        }
      }),
      vscode.workspace.onDidSaveTextDocument((document) => this.unmark(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.unmark(document)),
    );
  }

  dispose(): void {
    this.disposable.dispose();
  }

  isNewerOnDisk(document: vscode.TextDocument): boolean {
    return this.newer.has(document);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const marked = [...this.newer.keys()].some((document) => document.uri.toString() === uri.toString());
    if (!marked) {
      return undefined;
    }
    const words = vscode.l10n.t("Newer on disk. The changes are merged into the editor. Switch to the file before you save it.");
    return new vscode.FileDecoration("↻", words, new vscode.ThemeColor("list.warningForeground"));
  }

  reload(params: ReloadParams): Promise<ReloadAnswer> {
    return this.oneByOne(async () => {
      const document = openDocument(params.uri);
      if (document === undefined || document.version !== params.version) {
        return { refused: "version" };
      }
      if (!isActive(document)) {
        await this.mark(document);
        return { refused: "not-active" };
      }
      const text = document.getText();
      const wasUnsaved = isUnsaved(document);
      const changes = params.changes && replacements(text, params.changes);
      const meant = changes && replacedAll(text, changes);
      const onTopOf = (disk: string): string => replacedAll(disk, replacements(disk, params.edits));
      /** Both lead to the same, or the file says something else by now than what the server's edits were made for. */
      const isMeant = (disk: string): boolean => meant === undefined || haveSameLines(meant, onTopOf(disk));
      const merged = (taken: Taken): Place => {
        if (!isMeant(taken.text) && (wasUnsaved || taken.typed.length > 0)) {
          return { text: taken.replaced, caret: taken.caret };
        }
        const wanted = onTopOf(taken.text);
        const asked = taken.typed[0]?.end ?? taken.caret;
        const made = [...(changes ?? [replacement(text, wanted)])].sort((a, b) => b.start - a.start);
        return typedOn({ text: wanted, caret: made.reduce(pushed, asked) }, { text, caret: asked }, taken.typed);
      };
      const taken = await this.takeFromDisk(document, merged, isMeant);
      if (taken === undefined) {
        return { refused: isActive(document) ? "version" : "not-active" };
      }
      await this.isBased(document, taken);
      return { version: document.version, taken: taken.version, read: taken.read, made: [asEdit(taken.text, replacement(taken.text, merged(taken).text))] };
    });
  }

  /** The user came to a document that was merged in the background. Its text stays, but is now based on the disk's text. */
  private async lookedAt(document: vscode.TextDocument): Promise<void> {
    const known = this.newer.get(document);
    const now = await stat(document.uri);
    if (known === undefined || now === undefined || known.mtime !== now.mtime || known.size !== now.size) {
      return; // it changed again: the server notices and asks again
    }
    if (!this.newer.has(document) || !isActive(document)) {
      return;
    }
    const taken = await this.takeFromDisk(document, ({ replaced, caret }) => ({ text: replaced, caret }));
    if (taken !== undefined) {
      await this.isBased(document, taken);
    }
  }

  /** The document says what it should. Where keys kept the workbench from reloading the file, it is asked again later. */
  private async isBased(document: vscode.TextDocument, taken: Taken): Promise<void> {
    if (taken.isReloaded) {
      this.unmark(document);
      return;
    }
    await this.mark(document);
    setTimeout(() => void this.oneByOne(() => this.lookedAt(document)), LATER_MS);
  }

  /**
   * Undefined if the workbench did not reload it. `meant`: what should be there if nothing is typed after the reload. `isMeant`: false for a text
   * on disk of which that cannot be told, so that the document is left alone.
   */
  private async takeFromDisk(
    document: vscode.TextDocument,
    meant: (taken: Taken) => Place,
    isMeant: (disk: string) => boolean = () => true,
  ): Promise<Taken | undefined> {
    const others = vscode.workspace.textDocuments
      .filter((other) => other !== document && isUnsaved(other))
      .map((other) => ({ other, text: other.getText() }));
    const editor = vscode.window.activeTextEditor;
    if (!isActive(document) || editor === undefined) {
      return undefined;
    }
    const caretNow = (): number => document.offsetAt(editor.selection.active);
    const taking = new Taking(document.getText(), isUnsaved(document), caretNow());
    const watch = vscode.Disposable.from(
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document === document) {
          const { isDirty, version } = document;
          taking.tell({ edits: event.contentChanges.map(asReplacement), isDirty, version, text: document.getText() });
        }
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === editor) {
          taking.place(caretNow(), event.kind !== undefined);
        }
      }),
    );
    try {
      const disk = isUnsaved(document) ? await onDisk(document) : undefined;
      if (disk !== undefined && !isMeant(disk)) {
        return undefined;
      }
      const isLed = disk !== undefined && (await this.lead(editor, disk, taking));
      for (let tries = 0; tries === 0 || (tries < TRIES && taking.isLedOnly && isActive(document)); tries++) {
        await vscode.commands.executeCommand("workbench.action.files.revert");
        await this.restoreOthers(others);
      }
      const taken = taking.end(document.version);
      if (taken === undefined) {
        return undefined;
      }
      let landed: Place = { text: taken.text, caret: taken.landed };
      const { isBefore, rest } = undone(taken.replaced, taken.led.text, taken.lost);
      let planned = isBefore ? typedOn(taken.led, taken.led, taken.lost) : typedOn(meant(taken), taken.led, rest);
      for (let version = -1; version !== document.version; ) {
        if (tabsOf(document.uri).length === 0) {
          return undefined; // closed, and the user has decided what becomes of the unsaved text
        }
        version = document.version;
        // refused if something was typed meanwhile, which then belongs to what should be there
        const { here, wanted } = taking.goneOn(planned, landed);
        const text = document.getText();
        if (text === wanted.text) {
          if (caretNow() !== wanted.caret && !taking.isPlaced) {
            editor.selection = collapsed(document, wanted.caret); // an edit, even of nothing, would leave something unsaved
          }
          return taken;
        }
        const edits = text === here.text ? carried(here, wanted) : [replacement(text, wanted.text)];
        taking.makes(wanted.text);
        if (await replaceInEditor(editor, edits, { undoStopBefore: !isLed, undoStopAfter: true })) {
          if (here.caret < here.text.length || wanted.caret === wanted.text.length) {
            return taken;
          }
          // the cursor went behind all of it, and with it the keys that are pressed until it is back
          landed = { text: wanted.text, caret: wanted.text.length };
          planned = wanted;
          version = -1;
          const isBack = taking.puts(wanted.caret);
          const { line, character } = placeAt(wanted.text, wanted.caret);
          editor.selection = new vscode.Selection(line, character, line, character);
          await Promise.race([isBack, new Promise((resolve) => setTimeout(resolve, BACK_MS))]);
        }
      }
      this.log(`${document.uri.fsPath} has the text on disk, and the editor does not take yours back; undo brings it back`);
      return taken;
    } finally {
      watch.dispose();
    }
  }

  /**
   * Brings in the disk's text by an edit, which the one that follows the reload then continues: both are one undo step, in which the user's own
   * lines never go. (A reload that finds another text is a step of its own, and undoing what follows it hides these lines.) False if that cannot be
   * done: the document says the same, or keys came faster than the edit.
   */
  private async lead(editor: vscode.TextEditor, disk: string, taking: Taking): Promise<boolean> {
    const { document } = editor;
    for (let tries = 0; tries < TRIES && disk !== document.getText(); tries++) {
      const from = { text: document.getText(), caret: document.offsetAt(editor.selection.active) };
      const to = { text: disk, caret: pushed(from.caret, replacement(from.text, disk)) };
      taking.leads(to.text, to.caret);
      if (await replaceInEditor(editor, carried(from, to), { undoStopBefore: true, undoStopAfter: false })) {
        return true;
      }
    }
    return false;
  }

  /** Restores every other document that lost its unsaved text to a misdirected revert. */
  private async restoreOthers(others: readonly { other: vscode.TextDocument; text: string }[]): Promise<void> {
    for (const { other, text } of others) {
      if (!other.isClosed && !other.isDirty && other.getText() !== text) {
        await replaceAll(other, text);
        this.log(`${other.uri.fsPath}: unsaved text was taken back and is restored`);
      }
    }
  }

  private async mark(document: vscode.TextDocument): Promise<void> {
    this.newer.set(document, await stat(document.uri));
    this.changed.fire(document.uri);
  }

  private unmark(document: vscode.TextDocument): void {
    if (this.newer.delete(document)) {
      this.changed.fire(document.uri);
    }
  }

  /** There is only one active editor, so work that depends on it must not overlap. */
  private oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.working.then(work);
    this.working = result.catch(() => undefined);
    return result;
  }
}

/** What its file says, with the document's line ends. Undefined if that cannot be read, or is too much. */
async function onDisk(document: vscode.TextDocument): Promise<string | undefined> {
  try {
    const bytes = await vscode.workspace.fs.readFile(document.uri);
    if (bytes.length > MOST_BYTES) {
      return undefined;
    }
    const text = await vscode.workspace.decode(bytes, { encoding: document.encoding });
    return text.replace(/\r\n|\r|\n/g, document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n");
  } catch {
    return undefined;
  }
}

function collapsed(document: vscode.TextDocument, caret: number): vscode.Selection {
  const at = document.positionAt(caret);
  return new vscode.Selection(at, at);
}

function replacements(text: string, edits: ReloadParams["edits"]): Replacement[] {
  return edits.map(({ range, newText }) => ({
    start: offsetAt(text, range.start.line, range.start.character),
    end: offsetAt(text, range.end.line, range.end.character),
    text: newText,
  }));
}

function asEdit(text: string, { start, end, text: newText }: Replacement): TextEdit {
  return { range: { start: placeAt(text, start), end: placeAt(text, end) }, newText };
}

function asReplacement(change: vscode.TextDocumentContentChangeEvent): Replacement {
  return { start: change.rangeOffset, end: change.rangeOffset + change.rangeLength, text: change.text };
}

async function stat(uri: vscode.Uri): Promise<Stat | undefined> {
  try {
    return await vscode.workspace.fs.stat(uri);
  } catch {
    return undefined;
  }
}
