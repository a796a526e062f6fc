import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, foldersOf, offered, openFiles, problems, terminal } from "../../src/panel/host/offers";
import { promptOf, promptWords } from "../../src/panel/host/acp";
import type { Attachment } from "../../src/panel/model";

const FILE: Attachment = { id: "a", kind: "file", label: "a.py", uri: "file:///w/a.py" };
const ALL = [
  openFiles("Open files", "1 file", [FILE]),
  problems("Problems", "2 problems", [
    { where: "a.py", line: 3, message: "unused", source: "lint", error: false },
    { where: "b.py", line: 1, message: "no such name", source: undefined, error: true },
  ]),
  terminal("Terminal output", { terminal: "bash", command: "make  test", text: "2 failed" }),
  changes("Changes under review", "1 change", [{ where: "a.py", line: 2, oldText: "old\r\n", newText: "new\nmore\n" }]),
];
const labels = (query: string): string[] => offered(ALL, query).map((one) => one.label);

for (const [query, expected] of [
  ["", ["Open files", "Problems", "Terminal output", "Changes under review"]],
  ["o", ["Open files", "Terminal output"]],
  ["Prob", ["Problems"]],
  ["dif", ["Changes under review"]],
  ["weather", []],
] as const) {
  test(`@${query} offers ${expected.join(", ") || "nothing"}`, () => assert.deepEqual(labels(query), expected));
}

test("what there is none of is not offered", () => {
  assert.deepEqual(offered([openFiles("", "", []), problems("", "", []), terminal("", undefined), changes("", "", [])], ""), []);
});

test("an agent is told in words what each is, and a record shows them as attachments again", () => {
  const attachments = ALL.flatMap((one) => one?.attachments ?? []);
  const blocks = promptOf("look", attachments);
  assert.deepEqual(blocks.slice(2), [
    { type: "text", text: "Problems in the editor, 2 problems:\n```\nb.py:1: error: no such name\na.py:3: warning: lint: unused\n```" },
    { type: "text", text: "Last output of the user's terminal, make test:\n```\n$ make  test\n2 failed\n```" },
    { type: "text", text: "Changes by agents that the user has not reviewed, 1 change:\n```\n--- a.py\n@@ line 2\n-old\n+new\n+more\n\n```" },
  ]);
  const known = promptWords(blocks);
  assert.equal(known.text, "look");
  assert.deepEqual(
    known.attachments.map(({ kind, label }) => [kind, label]),
    attachments.map(({ kind, label }) => [kind, label]),
  );
});

test("changes that are too much are counted", () => {
  const one = { where: "a.py", line: 1, oldText: "", newText: "x".repeat(60_000) };
  const text = changes("", "", [one, one])?.attachments?.[0]?.text ?? "";
  assert.match(text, /… 1 more\n$/);
});

test("folders are found by their own name, or by a path", () => {
  const files = ["w/src/rain/a.py", "w/src/snow/b.py", "w/tests/rain/c.py"];
  assert.deepEqual(foldersOf(files, "rain", 9), ["w/src/rain", "w/tests/rain"]);
  assert.deepEqual(foldersOf(files, "src/", 9), ["w/src"]);
  assert.deepEqual(foldersOf(files, "src/ra", 9), ["w/src/rain"]);
  assert.deepEqual(foldersOf(files, "a.py", 9), []);
  assert.deepEqual(foldersOf(files, "", 2), ["w", "w/src"]);
});
