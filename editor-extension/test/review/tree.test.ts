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

test("what happened to whole files, and what nobody is known to have done", () => {
  const model = new Model();
  const unknown = { sessionId: "", agent: "", turn: 0, unknown: true } as const;
  model.reset([
    change("0:0-0:0", "a\nb\n", "", { uri: A, changeId: "f1", file: { kind: "deleted" } }),
    change("0:0-0:0", "", "", { uri: B, changeId: "f2", file: { kind: "mode", oldMode: "644", newMode: "755" } }),
    change("0:0-0:0", "", "", { uri: B, changeId: "f3", file: { kind: "renamed", from: A } }),
    change("0:0-0:0", "", "", { uri: A, changeId: "f4", file: { kind: "created" } }),
    change("0:0-0:0", "", "", { uri: A, changeId: "f5", file: { kind: "link" } }),
    change("0:0-0:0", "", "", { uri: A, changeId: "f6", file: { kind: "changed" } }),
    change("1:0-2:0", "", "x\n", { uri: B, changeId: "1" }),
    change("2:0-3:0", "", "y\n", { uri: B, changeId: "2", ...unknown }),
  ]);
  assert.deepEqual(drawn(roots(model, new Conflicts())), [
    "Changed on disk, not known by whom | +1 · 1 file",
    "  b.ts | +1",
    "    Line 3 | +1 · y",
    "fast-agent · turn 1 | +1 −2 · 2 files",
    "  b.ts | +1",
    "    Mode 644 → 755 | ±0",
    "    Renamed from src/a.ts | ±0",
    "    Line 2 | +1 · x",
    "  a.ts | −2 · src",
    "    File deleted | −2 · a",
    "    File created | ±0",
    "    Link changed | ±0",
    "    Content changed, not text | ±0",
  ]);
});

test("a turn is called what the user asked for, also where only an earlier version of a change is its", () => {
  const model = new Model();
  const first = { sessionId: "s", turn: 1, agent: "fast-agent", title: "add a flag" };
  model.reset([
    change("0:0-1:0", "", "x\n", { uri: A, turn: 2, title: "rename the parser", earlier: [first] }),
  ]);
  const turns = roots(model, new Conflicts());
  assert.deepEqual(turns.map((turn) => [look(turn, path).label, look(turn, path).description]), [
    ["rename the parser", "fast-agent · turn 2 · +1 · 1 file"],
    ["add a flag", "fast-agent · turn 1 · +1 · 1 file"],
  ]);
  assert.equal(look(turns[0]!, path).accessible, "rename the parser, fast-agent · turn 2, lines: 1 added, 0 removed, 1 file");
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
