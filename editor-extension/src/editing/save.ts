/**
 * `sidecar/save`. A save runs the user's own participants (formatters, trimming, final newline), as any save does. After a
 * rejection the text must stay exact, and only the workbench's "save without formatting" leaves it so, for the active
 * editor alone. For any other document the participants are given a try: where they leave the text alone all is well,
 * else it is put back, stays unsaved, and is saved as it is once the user looks at it.
 */

import * as vscode from "vscode";
import type { SaveAnswer, SaveParams } from "../lsp_ext";
import { isActive, openDocument } from "./documents";
import { replaceAll } from "./texts";

const KEYBOARD = vscode.TextEditorSelectionChangeKind.Keyboard;

/** What others of this folder know: whether the file is newer than the document, so that a save would fail, with a message. */
export type IsNewerOnDisk = (document: vscode.TextDocument) => boolean;

export class Saving implements vscode.Disposable {
  /** Versions that are to be saved as they are, when they are looked at. */
  private readonly waiting = new Map<vscode.TextDocument, number>();
  private readonly disposable: vscode.Disposable;

  constructor(
    private readonly isNewerOnDisk: IsNewerOnDisk,
    private readonly log: (words: string) => void,
  ) {
    this.disposable = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor !== undefined) {
          void this.lookedAt(editor.document);
        }
      }),
      vscode.workspace.onDidCloseTextDocument((document) => this.waiting.delete(document)),
    );
  }

  /** Saves the document if it is still at that version. `typed`: somebody typed while the participants worked. */
  async save(params: SaveParams): Promise<SaveAnswer> {
    const document = openDocument(params.uri);
    if (document === undefined || document.version !== params.version || this.isNewerOnDisk(document)) {
      return { saved: false };
    }
    if (!document.isDirty) {
      return { saved: true };
    }
    return params.exact === true ? { saved: await this.saveExactly(document) } : saveAndWatch(document);
  }

  dispose(): void {
    this.disposable.dispose();
  }

  private async saveExactly(document: vscode.TextDocument): Promise<boolean> {
    if (isActive(document)) {
      return saveActive(document);
    }
    const exact = document.getText();
    const { saved, typed } = await saveAndWatch(document);
    if (document.getText() === exact || typed === true) {
      return saved;
    }
    await replaceAll(document, exact);
    this.waiting.set(document, document.version);
    this.log(`${document.uri.fsPath} is as it was before the agent, but unsaved: saving would format it`);
    return false;
  }

  private async lookedAt(document: vscode.TextDocument): Promise<void> {
    const version = this.waiting.get(document);
    this.waiting.delete(document);
    if (version === document.version && document.isDirty && isActive(document)) {
      await saveActive(document);
    }
  }
}

async function saveActive(document: vscode.TextDocument): Promise<boolean> {
  await vscode.commands.executeCommand("workbench.action.files.saveWithoutFormatting");
  await said();
  return !document.isDirty;
}

/** Until the client has sent its didSave, which takes it some steps after the event: the server counts on hearing that first. */
function said(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function saveAndWatch(document: vscode.TextDocument): Promise<SaveAnswer> {
  let typed = false;
  // Typing moves the cursor by the keyboard; what participants change moves it by nobody
  const watch = vscode.window.onDidChangeTextEditorSelection((event) => {
    typed ||= event.textEditor.document === document && event.kind === KEYBOARD;
  });
  try {
    const saved = await document.save();
    await said();
    return typed ? { saved, typed } : { saved };
  } finally {
    watch.dispose();
  }
}
