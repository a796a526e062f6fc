import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "../../src/server/middleware";

const hook = () => undefined;

test("hooks of several parts are one table, nested ones too", () => {
  const merged = merge([{ workspace: { handleApplyEdit: hook } }, { didSave: hook, workspace: { didRenameFiles: hook } }] as never[]);
  assert.deepEqual(merged, { workspace: { handleApplyEdit: hook, didRenameFiles: hook }, didSave: hook });
});

test("a hook that two parts take is an error that names it", () => {
  assert.throws(() => merge([{ workspace: { a: hook } }, { workspace: { a: hook } }] as never[]), /workspace\.a/);
});
