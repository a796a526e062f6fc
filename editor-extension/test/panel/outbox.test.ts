import assert from "node:assert/strict";
import { test } from "node:test";
import { Outbox } from "../../src/panel/host/outbox";
import { Live } from "../../src/panel/host/live";
import type { ToWebview } from "../../src/panel/protocol";

function open(): { outbox: Outbox; posted: () => string[] } {
  const posts: ToWebview[] = [];
  const outbox = new Outbox({ post: (one) => posts.push(one), overview: () => ({ type: "overview" }) as ToWebview });
  outbox.opened();
  outbox.flush();
  posts.length = 0;
  const words = (one: ToWebview): string => (one.type === "conversation" ? `conversation ${one.sessionId}` : one.type === "show" ? `show ${one.what}` : one.type);
  return { outbox, posted: () => posts.splice(0).map(words) };
}

test("the page turns to a conversation once, when it is the user who turns to it", () => {
  const { outbox, posted } = open();
  outbox.show(new Live("s1", "a", "A"), "conversation");
  outbox.flush();
  assert.deepEqual(posted(), ["conversation s1", "overview", "show conversation"]);
  outbox.flush();
  assert.deepEqual(posted(), ["overview"]);
});

test("the page does not turn to a conversation that comes by itself, or that gets its id", () => {
  const { outbox, posted } = open();
  const live = new Live("starting-1", "a", "A");
  outbox.show(live);
  outbox.flush();
  assert.deepEqual(posted(), ["conversation starting-1", "overview"]);
  live.id = "s1";
  outbox.changed(live);
  outbox.flush();
  assert.deepEqual(posted(), ["conversation s1", "overview"]);
});

test("a page that is made anew turns where it was to turn", () => {
  const { outbox, posted } = open();
  outbox.closed();
  outbox.show(null, "sessions");
  outbox.flush();
  assert.deepEqual(posted(), []);
  outbox.opened();
  outbox.flush();
  assert.deepEqual(posted(), ["conversation null", "overview", "show sessions"]);
});
