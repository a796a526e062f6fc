import assert from "node:assert/strict";
import { test } from "node:test";
import type { Candidate } from "../../../src/server/python/candidates";
import { find } from "../../../src/server/python/find";

const good = (command: string) => ({ python: { executable: command, version: "3.12.1" } });
const old = { problem: "is Python 3.10.13; 3.11 to 3.14 are supported" };

interface Case {
  name: string;
  setting?: string;
  extension?: string;
  machine?: string[];
  /** What can be used; everything else is too old. */
  good?: string[];
  expected: string;
  probed: string[];
}

const CASES: Case[] = [
  { name: "the setting", setting: "/s", extension: "/e", good: ["/s", "/e"], expected: "/s (setting)", probed: ["/s"] },
  {
    name: "a setting that cannot be used is said, not passed over",
    setting: "/s",
    extension: "/e",
    good: ["/e"],
    expected:
      "wrong setting: /s, from the setting acpSidecar.python, is Python 3.10.13; 3.11 to 3.14 are supported. Change or clear the setting.",
    probed: ["/s"],
  },
  {
    name: "the Python extension's before PATH",
    extension: "/e",
    machine: ["/a"],
    good: ["/e", "/a"],
    expected: "/e (python extension)",
    probed: ["/e"],
  },
  { name: "PATH when that one is too old", extension: "/e", machine: ["/a"], good: ["/a"], expected: "/a (PATH)", probed: ["/e", "/a"] },
  { name: "the first that can be used", machine: ["/a", "/b", "/c"], good: ["/b", "/c"], expected: "/b (PATH)", probed: ["/a", "/b"] },
  {
    name: "the Python extension's in the open folder is not run",
    extension: "/ws/python",
    machine: ["/a"],
    good: ["/ws/python", "/a"],
    expected: "/a (PATH)",
    probed: ["/a"],
  },
  {
    name: "what a link in the open folder leads to is run in its place",
    extension: "/ws/.venv/bin/python",
    good: ["/ws/.venv/bin/python", "/usr/bin/python3"],
    expected: "/usr/bin/python3 (python extension)",
    probed: ["/usr/bin/python3"],
  },
  {
    name: "a setting that names a program of the open folder is said",
    setting: "/ws/python",
    good: ["/ws/python"],
    expected:
      "wrong setting: /ws/python, from the setting acpSidecar.python, is in the open folder, so the repository could decide what it does. Change or clear the setting.",
    probed: [],
  },
  {
    name: "only Python 3.10",
    machine: ["/usr/bin/python3"],
    expected:
      "none: acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine: /usr/bin/python3 is Python 3.10.13; 3.11 to 3.14 are supported.",
    probed: ["/usr/bin/python3"],
  },
  {
    name: "none at all",
    expected: "none: acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine.",
    probed: [],
  },
];

for (const each of CASES) {
  test(`find: ${each.name}`, async () => {
    const probed: string[] = [];
    const found = await find({
      setting: each.setting ?? "",
      extension: () => Promise.resolve(each.extension),
      machine: () => (each.machine ?? []).map((command): Candidate => ({ command, args: [], from: "PATH" })),
      probe: ({ command }) => {
        probed.push(command);
        return Promise.resolve(each.good?.includes(command) === true ? good(command) : old);
      },
      outside: (command) => (command === "/ws/.venv/bin/python" ? "/usr/bin/python3" : command.startsWith("/ws/") ? undefined : command),
      log: () => undefined,
    });
    assert.equal(found.kind === "found" ? `${found.python.executable} (${found.from})` : `${found.kind}: ${found.message}`, each.expected);
    assert.deepEqual(probed, each.probed);
  });
}
