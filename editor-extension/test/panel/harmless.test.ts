import assert from "node:assert/strict";
import { test } from "node:test";
import { Harmless } from "../../src/panel/host/harmless";

const ROWS: [string, string, string][] = [
  ["lines", "a\nb\r\nc\r\r\n", "a\r\nb\r\nc\r\n"],
  ["colours", "\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"],
  ["progress", "10%\r\x1b[K20%\x1b[2A\b\t", "10%\r\x1b[K20%\x1b[2A\b\t"],
  ["a title", "a\x1b]0;evil\x07b", "ab"],
  ["the clipboard", "a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"],
  ["a link", "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\", "here"],
  ["the shell's marks", "\x1b]633;E;rm -rf /\x07x", "x"],
  ["questions", "\x1b[6n\x1b[c\x1b[>c\x1bZ\x1b[5nx", "x"],
  ["modes", "\x1b[?1049h\x1b[?2004hx\x1bc\x1b7\x1b8\x1b(0", "x"],
  ["other strings", "\x1bPq#0\x1b\\\x1b_evil\x1b\\\x1b^evil\x1b\\x", "x"],
  ["control characters", "a\x00\x05\x07\x0e\x85\x9b31m\x7fb", "a31mb"],
];

for (const [name, given, expected] of ROWS) {
  test(`harmless: ${name}, in one piece and in many`, () => {
    assert.equal(new Harmless().add(given), expected);
    for (let at = 0; at <= given.length; at += 1) {
      const one = new Harmless();
      const halves = one.add(given.slice(0, at)) + one.add(given.slice(at));
      assert.equal(halves.replace(/\r+\n/g, "\r\n"), expected, `cut at ${at}`);
    }
    const letters = new Harmless();
    assert.equal(Array.from(given, (one) => letters.add(one)).join("").replace(/\r+\n/g, "\r\n"), expected);
  });
}

test("harmless: a sequence without an end holds up nothing", () => {
  const one = new Harmless();
  assert.equal(one.add("a\x1b]0;" + "x".repeat(10_000)), "a");
  assert.equal(one.add("words\n"), "words\r\n");
});
