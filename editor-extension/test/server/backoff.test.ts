import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../src/server/backoff";

const HOUR = 3_600_000;

/** [how long each server lived, what is waited after each; undefined: the user is asked] */
const CASES: [string, number[], (number | undefined)[]][] = [
  ["waits grow, then the user is asked", [0, 0, 0, 0], [500, 2_000, 8_000, undefined]],
  ["a server that settled starts anew", [0, 0, HOUR, 0], [500, 2_000, 500, 2_000]],
  ["one crash an hour is never too many", [HOUR, HOUR, HOUR, HOUR, HOUR], [500, 500, 500, 500, 500]],
];

for (const [name, lives, waits] of CASES) {
  test(`back-off: ${name}`, () => {
    const backoff = new Backoff();
    assert.deepEqual(
      lives.map((lived) => backoff.next(lived)),
      waits,
    );
  });
}

test("back-off: a start by the user forgets the crashes", () => {
  const backoff = new Backoff();
  backoff.next(0);
  backoff.next(0);
  assert.equal(backoff.count, 2);
  backoff.reset();
  assert.equal(backoff.next(0), 500);
});
