import assert from "node:assert/strict";
import { test } from "node:test";
import { FromWebview, parse, ToWebview } from "../../src/panel/protocol";

const picture = { id: "i", kind: "image", label: "", uri: "", text: "AAAA", mimeType: "image/png" };

/** What a page that was taken over might send, and what of it is heard. */
const SENT: [string, unknown, boolean][] = [
  ["a prompt", { type: "send", sessionId: "s", text: "go", attachments: [picture] }, true],
  ["a prompt without text", { type: "send", sessionId: "s", attachments: [] }, false],
  ["a prompt of 2 MiB", { type: "send", sessionId: "s", text: "x".repeat(2 << 20), attachments: [] }, false],
  ["65 attachments", { type: "send", sessionId: "s", text: "go", attachments: Array.from({ length: 65 }, () => picture) }, false],
  ["a picture of 9 MB", { type: "send", sessionId: "s", text: "go", attachments: [{ ...picture, text: "A".repeat(9_000_000) }] }, false],
  ["an attachment of another kind", { type: "send", sessionId: "s", text: "go", attachments: [{ ...picture, kind: "command" }] }, false],
  ["an answer", { type: "answer", sessionId: "s", requestId: "q", optionId: "yes" }, true],
  ["an answer to nothing", { type: "answer", sessionId: "s", optionId: "yes" }, false],
  ["an id that is an object", { type: "stop", sessionId: { toString: "s" } }, false],
  ["a turn below nought", { type: "undoTurn", sessionId: "s", turn: -1 }, false],
  ["a turn that is no number", { type: "undoTurn", sessionId: "s", turn: "1" }, false],
  ["a verdict nobody knows", { type: "review", sessionId: "s", turn: 1, verdict: "push" }, false],
  ["a command of VS Code's", { type: "command", command: "workbench.action.quit" }, false],
  ["no object", "send", false],
  ["null", null, false],
  ["nothing", undefined, false],
];
for (const [name, message, heard] of SENT) {
  test(`protocol: ${name} is ${heard ? "heard" : "dropped"}`, () => assert.equal(parse(FromWebview, message) !== null, heard));
}

test("protocol: keys that nobody knows are left out", () => {
  assert.deepEqual(parse(FromWebview, { type: "home", command: "quit", __proto__: { evil: 1 } }), { type: "home" });
});

test("protocol: the page takes no entry of a kind it does not draw", () => {
  assert.equal(parse(ToWebview, { type: "ops", sessionId: "s", ops: [{ op: "put", entry: { id: "x", kind: "html", html: "<b>" } }] }), null);
});
