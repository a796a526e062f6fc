/** What comes into a prompt box from outside it: by a command, by a menu, by dragging, and what `@` offers. */

import * as vscode from "vscode";
import * as lsp from "../../lsp_ext";
import type { Session } from "../../session";
import { LastOutput } from "./last_output";
import { attachmentOf, label } from "./links";
import type { Live } from "./live";
import type { Draft, Memory } from "./memory";
import { candidates, selection } from "./mentions";
import { CHANGES, type Changed } from "./offers";
import type { Pane } from "./pane";
import type { Places } from "./places";

export class Box implements vscode.Disposable {
  private readonly output = new LastOutput();

  constructor(
    private readonly session: Session,
    private readonly places: Places,
    private readonly memory: Memory,
  ) {}

  dispose(): void {
    this.output.dispose();
  }

  /** Puts it into the box of the pane, which comes to the front; the user decides what is sent. */
  async compose(text: string, attachments: Draft["attachments"], focus: boolean, pane = this.places.target()): Promise<void> {
    await this.places.turnTo(pane);
    pane.tell({ type: "compose", text, attachments, focus });
  }

  /** Adds to the session's prompt box, now or when it is shown. */
  add(live: Live, { text, attachments }: Draft): void {
    const pane = this.places.of(live);
    if (pane) return pane.tell({ type: "compose", text, attachments, focus: false });
    const draft = this.memory.draft(live.id);
    const more = attachments.filter((one) => !draft.attachments.some((other) => other.id === one.id));
    this.memory.keepDraft(live.id, { text: [draft.text, text].filter(Boolean).join("\n"), attachments: [...draft.attachments, ...more] });
  }

  /** *Add to Agent*. From the editor: its selection, or else its file. From the explorer: the selected files. */
  async addChosen(target: unknown, more: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor && (!(target instanceof vscode.Uri) || target.toString() === editor.document.uri.toString()) && !editor.selection.isEmpty) {
      return this.compose("", [selection(editor)], true);
    }
    const notebook = vscode.window.activeNotebookEditor?.notebook.uri;
    const own = notebook ?? editor?.document.uri;
    const uris = Array.isArray(more) ? more.filter((one) => one instanceof vscode.Uri) : target instanceof vscode.Uri ? [target] : own ? [own] : [];
    return this.compose("", await attached(uris), true);
  }

  /** Files, folders and documents without a file that were dragged into the box. */
  async dropped(pane: Pane, uris: string[]): Promise<void> {
    const found = await attached(uris.map((one) => onThisMachine(vscode.Uri.parse(one))));
    if (found.length > 0) pane.tell({ type: "compose", text: "", attachments: found, focus: true });
  }

  /** The candidates for `@`. The next keystroke cancels a search, because a large folder has room for only one at a time. */
  async complete(pane: Pane, request: number, query: string): Promise<void> {
    pane.completing?.cancel();
    const mine = (pane.completing = new vscode.CancellationTokenSource());
    try {
      const changed = await this.underReview(query);
      if (mine.token.isCancellationRequested) return;
      for await (const found of candidates(query, { output: this.output.get(), changed }, mine.token)) {
        if (mine.token.isCancellationRequested) return;
        pane.post({ type: "candidates", request, candidates: found });
      }
    } catch (error) {
      if (!mine.token.isCancellationRequested) throw error;
    } finally {
      if (pane.completing === mine) pane.completing = undefined;
      mine.dispose();
    }
  }

  /** The texts of the changes that `@` may offer; none while something else is typed, or without a server. */
  private async underReview(query: string): Promise<Changed[]> {
    if (this.session.client.state !== "running" || !CHANGES.some((one) => one.startsWith(query.toLowerCase()))) return [];
    const all = await this.session.client.command(lsp.listChanges, {}).catch(() => []);
    return all
      .filter((one) => !one.file)
      .map((one) => ({ where: label(vscode.Uri.parse(one.uri)), line: one.range.start.line + 1, oldText: one.oldText, newText: one.newText }));
  }
}

/** The workbench of a remote window names the files of this machine as remote ones; everything else here names them as files. */
function onThisMachine(uri: vscode.Uri): vscode.Uri {
  return uri.scheme === "vscode-remote" && vscode.env.remoteName !== undefined ? uri.with({ scheme: "file", authority: "" }) : uri;
}

/** What of it can be attached; the user is told if something is left out. */
async function attached(uris: readonly vscode.Uri[]): Promise<Draft["attachments"]> {
  const found = (await Promise.all(uris.map(attachmentOf))).filter((one) => one !== undefined);
  if (found.length < uris.length) void vscode.window.showWarningMessage(vscode.l10n.t("Only files and folders on this machine can be added."));
  return found;
}
