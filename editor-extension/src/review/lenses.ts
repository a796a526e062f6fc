/** Lenses above blocks and conflicts. They are a convenience: keys, code actions, the title bar and the view do the same. */

import * as vscode from "vscode";
import type { Conflict } from "../lsp_ext";
import { synced } from "../server/selector";
import type { Block } from "./block";
import { commands, type Review } from "./state";
import { agentOf, removedLines, whatAndWho } from "./words";

/** From this many blocks on, the first lens offers to keep or reject all of them. */
const FEW = 3;

/**
 * The editor asks for lenses a moment after it was told that they changed (a quarter of a second, or much more on a
 * busy machine). If it loses the focus within that moment, for example by a click into the panel, it does not ask at
 * all and shows the old ones. No event reports this. So the extension announces the change again after these times, in
 * milliseconds. They are far apart because each announcement restarts the editor's delay.
 */
const AGAIN = [1_000, 5_000, 20_000] as const;

export function lenses(review: Review): vscode.Disposable {
  const moved = new vscode.EventEmitter<void>();
  let reminders: NodeJS.Timeout[] = [];
  const forget = (): void => reminders.forEach((timer) => clearTimeout(timer));
  const remind = (): void => {
    forget();
    reminders = AGAIN.map((milliseconds) => setTimeout(() => moved.fire(), milliseconds));
  };
  const fire = (): void => {
    moved.fire();
    remind();
  };
  const provider: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: moved.event,
    provideCodeLenses: (document) => {
      const uri = document.uri.toString();
      const lastLine = document.lineCount - 1;
      const blocks = review.model.blocks(uri);
      const found = blocks.flatMap((block, at) => ofBlock(block, lastLine, at === 0 && blocks.length >= FEW ? blocks.length : 0));
      return [...review.conflicts.of(uri).flatMap((conflict) => ofConflict(conflict, lastLine)), ...found];
    },
  };
  return vscode.Disposable.from(
    moved,
    vscode.languages.registerCodeLensProvider(synced, provider),
    review.model.onDidChange(fire),
    review.conflicts.onDidChange(fire),
    vscode.window.onDidChangeVisibleTextEditors(() => {
      if (!review.model.isEmpty || review.conflicts.all.length > 0) {
        remind();
      }
    }),
    new vscode.Disposable(forget),
  );
}

function ofBlock(block: Block, lastLine: number, all: number): vscode.CodeLens[] {
  const line = Math.min(block.line, lastLine);
  const where = new vscode.Range(line, 0, line, 0);
  const tooltip = whatAndWho(block);
  const lens = (title: string, command: string, argument: unknown): vscode.CodeLens =>
    new vscode.CodeLens(where, { title, tooltip, command, arguments: [argument] });
  const found = [
    lens(`$(check) ${vscode.l10n.t("Keep")}`, commands.keep, block),
    lens(`$(discard) ${vscode.l10n.t("Reject")}`, commands.reject, block),
  ];
  if (block.removed > 0) {
    found.push(lens(removedLines(block), commands.openDiff, block));
  }
  if (all > 0) {
    found.push(
      lens(vscode.l10n.t("Keep all {0}", all), commands.keepFile, { uri: block.uri }),
      lens(vscode.l10n.t("Reject all {0}", all), commands.rejectFile, { uri: block.uri }),
    );
  }
  return found;
}

function ofConflict(conflict: Conflict, lastLine: number): vscode.CodeLens[] {
  const argument = { conflictId: conflict.conflictId };
  return conflict.hunks.flatMap(({ range }) => {
    const line = Math.min(range.start.line, lastLine);
    const where = new vscode.Range(line, 0, line, 0);
    const lens = (title: string, command: string): vscode.CodeLens =>
      new vscode.CodeLens(where, { title, command, arguments: [argument] });
    const found = [
      lens(`$(warning) ${vscode.l10n.t("Conflict with {0}", agentOf(conflict))}`, commands.compare),
      lens(vscode.l10n.t("Keep mine"), commands.keepMine),
      lens(vscode.l10n.t("Take agent's"), commands.takeAgents),
    ];
    if (conflict.sessionId !== undefined) {
      found.push(
        conflict.asked
          ? lens(vscode.l10n.t("Asked again"), commands.compare)
          : lens(vscode.l10n.t("Ask agent again"), commands.askAgain),
      );
    }
    return found;
  });
}
