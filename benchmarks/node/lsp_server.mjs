// A language server as its library's documentation makes one: vscode-languageserver's own text documents over stdio.
//
//   bench/check {uri}      length and hash of the text, so that nobody who did not follow counts as fast
//   bench/memory           bytes in use after a collection (node --expose-gc)

import { createHash } from "node:crypto";
import {
  createConnection,
  ProposedFeatures,
  TextDocuments,
  TextDocumentSyncKind,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";

export const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout);
export const documents = new TextDocuments(TextDocument);

connection.onInitialize(() => ({
  capabilities: { textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental } },
}));
connection.onRequest("bench/check", ({ uri }) => {
  const text = documents.get(uri).getText();
  return { length: text.length, hash: createHash("sha256").update(text, "utf8").digest("hex") };
});
connection.onRequest("bench/memory", () => {
  globalThis.gc?.();
  return process.memoryUsage();
});
documents.listen(connection);
connection.listen();
