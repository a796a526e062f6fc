import assert from "node:assert/strict";
import { test } from "node:test";
import { InOrder, type Kind } from "../../src/server/in_order";

/** Steps that the library takes from an event to its message; a negative number: it fails after so many. */
type Steps = number;

/** [what happens at once, to which document; in how many steps it is on its way], and what goes out. */
const CASES: [string, [Kind, string, Steps][], string[]][] = [
  ["a closing does not overtake the edit before it", [["didChange", "a", 3], ["didClose", "a", 1]], ["didChange a", "didClose a"]],
  [
    "nor what opens it again",
    [["didChange", "a", 3], ["didSave", "a", 3], ["didClose", "a", 1], ["didOpen", "a", 1], ["didChange", "a", 3]],
    ["didChange a", "didSave a", "didClose a", "didOpen a", "didChange a"],
  ],
  ["documents do not wait for each other", [["didChange", "a", 3], ["didClose", "b", 1]], ["didClose b", "didChange a"]],
  ["nobody waits for what fails", [["didChange", "a", -3], ["didClose", "a", 1]], ["didClose a"]],
  ["edits keep their order", [["didChange", "a", 2], ["didChange", "a", 2], ["didClose", "a", 1]], ["didChange a", "didChange a", "didClose a"]],
];

for (const [name, events, expected] of CASES) {
  test(`in order: ${name}`, async () => {
    const order = new InOrder();
    const sent: string[] = [];
    const told = events.map(([kind, uri, steps]) =>
      order.happened(kind, uri, async () => {
        for (let step = 0; step < Math.abs(steps); step++) {
          await Promise.resolve();
        }
        if (steps < 0) {
          throw new Error("not running");
        }
        await order.send(`textDocument/${kind}`, uri, () => Promise.resolve(void sent.push(`${kind} ${uri}`)));
      }),
    );
    await Promise.allSettled(told);
    assert.deepEqual(sent, expected);
  });
}

test("in order: what is not of a document passes at once", () => {
  const sent: string[] = [];
  void new InOrder().send("sidecar/opaque", undefined, () => Promise.resolve(void sent.push("opaque")));
  assert.deepEqual(sent, ["opaque"]);
});
