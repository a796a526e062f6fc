/** Keep and Reject as code actions: by keyboard, by light bulb, and for users without lenses. */

import * as vscode from "vscode";
import { synced } from "../server/selector";
import { isOn } from "./block";
import { commands, type Review } from "./state";
import { whatAndWho } from "./words";

export function actions(review: Review): vscode.Disposable {
  return vscode.languages.registerCodeActionsProvider(
    synced,
    {
      provideCodeActions: (document, range) => {
        const uri = document.uri.toString();
        const found: vscode.CodeAction[] = [];
        const add = (title: string, command: string, argument: unknown): void => {
          const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
          action.command = { title, command, arguments: [argument] };
          found.push(action);
        };
        for (const conflict of review.conflicts.of(uri)) {
          const argument = { conflictId: conflict.conflictId };
          if (conflict.hunks.some((hunk) => hunk.range.start.line <= range.end.line && range.start.line <= hunk.range.end.line)) {
            add(vscode.l10n.t("Conflict: keep mine"), commands.keepMine, argument);
            add(vscode.l10n.t("Conflict: take agent's"), commands.takeAgents, argument);
            if (conflict.sessionId !== undefined) {
              add(vscode.l10n.t("Conflict: ask agent again"), commands.askAgain, argument);
            }
            add(vscode.l10n.t("Conflict: compare"), commands.compare, argument);
          }
        }
        const blocks = review.model.blocks(uri);
        let here = false;
        for (const block of blocks) {
          if (isOn(block, range.start.line) || (range.start.line <= block.line && block.line <= range.end.line)) {
            here = true;
            add(vscode.l10n.t("Keep {0}", whatAndWho(block)), commands.keep, block);
            add(vscode.l10n.t("Reject {0}", whatAndWho(block)), commands.reject, block);
          }
        }
        if (here && blocks.length > 1) {
          add(vscode.l10n.t("Keep all {0} agent changes in this file", blocks.length), commands.keepFile, { uri });
          add(vscode.l10n.t("Reject all {0} agent changes in this file", blocks.length), commands.rejectFile, { uri });
        }
        return found;
      },
    },
    { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
  );
}
