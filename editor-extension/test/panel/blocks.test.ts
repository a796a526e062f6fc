import assert from "node:assert/strict";
import { test } from "node:test";
import { Blocks, CODE_LINES, TEXT_LINES, type Block } from "../../src/panel/webview/blocks";

const cut = (chunks: Iterable<string>): Block[] => {
  const blocks = new Blocks();
  for (const chunk of chunks) blocks.append(chunk);
  return blocks.all();
};
/** As a person reads it: code as [language] lines, long pieces by their number of lines. */
const shown = (blocks: Block[]): string[] =>
  blocks.map((one) => (one.kind === "code" ? `[${one.language}] ${one.text}` : one.text.trim()));

const CASES: [string, string, string[]][] = [
  ["nothing", "", []],
  ["one paragraph", "a\nb", ["a\nb"]],
  ["paragraphs", "a\n\nb\n\nc\n", ["a", "b", "c"]],
  ["heading and text", "# a\nb\n", ["# a", "b"]],
  ["a heading that is underlined", "a\n===\nb\n", ["a\n===", "b"]],
  ["items of a list", "- a\n- b\n  more\n- c\n", ["- a", "- b\n  more", "- c"]],
  ["numbers stay", "1. a\n2. b\n", ["1. a", "2. b"]],
  ["a list in a list stays with its item", "- a\n  - b\n  - c\n- d\n", ["- a\n  - b\n  - c", "- d"]],
  ["code", "a\n```ts\nx\n\ny\n```\nb", ["a", "[ts] x\n\ny", "b"]],
  ["code that is not closed", "```py\nx\ny", ["[py] x\ny"]],
  ["tildes; backticks inside are code", "~~~\n```\n~~~\n", ["[] ```"]],
  ["a longer fence", "````\n```\n````\n", ["[] ```"]],
  ["a fence in an item is part of the item", "- a\n\n  ```\n  x\n  ```\n- b\n", ["- a\n\n  ```\n  x\n  ```", "- b"]],
  ["a table", "|a|\n|-|\n|1|\n|2|\n\nb\n", ["|a|\n|-|\n|1|\n|2|", "b"]],
  ["display math is one block", "a\n\n$$\nx\n\n- y\n$$\nb\n", ["a", "$$\nx\n\n- y\n$$", "b"]],
  ["display math in brackets", "\\[\nx\n\n# y\n\\]\n\nb\n", ["\\[\nx\n\n# y\n\\]", "b"]],
  ["a quotation", "> a\n> b\n\nc\n", ["> a\n> b", "c"]],
  ["two fences in a row", "```\na\n```\n```\nb\n```\n", ["[] a", "[] b"]],
];

for (const [name, source, expected] of CASES) {
  test(`blocks: ${name}`, () => {
    assert.deepEqual(shown(cut([source])), expected);
  });
}

test("blocks: chunks of any size give the same blocks", () => {
  const whole = CASES.map(([, source]) => source).join("\n\n") + "\n";
  const expected = shown(cut([whole]));
  for (const size of [1, 2, 3, 7, 40]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));
    assert.deepEqual(shown(cut(chunks)), expected, `chunks of ${size}`);
  }
});

test("blocks: long code is cut into pieces of one fence, and none is lost", () => {
  const lines = Array.from({ length: 5 * CODE_LINES + 3 }, (_, at) => `line ${at}`);
  const blocks = new Blocks();
  for (const line of ["```", ...lines, "```"]) blocks.append(`${line}\n`);
  const all = blocks.all();
  assert.equal(all.length, 6);
  assert.deepEqual(all.map((one) => one.first), [true, false, false, false, false, false]);
  assert.deepEqual(all.map((one) => one.last), [false, false, false, false, false, true]);
  assert.equal(blocks.code(0), lines.join("\n"));
});

test("blocks: what is complete stays the same object", () => {
  const blocks = new Blocks();
  blocks.append("a\n\nb\n\nc\n");
  const before = blocks.all();
  blocks.append("more\n\nd\n");
  const after = blocks.all();
  assert.equal(after[0], before[0]);
  assert.equal(after[1], before[1]);
  assert.deepEqual(shown(after), ["a", "b", "c\nmore", "d"]);
});

test("blocks: a paragraph without end is cut", () => {
  const lines = Array.from({ length: 10 * TEXT_LINES }, (_, at) => `words ${at}`);
  const all = cut([`${lines.join("\n")}\n`]);
  assert.ok(all.length >= 9, `${all.length} blocks`);
  assert.deepEqual(all.flatMap((one) => one.text.split("\n")).filter(Boolean), lines);
});
