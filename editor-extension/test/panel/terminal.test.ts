import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalLines } from "../../src/panel/webview/terminal";

const text = (output: string): string => terminalLines(output).map((line) => line.map((run) => run.text).join("")).join("\n");

const CASES: [string, string, string][] = [
  ["plain lines", "a\nb\n", "a\nb\n"],
  ["lines of Windows", "a\r\nb", "a\nb"],
  ["a line that is drawn again", "10%\r 55%\r100%\ndone", "100%\ndone"],
  ["what is not drawn over stays", "abcdef\rxy", "xycdef"],
  ["erasing to the end", "abcdef\rxy\x1b[K", "xy"],
  ["erasing the line", "abcdef\x1b[2K\rxy", "xy"],
  ["several lines that are drawn again", "a 1\nb 1\n\x1b[2Aa 2\nb 2\n", "a 2\nb 2\n"],
  ["backspace", "ab\bc", "ac"],
  ["a link is only its words", "see \x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\.", "see here."],
  ["a title ends at a bell", "\x1b]0;title\x07a", "a"],
  ["a sequence that is not complete", "a\x1b[3", "a"],
  ["a link that is not complete", "a\x1b]8;;https://evil", "a"],
  ["other sequences", "\x1b[?25la\x1b(Bb\x1b[10;3Hc\x1b=d\x07", "abcd"],
  ["markup is text", "<img src=x onerror=1>", "<img src=x onerror=1>"],
];

for (const [name, output, expected] of CASES) {
  test(`terminal: ${name}`, () => assert.equal(text(output), expected));
}

const style = (output: string) => terminalLines(output)[0]!.at(-1)!.style;

test("terminal: colours are the theme's, and end where the command says", () => {
  const [before, red, after] = terminalLines("a\x1b[31mb\x1b[0mc")[0]!;
  assert.deepEqual([before!.text, red!.text, after!.text], ["a", "b", "c"]);
  assert.match(red!.style["color"]!, /--vscode-terminal-ansiRed/);
  assert.deepEqual(after!.style, {});
  assert.match(style("\x1b[92mx")["color"]!, /--vscode-terminal-ansiBrightGreen/);
  assert.match(style("\x1b[30;44mx")["backgroundColor"]!, /--vscode-terminal-ansiBlue/);
  assert.match(style("\x1b[7;32mx")["backgroundColor"]!, /--vscode-terminal-ansiGreen/);
});

test("terminal: colours by number, exact colours, with semicolons or colons", () => {
  assert.match(style("\x1b[38;5;196mx")["color"]!, /rgb\(255, 0, 0\)/);
  assert.match(style("\x1b[38;2;1;2;3mx")["color"]!, /rgb\(1, 2, 3\)/);
  assert.match(style("\x1b[38:2::1:2:3mx")["color"]!, /rgb\(1, 2, 3\)/);
  assert.equal(style("\x1b[4:3mx")["textDecoration"], "underline");
  assert.equal(style("\x1b[1;9mx")["fontWeight"], "bold");
});

test("terminal: a long output without lines does not become one line", () => {
  assert.ok(terminalLines("x".repeat(10_000)).length >= 3);
});
