/** What the modules of the review share. */

import * as vscode from "vscode";
import type { Session } from "../session";
import type { Conflicts } from "./conflict";
import type { Model } from "./model";

export interface Review {
  readonly session: Session;
  readonly model: Model;
  readonly conflicts: Conflicts;
}

/** Converts a URI to the form that the editor uses for its documents. */
export function canonical(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}

/** A file's path in the form that users of this workspace know. */
export function pathOf(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri)).replaceAll("\\", "/");
}

/** The document, if it is open. */
export function openDocument(uri: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

/** The commands of this part by short name, for lenses, hovers and actions. */
export const commands = {
  next: "acpSidecar.review.next",
  previous: "acpSidecar.review.previous",
  keep: "acpSidecar.review.keep",
  reject: "acpSidecar.review.reject",
  keepFile: "acpSidecar.review.keepFile",
  rejectFile: "acpSidecar.review.rejectFile",
  keepAll: "acpSidecar.review.keepAll",
  rejectAll: "acpSidecar.review.rejectAll",
  keepTurn: "acpSidecar.review.keepTurn",
  undoTurn: "acpSidecar.review.undoTurn",
  openDiff: "acpSidecar.review.openDiff",
  openChanges: "acpSidecar.review.openChanges",
  show: "acpSidecar.review.show",
  comment: "acpSidecar.review.comment",
  askForChange: "acpSidecar.review.askForChange",
  rejectWithReason: "acpSidecar.review.rejectWithReason",
  discardComment: "acpSidecar.review.discardComment",
  compare: "acpSidecar.conflict.compare",
  compareBase: "acpSidecar.conflict.compareBase",
  keepMine: "acpSidecar.conflict.keepMine",
  takeAgents: "acpSidecar.conflict.takeAgents",
  askAgain: "acpSidecar.conflict.askAgain",
} as const;
