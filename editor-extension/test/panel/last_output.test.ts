import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../src/panel/host/last_output";

for (const [name, output, expected] of [
  ["colours", "\x1b[31m2 failed\x1b[0m\r\n", "2 failed"],
  ["titles and marks of the shell", "\x1b]0;bash\x07\x1b]633;C\x1b\\done\r\n", "done"],
  ["a progress line", " 10%\r 50%\r100%\r\ndone", "100%\ndone"],
  ["other control characters", "a\x08b\tc", "ab\tc"],
] as const) {
  test(name, () => assert.equal(plain(output), expected));
}
