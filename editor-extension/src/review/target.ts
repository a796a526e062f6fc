/**
 * Finds out what a command is about. Commands come from lenses and hovers (a block, or its URI and ids), the view (a
 * node), the title bar (the editor's URI), and from keys and the palette (no argument: the cursor's place).
 */

import * as vscode from "vscode";
import type { Conflict } from "../lsp_ext";
import type { Block } from "./block";
import type { Turn } from "./model";
import { idsIn, shownChange } from "./peek";
import type { Review } from "./state";
import type { Node } from "./tree";

interface Fields {
  readonly uri?: string;
  readonly ids?: readonly string[];
  readonly line?: number;
  readonly conflictId?: string;
  readonly sessionId?: string;
  readonly turn?: number;
}

export interface Where {
  readonly uri: string;
  readonly line: number;
}

/** The active editor's document and the cursor's line, from 0. */
export function cursor(): Where | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? undefined : { uri: editor.document.uri.toString(), line: editor.selection.active.line };
}

/** A URI as a string, from any argument that has one; otherwise the active editor's. */
export function uriOf(argument: unknown): string | undefined {
  if (argument instanceof vscode.Uri) {
    return argument.toString();
  }
  const node = argument as Node | undefined;
  if (node?.kind === "file" || node?.kind === "block") {
    return node.file.uri;
  }
  return (argument as Fields | undefined)?.uri ?? activeUri();
}

/** The changes of a block, or those under the cursor. */
export function idsOf(review: Review, argument: unknown): readonly string[] | undefined {
  const node = argument as Node | undefined;
  if (node?.kind === "block") {
    return node.block.ids;
  }
  const ids = (argument as Fields | undefined)?.ids;
  if (ids !== undefined) {
    return ids;
  }
  const where = cursor();
  return where === undefined ? undefined : review.model.at(where.uri, where.line)?.ids;
}

/** The changes that the editor's quick diff peek shows, if `args` are those of a command in its title. */
export function fromPeek(review: Review, args: readonly unknown[]): Fields | undefined {
  const [uri] = args;
  const shown = shownChange(args);
  if (!(uri instanceof vscode.Uri) || shown === undefined) {
    return undefined;
  }
  const ids = idsIn(review.model.blocks(uri.toString()), shown);
  return { uri: uri.toString(), ids };
}

/** In the view, a file or place below a turn means that turn's part, even if another turn changed the same lines. */
export function turnPart(argument: unknown): { sessionId?: string; turn?: number } {
  const node = argument as Node | undefined;
  return node?.kind === "file" || node?.kind === "block" ? { sessionId: node.turn.sessionId, turn: node.turn.turn } : {};
}

/** The changes of one file. If the argument is a node of the view, only those of its turn. */
export function fileIdsOf(review: Review, argument: unknown): readonly string[] {
  const node = argument as Node | undefined;
  if (node?.kind === "file") {
    return node.file.blocks.flatMap((block) => block.ids);
  }
  const uri = uriOf(argument);
  return uri === undefined ? [] : review.model.of(uri).filter((change) => change.unknown !== true).map((change) => change.changeId);
}

/** The first block with one of these changes. */
export function blockWith(review: Review, ids: readonly string[]): Block | undefined {
  for (const uri of review.model.uris) {
    const block = review.model.blocks(uri).find((one) => one.ids.some((id) => ids.includes(id)));
    if (block !== undefined) {
      return block;
    }
  }
  return undefined;
}

export function blockOf(review: Review, argument: unknown): Block | undefined {
  const node = argument as Node | undefined;
  if (node?.kind === "block") {
    return node.block;
  }
  const { uri, line } = (argument as Fields | undefined) ?? {};
  const where = uri !== undefined && line !== undefined ? { uri, line } : cursor();
  return where === undefined ? undefined : review.model.at(where.uri, where.line);
}

/** A turn: by node, by `{sessionId, turn}`, the only one, or the one that the user picks. */
export async function turnOf(
  review: Review,
  argument: unknown,
  title: string,
  say: (turn: Turn) => { label: string; description: string },
): Promise<{ sessionId: string; turn: number } | undefined> {
  const node = argument as Node | undefined;
  if (node?.kind === "turn") {
    return { sessionId: node.turn.sessionId, turn: node.turn.turn };
  }
  const { sessionId, turn } = (argument as Fields | undefined) ?? {};
  if (sessionId !== undefined && turn !== undefined) {
    return { sessionId, turn };
  }
  const turns = review.model.turns();
  if (turns.length <= 1) {
    return turns[0];
  }
  const picked = await vscode.window.showQuickPick(turns.map((one) => ({ ...say(one), turn: one })), { title });
  return picked?.turn;
}

/** A conflict: by node, by id, by file, or the one in the active editor that is nearest to the cursor. */
export function conflictOf(review: Review, argument: unknown): Conflict | undefined {
  const node = argument as Node | undefined;
  if (node?.kind === "conflict") {
    return review.conflicts.get(node.conflict.conflictId);
  }
  const id = (argument as Fields | undefined)?.conflictId;
  if (id !== undefined) {
    return review.conflicts.get(id);
  }
  const uri = uriOf(argument);
  const here = uri === undefined ? [] : review.conflicts.of(uri);
  const line = cursor()?.line ?? 0;
  const on = here.find((conflict) => conflict.hunks.some(({ range }) => range.start.line <= line && line <= range.end.line));
  return on ?? here[0] ?? (uri === undefined ? review.conflicts.all[0] : undefined);
}

/** The active tab's document. For a diff editor, the right side; for a notebook, the notebook, not the cell. */
export function activeUri(): string | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputTextDiff) {
    return input.modified.toString();
  }
  if (input instanceof vscode.TabInputNotebook) {
    return input.uri.toString();
  }
  return vscode.window.activeTextEditor?.document.uri.toString();
}
