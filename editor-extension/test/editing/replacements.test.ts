import assert from "node:assert/strict";
import { test } from "node:test";
import { haveSameLines, moved, offsetAt, replacement, type Replacement } from "../../src/editing/replacements";

function made(text: string, { start, end, text: put }: Replacement): string {
  return text.slice(0, start) + put + text.slice(end);
}

for (const [before, after, changed] of [
  ["", "", ""],
  ["", "a", "a"],
  ["a", "", ""],
  ["one\ntwo\nthree\n", "one\n2\nthree\n", "2"],
  ["aaa", "aaaa", "a"],
  ["abab", "ab", ""],
  ["x😀y", "x😁y", "😁"],
  ["a\r\nb", "a\nb", "\n"],
  ["a\nb", "a\r\nb", "\r\n"],
] as const) {
  test(`replacement: ${JSON.stringify(before)} → ${JSON.stringify(after)}`, () => {
    const found = replacement(before, after);
    assert.equal(made(before, found), after);
    assert.equal(found.text, changed);
  });
}

// ⟦…⟧ is where the first replacement lies, ⟨…⟩ the one that was made; what it put there is "XY"
for (const [places, expected] of [
  ["a⟦b⟧c⟨d⟩e", "a⟦b⟧cXYe"],
  ["a⟨b⟩c⟦d⟧e", "aXYc⟦d⟧e"],
  ["⟨⟩a⟦⟧b", "XYa⟦⟧b"],
  ["a⟦b⟨c⟩d⟧e", "a⟦bXYd⟧e"],
  ["a⟨b⟦c⟧d⟩e", "aXY⟦⟧e"],
  ["a⟦b⟨c⟧d⟩e", "a⟦bXY⟧e"],
  ["a⟨b⟦c⟩d⟧e", "aXY⟦d⟧e"],
] as const) {
  test(`moved: ${places} → ${expected}`, () => {
    const [one, other] = ["⟦⟧", "⟨⟩"].map((marks) => {
      const bare = Array.from(places).filter((char) => !"⟦⟧⟨⟩".includes(char) || marks.includes(char)).join("");
      return { start: bare.indexOf(marks[0]!), end: bare.indexOf(marks[1]!) - 1 };
    }) as [Replacement, Replacement];
    const after = moved({ ...one, text: "" }, { ...other, text: "XY" });
    const text = made(places.replace(/[⟦⟧⟨⟩]/g, ""), { ...other, text: "XY" });
    assert.equal(`${text.slice(0, after.start)}⟦${text.slice(after.start, after.end)}⟧${text.slice(after.end)}`, expected);
  });
}

for (const [text, line, character, expected] of [
  ["", 0, 0, 0],
  ["", 3, 3, 0],
  ["ab\ncd\n", 0, 1, 1],
  ["ab\ncd\n", 1, 2, 5],
  ["ab\ncd\n", 0, 9, 2],
  ["ab\r\ncd", 0, 9, 2],
  ["ab\r\ncd", 1, 1, 5],
  ["ab\ncd\n", 2, 0, 6],
  ["ab\ncd", 2, 0, 5],
] as const) {
  test(`offsetAt: ${JSON.stringify(text)} ${line}:${character}`, () => {
    assert.equal(offsetAt(text, line, character), expected);
  });
}

for (const [one, other, are] of [
  ["a\r\nb\r\n", "a\nb\n", true],
  ["a\rb", "a\nb", true],
  ["a\nb", "a\nb\n", false],
  ["a\r\nb", "a\nc", false],
] as const) {
  test(`the same lines: ${JSON.stringify(one)}, ${JSON.stringify(other)}: ${are}`, () => {
    assert.equal(haveSameLines(one, other), are);
    assert.equal(haveSameLines(other, one), are);
  });
}
