import assert from "node:assert/strict";
import { test } from "node:test";
import type { TranscriptResult } from "../../src/lsp_ext";
import { excerptOf, Search } from "../../src/panel/host/search";

const chunk = (text: string) => ({ type: "update", update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
const record = (...entries: unknown[]) => ({ agent: "a", updatedAt: "2026-01-01T00:00:00Z", entries }) as unknown as TranscriptResult;
const RECORDS: Record<string, TranscriptResult> = {
  one: record({ type: "prompt", prompt: [{ type: "text", text: "Mend the sum" }] }, chunk("The rain"), chunk("fall was too low."), { type: "end" }),
  two: record({ type: "prompt", prompt: [{ type: "text", text: "What does mean() do?" }] }, chunk("It divides.")),
};

function search(): { search: Search; reads: string[] } {
  const reads: string[] = [];
  const transcript = async (sessionId: string): Promise<TranscriptResult> => {
    reads.push(sessionId);
    const found = RECORDS[sessionId];
    if (!found) throw new Error("it is gone");
    return found;
  };
  return { search: new Search({ transcript }), reads };
}
const all = [{ sessionId: "one", used: 1 }, { sessionId: "gone" }, { sessionId: "two", used: 1 }];
const always = () => true;

test("search: prompts and answers are found in any case, also a word that came in two pieces", async () => {
  const { search: it } = search();
  assert.deepEqual(await it.find("RAINFALL", all, new Map(), always), [{ sessionId: "one", excerpt: "Mend the sum The rainfall was too low." }]);
  assert.deepEqual((await it.find("mean()", all, new Map(), always)).map((one) => one.sessionId), ["two"]);
  assert.deepEqual(await it.find("  ", all, new Map(), always), []);
});

test("search: a record is read once until it changes, and no more when the user has typed on", async () => {
  const { search: it, reads } = search();
  await it.find("sum", [all[0]!], new Map(), always);
  await it.find("sums", [all[0]!], new Map(), always);
  assert.deepEqual(reads, ["one"]);
  await it.find("sum", [{ sessionId: "one", used: 2 }], new Map(), always);
  assert.deepEqual(reads, ["one", "one"]);
  assert.deepEqual(await it.find("sum", all, new Map(), () => false), []);
  assert.deepEqual(reads, ["one", "one"]);
});

test("search: what is around the words is shown, on one line", () => {
  const long = `${"a ".repeat(100)}the\nneedle here${" b".repeat(100)}`;
  const found = excerptOf(long, "the needle");
  assert.match(found ?? "", /^…(a )+the needle here( b)+…$/);
  assert.ok((found ?? "").length < 100);
});
