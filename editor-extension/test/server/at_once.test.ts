import assert from "node:assert/strict";
import { test } from "node:test";
import { AtOnce, type LetGo } from "../../src/server/at_once";

/** "(": the changes of that document begin to wait. ")": they are let go; with a number: those from this version on as one. A number: a change. */
const CASES: [string, [string, string | number][], string[]][] = [
  ["a change is told as it is", [["a", 1], ["a", 2]], ["a1", "a2"]],
  ["nothing is told while they wait", [["a", "("], ["a", 1], ["a", 2]], []],
  ["those that have waited are told as they are", [["a", "("], ["a", 1], ["a", 2], ["a", ")"]], ["a1", "a2"]],
  ["or as one, and no version is left out", [["a", "("], ["a", 1], ["a", 2], ["a", ")1"]], ["a1 nothing", "a2 since 1"]],
  ["a single one, too", [["a", "("], ["a", 1], ["a", ")1"]], ["a1 since 1"]],
  ["the earlier ones as they are", [["a", "("], ["a", 1], ["a", 2], ["a", 3], ["a", ")2"]], ["a1", "a2 nothing", "a3 since 2"]],
  ["what comes later is told as it is", [["a", "("], ["a", 1], ["a", ")1"], ["a", 2]], ["a1 since 1", "a2"]],
  ["another document does not wait", [["a", "("], ["b", 1], ["a", 1], ["a", ")"]], ["b1", "a1"]],
  ["they wait again", [["a", "("], ["a", ")"], ["a", "("], ["a", 1]], []],
  ["who lets them go twice lets go no later ones", [["a", "("], ["a", ")"], ["a", "("], ["a", "first )"], ["a", 1]], []],
  ["who begins while they wait does not let them go", [["a", "("], ["a", "("], ["a", 1], ["a", ")"]], []],
];

for (const [name, steps, expected] of CASES) {
  test(`at once: ${name}`, async () => {
    const atOnce = new AtOnce<string>();
    const told: string[] = [];
    const all: LetGo[] = [];
    for (const [uri, step] of steps) {
      if (typeof step === "number") {
        void atOnce.changed(uri, step, `${uri}${step}`, async (change) => void told.push(change));
      } else if (step === "(") {
        all.push(atOnce.begin(uri, (change, before) => `${change} ${before ?? "nothing"}`));
      } else {
        const version = Number(step.split(")").at(-1));
        (step.startsWith("first") ? all[0]! : all.at(-1)!)(version > 0 ? { version, text: `since ${version}` } : undefined);
      }
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    assert.deepEqual(told, expected);
  });
}
