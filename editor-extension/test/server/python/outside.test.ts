/** With real folders and links: what is run for a program's name. */

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { thisMachine } from "../../../src/server/python/machine";
import { outside } from "../../../src/server/python/outside";

const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "acp-outside-")));
after(() => fs.rmSync(base, { recursive: true }));
const at = (name: string) => path.join(base, name);

for (const folder of ["ws/bin", "ws/.venv/bin", "tools", "ws-tools"]) {
  fs.mkdirSync(at(folder), { recursive: true });
}
for (const program of ["ws/bin/python", "tools/python", "ws-tools/python"]) {
  fs.writeFileSync(at(program), "");
}
const LINKS: [string, string][] = [
  ["ws/.venv/bin/python", "tools/python"],
  ["tools/into", "ws/bin/python"],
  ["other-name", "ws"],
  ["tools/bin", "ws/.venv/bin"],
  ["ws/out", "tools"],
];

/** [what it is, the command, the open folder, what is run] */
const CASES: [string, string, string, string | undefined][] = [
  ["a program elsewhere", "tools/python", "ws", "tools/python"],
  ["a folder whose name begins like the open one's", "ws-tools/python", "ws", "ws-tools/python"],
  ["a program of the folder", "ws/bin/python", "ws", undefined],
  ["a link from outside into the folder", "tools/into", "ws", undefined],
  ["a virtual environment of the folder", "ws/.venv/bin/python", "ws", "tools/python"],
  ["the folder under another name", "other-name/bin/python", "ws", undefined],
  ["the folder opened under another name", "ws/bin/python", "other-name", undefined],
  ["a way out through `..`", "ws/../tools/python", "ws", "ws/../tools/python"],
  ["a way in through `..`", "tools/../ws/bin/python", "ws", undefined],
  ["a link outside to the folder's virtual environment", "tools/bin/python", "ws", "tools/python"],
  ["a linked folder in the folder", "ws/out/python", "ws", "tools/python"],
  ["a program that is not there", "ws/bin/missing", "ws", undefined],
];

for (const [name, command, folder, expected] of CASES) {
  test(`outside: ${name}`, { skip: process.platform === "win32" ? "links need rights there" : false }, () => {
    for (const [link, target] of LINKS) {
      if (!fs.existsSync(at(link))) {
        fs.symlinkSync(at(target), at(link));
      }
    }
    const found = outside(thisMachine, `${base}/${command}`, [at(folder)]);
    assert.equal(found, expected === undefined ? undefined : `${base}/${expected}`);
  });
}

test("outside: with several folders, and with none", () => {
  assert.equal(outside(thisMachine, at("ws/bin/python"), [at("tools"), at("ws")]), undefined);
  assert.equal(outside(thisMachine, at("ws/bin/python"), []), at("ws/bin/python"));
});
