import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks, counts, isOn, oldLines } from "../../src/review/block";
import { change } from "./change";

/** place, old text, new text → first line, end, counts */
const one: [string, string, string, string, string][] = [
  ["a word in a line", "3:4-3:7", "two", "TWO", "3-4 +1 −1"],
  ["a word removed from a line", "3:4-3:4", "two ", "", "3-4 +1 −1"],
  ["a word put into a line", "3:4-3:8", "", "two ", "3-4 +1 −1"],
  ["whole lines added", "3:0-5:0", "", "a\nb\n", "3-5 +2"],
  ["whole lines added, CR LF", "3:0-5:0", "", "a\r\nb\r\n", "3-5 +2"],
  ["whole lines removed", "3:0-3:0", "a\nb\nc\n", "", "3-3 −3"],
  ["whole lines replaced by more", "3:0-6:0", "a\nb\n", "x\ny\nz\n", "3-6 +3 −2"],
  ["added after a last line without an end", "3:5-4:1", "", "\nx", "4-5 +1"],
  ["removed after a last line that has no end now", "3:5-3:5", "\na\nb", "", "4-4 −2"],
  ["one line broken into three", "3:4-5:0", " ", "\n\n", "3-6 +3 −1"],
  ["a whole text without a final line end", "0:0-1:1", "x", "a\nb", "0-2 +2 −1"],
];
for (const [name, place, oldText, newText, expected] of one) {
  test(`one hunk: ${name}`, () => {
    const [block, ...more] = blocks([change(place, oldText, newText)]);
    assert.equal(more.length, 0);
    assert.equal(`${block!.line}-${block!.end} ${counts(block!)}`, expected);
  });
}

test("a file that an agent made replaced nothing", () => {
  const [block] = blocks([change("0:0-1:1", "", "a\nb", { created: true })]);
  assert.equal(counts(block!), "+2");
});

/** hunks → blocks */
const several: [string, [string, string, string][], string[]][] = [
  ["two words of one line are one line", [["3:0-3:1", "a", "b"], ["3:8-3:9", "c", "d"]], ["3-4 +1 −1 (2)"]],
  ["neighbouring lines are one block", [["3:0-3:1", "a", "b"], ["4:0-4:1", "c", "d"]], ["3-5 +2 −2 (2)"]],
  ["an unchanged line parts them", [["3:0-3:1", "a", "b"], ["5:0-5:1", "c", "d"]], ["3-4 +1 −1 (1)", "5-6 +1 −1 (1)"]],
  ["in whatever order they come", [["5:0-5:1", "c", "d"], ["3:0-3:1", "a", "b"]], ["3-4 +1 −1 (1)", "5-6 +1 −1 (1)"]],
  ["lines removed right after a modified one", [["3:0-3:1", "a", "b"], ["4:0-4:0", "c\nd\n", ""]], ["3-4 +1 −3 (2)"]],
  ["none", [], []],
];
for (const [name, hunks, expected] of several) {
  test(`blocks: ${name}`, () => {
    const found = blocks(hunks.map(([place, oldText, newText], i) => change(place, oldText, newText, { changeId: `${i}` })));
    assert.deepEqual(found.map((b) => `${b.line}-${b.end} ${counts(b)} (${b.ids.length})`), expected);
  });
}

test("a block is on its lines, and one that removed lines on the line after them", () => {
  const [written] = blocks([change("3:0-5:0", "", "a\nb\n")]);
  const [removed] = blocks([change("3:0-3:0", "a\n", "")]);
  assert.deepEqual([2, 3, 4, 5].map((line) => isOn(written!, line)), [false, true, true, false]);
  assert.deepEqual([2, 3, 4].map((line) => isOn(removed!, line)), [false, true, false]);
});

/** text now, hunks → what the block's lines said */
const old: [string, string, [string, string, string][], string[]][] = [
  ["a word", "0\nx TWO y\n", [["1:2-1:5", "two", "TWO"]], ["x two y"]],
  ["two words", "A b C\n", [["0:0-0:1", "a", "A"], ["0:4-0:5", "c", "C"]], ["a b c"]],
  ["lines added", "0\nx\ny\n", [["1:0-3:0", "", "x\ny\n"]], []],
  ["lines removed", "0\n1\n", [["1:0-1:0", "a\n\tb\n", ""]], ["a", "\tb"]],
  ["lines removed at the end", "0\n1", [["1:1-1:1", "\na\nb", ""]], ["a", "b"]],
  ["a line added at the end", "0\n1", [["0:1-1:1", "", "\n1"]], []],
  ["an empty line removed", "0\n1\n", [["1:0-1:0", "\n", ""]], [""]],
  ["CR LF", "x\ny\n", [["0:0-1:0", "a\r\nb\r\n", "x\r\n"]], ["a", "b"]],
  ["neighbours", "A\nB\nc\n", [["0:0-0:1", "a", "A"], ["1:0-2:0", "b\nb2\n", "B\n"]], ["a", "b", "b2"]],
];
for (const [name, text, hunks, expected] of old) {
  test(`what was there: ${name}`, () => {
    const [block] = blocks(hunks.map(([place, oldText, newText], i) => change(place, oldText, newText, { changeId: `${i}` })));
    const lines = text.split("\n");
    assert.deepEqual(oldLines(block!, (line) => lines[line]!, lines.length), expected);
  });
}
