import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Webview } from "vscode";
import { Pane } from "../../src/panel/host/pane";
import { FakeWebview } from "../support/vscode";
import { around, said, types, type Heard } from "./around";

function opened(): { pane: Pane; page: FakeWebview; heard: Heard } {
  const all = around();
  const pane = new Pane("side", all.around);
  const page = new FakeWebview();
  pane.attach(page as unknown as Webview);
  return { pane, page, heard: all.heard };
}

test("pane: what is told before the page has loaded comes behind all that it needs to know, in order", () => {
  const { pane, page, heard } = opened();
  pane.show(said("hello"), "conversation");
  pane.tell({ type: "show", what: "sessions" });
  pane.tell({ type: "show", what: "agents" });
  assert.deepEqual(page.posted, []);
  page.say({ type: "ready" });
  assert.deepEqual(types(page), ["strings", "conversation", "overview", "show", "show", "show"]);
  assert.deepEqual(page.posted.slice(3).map((one) => one["what"]), ["conversation", "sessions", "agents"]);
  assert.equal(heard.turned, 1);
  assert.deepEqual(heard.received, [], "that it is ready is the pane's own");
});

test("pane: what changed goes before what is told; a page that is made anew gets everything again", () => {
  const { pane, page, heard } = opened();
  const live = said("hello");
  pane.show(live);
  page.say({ type: "ready" });
  page.posted.length = 0;
  live.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: " there" } }, false);
  pane.changed(live);
  pane.tell({ type: "show", what: "question" });
  assert.deepEqual(types(page), ["ops", "overview", "show"]);
  pane.isFocused = true;
  pane.hidden();
  assert.equal(pane.isFocused, false);
  assert.equal(heard.turned, 2);
  page.posted.length = 0;
  pane.tell({ type: "show", what: "question" });
  assert.deepEqual(page.posted, []);
  page.say({ type: "ready" });
  assert.deepEqual(types(page), ["strings", "conversation", "overview", "show"]);
  const entries = page.posted[1]!["entries"] as { text: string }[];
  assert.deepEqual(entries.map((one) => one.text), ["hello there"]);
});

test("pane: changes are collected for a moment", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { pane, page } = opened();
    const live = said("hello");
    pane.show(live);
    page.say({ type: "ready" });
    page.posted.length = 0;
    for (let count = 0; count < 3; count += 1) pane.changed(live);
    assert.deepEqual(page.posted, []);
    mock.timers.tick(1000);
    assert.deepEqual(types(page), ["overview"]);
  } finally {
    mock.timers.reset();
  }
});

test("pane: a message that is not understood is logged, and one that fails is told", async () => {
  const { page, heard } = opened();
  page.say({ type: "nonsense" });
  page.say({ type: "openLink", href: 7 });
  assert.deepEqual(heard.received, []);
  assert.equal(heard.logged.length, 2);
  page.say({ type: "openLink", href: "a.py" });
  heard.refuse = new Error("no such file");
  page.say({ type: "home" });
  await Promise.resolve();
  assert.deepEqual(heard.received, ["openLink", "home"]);
  assert.deepEqual(heard.failed, [heard.refuse]);
});

test("pane: what is shown is seen", () => {
  const { pane } = opened();
  const live = said("hello");
  live.unseen = true;
  pane.show(live);
  assert.equal(live.unseen, false);
  assert.equal(pane.current, live);
});

test("pane: its page may load only its own script, and forms and commands are off", () => {
  const { page } = opened();
  assert.deepEqual({ ...(page.options as object), localResourceRoots: String((page.options as { localResourceRoots: unknown[] }).localResourceRoots) }, {
    enableScripts: true,
    enableCommandUris: false,
    enableForms: false,
    localResourceRoots: "ext:/dist",
  });
  const nonces = [opened(), opened()].map(({ page: other }) => /nonce-([^']+)/.exec(other.html)?.[1]);
  assert.ok(nonces.every((one) => one !== undefined && one.length >= 16));
  assert.notEqual(nonces[0], nonces[1]);
});

test("pane: one that is gone ends its search and posts nothing", () => {
  const { pane, page } = opened();
  page.say({ type: "ready" });
  page.posted.length = 0;
  let cancelled = false;
  pane.completing = { cancel: () => (cancelled = true) } as unknown as typeof pane.completing;
  pane.detached();
  pane.post({ type: "strings", bundle: {} });
  assert.equal(cancelled, true);
  assert.deepEqual(page.posted, []);
});
