// vscode-languageserver-textdocument as a store: one JSON command a line in, one answer a line out; it measures itself.
//
//   {"do": "load", "path", "repeat"}        the text of a file becomes a document; until its first position is known
//   {"do": "edit", "changes", "batch"}      [[line, character, text], …], one event each or all in one
//   {"do": "read", "places", "count"}       lines from each of the places
//   {"do": "whole", "line"}                 one insertion, then the whole text
//   {"do": "check"}                         length and hash of the text now

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { TextDocument } from "vscode-languageserver-textdocument";

let document;
let version = 1;

function update(changes) {
  version += 1;
  document = TextDocument.update(document, changes, version);
}

function inserted([line, character, text]) {
  const place = { line, character };
  return { range: { start: place, end: place }, text };
}

const doing = {
  load({ path, repeat }) {
    const text = readFileSync(path, "utf8");
    return measured(() => {
      for (let n = 0; n < repeat; n += 1) {
        version = 1;
        document = TextDocument.create("file:///text", "plaintext", version, text);
        document.offsetAt({ line: 1, character: 0 });
      }
    });
  },
  edit({ changes, batch }) {
    const made = changes.map(inserted);
    return measured(() => {
      if (batch) update(made);
      else for (const change of made) update([change]);
    });
  },
  read({ places, count }) {
    const hash = createHash("sha256");
    const pieces = [];
    const answer = measured(() => {
      for (const line of places) {
        const range = { start: { line, character: 0 }, end: { line: line + count, character: 0 } };
        pieces.push(document.getText(range));
      }
    });
    for (const piece of pieces) hash.update(piece, "utf8");
    return { ...answer, hash: hash.digest("hex") };
  },
  whole({ line }) {
    let text;
    const change = inserted([line, 0, "x"]);
    const answer = measured(() => {
      update([change]);
      text = document.getText();
      text.charCodeAt(text.length >> 1); // V8 joins the pieces only when somebody looks
    });
    return { ...answer, length: text.length };
  },
  check() {
    const text = document.getText();
    return { length: text.length, hash: createHash("sha256").update(text, "utf8").digest("hex") };
  },
};

function measured(work) {
  const start = process.hrtime.bigint();
  work();
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9 };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const command = JSON.parse(line);
  process.stdout.write(JSON.stringify(doing[command.do](command)) + "\n");
}
