/** Read-only documents for the left side of diffs: a file without agents' unreviewed work, and the other sides of a conflict. */

import * as vscode from "vscode";
import { textBefore } from "../lsp_ext";
import { type Side, sideOf } from "./conflict";
import { openDocument, type Review } from "./state";

const BEFORE = "acp-sidecar-before";
const CONFLICT = "acp-sidecar-conflict";

interface BeforeQuery {
  readonly uri: string;
  readonly sessionId?: string;
  readonly turn?: number;
}
interface ConflictQuery {
  readonly uri: string;
  readonly conflictId: string;
  readonly side: Side;
}

/** The file without agents' unreviewed work, or without that of one turn. The editor chooses the language by the path. */
export function beforeUri(query: BeforeQuery): vscode.Uri {
  return vscode.Uri.from({ scheme: BEFORE, path: vscode.Uri.parse(query.uri).path, query: JSON.stringify(query) });
}

/** The file with the agent's lines, or with the lines that both sides started from, in the places that are in conflict. */
export function conflictUri(query: ConflictQuery): vscode.Uri {
  return vscode.Uri.from({ scheme: CONFLICT, path: vscode.Uri.parse(query.uri).path, query: JSON.stringify(query) });
}

export function texts(review: Review): vscode.Disposable {
  const moved = new vscode.EventEmitter<vscode.Uri>();
  const refresh = (scheme: string) => (uris: readonly string[]): void => {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === scheme && uris.includes((JSON.parse(uri.query) as BeforeQuery).uri)) {
        moved.fire(uri);
      }
    }
  };
  const before = async (uri: vscode.Uri): Promise<string> => {
    const query = JSON.parse(uri.query) as BeforeQuery;
    const { text } = await review.session.client.command(textBefore, query);
    return text ?? (await nowOf(query.uri)); // everything was reviewed: there is no difference any more
  };
  const ofConflict = async (uri: vscode.Uri): Promise<string> => {
    const query = JSON.parse(uri.query) as ConflictQuery;
    const text = await nowOf(query.uri);
    const conflict = review.conflicts.get(query.conflictId);
    return conflict === undefined ? text : sideOf(text, conflict, query.side);
  };
  return vscode.Disposable.from(
    moved,
    vscode.workspace.registerTextDocumentContentProvider(BEFORE, { onDidChange: moved.event, provideTextDocumentContent: before }),
    vscode.workspace.registerTextDocumentContentProvider(CONFLICT, { onDidChange: moved.event, provideTextDocumentContent: ofConflict }),
    review.model.onDidChange(refresh(BEFORE)),
    review.conflicts.onDidChange(refresh(CONFLICT)),
  );
}

async function nowOf(uri: string): Promise<string> {
  try {
    return (openDocument(uri) ?? (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)))).getText();
  } catch {
    return ""; // the file does not exist any more
  }
}
