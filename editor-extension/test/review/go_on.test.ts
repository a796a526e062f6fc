import assert from "node:assert/strict";
import { test } from "node:test";
import { leaving, nextAfter } from "../../src/review/go_on";
import { Model } from "../../src/review/model";
import { added } from "./change";

const A = "file:///a.txt";
const B = "file:///b.txt";

function model(...changes: ReturnType<typeof added>[]): Model {
  const made = new Model();
  made.reset(changes);
  return made;
}

test("the next change is the one after the place that was decided, once that has left the review", async () => {
  const review = model(added(A, 2), added(A, 8), added(B, 1));
  const left = leaving(review, [`2@${A}`])!;
  const next = nextAfter(review, left);
  review.set(B, [added(B, 5)]); // something else changes first
  review.set(A, [added(A, 7, { changeId: `8@${A}` })]);
  assert.deepEqual([(await next)?.uri, (await next)?.line], [A, 7], "its line has moved up");
});

test("after the last change of a file comes the next file, and after the last of all none", async () => {
  const review = model(added(A, 2), added(B, 1));
  const left = leaving(review, [`2@${A}`])!;
  review.set(A, []);
  assert.equal((await nextAfter(review, left))?.uri, B);
  const last = leaving(review, [`1@${B}`])!;
  review.set(B, []);
  assert.equal(await nextAfter(review, last), undefined);
});

test("a change that stays, because it could not be rejected, leads nowhere", async () => {
  const review = model(added(A, 2), added(A, 8));
  assert.equal(await nextAfter(review, leaving(review, [`2@${A}`])!, 20), undefined);
  assert.equal(leaving(review, ["unknown"]), undefined);
});
