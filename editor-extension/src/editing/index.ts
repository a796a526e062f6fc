/** Saving, reloading, unopened files, and files that text sync does not cover. */

import * as vscode from "vscode";
import * as ext from "../lsp_ext";
import type { Session } from "../session";
import { shown } from "./context";
import { Opaque } from "./opaque";
import { Reloading } from "./reload";
import { Saving } from "./save";
import { Unopened } from "./unopened";

export const flags: Partial<ext.ClientFlags> = { save: true, open: true, reload: true, context: true };

export function register({ client, log }: Session): vscode.Disposable {
  const say = (words: string): void => log.info(words);
  const reloading = new Reloading(say);
  const saving = new Saving((document) => reloading.isNewerOnDisk(document), say);
  const unopened = new Unopened();
  const opaque = new Opaque((uri, dirty) => void client.notify(ext.opaque, { uri, dirty }));
  client.use({ workspace: { handleApplyEdit: unopened.handleApplyEdit } });
  return vscode.Disposable.from(
    reloading,
    unopened,
    opaque,
    client.onRequest(ext.save, (params) => {
      unopened.works(params.uri);
      return saving.save(params);
    }),
    client.onRequest(ext.reload, (params) => reloading.reload(params)),
    client.onRequest(ext.open, ({ uri }) => unopened.open(uri)),
    client.onRequest(ext.close, ({ uri }) => unopened.close(uri)),
    client.onRequest(ext.context, ({ uris }) => shown(uris)),
    client.onDidChangeState((state) => {
      if (state === "running") {
        opaque.tellAll();
      }
    }),
  );
}
