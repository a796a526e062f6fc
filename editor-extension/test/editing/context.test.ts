import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "../../src/editing/context";
import { problems, Uri, window } from "../support/vscode";

const range = { start: { line: 1, character: 2 }, end: { line: 3, character: 4 } };

test("what is selected, and what is wrong there", () => {
  assert.deepEqual(shown(), []);
  window.activeTextEditor = { document: { uri: Uri.parse("file:///a") }, selection: { ...range, active: range.end } };
  problems.set("file:///a", [
    { range, message: "first", severity: 0, source: "s", code: { value: "E1", target: "" } },
    { range, message: "second", severity: 3 },
  ]);
  const diagnostics = [
    { range, message: "first", severity: 1, source: "s", code: "E1" },
    { range, message: "second", severity: 4 },
  ];
  assert.deepEqual(shown(), [{ uri: "file:///a", range, diagnostics }]);
  assert.deepEqual(shown(["file:///a", "file:///b"]), [
    { uri: "file:///a", diagnostics },
    { uri: "file:///b", diagnostics: [] },
  ]);
});
