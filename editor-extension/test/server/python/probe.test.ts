/** The probe with real processes: scripts that answer as Pythons do. */

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { probe } from "../../../src/server/python/probe";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "acp-probe-"));
after(() => fs.rmSync(folder, { recursive: true }));

/** [what the program prints, what the probe says] */
const CASES: [string, string, string][] = [
  ["one that fits", '{"version": "3.12.1", "executable": "/real/python", "problem": null, "detail": null}', "3.12.1 /real/python"],
  ["too old", '{"version": "3.10.13", "executable": "/p", "problem": "version", "detail": ""}', "is Python 3.10.13; 3.11 to 3.14 are supported"],
  ["PyPy", '{"version": "3.11.9", "executable": "/p", "problem": "implementation", "detail": "pypy"}', "is pypy; only CPython is supported"],
  [
    "free-threaded",
    '{"version": "3.14.0", "executable": "/p", "problem": "free-threaded", "detail": ""}',
    "is a free-threaded Python 3.14.0, which the libraries do not support",
  ],
  [
    "of another processor",
    '{"version": "3.13.1", "executable": "/p", "problem": "library", "detail": "wrong ELF class"}',
    "is Python 3.13.1, but it cannot load the libraries (wrong ELF class)",
  ],
  ["no Python", "hello", "is not a usable Python"],
  ["says nothing", "", "is not a usable Python"],
];

for (const [name, said, expected] of CASES) {
  test(`probe: ${name}`, { skip: process.platform === "win32" ? "needs scripts that can be run" : false }, async () => {
    const command = path.join(folder, "python");
    fs.writeFileSync(command, `#!/bin/sh\nprintf '%s\\n' '${said}'\n`, { mode: 0o755 });
    const result = await probe({ command, args: [], from: "PATH" }, "boot.py", folder);
    assert.equal("python" in result ? `${result.python.version} ${result.python.executable}` : result.problem, expected);
  });
}

test("probe: a program that is not there", async () => {
  const result = await probe({ command: path.join(folder, "missing"), args: [], from: "PATH" }, "boot.py", folder);
  assert.match("problem" in result ? result.problem : "", /^cannot be run \(.*ENOENT/);
});
