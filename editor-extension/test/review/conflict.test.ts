import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conflict, ConflictHunk } from "../../src/lsp_ext";
import { Conflicts, sideOf } from "../../src/review/conflict";

const A = "file:///a.txt";
const B = "file:///b.txt";

function conflict(more: Partial<Conflict> = {}): Conflict {
  return { conflictId: "c1", uri: A, version: 1, state: "open", origin: "disk", asked: false, hunks: [], ...more };
}

function hunk(line: number, end: number, base: string, agent: string): ConflictHunk {
  return { range: { start: { line, character: 0 }, end: { line: end, character: 0 } }, base, mine: "", agent };
}

const sides: [string, string, ConflictHunk[], string, string][] = [
  ["one place", "a\nmine\nc\n", [hunk(1, 2, "b\n", "B\n")], "a\nb\nc\n", "a\nB\nc\n"],
  ["two places, longer and shorter", "1\n2\n3\n4\n", [hunk(0, 1, "x\n", ""), hunk(2, 4, "", "y\nz\nw\n")], "x\n2\n", "2\ny\nz\nw\n"],
  ["with CR LF", "a\r\nmine\r\nc", [hunk(1, 2, "b\n", "B\n")], "a\r\nb\nc", "a\r\nB\nc"],
  ["nothing of mine", "a\nc\n", [hunk(1, 1, "b\n", "B\n")], "a\nb\nc\n", "a\nB\nc\n"],
  ["at the end", "a\nmine", [hunk(1, 9, "b", "B")], "a\nb", "a\nB"],
];
for (const [name, text, hunks, base, agent] of sides) {
  test(`the text of each side: ${name}`, () => {
    const it = conflict({ hunks });
    assert.deepEqual([sideOf(text, it, "base"), sideOf(text, it, "agent")], [base, agent]);
  });
}

test("a conflict is new once, changes, and ends", () => {
  const all = new Conflicts();
  const told: (readonly string[])[] = [];
  all.onDidChange((uris) => told.push(uris));
  assert.equal(all.told(conflict()), true);
  assert.equal(all.told(conflict({ asked: true })), false);
  assert.equal(all.of(A)[0]!.asked, true);
  assert.equal(all.told(conflict({ state: "closed", outcome: "mine" })), false);
  assert.deepEqual(all.all, []);
  assert.equal(all.told(conflict({ conflictId: "c2", state: "closed" })), false, "one that ended before it was heard of");
  assert.equal(told.length, 4);
});

test("asking anew replaces a document's, or all", () => {
  const all = new Conflicts();
  all.reset([conflict(), conflict({ conflictId: "c2", uri: B })]);
  all.reset([conflict({ conflictId: "c3" })], A);
  assert.deepEqual(all.all.map((c) => c.conflictId), ["c3", "c2"]);
  assert.deepEqual(all.uris, [A, B]);
  all.reset([]);
  assert.deepEqual(all.all, []);
});
