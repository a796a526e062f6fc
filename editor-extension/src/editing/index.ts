/** Saving, reloading, unopened files, notebooks, and files that text sync does not cover. */

import * as vscode from "vscode";
import {
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DidSaveTextDocumentNotification,
  LSPErrorCodes,
  ResponseError,
} from "vscode-languageclient/node";
import * as ext from "../lsp_ext";
import type { Session } from "../session";
import { shown } from "./context";
import { Notebooks } from "./notebooks";
import { isOpenElsewhere, Opaque } from "./opaque";
import { Reloading } from "./reload";
import { Saving } from "./save";
import { Unopened } from "./unopened";

export const flags: Partial<ext.ClientFlags> = { save: true, open: true, reload: true, context: true };

export function register({ client, log }: Session): vscode.Disposable {
  const say = (words: string): void => log.info(words);
  const reloading = new Reloading((document) => client.hold(document), say);
  const saving = new Saving((document) => reloading.isNewerOnDisk(document), say);
  const unopened = new Unopened();
  const notebooks = new Notebooks({
    opened: (uri, languageId, version, text) =>
      void client.notify(DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId, version, text } }),
    changed: (uri, version, changes) =>
      void client.notify(DidChangeTextDocumentNotification.type, { textDocument: { uri, version }, contentChanges: [...changes] }),
    saved: (uri) => void client.notify(DidSaveTextDocumentNotification.type, { textDocument: { uri } }),
    closed: (uri) => void client.notify(DidCloseTextDocumentNotification.type, { textDocument: { uri } }),
  });
  const opaque = new Opaque((uri, dirty) => void client.notify(ext.opaque, { uri, dirty }), notebooks);
  client.use({
    workspace: { handleApplyEdit: (params, next) => notebooks.apply(params) ?? unopened.handleApplyEdit(params, next) },
  });
  return vscode.Disposable.from(
    reloading,
    unopened,
    opaque,
    notebooks,
    client.onRequest(ext.save, (params) => {
      if (notebooks.has(params.uri)) {
        return notebooks.save(params);
      }
      unopened.works(params.uri);
      return saving.save(params);
    }),
    client.onRequest(ext.reload, (params) =>
      notebooks.has(params.uri) ? { refused: "not-active" as const } : reloading.reload(params),
    ),
    client.onRequest(ext.open, ({ uri }) => {
      if (isOpenElsewhere(uri)) {
        throw new ResponseError(LSPErrorCodes.RequestFailed, vscode.l10n.t("it is open in a notebook or another special editor, which reloads it"));
      }
      return unopened.open(uri);
    }),
    client.onRequest(ext.close, ({ uri }) => unopened.close(uri)),
    client.onRequest(ext.context, ({ uris }) => shown(uris)),
    client.onDidChangeState((state) => {
      if (state === "running") {
        opaque.tellAll();
      }
    }),
  );
}
