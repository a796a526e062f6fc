/**
 * *Try it*: the main job in a minute, on a sample in the extension's own storage, with the agent without AI. It uses
 * the script of `make demo`; here the user types what the script calls `meanwhile`.
 */

import * as vscode from "vscode";
import type { TurnEnded } from "../../lsp_ext";
import sample from "../../../../sidecar/demo/sample/weather.py";
import script from "../../../../sidecar/demo/script.json";
import type { Attachment } from "../model";
import { fileAttachment } from "./links";
import type { Live } from "./live";

/** Inserts at the end of an open document. */
async function insertAtEnd(document: vscode.TextDocument, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, document.positionAt(document.getText().length), text);
  await vscode.workspace.applyEdit(edit);
}

interface Surroundings {
  changed(): void;
  begin(folder: string): Promise<Live | undefined>;
  compose(text: string, attachments: Attachment[]): Promise<void>;
  log(words: string): void;
}

const enum Step {
  Type,
  Send,
  Wait,
  Undo,
  Done,
}

export class Tour implements vscode.Disposable {
  private step: Step | null = null;
  private uri: vscode.Uri | undefined;
  private live: Live | undefined;
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly around: Surroundings,
  ) {
    this.listening = vscode.workspace.onDidChangeTextDocument((event) => this.typed(event));
  }

  state(): { step: number; steps: string[] } | undefined {
    if (this.step === null) return undefined;
    const undo = process.platform === "darwin" ? "⌘Z" : "Ctrl+Z";
    return {
      step: this.step,
      steps: [
        vscode.l10n.t("The tour typed rainfall() into {0} and did not save it, so it is not on disk. Type something too.", script.file),
        vscode.l10n.t("Send the message below. The agent reads your unsaved text."),
        vscode.l10n.t("Keep typing while the agent works. Your text stays."),
        vscode.l10n.t("Take back its edit: press {0} in the file, or choose Reject above the change.", undo),
      ],
    };
  }

  /** Starts with a fresh sample each time. Opens no folder, so the window does not reload. */
  async start(): Promise<void> {
    this.step = null;
    const folder = vscode.Uri.joinPath(this.context.globalStorageUri, "try-it");
    const document = await this.opened(folder);
    await insertAtEnd(document, script.unsaved);
    this.uri = document.uri;
    this.step = Step.Type;
    this.around.changed();
    const live = await this.around.begin(folder.fsPath);
    this.live = live;
    await this.around.compose(script.prompt, [fileAttachment(document.uri)]);
    const editor = await vscode.window.showTextDocument(document, { preview: false, viewColumn: vscode.ViewColumn.One });
    const place = document.positionAt(document.getText().indexOf(script.meanwhile.before));
    editor.selection = new vscode.Selection(place, place);
    editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    if (!live) this.around.log("the demo agent did not start");
  }

  /** The sample as it is on disk, even if it was played with before. */
  private async opened(folder: vscode.Uri): Promise<vscode.TextDocument> {
    const uri = vscode.Uri.joinPath(folder, script.file);
    await vscode.workspace.fs.createDirectory(folder);
    const known = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (!known) await vscode.workspace.fs.writeFile(uri, Buffer.from(sample));
    const document = known ?? (await vscode.workspace.openTextDocument(uri));
    if (document.getText() !== sample) {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(uri, new vscode.Range(0, 0, document.lineCount, 0), sample);
      await vscode.workspace.applyEdit(edit);
      await document.save();
    }
    return document;
  }

  sent(): void {
    this.advance(Step.Type, Step.Wait);
    this.advance(Step.Send, Step.Wait);
  }

  ended(end: TurnEnded): void {
    if (end.sessionId === this.live?.id) this.advance(Step.Wait, Step.Undo);
  }

  end(): void {
    this.step = null;
    this.around.changed();
  }

  dispose(): void {
    this.listening.dispose();
  }

  private typed({ document, reason, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (this.step === null || contentChanges.length === 0 || document.uri.toString() !== this.uri?.toString()) return;
    if (document.isDirty) this.advance(Step.Type, Step.Send);
    const mended = document.getText().includes(script.mended);
    if (!mended || reason === vscode.TextDocumentChangeReason.Undo) this.advance(Step.Undo, Step.Done);
  }

  private advance(from: Step, to: Step): void {
    if (this.step !== from) return;
    this.step = to;
    this.around.changed();
  }
}
