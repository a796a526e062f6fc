/**
 * `sidecar/save`. A save runs the user's own participants (formatters, trimming, final newline), like any save.
 *
 * After a rejection the text must stay exact. Only the workbench's "save without formatting" does that, and only for
 * the active editor. For any other document, the participants run. If they change the text, the document is clean
 * afterwards, and the exact text is written into its file: the workbench reloads a clean document by itself when its
 * file changes, and that can be undone like any edit.
 */

import * as vscode from "vscode";
import type { SaveAnswer, SaveParams } from "../lsp_ext";
import { isActive, isUnsaved, openDocument } from "./documents";
import { replaceAll } from "./texts";

/** Milliseconds within which the workbench reloads a watched file that changed. */
const TAKEN_UP = 5_000;
const KEYBOARD = vscode.TextEditorSelectionChangeKind.Keyboard;

/** Provided by other modules of this folder: whether the file is newer than the document, so that a save would fail with a message. */
export type IsNewerOnDisk = (document: vscode.TextDocument) => boolean;

export class Saving {
  constructor(
    private readonly isNewerOnDisk: IsNewerOnDisk,
    private readonly log: (words: string) => void,
  ) {}

  /** Saves the document if it still has this version. `typed`: the user typed, undid or redid while the participants worked. */
  async save(params: SaveParams): Promise<SaveAnswer> {
    const document = openDocument(params.uri);
    if (document === undefined || document.version !== params.version || this.isNewerOnDisk(document)) {
      return { saved: false };
    }
    if (!isUnsaved(document)) {
      return { saved: true };
    }
    return params.exact === true ? { saved: await this.saveExactly(document) } : saveAndWatch(document);
  }

  private async saveExactly(document: vscode.TextDocument): Promise<boolean> {
    if (isActive(document)) {
      return saveActive(document);
    }
    const exact = document.getText();
    const bytes = await vscode.workspace.encode(exact, { encoding: document.encoding });
    const { saved, typed } = await saveAndWatch(document);
    if (document.getText() === exact || typed === true) {
      return saved;
    }
    try {
      if (saved && !document.isDirty) {
        await writeBehind(document, exact, bytes);
        return true;
      }
    } catch (error) {
      this.log(`${document.uri.fsPath}: ${String(error)}`);
    }
    await replaceAll(document, exact);
    this.log(`${document.uri.fsPath} is as it was before the agent, but unsaved: saving would format it`);
    return false;
  }
}

/**
 * Writes the text to the file, and the document follows. If the workbench does not watch the file
 * (`files.watcherExclude`), the document takes the text when it is next shown; the server, which checks the file,
 * brings the document up to date before that.
 */
async function writeBehind(document: vscode.TextDocument, text: string, bytes: Uint8Array): Promise<void> {
  const watch: { disposable?: vscode.Disposable; timer?: NodeJS.Timeout } = {};
  const taken = new Promise<void>((resolve) => {
    watch.timer = setTimeout(resolve, TAKEN_UP);
    watch.disposable = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === document && document.getText() === text) {
        resolve();
      }
    });
  });
  try {
    await vscode.workspace.fs.writeFile(document.uri, bytes);
    await taken;
    await said();
  } finally {
    clearTimeout(watch.timer);
    watch.disposable?.dispose();
  }
}

async function saveActive(document: vscode.TextDocument): Promise<boolean> {
  await vscode.commands.executeCommand("workbench.action.files.saveWithoutFormatting");
  await said();
  return !document.isDirty;
}

/** Waits until the client has sent its didSave, which happens some steps after the event. The server expects it before the answer. */
function said(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function saveAndWatch(document: vscode.TextDocument): Promise<SaveAnswer> {
  let typed = false;
  const watch = vscode.Disposable.from(
    // typing moves the cursor with kind "keyboard"; changes by participants have no kind
    vscode.window.onDidChangeTextEditorSelection((event) => {
      typed ||= event.textEditor.document === document && event.kind === KEYBOARD;
    }),
    // only undo and redo have a reason
    vscode.workspace.onDidChangeTextDocument((event) => {
      typed ||= event.document === document && event.reason !== undefined;
    }),
  );
  try {
    const saved = await document.save();
    await said();
    return typed ? { saved, typed } : { saved };
  } finally {
    watch.dispose();
  }
}
