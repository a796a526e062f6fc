import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../../src/review/block";
import { idsIn, type LineChange, shownChange } from "../../src/review/peek";
import { change } from "./change";

/** A modified line 3, two lines removed before line 7, two new lines 13 and 14 (all from 0). */
const BLOCKS = blocks([
  change("3:0-4:0", "old\n", "new\n", { changeId: "modified" }),
  change("7:0-7:0", "a\nb\n", "", { changeId: "removed" }),
  change("13:0-15:0", "", "c\nd\n", { changeId: "added" }),
]);

function shown(modifiedStartLineNumber: number, modifiedEndLineNumber: number): LineChange {
  return { originalStartLineNumber: 1, originalEndLineNumber: 1, modifiedStartLineNumber, modifiedEndLineNumber };
}

test("the change that the peek shows is found by its lines, which count from 1", () => {
  assert.deepEqual(idsIn(BLOCKS, shown(4, 4)), ["modified"]);
  assert.deepEqual(idsIn(BLOCKS, shown(14, 15)), ["added"]);
  assert.deepEqual(idsIn(BLOCKS, shown(7, 0)), ["removed"], "lines removed after line 7");
});

test("the editor's diff may join what are several changes here, or see a part of one", () => {
  assert.deepEqual(idsIn(BLOCKS, shown(4, 14)), ["modified", "removed", "added"]);
  assert.deepEqual(idsIn(BLOCKS, shown(15, 15)), ["added"]);
  assert.deepEqual(idsIn(BLOCKS, shown(8, 8)), ["removed"], "the line below the removed ones");
});

test("lines beside a change are not part of it", () => {
  assert.deepEqual(idsIn(BLOCKS, shown(3, 3)), []);
  assert.deepEqual(idsIn(BLOCKS, shown(5, 6)), []);
  assert.deepEqual(idsIn(BLOCKS, shown(12, 0)), []);
  assert.deepEqual(idsIn(BLOCKS, shown(16, 20)), []);
});

test("only the arguments of a command in the peek's title name a change", () => {
  const one = shown(4, 4);
  assert.equal(shownChange(["uri", [shown(1, 1), one], 1]), one);
  assert.equal(shownChange(["uri", [one], 1]), undefined);
  assert.equal(shownChange([{ ids: ["x"] }]), undefined);
  assert.equal(shownChange([]), undefined);
});
