/** The words for blocks and conflicts in lenses, code actions and hovers, so that they are the same everywhere. */

import { l10n } from "vscode";
import type { Conflict } from "../lsp_ext";
import { type Block, counts } from "./block";
import { titleOf } from "./tree";

/** `− 3 lines` */
export function removedLines(block: Block): string {
  return block.removed === 1 ? l10n.t("− 1 line") : l10n.t("− {0} lines", block.removed);
}

/** `+3 −1 by fast-agent · turn 2` */
export function whatAndWho(block: Block): string {
  return l10n.t("{0} by {1}", counts(block), titleOf(block.changes.at(-1)!));
}

export function agentOf(conflict: Conflict): string {
  return conflict.agent ?? l10n.t("The file on disk");
}

/** For a message and a hover. */
export function conflictWords(conflict: Conflict, path: string): string {
  const who = agentOf(conflict);
  return conflict.origin === "disk"
    ? l10n.t("{0}: {1} differs in lines that you changed and have not saved. Your lines stay until you decide.", path, who)
    : l10n.t("{0}: {1} wanted to change the same lines as you. Your lines stay, and the agent was told.", path, who);
}
