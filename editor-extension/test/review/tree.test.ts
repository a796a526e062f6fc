import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflicts } from "../../src/review/conflict";
import { Model } from "../../src/review/model";
import { children, look, type Node, roots } from "../../src/review/tree";
import { added, change } from "./change";

const A = "file:///w/src/a.ts";
const B = "file:///w/b.ts";
const path = (uri: string): string => uri.replace("file:///w/", "");

function drawn(nodes: readonly Node[], indent = ""): string[] {
  return nodes.flatMap((node) => {
    const { label, description } = look(node, path);
    return [`${indent}${label} | ${description}`, ...drawn(children(node), `${indent}  `)];
  });
}

function scene(): [Model, Conflicts] {
  const model = new Model();
  model.reset([
    change("3:0-3:3", "two", "TWO", { uri: A, changeId: "1" }),
    change("8:0-10:0", "", "\n  const x = 1;\n", { uri: A }),
    change("0:0-2:0", "", "new\nfile\n", { uri: B, turn: 2, created: true }),
  ]);
  const conflicts = new Conflicts();
  conflicts.reset([
    { conflictId: "c1", uri: A, version: 1, state: "open", origin: "write", asked: true, hunks: [], agent: "fast-agent" },
    { conflictId: "c2", uri: B, version: 1, state: "open", origin: "disk", asked: false, hunks: [] },
  ]);
  return [model, conflicts];
}

test("conflicts first, then turns, the newest first, with their files and places", () => {
  assert.deepEqual(drawn(roots(...scene())), [
    "Conflicts | 2",
    "  b.ts | the disk",
    "  a.ts | fast-agent, asked again · src",
    "fast-agent · turn 2 | +2 · 1 file",
    "  b.ts | new +2",
    "    Line 1 | +2 · new",
    "fast-agent · turn 1 | +3 −1 · 1 file",
    "  a.ts | +3 −1 · src",
    "    Line 4 | +1 −1 · TWO",
    "    Line 9 | +2 · const x = 1;",
  ]);
});

test("no two nodes are one to the view, and words say what signs say", () => {
  const all = (nodes: readonly Node[]): Node[] => nodes.flatMap((node) => [node, ...all(children(node))]);
  const looks = all(roots(...scene())).map((node) => look(node, path));
  assert.equal(new Set(looks.map(({ id }) => id)).size, looks.length);
  for (const { accessible } of looks) {
    assert.doesNotMatch(accessible, /[−+]\d/);
  }
});

test("nothing under review, nothing in the view", () => {
  assert.deepEqual(roots(new Model(), new Conflicts()), []);
});

test("a long line is cut", () => {
  const model = new Model();
  model.reset([added(A, 1, { newText: `${"x".repeat(500)}\n` })]);
  const [turn] = roots(model, new Conflicts());
  const block = children(children(turn!)[0]!)[0]!;
  assert.equal(look(block, path).description.length, "+1 · ".length + 81);
});
