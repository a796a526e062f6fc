import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../../src/review/block";
import type { Told } from "../../src/panel/model";
import { deliver, subjectOf, texts, type Ways, wholeFile } from "../../src/review/remark";
import { change } from "./change";

const NOW = ["one", "TWO", "three", "four"];

function subject(...changes: ReturnType<typeof change>[]): ReturnType<typeof subjectOf> {
  return subjectOf(blocks(changes)[0]!, (line) => NOW[line]!, NOW.length);
}

test("a comment carries the change's lines, counted from 1, and both its texts", () => {
  const found = subject(change("1:0-2:0", "two\n", "TWO\n", { changeId: "7@a", sessionId: "s1", agent: "fast-agent" }));
  assert.deepEqual(found, {
    uri: "file:///a.txt",
    ids: ["7@a"],
    sessionId: "s1",
    agent: "fast-agent",
    lines: { start: 2, end: 2 },
    before: "two",
    after: "TWO",
  });
  assert.equal(texts(found), "--- before your change\ntwo\n+++ after your change\nTWO");
});

test("where lines were only removed, it stands on the line that follows them", () => {
  const found = subject(change("2:0-2:0", "gone\naway\n", ""));
  assert.deepEqual(found.lines, { start: 3, end: 3 });
  assert.equal(texts(found), "--- before your change\ngone\naway\n+++ after your change (no lines)");
});

test("lines removed at the end of the file, and lines that are all new", () => {
  assert.equal(subject(change("4:0-4:0", "last\n", "")).before, "last");
  const made = subject(change("0:0-2:0", "", "one\nTWO\n"));
  assert.deepEqual(made.lines, { start: 1, end: 2 });
  assert.equal(texts(made), "--- before your change (no lines)\n+++ after your change\none\nTWO");
});

test("the session that changed the lines last gets the comment", () => {
  const earlier = change("1:0-2:0", "two\n", "TWO\n", { changeId: "1", sessionId: "old" });
  const later = change("2:0-3:0", "3\n", "three\n", { changeId: "2", sessionId: "new", agent: "other" });
  assert.equal(subject(earlier, later).sessionId, "new");
});

/** What was done, in order. */
function ways(impossible: string[] = [], waits = false): { log: unknown[]; told: Told[]; to: Ways } {
  const log: unknown[] = [];
  const told: Told[] = [];
  const to: Ways = {
    reject: (ids, reason) => Promise.resolve((log.push(["reject", ...ids, reason]), { impossible, told: waits })),
    tell: (what) => Promise.resolve(void (log.push("tell"), told.push(what))),
    path: "src/a.txt",
    rejected: "I rejected this change.",
  };
  return { log, told, to };
}

test("a rejection with a reason rejects first, then tells the agent of that session why", async () => {
  const { log, told, to } = ways();
  await deliver(subject(change("1:0-2:0", "two\n", "TWO\n", { changeId: "7@a", sessionId: "s1" })), "Too loud.", "reject", to);
  assert.deepEqual(log, [["reject", "7@a", "Too loud."], "tell"]);
  assert.equal(told[0]?.sessionId, "s1");
  assert.equal(told[0]?.text, "I rejected this change. Too loud.");
  const [pill] = (told[0]?.attachments ?? []);
  assert.equal(pill?.label, "src/a.txt:2");
  assert.deepEqual(pill?.range, { start: 2, end: 2 });
  assert.equal(pill?.text, "--- before your change\ntwo\n+++ after your change\nTWO");
});

test("an agent that waits for the answer to its write has the reason with it, and gets no prompt", async () => {
  const { log, to } = ways([], true);
  await deliver(subject(change("1:0-2:0", "two\n", "TWO\n", { changeId: "7@a" })), "Too loud.", "reject", to);
  assert.deepEqual(log, [["reject", "7@a", "Too loud."]]);
});

test("a change of a whole file is told by what happened to it, without lines", async () => {
  const { told, to } = ways();
  const gone = blocks([change("0:0-0:0", "one\ntwo\n", "", { changeId: "7@a", file: { kind: "deleted" } })])[0]!;
  await deliver(wholeFile(gone, { kind: "deleted" }), "I need it.", "ask", to);
  const [pill] = told[0]?.attachments ?? [];
  assert.equal(pill?.label, "src/a.txt");
  assert.equal(pill?.range, undefined);
  assert.equal(pill?.text, "your change of the whole file: deleted\n--- before your change\none\ntwo");
  assert.equal(texts(wholeFile(blocks([change("0:0-0:0", "", "")])[0]!, { kind: "mode" })), "your change of the whole file: mode");
});

test("asking for a change takes nothing back", async () => {
  const { log, told, to } = ways();
  await deliver(subject(change("1:0-3:0", "", "TWO\nthree\n")), "Shorter.", "ask", to);
  assert.deepEqual(log, ["tell"]);
  assert.equal(told[0]?.text, "Shorter.");
  assert.equal(told[0]?.attachments[0]?.label, "src/a.txt:2-3");
});

test("a change that cannot be rejected is not told as rejected, and the comment fails with the reason", async () => {
  const { log, to } = ways(["You changed these lines."]);
  await assert.rejects(deliver(subject(change("1:0-2:0", "two\n", "TWO\n")), "No.", "reject", to), /You changed these lines/);
  assert.equal(log.length, 1);
});
