import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../../src/lsp_ext";
import { Feed, type Source } from "../../src/review/feed";
import { Model } from "../../src/review/model";
import { added } from "./change";

const A = "file:///a.txt";
const B = "file:///b.txt";

/** A server whose answers the test gives, and a clock that stands still. */
class Fake implements Source {
  readonly questions: { uri: string | undefined; answer: (rows: Change[] | Error) => Promise<void> }[] = [];
  readonly timers = new Set<() => void>();
  readonly versions = new Map<string, number>();
  readonly failures: unknown[] = [];

  list(uri?: string): Promise<Change[]> {
    return new Promise((resolve, reject) => {
      this.questions.push({
        uri,
        answer: async (rows) => {
          if (rows instanceof Error) reject(rows);
          else resolve(rows);
          await new Promise((done) => setImmediate(done));
        },
      });
    });
  }
  version = (uri: string): number | undefined => this.versions.get(uri);
  canonical = (uri: string): string => uri.replace("%41", "A").toLowerCase();
  failed(error: unknown): void {
    this.failures.push(error);
  }
  later(run: () => void): () => void {
    this.timers.add(run);
    return () => this.timers.delete(run);
  }
  tick(): void {
    const due = [...this.timers];
    this.timers.clear();
    due.forEach((run) => run());
  }
}

function feed(): { fake: Fake; model: Model; feed: Feed } {
  const fake = new Fake();
  const model = new Model();
  return { fake, model, feed: new Feed(model, fake) };
}

test("everything at a start, one document when it moved, in the editor's form of its URI", async () => {
  const { fake, model, feed: it } = feed();
  void it.all();
  await fake.questions[0]!.answer([added("FILE:///a.txt", 1), added(B, 2)]);
  assert.deepEqual(model.uris, [A, B]);
  void it.moved(["FILE:///a.txt"]);
  assert.equal(fake.questions[1]!.uri, A);
  await fake.questions[1]!.answer([]);
  assert.deepEqual(model.uris, [B]);
});

test("many documents at once are one question", () => {
  const { fake, feed: it } = feed();
  void it.moved(["1", "2", "3", "4"]);
  assert.deepEqual(fake.questions.map((q) => q.uri), [undefined]);
});

test("an answer that is overtaken by a newer question is of no use", async () => {
  const { fake, model, feed: it } = feed();
  void it.moved([A]);
  void it.moved([A]);
  await fake.questions[0]!.answer([added(A, 1)]);
  assert.ok(model.isEmpty);
  await fake.questions[1]!.answer([added(A, 2)]);
  assert.equal(model.blocks(A)[0]!.line, 2);
  void it.moved([A]);
  void it.all();
  await fake.questions[2]!.answer([]);
  assert.equal(model.size, 1);
  await fake.questions[3]!.answer([]);
  assert.ok(model.isEmpty);
});

test("places in an older version than the editor's are asked for again, not shown", async () => {
  const { fake, model, feed: it } = feed();
  model.reset([added(A, 1)]);
  fake.versions.set(A, 7);
  void it.moved([A]);
  await fake.questions[0]!.answer([added(A, 5, { version: 6 })]);
  assert.equal(model.blocks(A)[0]!.line, 1);
  fake.tick();
  await fake.questions[1]!.answer([added(A, 6, { version: 7 })]);
  assert.equal(model.blocks(A)[0]!.line, 6);
});

test("typing asks once, a moment after the last key, and only where there are changes", async () => {
  const { fake, model, feed: it } = feed();
  model.reset([added(A, 1)]);
  it.typed(B);
  it.typed(A);
  it.typed(A);
  assert.equal(fake.timers.size, 1);
  fake.tick();
  assert.deepEqual(fake.questions.map((q) => q.uri), [A]);
});

test("without a server nothing is under review, whatever is answered late", async () => {
  const { fake, model, feed: it } = feed();
  model.reset([added(A, 1)]);
  void it.moved([A]);
  it.none();
  await fake.questions[0]!.answer([added(A, 1)]);
  assert.ok(model.isEmpty);
});

test("a question that fails leaves things as they are and is reported", async () => {
  const { fake, model, feed: it } = feed();
  model.reset([added(A, 1)]);
  void it.moved([A]);
  await fake.questions[0]!.answer(new Error("no"));
  void it.all();
  await fake.questions[1]!.answer(new Error("no"));
  assert.equal(model.size, 1);
  assert.equal(fake.failures.length, 2);
});

test("the first change of a document that the user is typing in appears too", async () => {
  const { fake, model, feed: it } = feed();
  fake.versions.set(A, 7);
  void it.moved([A]);
  await fake.questions[0]!.answer([added(A, 5, { version: 6 })]);
  fake.tick();
  await fake.questions[1]?.answer([added(A, 6, { version: 7 })]);
  assert.equal(model.size, 1);
});
