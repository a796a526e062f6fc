import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOf, wordsOf } from "../../src/panel/shell";

const LINES: [string, string[]][] = [
  ["a b", ["a", "b"]],
  ["  'a b'  \"c d\" ", ["a b", "c d"]],
  ["a $HOME;b", ["a", "$HOME;b"]],
  ["", []],
  ["a ''", ["a", ""]],
  ["--say=\"a b\"'c d'", ["--say=a bc d"]],
  [String.raw`"say \"hi\""`, ['say "hi"']],
  [String.raw`"C:\Program Files\agent.exe" C:\x`, [String.raw`C:\Program Files\agent.exe`, String.raw`C:\x`]],
];
for (const [line, expected] of LINES) {
  test(`words of ${JSON.stringify(line)}`, () => assert.deepEqual(wordsOf(line), expected));
}

const SHOWN: [string[], string][] = [
  [["pytest", "-q"], "pytest -q"],
  [["git", "commit", "-m", "a b"], "git commit -m 'a b'"],
  [["sh", "-c", "echo 'it is'"], `sh -c "echo 'it is'"`],
  [["sh", "-c", "echo \"a\" 'b'"], String.raw`sh -c 'echo "a" '\''b'\'''`],
  [["sh", "-c", "echo '$HOME'"], String.raw`sh -c 'echo '\''$HOME'\'''`],
  [["a", ""], "a ''"],
];
for (const [words, expected] of SHOWN) {
  test(`the line of ${JSON.stringify(words)}`, () => assert.equal(lineOf(words), expected));
}

test("what is shown is read back as the same words, whatever is in them", () => {
  const letters = ["'", '"', "\\", " ", "$", "a", "`", "!", "-"];
  let seed = 7;
  const any = (count: number): number => (seed = (seed * 48271) % 2147483647) % count;
  for (let round = 0; round < 3000; round += 1) {
    const words = Array.from({ length: 1 + any(3) }, () => Array.from({ length: any(7) }, () => letters[any(letters.length)]).join(""));
    assert.deepEqual(wordsOf(lineOf(words)), words, lineOf(words));
  }
});
