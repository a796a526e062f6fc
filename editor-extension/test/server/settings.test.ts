import assert from "node:assert/strict";
import { test } from "node:test";
import { initializationOptions, read } from "../../src/server/settings";

const told = (table: Record<string, unknown>) =>
  read(<T>(name: string) => table[name] as T | undefined);

const CASES: [string, Record<string, unknown>, Record<string, unknown>][] = [
  ["no default agent is no setting", { defaultAgent: "" }, {}],
  ["a default agent", { defaultAgent: "a" }, { defaultAgent: "a" }],
  ["agents as they are", { agents: { a: { command: "x" } } }, { agents: { a: { command: "x" } } }],
  ["what only the extension reads stays here", { python: "/p", serverPath: "/s", env: { A: "b" } }, {}],
];

for (const [name, table, expected] of CASES) {
  test(`initializationOptions: ${name}`, () => {
    const plain = initializationOptions(told({}), { save: true });
    assert.deepEqual(initializationOptions(told(table), { save: true }), { ...plain, ...expected });
    assert.deepEqual(plain["client"], { save: true });
  });
}
