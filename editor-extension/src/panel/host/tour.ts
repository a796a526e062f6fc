/** *Try it*: the main job in a minute, on a sample in the extension's own storage, with the agent that has no AI. */

import * as vscode from "vscode";
import type { TurnEnded } from "../../lsp_ext";
import type { Attachment } from "../model";
import { fileAttachment } from "./links";
import type { Live } from "./live";

const NAME = "weather.py";
const SAMPLE = `"""Readings of the weather station on the roof."""


def warmest(celsius: list[float]) -> float:
    """The highest temperature of the day."""
    return max(celsius)


def rainfall(mm: list[float]) -> float:
    total = 0.0
    for i in range(len(mm) - 1):
        total += mm[i]
    return total
`;

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
        vscode.l10n.t("Type something into {0}. Do not save.", NAME),
        vscode.l10n.t("Send the message below: the agent reads what you typed."),
        vscode.l10n.t("Go on typing while it works: your text stays."),
        vscode.l10n.t("Take its edit back: {0} in the file, or Reject above the change.", undo),
      ],
    };
  }

  /** A fresh sample every time; no folder is opened, so the window does not reload. */
  async start(): Promise<void> {
    const folder = vscode.Uri.joinPath(this.context.globalStorageUri, "try-it");
    const uri = vscode.Uri.joinPath(folder, NAME);
    await vscode.workspace.fs.createDirectory(folder);
    const open = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (open?.isDirty) {
      await vscode.window.showTextDocument(open);
      const edit = new vscode.WorkspaceEdit();
      edit.replace(uri, new vscode.Range(0, 0, open.lineCount, 0), SAMPLE);
      await vscode.workspace.applyEdit(edit);
      await open.save();
    } else {
      await vscode.workspace.fs.writeFile(uri, Buffer.from(SAMPLE));
    }
    this.uri = uri;
    this.step = Step.Type;
    this.around.changed();
    const live = await this.around.begin(folder.fsPath);
    this.live = live;
    await this.around.compose(`The sum in rainfall(), in ${NAME}, is wrong. Please fix it.`, [fileAttachment(uri)]);
    const editor = await vscode.window.showTextDocument(uri, { preview: false, viewColumn: vscode.ViewColumn.One });
    const end = editor.document.lineAt(0).range.end;
    editor.selection = new vscode.Selection(end, end);
    if (!live) this.around.log("the demo agent did not start");
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
    const mended = document.getText().includes("range(len(mm))");
    if (!mended || reason === vscode.TextDocumentChangeReason.Undo) this.advance(Step.Undo, Step.Done);
  }

  private advance(from: Step, to: Step): void {
    if (this.step !== from) return;
    this.step = to;
    this.around.changed();
  }
}
