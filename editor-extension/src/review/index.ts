/** Hunks under review and conflicts: decorations, lenses, hovers, code actions, the view of agents' changes, and their commands. */

import * as vscode from "vscode";
import { changes, type ClientFlags, conflict, listChanges, listConflicts } from "../lsp_ext";
import type { Session } from "../session";
import { actions } from "./actions";
import { announce, registerCommands } from "./commands";
import { comments } from "./comments";
import { Conflicts } from "./conflict";
import { decorations } from "./decorations";
import { Feed } from "./feed";
import { gutter } from "./gutter";
import { hovers } from "./hovers";
import { keys } from "./keys";
import { lenses } from "./lenses";
import { Model } from "./model";
import { canonical, openDocument, type Review } from "./state";
import { texts } from "./texts";
import { view } from "./view";

/** With these flags, the server itself shows none of this: no lenses, hints, actions or messages. */
export const flags: Partial<ClientFlags> = { changes: true, conflicts: true };

export function register(session: Session): vscode.Disposable {
  const { client, log } = session;
  const review: Review = { session, model: new Model(), conflicts: new Conflicts() };
  const feed = new Feed(review.model, {
    list: (uri) => client.command(listChanges, uri === undefined ? {} : { uri }),
    version: (uri) => openDocument(uri)?.version,
    canonical,
    later: (run, milliseconds) => {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
    failed: (error) => log.warn(`changes under review: ${String(error)}`),
  });
  const conflictsNow = async (uri?: string): Promise<void> => {
    try {
      const found = await client.command(listConflicts, uri === undefined ? {} : { uri });
      review.conflicts.reset(found.map((one) => ({ ...one, uri: canonical(one.uri) })), uri);
    } catch (error) {
      log.warn(`conflicts: ${String(error)}`);
    }
  };
  let looking: NodeJS.Timeout | undefined;
  return vscode.Disposable.from(
    client.onNotification(changes, ({ uris }) => void feed.moved(uris)),
    client.onNotification(conflict, (told) => {
      if (review.conflicts.told({ ...told, uri: canonical(told.uri) })) {
        void announce(review, told.conflictId);
      }
    }),
    client.onDidChangeState((state) => {
      if (state === "running") {
        void feed.all();
        void conflictsNow();
      } else {
        feed.none();
        review.conflicts.reset([]);
      }
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const uri = document.uri.toString();
      if (contentChanges.length === 0) {
        return;
      }
      feed.typed(uri);
      if (review.conflicts.of(uri).length > 0) {
        clearTimeout(looking);
        looking = setTimeout(() => void conflictsNow(uri), 200);
      }
    }),
    new vscode.Disposable(() => clearTimeout(looking)),
    feed,
    decorations(review),
    gutter(review),
    lenses(review),
    hovers(review),
    actions(review),
    comments(review),
    texts(review),
    view(review),
    keys(review),
    registerCommands(review),
  );
}
