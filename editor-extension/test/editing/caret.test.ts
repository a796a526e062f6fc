import assert from "node:assert/strict";
import { test } from "node:test";
import { carried, typedOn, type Place } from "../../src/editing/caret";
import { replaced, replacedAll, type Replacement } from "../../src/editing/replacements";

/** "|" is the cursor. */
function place(words: string): Place {
  return { text: words.replace("|", ""), caret: words.indexOf("|") };
}

function shown({ text, caret }: Place): string {
  return `${text.slice(0, caret)}|${text.slice(caret)}`;
}

/** The cursor as an edit of a text editor moves it: with the end of a range that ends there, and not with one that begins there. */
function afterwards(from: Place, edits: readonly Replacement[]): Place {
  let { caret } = from;
  for (const { start, end, text } of [...edits].sort((a, b) => b.start - a.start)) {
    if (end <= from.caret && !(start === from.caret && end > start)) {
      caret += text.length - (end - start);
    }
  }
  return { text: replacedAll(from.text, edits), caret };
}

const TYPED: [meant: string, landed: string, since: Replacement[], expected: string][] = [
  ["new\nmine ab|\nend", "new\nmine\n|end", [], "new\nmine ab|\nend"],
  // two keys after the reload, at the cursor that it threw to the next line
  ["new\nmine ab|\nend", "new\nmine\n|end", [insert(9, "c"), insert(10, "d")], "new\nmine abcd|\nend"],
  // a key and Backspace twice: the second one takes what was typed before
  ["new\nmine ab|\nend", "new\nmine\n|end", [insert(9, "c"), { start: 9, end: 10, text: "" }, { start: 8, end: 9, text: "" }], "new\nmine a|\nend"],
  // elsewhere: the place is kept
  ["new\nmine ab|\nend", "new\nmine\n|end", [insert(12, "!")], "new\nmine ab|\nend!"],
  ["ab|", "|", [insert(0, "c")], "abc|"],
  ["ab|\nend\n", "\nend\n|", [insert(5, "c"), insert(6, "d")], "abcd|\nend\n"],
];

function insert(at: number, text: string): Replacement {
  return { start: at, end: at, text };
}

for (const [meant, landed, since, expected] of TYPED) {
  test(`caret: ${JSON.stringify([meant, landed, since])}`, () => {
    assert.equal(shown(typedOn(place(meant), place(landed), since)), expected);
  });
}

test("caret: an edit takes the cursor along, whatever the texts", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const any = (): Place => {
    const text = Array.from({ length: random(8) }, () => "ab\n😀"[random(3)] ?? "").join("");
    return { text, caret: random(text.length + 1) };
  };
  for (let round = 0; round < 5000; round++) {
    const [from, to] = [any(), any()];
    const edits = carried(from, to);
    const [first, second] = edits;
    assert.ok(first === undefined || second === undefined || first.end <= second.start);
    const now = afterwards(from, edits);
    assert.equal(now.text, to.text);
    if (from.caret < from.text.length) {
      assert.equal(now.caret, to.caret, JSON.stringify({ from, to, edits }));
    }
    // keys at the cursor come where it belongs
    const typed = [insert(from.caret, "x"), insert(from.caret + 1, "y")];
    const went = typedOn(to, from, typed);
    assert.equal(went.text, replaced(to.text, insert(to.caret, "xy")));
    assert.equal(went.caret, to.caret + 2);
  }
});
