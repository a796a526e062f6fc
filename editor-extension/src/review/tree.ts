/** The view "Agent Changes": conflicts, then turns, files and places, with their labels. Pure except for the words. */

import { l10n } from "vscode";
import type { Change, Conflict } from "../lsp_ext";
import { type Block, counts } from "./block";
import type { Conflicts } from "./conflict";
import type { Model, Turn, TurnFile } from "./model";

export type Node =
  | { readonly kind: "conflicts"; readonly conflicts: readonly Conflict[] }
  | { readonly kind: "conflict"; readonly conflict: Conflict }
  | { readonly kind: "turn"; readonly turn: Turn }
  | { readonly kind: "file"; readonly turn: Turn; readonly file: TurnFile }
  | { readonly kind: "block"; readonly turn: Turn; readonly file: TurnFile; readonly block: Block };

/** How a node looks. `id` stays the same while the node stands for the same thing, so that it stays expanded. */
export interface Look {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly accessible: string;
  readonly icon?: string;
  /** Use the icon of this file. */
  readonly uri?: string;
  readonly state: "expanded" | "collapsed" | "leaf";
}

export function roots(model: Model, conflicts: Conflicts): Node[] {
  const open = conflicts.all;
  const turns = model.turns().map((turn): Node => ({ kind: "turn", turn }));
  return open.length === 0 ? turns : [{ kind: "conflicts", conflicts: open }, ...turns];
}

export function children(node: Node): Node[] {
  switch (node.kind) {
    case "conflicts":
      return node.conflicts.map((conflict) => ({ kind: "conflict", conflict }));
    case "turn":
      return node.turn.files.map((file) => ({ kind: "file", turn: node.turn, file }));
    case "file":
      return node.file.blocks.map((block) => ({ kind: "block", turn: node.turn, file: node.file, block }));
    default:
      return [];
  }
}

/** `path` converts a file's path to the form that users of this workspace know, with `/`. */
export function look(node: Node, path: (uri: string) => string): Look {
  switch (node.kind) {
    case "conflicts":
      return {
        id: "conflicts",
        label: l10n.t("Conflicts"),
        description: String(node.conflicts.length),
        accessible: l10n.t("{0} conflicts", node.conflicts.length),
        icon: "warning",
        state: "expanded",
      };
    case "conflict": {
      const { conflict } = node;
      const [name, folder] = nameAndFolder(path(conflict.uri));
      const who = conflict.agent ?? l10n.t("the disk");
      const said = conflict.asked ? l10n.t("{0}, asked again", who) : who;
      return {
        id: `conflict ${conflict.conflictId}`,
        label: name,
        description: join(said, folder),
        accessible: l10n.t("{0}: you and {1} changed the same lines", path(conflict.uri), who),
        uri: conflict.uri,
        state: "leaf",
      };
    }
    case "turn": {
      const { turn } = node;
      const who = turn.title === "" ? titleOf(turn) : `${turn.title}, ${titleOf(turn)}`;
      return {
        id: turnId(turn),
        label: headline(turn),
        description: said(turn),
        accessible: `${who}, ${spoken(turn)}, ${files(turn.files.length)}`,
        icon: "sparkle",
        state: "expanded",
      };
    }
    case "file": {
      const [name, folder] = nameAndFolder(path(node.file.uri));
      const said = node.file.created ? l10n.t("new {0}", counts(node.file)) : counts(node.file);
      return {
        id: `${turnId(node.turn)} ${node.file.uri}`,
        label: name,
        description: join(said, folder),
        accessible: `${path(node.file.uri)}, ${spoken(node.file)}`,
        uri: node.file.uri,
        state: "collapsed",
      };
    }
    case "block": {
      const { block } = node;
      const text = firstLine(block);
      const label = wholeFile(block.changes[0]!, path) ?? l10n.t("Line {0}", block.line + 1);
      return {
        id: `${turnId(node.turn)} ${block.ids[0]!}`,
        label,
        description: join(counts(block), text),
        accessible: `${label}, ${spoken(block)}, ${text}`,
        icon: block.added === 0 ? "diff-removed" : block.removed === 0 ? "diff-added" : "diff-modified",
        state: "leaf",
      };
    }
  }
}

/** What the user asked for, `rename the parser`; where that is not known, `fast-agent · turn 2`. */
export function headline(turn: Turn): string {
  return turn.title === "" ? titleOf(turn) : turn.title;
}

/** Beside the headline: `fast-agent · turn 2 · +3 −1 · 1 file`, without what the headline says already. */
export function said(turn: Turn): string {
  return join(turn.title === "" ? "" : titleOf(turn), counts(turn), files(turn.files.length));
}

/** `fast-agent · turn 2` */
export function titleOf(turn: { readonly agent: string; readonly turn: number }): string {
  if (turn.turn === 0 && turn.agent === "") {
    return l10n.t("Changed on disk, not known by whom");
  }
  return l10n.t("{0} · turn {1}", turn.agent === "" ? l10n.t("Agent") : turn.agent, turn.turn);
}

/** Counts in words, for screen readers. */
export function spoken(of: { readonly added: number; readonly removed: number }): string {
  return l10n.t("lines: {0} added, {1} removed", of.added, of.removed);
}

/** What happened to a file as a whole; undefined for a change of its text. */
function wholeFile(change: Change, path: (uri: string) => string): string | undefined {
  const { file } = change;
  switch (file?.kind) {
    case undefined:
      return undefined;
    case "created":
      return l10n.t("File created");
    case "deleted":
      return l10n.t("File deleted");
    case "renamed":
      return l10n.t("Renamed from {0}", path(file.from ?? ""));
    case "mode":
      return l10n.t("Mode {0} → {1}", file.oldMode ?? "", file.newMode ?? "");
    case "link":
      return l10n.t("Link changed");
    default:
      return l10n.t("Content changed, not text");
  }
}

export function files(count: number): string {
  return count === 1 ? l10n.t("1 file") : l10n.t("{0} files", count);
}

function turnId(turn: Turn): string {
  return `turn ${turn.sessionId} ${turn.turn}`;
}

function firstLine(block: Block): string {
  const texts = block.changes.map((change) => (block.added > 0 ? change.newText : change.oldText));
  const line = texts.join("\n").split(/[\r\n]+/).find((one) => one.trim() !== "")?.trim() ?? "";
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}

function nameAndFolder(path: string): [string, string] {
  const at = path.lastIndexOf("/");
  return [path.slice(at + 1), path.slice(0, Math.max(at, 0))];
}

function join(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
