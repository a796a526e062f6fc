/**
 * `sidecar/reload`: the document takes the disk's text and gets the user's own changes on top, so that it can be saved
 * again.
 *
 * The workbench's revert always acts on the active editor, whatever URI it is given, and has destroyed unsaved text in
 * the wrong document. So for any other document the answer is "not-active": the server merges by an edit, the file is
 * marked as newer on disk, and the reload follows when the user comes to the document. Nothing keeps the user from turning to another file while
 * the workbench is being asked: what it takes there is given back.
 */

import * as vscode from "vscode";
import type { TextEdit } from "vscode-languageclient/node";
import type { ReloadAnswer, ReloadParams } from "../lsp_ext";
import type { LetGo, Since } from "../server/at_once";
import { isActive, isUnsaved, openDocument, tabsOf } from "./documents";
import { carried, pushed, typedOn, type Place } from "./caret";
import { haveSameLines, offsetAt, placeAt, replacedAll, replacement, type Replacement } from "./replacements";
import type { Taken } from "./taking";
import { Watched } from "./watched";

/** Of a file that is brought in by an edit of ours, too, so that it is one undo step. */
const MOST_BYTES = 8 * 1024 * 1024;
/** How often that edit is made anew, or the workbench is asked again to reload the file, because a key was pressed meanwhile. */
const TRIES = 10;
/** Until it is asked again after that. */
const LATER_MS = 1000;
/** After that the server is told what happens to the other documents, though the workbench has not answered. */
const TOLD_MS = 5000;

/** Provided by the connection: what is told of the document waits. */
export type Hold = (document: vscode.TextDocument) => LetGo;

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

  constructor(
    private readonly hold: Hold,
    private readonly log: (words: string) => void,
  ) {
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
    const editor = vscode.window.activeTextEditor;
    if (!isActive(document) || editor === undefined) {
      return undefined;
    }
    const watched = new Watched(document, editor);
    const { taking } = watched;
    try {
      const disk = isUnsaved(document) ? await onDisk(document) : undefined;
      if (disk !== undefined && !isMeant(disk)) {
        return undefined;
      }
      const isLed = disk !== undefined && (await this.lead(watched, disk));
      let asked = 0;
      for (; isActive(document) && (asked === 0 || (asked < TRIES && taking.isLedOnly)); asked++) {
        await this.revert(document);
      }
      const taken = isLed || asked > 0 ? taking.end(document.version) : undefined;
      if (taken === undefined) {
        return undefined;
      }
      if (!(await watched.becomes(taken, meant(taken), { undoStopBefore: !isLed, undoStopAfter: true }))) {
        if (watched.isGone) {
          return undefined;
        }
        this.log(`${document.uri.fsPath} has the text on disk, and the editor does not take yours back; undo brings it back`);
      }
      return taken;
    } finally {
      watched.dispose();
    }
  }

  /**
   * Brings in the disk's text by an edit, which the one that follows the reload then continues: both are one undo step, in which the user's own
   * lines never go. (A reload that finds another text is a step of its own, and undoing what follows it hides these lines.) False if that cannot be
   * done: the document says the same, or keys came faster than the edit.
   */
  private async lead(watched: Watched, disk: string): Promise<boolean> {
    const { document } = watched;
    for (let tries = 0; tries < TRIES && disk !== document.getText(); tries++) {
      const from = { text: document.getText(), caret: watched.caret };
      const to = { text: disk, caret: pushed(from.caret, replacement(from.text, disk)) };
      watched.taking.leads(to.text, to.caret);
      if (await watched.edit(carried(from, to), { undoStopBefore: true, undoStopAfter: false })) {
        return true;
      }
    }
    return false;
  }

  /**
   * Has the workbench reload the active file. The user may turn to another one before it does so, which it then reloads instead: that gets its unsaved
   * text back, and the server is told nothing of it.
   */
  private async revert(document: vscode.TextDocument): Promise<void> {
    const others = vscode.workspace.textDocuments
      .filter((other) => other !== document && !other.isClosed && (isUnsaved(other) || tabsOf(other.uri).length > 0))
      .map((other) => ({ watched: new Watched(other), letGo: this.hold(other) }));
    const late = setTimeout(() => others.forEach(({ letGo }) => letGo()), TOLD_MS);
    try {
      await vscode.commands.executeCommand("workbench.action.files.revert");
    } finally {
      await Promise.all(others.map(async ({ watched, letGo }) => letGo(await this.giveBack(watched))));
      clearTimeout(late);
      others.forEach(({ watched }) => watched.dispose());
    }
  }

  /** Returns from where on its changes only take its unsaved text away and give that back; undefined: it was not reloaded. */
  private async giveBack(watched: Watched): Promise<Since | undefined> {
    const { document, taking, wasUnsaved } = watched;
    const taken = taking.end(document.version);
    if (taken === undefined || !(wasUnsaved || taken.typed.length > 0) || taken.replaced === taken.text) {
      return undefined;
    }
    const isBack = await watched.becomes(taken, { text: taken.replaced, caret: taken.caret }, { undoStopBefore: true, undoStopAfter: true });
    if (watched.isGone) {
      return undefined;
    }
    this.log(`${document.uri.fsPath}: unsaved text was taken back and ${isBack ? "is restored" : "cannot be restored; undo brings it back"}`);
    return { version: taken.read, text: taken.replaced };
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

async function stat(uri: vscode.Uri): Promise<Stat | undefined> {
  try {
    return await vscode.workspace.fs.stat(uri);
  } catch {
    return undefined;
  }
}
