/** Shows what an agent replaced, in the hover of the lines that it wrote or of the line below those that it removed. */

import * as vscode from "vscode";
import { synced } from "../server/selector";
import { oldLines } from "./block";
import { commands, pathOf, type Review } from "./state";
import { agentOf, conflictWords, whatAndWho } from "./words";

/** A hover shows only the start of a long text. The diff shows all of it. */
const MAX_LINES = 40;

export function hovers(review: Review): vscode.Disposable {
  return vscode.languages.registerHoverProvider(synced, {
    provideHover: (document, position) => {
      const uri = document.uri.toString();
      const texts: vscode.MarkdownString[] = [];
      for (const conflict of review.conflicts.of(uri)) {
        const hunk = conflict.hunks.find(({ range }) => range.start.line <= position.line && position.line <= Math.max(range.start.line, range.end.line - 1));
        if (hunk !== undefined) {
          const text = words(conflictWords(conflict, pathOf(uri)));
          code(text, vscode.l10n.t("{0}:", agentOf(conflict)), hunk.agent.replace(/\n$/, "").split("\n"), document.languageId);
          code(text, vscode.l10n.t("Before:"), hunk.base.replace(/\n$/, "").split("\n"), document.languageId);
          const argument = { conflictId: conflict.conflictId };
          links(text, [
            [vscode.l10n.t("Compare"), commands.compare, argument],
            [vscode.l10n.t("Keep mine"), commands.keepMine, argument],
            [vscode.l10n.t("Take agent's"), commands.takeAgents, argument],
          ]);
          texts.push(text);
        }
      }
      const block = review.model.at(uri, position.line);
      if (block !== undefined) {
        const text = words(whatAndWho(block));
        const old = oldLines(block, (line) => document.lineAt(line).text, document.lineCount);
        if (old.length > 0) {
          code(text, vscode.l10n.t("It said:"), old, document.languageId);
        }
        const argument = { uri, ids: block.ids };
        links(text, [
          [vscode.l10n.t("Keep"), commands.keep, argument],
          [vscode.l10n.t("Reject"), commands.reject, argument],
          [vscode.l10n.t("Comment…"), commands.comment, argument],
          [vscode.l10n.t("Open Diff"), commands.openDiff, { uri, line: block.line }],
        ]);
        texts.push(text);
      }
      return texts.length === 0 ? undefined : new vscode.Hover(texts);
    },
  });
}

function words(text: string): vscode.MarkdownString {
  const made = new vscode.MarkdownString(undefined, true);
  made.isTrusted = { enabledCommands: Object.values(commands) };
  return made.appendText(text).appendMarkdown("\n\n");
}

/** A fence that the agent's text cannot close. */
function code(to: vscode.MarkdownString, title: string, lines: readonly string[], language: string): void {
  const shown = lines.slice(0, MAX_LINES);
  to.appendText(title).appendMarkdown("\n");
  to.appendCodeblock(shown.join("\n"), language);
  if (shown.length < lines.length) {
    to.appendText(vscode.l10n.t("… and {0} more lines", lines.length - shown.length)).appendMarkdown("\n\n");
  }
}

function links(to: vscode.MarkdownString, all: readonly (readonly [string, string, unknown])[]): void {
  const made = all.map(([title, command, argument]) => `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([argument]))})`);
  to.appendMarkdown(made.join(" &nbsp;|&nbsp; "));
}
