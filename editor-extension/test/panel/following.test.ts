import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Following, PACE, placeIn, SETTLING, type Place, type Sight } from "../../src/panel/host/following";

const A = "file:///a.py";
const B = "file:///b.py";

let revealed: Place[];
let missing: Set<string>;
/** What the editor of a place shows when the view is told to go there. */
let shownNow: Sight;
let following: Following;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  revealed = [];
  missing = new Set();
  shownNow = { key: A, uri: A, version: 1, top: 0, bottom: 20 };
  following = new Following({
    reveal: (place) => {
      revealed.push(place);
      return Promise.resolve(missing.has(place.uri) ? undefined : shownNow);
    },
    changed: () => undefined,
  });
});

/** Lets answers of the view arrive, and this much time pass. */
async function pass(milliseconds: number): Promise<void> {
  await settled();
  mock.timers.tick(milliseconds);
  await settled();
}

async function settled(): Promise<void> {
  for (let left = 5; left > 0; left--) await Promise.resolve();
}

/** An editor of 20 lines' height that shows the file from this line on. */
const sees = (uri: string, top: number, version = 1): void => following.saw({ key: uri, uri, version, top, bottom: top + 20 });

test("nothing moves before it is asked for; then the view goes where the agent was last", async () => {
  following.went({ uri: A, line: 3 });
  assert.deepEqual(revealed, []);
  following.begin();
  await pass(0);
  assert.deepEqual(revealed, [{ uri: A, line: 3 }]);
});

test("of many places at once, the first and the last are shown", async () => {
  following.begin();
  for (let line = 0; line < 50; line++) following.went({ uri: A, line });
  await pass(PACE);
  assert.deepEqual(revealed.map((one) => one.line), [0, 49]);
});

test("what comes while the view is moving waits for it", async () => {
  let shown = (_: Sight): void => undefined;
  following = new Following({
    reveal: (place) => {
      revealed.push(place);
      return new Promise((resolve) => (shown = resolve));
    },
    changed: () => undefined,
  });
  following.begin();
  following.went({ uri: A });
  following.went({ uri: B });
  await pass(10 * PACE);
  assert.equal(revealed.length, 1);
  shown(shownNow);
  await pass(PACE);
  assert.deepEqual(revealed, [{ uri: A }, { uri: B }]);
});

for (const [where, uri] of [["where it is shown", A], ["in another editor", B]] as const) {
  test(`a scroll ends it: ${where}`, async () => {
    following.begin();
    following.went({ uri: A, line: 5 });
    sees(A, 0);
    sees(B, 0);
    await pass(PACE + SETTLING);
    for (const top of [2, 4]) sees(uri, top);
    assert.equal(following.on, true);
    sees(uri, 6);
    assert.equal(following.on, false);
    following.went({ uri: B });
    await pass(PACE);
    assert.deepEqual(revealed.map((one) => one.uri), [A]);
  });
}

test("the view's own way to a place is no scroll of the user's, also on a slow machine", async () => {
  following.begin();
  sees(A, 0);
  following.went({ uri: A, line: 100 });
  await pass(4 * SETTLING);
  for (const top of [20, 60, 90]) sees(A, top);
  await pass(SETTLING - 1);
  sees(A, 91);
  assert.equal(following.on, true);
  await pass(SETTLING);
  sees(A, 100);
  assert.equal(following.on, false);
});

test("a place that is in sight already needs no way", async () => {
  following.begin();
  sees(A, 0);
  following.went({ uri: A, line: 15 });
  await pass(SETTLING);
  sees(A, 6);
  assert.equal(following.on, false);
});

test("an editor that never comes to a place does not stay ours", async () => {
  following.begin();
  sees(A, 0);
  following.went({ uri: A, line: 100 });
  await pass(20 * SETTLING);
  sees(A, 6);
  assert.equal(following.on, false);
});

test("a scroll away from what was in sight ends it, however often the view moves", async () => {
  following.begin();
  for (let line = 100; line < 110; line++) {
    following.went({ uri: A, line });
    await pass(PACE);
    sees(A, 90);
  }
  assert.equal(following.on, true);
  sees(A, 40);
  assert.equal(following.on, false);
});

test("what moves with a new text, and what only becomes taller, is no scroll", async () => {
  following.begin();
  following.went({ uri: A, line: 15 });
  sees(A, 0);
  await pass(PACE + SETTLING);
  sees(A, 30, 2);
  following.saw({ key: A, uri: A, version: 2, top: 30, bottom: 90 });
  assert.equal(following.on, true);
});

test("turning to another document ends it; the one that is shown does not", async () => {
  following.begin();
  following.went({ uri: A });
  following.turned(A);
  following.turned(B); // the editor that the view took the place of, for example
  await pass(SETTLING);
  following.turned(A);
  assert.equal(following.on, true);
  following.turned(B);
  assert.equal(following.on, false);
});

test("what could not be shown is tried again when the agent has finished something", async () => {
  missing.add(B);
  following.begin();
  following.went({ uri: B });
  await pass(PACE);
  missing.clear();
  following.finished();
  await pass(PACE);
  following.finished();
  await pass(PACE);
  assert.deepEqual(revealed, [{ uri: B }, { uri: B }]);
});

test("what the agent finishes while the view is on its way there is shown", async () => {
  missing.add(B);
  following.begin();
  following.went({ uri: A });
  following.went({ uri: B });
  following.finished();
  await settled();
  mock.timers.tick(PACE); // the view sets out, and does not find it
  following.finished();
  await pass(PACE);
  assert.deepEqual(revealed, [{ uri: A }, { uri: B }, { uri: B }]);
});

test("another conversation begins without the places of the one before", async () => {
  following.went({ uri: A });
  following.forget();
  following.begin();
  await pass(PACE);
  assert.deepEqual(revealed, []);
});

test("after an end it begins again where the agent is then", async () => {
  following.begin();
  following.went({ uri: A });
  following.end();
  following.went({ uri: B });
  await pass(10 * PACE);
  following.begin();
  await pass(PACE);
  assert.deepEqual(revealed, [{ uri: A }, { uri: B }]);
});

for (const [name, update, place] of [
  ["the last location", { locations: [{ path: "a" }, { path: "b", line: 3 }] }, { path: "b", line: 2 }],
  ["a location before a diff", { locations: [{ path: "a" }], content: [{ type: "diff", path: "b" }] }, { path: "a" }],
  ["a diff", { locations: [], content: [{ type: "diff", path: "b" }, { type: "content" }] }, { path: "b" }],
  ["a line that is none", { locations: [{ path: "a", line: 0.5 }] }, { path: "a" }],
  ["nothing", { locations: [{ path: 3 }, null, "x"], content: {} }, undefined],
] as const) {
  test(`the place of a tool call: ${name}`, () => assert.deepEqual(placeIn(update), place));
}
