/** The commands of the review. The server decides what can be kept or put back; these commands collect the choice and report the result. */

import * as vscode from "vscode";
import { type ChangesArguments, type Impossible, keep, reject, resolveConflict, revertTurn } from "../lsp_ext";
import { type Block } from "./block";
import { leaving, nextAfter } from "./go_on";
import type { Turn } from "./model";
import { canonical, commands, pathOf, type Review } from "./state";
import { blockOf, conflictOf, cursor, fileIdsOf, fromPeek, idsOf, turnOf, turnPart, uriOf } from "./target";
import { beforeUri, conflictUri } from "./texts";
import { files, headline, said, titleOf } from "./tree";
import { conflictWords } from "./words";

export function registerCommands(review: Review): vscode.Disposable {
  const { client, log } = review.session;

  const keepThese = (which: ChangesArguments): Promise<void> =>
    done(vscode.l10n.t("kept"), async () => (await client.command(keep, which)).impossible);
  const rejectThese = (which: ChangesArguments): Promise<void> =>
    done(vscode.l10n.t("rejected"), async () => (await client.command(reject, which)).impossible);
  const some = async (
    ids: readonly string[] | undefined,
    act: (which: ChangesArguments) => Promise<void>,
    argument: unknown,
  ): Promise<void> => {
    if (ids === undefined || ids.length === 0) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("There is no agent change here."), 3000);
      return;
    }
    await act({ changeIds: [...ids], ...turnPart(argument) });
  };
  const one = async (act: (which: ChangesArguments) => Promise<void>, argument: unknown): Promise<void> => {
    const ids = idsOf(review, argument);
    const left = leaving(review.model, ids ?? []);
    await some(ids, act, argument);
    if (left !== undefined && vscode.workspace.getConfiguration("acpSidecar").get<boolean>("review.goOn", false)) {
      const next = await nextAfter(review.model, left);
      if (next !== undefined) {
        await show(next);
      }
    }
  };

  const resolve = async (argument: unknown, take: "mine" | "agent" | "ask"): Promise<void> => {
    const conflict = conflictOf(review, argument);
    if (conflict === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("No conflict here."), 3000);
      return;
    }
    const { outcome } = await client.command(resolveConflict, { conflictId: conflict.conflictId, take });
    if (outcome === "asked") {
      vscode.window.setStatusBarMessage(vscode.l10n.t("{0} was asked to make its change again.", conflict.agent ?? ""), 5000);
    }
  };
  const compare = async (argument: unknown, side: "agent" | "base"): Promise<void> => {
    const conflict = conflictOf(review, argument);
    if (conflict === undefined) {
      return;
    }
    const path = pathOf(conflict.uri);
    const title =
      side === "base"
        ? vscode.l10n.t("{0} (before ↔ mine)", path)
        : vscode.l10n.t("{0} ({1} ↔ mine)", path, conflict.agent ?? vscode.l10n.t("disk"));
    const line = conflict.hunks[0]?.range.start.line ?? 0;
    const left = conflictUri({ uri: conflict.uri, conflictId: conflict.conflictId, side });
    await vscode.commands.executeCommand("vscode.diff", left, vscode.Uri.parse(conflict.uri), title, at(line));
  };

  const go = async (block: Block | undefined): Promise<void> => {
    if (block === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("No agent changes are under review."), 3000);
      return;
    }
    await show(block);
  };

  const all: Record<string, (argument?: unknown) => Promise<void>> = {
    [commands.next]: () => go(review.model.next(cursor())),
    [commands.previous]: () => go(review.model.previous(cursor())),
    [commands.show]: (argument) => go(blockOf(review, argument)),
    [commands.keep]: (argument) => one(keepThese, argument),
    [commands.reject]: (argument) => one(rejectThese, argument),
    [commands.keepFile]: (argument) => some(fileIdsOf(review, argument), keepThese, argument),
    [commands.rejectFile]: (argument) => some(fileIdsOf(review, argument), rejectThese, argument),
    [commands.keepAll]: () => keepThese({ all: true }),
    [commands.rejectAll]: async () => {
      if (await sure(vscode.l10n.t("Reject all agent changes that are under review?"), review.model.turns(), vscode.l10n.t("Reject All"))) {
        await rejectThese({ all: true });
      }
    },
    [commands.keepTurn]: async (argument) => {
      const turn = await turnOf(review, argument, vscode.l10n.t("Keep which turn?"), words);
      if (turn !== undefined) {
        await keepThese({ sessionId: turn.sessionId, turn: turn.turn });
      }
    },
    [commands.undoTurn]: async (argument) => {
      const turn = await turnOf(review, argument, vscode.l10n.t("Undo which turn?"), words);
      if (turn !== undefined) {
        const which = { sessionId: turn.sessionId, turn: turn.turn };
        await done(vscode.l10n.t("undone"), async () => (await client.command(revertTurn, which)).impossible);
      }
    },
    [commands.openDiff]: async (argument) => {
      const uri = uriOf(argument);
      if (uri !== undefined) {
        const node = argument as { kind?: string; turn?: Turn } | undefined;
        const turn = node?.kind === "file" || node?.kind === "block" ? node.turn : undefined;
        const line = blockOf(review, argument)?.line ?? review.model.blocks(uri)[0]?.line ?? 0;
        await openDiff(uri, line, turn);
      }
    },
    [commands.openChanges]: async (argument) => {
      const node = argument as { kind?: string; turn?: Turn; sessionId?: string } | undefined;
      const wanted = node?.kind === "turn" ? node.turn : node?.sessionId !== undefined ? (argument as Turn) : undefined;
      await openChanges(review, wanted);
    },
    [commands.compare]: (argument) => compare(argument, "agent"),
    [commands.compareBase]: (argument) => compare(argument, "base"),
    [commands.keepMine]: (argument) => resolve(argument, "mine"),
    [commands.takeAgents]: (argument) => resolve(argument, "agent"),
    [commands.askAgain]: (argument) => resolve(argument, "ask"),
  };
  const told = (run: (argument?: unknown) => Promise<void>) => async (...args: unknown[]): Promise<void> => {
    try {
      await run(fromPeek(review, args) ?? args[0]);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      log.error(words);
      void vscode.window.showErrorMessage(words);
    }
  };
  return vscode.Disposable.from(
    ...Object.entries(all).map(([name, run]) => vscode.commands.registerCommand(name, told(run))),
  );
}

/** Announces a conflict once, when it appears. While it lasts, the lenses, the title bar and the view offer the same choices. */
export async function announce(review: Review, conflictId: string): Promise<void> {
  const conflict = review.conflicts.get(conflictId);
  if (conflict === undefined) {
    return;
  }
  const compare = vscode.l10n.t("Compare");
  const mine = vscode.l10n.t("Keep Mine");
  const agents = vscode.l10n.t("Take Agent's");
  const ask = vscode.l10n.t("Ask Agent Again");
  const offered = [compare, mine, agents, ...(conflict.sessionId === undefined ? [] : [ask])];
  const chosen = await vscode.window.showWarningMessage(conflictWords(conflict, pathOf(conflict.uri)), ...offered);
  const run = { [compare]: commands.compare, [mine]: commands.keepMine, [agents]: commands.takeAgents, [ask]: commands.askAgain }[chosen ?? ""];
  if (run !== undefined) {
    await vscode.commands.executeCommand(run, { conflictId });
  }
}

async function done(verb: string, run: () => Promise<Impossible[]>): Promise<void> {
  const impossible = await run();
  if (impossible.length > 0) {
    const reasons = [...new Set(impossible.map(({ changeId, reason }) => `${fileOf(changeId)}: ${reason}`))];
    const more = reasons.length > 3 ? ` ${vscode.l10n.t("… and {0} more.", reasons.length - 3)}` : "";
    void vscode.window.showWarningMessage(
      vscode.l10n.t("Not everything could be {0}. {1}", verb, reasons.slice(0, 3).join(" ")) + more,
    );
  }
}

/** A change's id is `number@uri`. */
function fileOf(changeId: string): string {
  return pathOf(canonical(changeId.slice(changeId.indexOf("@") + 1)));
}

async function sure(question: string, turns: readonly Turn[], yes: string): Promise<boolean> {
  const uris = new Set(turns.flatMap((turn) => turn.files.map((file) => file.uri)));
  if (uris.size === 0) {
    return false;
  }
  const detail = files(uris.size);
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, yes)) === yes;
}

function words(turn: Turn): { label: string; description: string } {
  return { label: headline(turn), description: said(turn) };
}

function at(line: number): vscode.TextDocumentShowOptions {
  return { selection: new vscode.Range(line, 0, line, 0), preview: true };
}

async function show(block: Block): Promise<void> {
  const notebook = vscode.workspace.notebookDocuments.find(({ uri }) => uri.toString() === block.uri);
  if (notebook !== undefined) {
    await vscode.window.showNotebookDocument(notebook); // the line is one of its file's, which cells do not have
    return;
  }
  await vscode.window.showTextDocument(vscode.Uri.parse(block.uri), at(block.line));
}

/**
 * Opens the editor's own diff, side by side or inline as in the user's settings (`diffEditor.renderSideBySide`). Every
 * command and menu that switches between the two writes that setting, and no API chooses for a single diff. The diff's
 * revert arrow is an edit like any other, which means a rejection.
 */
async function openDiff(uri: string, line: number, turn: Turn | undefined): Promise<void> {
  const left = beforeUri(turn === undefined ? { uri } : { uri, sessionId: turn.sessionId, turn: turn.turn });
  const title = vscode.l10n.t("{0} (before {1} ↔ now)", pathOf(uri), turn === undefined ? vscode.l10n.t("the agents") : titleOf(turn));
  await vscode.commands.executeCommand("vscode.diff", left, vscode.Uri.parse(uri), title, at(line));
}

/** Opens every file of a turn, or of all turns, in one multi-file diff. */
async function openChanges(review: Review, turn: { sessionId: string; turn: number } | undefined): Promise<void> {
  const turns = review.model.turns();
  const wanted = turn === undefined ? turns : turns.filter((one) => one.sessionId === turn.sessionId && one.turn === turn.turn);
  const made = new Set(wanted.flatMap((one) => one.files.filter((file) => file.created).map((file) => file.uri)));
  const uris = [...new Set(wanted.flatMap((one) => one.files.map((file) => file.uri)))];
  if (uris.length === 0) {
    vscode.window.setStatusBarMessage(vscode.l10n.t("No agent changes are under review."), 3000);
    return;
  }
  const which = turn === undefined ? {} : { sessionId: turn.sessionId, turn: turn.turn };
  const resources = uris.map((uri) => [
    vscode.Uri.parse(uri),
    made.has(uri) ? undefined : beforeUri({ uri, ...which }),
    vscode.Uri.parse(uri),
  ]);
  const title = turn === undefined ? vscode.l10n.t("Agent Changes") : headline(wanted[0]!);
  await vscode.commands.executeCommand("vscode.changes", title, resources);
}
