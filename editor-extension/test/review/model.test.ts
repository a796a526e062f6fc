import assert from "node:assert/strict";
import { test } from "node:test";
import { counts } from "../../src/review/block";
import { Model, type Place } from "../../src/review/model";
import { added, change } from "./change";

const A = "file:///a.txt";
const B = "file:///b.txt";
const C = "file:///c.txt";

function model(): Model {
  const made = new Model();
  made.reset([added(A, 3), added(A, 10), added(C, 5)]);
  return made;
}

const go: [string, Place | undefined, string, string][] = [
  ["from nowhere to the first, or the last", undefined, "3 a", "5 c"],
  ["from before all", { uri: A, line: 0 }, "3 a", "5 c"],
  ["from on the first to the second", { uri: A, line: 3 }, "10 a", "5 c"],
  ["from between", { uri: A, line: 7 }, "10 a", "3 a"],
  ["from the last of a file to the next file's first", { uri: A, line: 10 }, "5 c", "3 a"],
  ["from the last of all around", { uri: C, line: 5 }, "3 a", "10 a"],
  ["from a file without changes", { uri: B, line: 99 }, "5 c", "10 a"],
];
for (const [name, from, next, previous] of go) {
  test(`next and previous: ${name}`, () => {
    const say = (block: ReturnType<Model["next"]>): string => `${block?.line} ${block?.uri.at(-5)}`;
    assert.deepEqual([say(model().next(from)), say(model().previous(from))], [next, previous]);
  });
}

test("nothing under review: there is nowhere to go", () => {
  const empty = new Model();
  assert.equal(empty.next(), undefined);
  assert.equal(empty.previous({ uri: A, line: 1 }), undefined);
  assert.ok(empty.isEmpty);
});

test("from inside a block of several lines, previous leaves it", () => {
  const made = new Model();
  made.reset([added(A, 1), change("5:0-9:0", "", "1\n2\n3\n4\n", { uri: A })]);
  assert.equal(made.previous({ uri: A, line: 7 })?.line, 1);
  assert.equal(made.next({ uri: A, line: 7 })?.line, 1, "around");
});

test("only what differs is told, a document that left too", () => {
  const made = model();
  const told: (readonly string[])[] = [];
  made.onDidChange((uris) => told.push(uris));
  made.set(A, [added(A, 3), added(A, 10)]);
  assert.deepEqual(told, []);
  made.set(A, [added(A, 4)]);
  made.reset([added(A, 4), added(B, 1)]);
  made.reset([]);
  assert.deepEqual(told, [[A], [C, B], [A, B]]);
  assert.ok(made.isEmpty);
});

test("a listener that was disposed of is told nothing", () => {
  const made = model();
  const told: unknown[] = [];
  made.onDidChange((uris) => told.push(uris)).dispose();
  made.reset([]);
  assert.deepEqual(told, []);
});

test("changes by turn and file, the newest first", () => {
  const made = new Model();
  made.reset([
    added(A, 3),
    added(A, 20, { turn: 2 }),
    change("7:0-7:0", "x\ny\n", "", { uri: B, turn: 2 }),
    added(C, 0, { sessionId: "t", agent: "other", created: true }),
  ]);
  assert.deepEqual(
    made.turns().map((turn) => [
      `${turn.agent} ${turn.turn} ${counts(turn)}`,
      ...turn.files.map((file) => `${file.uri} ${counts(file)}${file.created ? " new" : ""}`),
    ]),
    [
      ["other 1 +1", `${C} +1 new`],
      ["fast-agent 2 +1 −2", `${A} +1`, `${B} −2`],
      ["fast-agent 1 +1", `${A} +1`],
    ],
  );
});

test("a change of several turns is in each of them", () => {
  const made = model();
  const before = { sessionId: "s", turn: 1, agent: "fast-agent" };
  made.set(A, [added(A, 3, { turn: 2, earlier: [before] }), added(A, 10)]);
  made.set(B, [added(B, 0, { sessionId: "t", agent: "other", earlier: [before] })]);
  assert.deepEqual(
    made.turns().map((turn) => [`${turn.agent} ${turn.turn}`, ...turn.files.map((file) => `${file.uri} ${counts(file)}`)]),
    [
      ["other 1", `${B} +1`],
      ["fast-agent 2", `${A} +1`],
      ["fast-agent 1", `${A} +2`, `${B} +1`, `${C} +1`],
    ],
  );
});

test("the number of changes is that of blocks", () => {
  const made = model();
  made.set(A, [added(A, 3), change("4:0-4:1", "a", "b", { uri: A }), added(A, 10)]);
  assert.equal(made.size, 3);
});
