import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { chosenPython } from "../../../src/server/python/extension_api";
import { installed } from "../../support/vscode";

afterEach(() => installed.clear());

/** The Python extension, whose active environment resolves to this. */
const resolving = (resolved: () => unknown) => ({
  activate: () =>
    Promise.resolve({
      environments: { getActiveEnvironmentPath: () => ({ path: "/env" }), resolveEnvironment: resolved },
    }),
});

const CASES: [string, { activate(): Promise<unknown> } | undefined, string | undefined][] = [
  ["is not installed", undefined, undefined],
  [
    "has chosen one",
    resolving(() => Promise.resolve({ executable: { uri: { fsPath: "/env/bin/python" } } })),
    "/env/bin/python",
  ],
  ["has an environment without a Python", resolving(() => Promise.resolve({ executable: { uri: undefined } })), undefined],
  ["does not know its own environment", resolving(() => Promise.resolve(undefined)), undefined],
  ["is older than this API", { activate: () => Promise.resolve({}) }, undefined],
  ["cannot be activated", { activate: () => Promise.reject(new Error("broken")) }, undefined],
];

for (const [name, extension, expected] of CASES) {
  test(`the Python extension ${name}`, async () => {
    if (extension !== undefined) {
      installed.set("ms-python.python", extension);
    }
    assert.equal(await chosenPython(), expected);
  });
}

test("the Python extension does not answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  installed.set("ms-python.python", resolving(() => new Promise(() => undefined)));
  const asked = chosenPython();
  t.mock.timers.tick(5_000);
  assert.equal(await asked, undefined);
});
