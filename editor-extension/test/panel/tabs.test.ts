import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pane } from "../../src/panel/host/pane";
import { TAB, Tabs } from "../../src/panel/host/tabs";
import { FakeWebviewPanel, panels, serializers } from "../support/vscode";
import { around, said, types, type Heard } from "./around";

interface All {
  tabs: Tabs;
  heard: Heard;
  closed: Pane[];
  /** How often conversations of tabs that came back were asked for. */
  restores: { count: number };
}

function none(): All {
  panels.length = 0;
  const { around: needs, heard } = around();
  const closed: Pane[] = [];
  const restores = { count: 0 };
  const tabs = new Tabs(needs, (pane) => closed.push(pane), () => (restores.count += 1));
  return { tabs, heard, closed, restores };
}

/** As VS Code brings a tab back after a reload; `state` is what its page kept. */
async function back(state: unknown): Promise<FakeWebviewPanel> {
  const panel = new FakeWebviewPanel("of before");
  await serializers.get(TAB)!.deserializeWebviewPanel(panel, state);
  return panel;
}

test("tabs: each conversation has a tab of its own, with its title", () => {
  const { tabs } = none();
  const [one, other] = [said("rain"), said("sun", "")];
  const [first, second] = [tabs.open(one), tabs.open(other)];
  assert.deepEqual(tabs.all, [first, second]);
  assert.equal(tabs.of(one), first);
  assert.equal(tabs.of(said("rain")), undefined, "another conversation");
  assert.deepEqual(panels.map((panel) => panel.title), ["rain", "New conversation"]);
  other.title = "sun";
  for (const live of [one, other, said("elsewhere")]) tabs.titled(live);
  assert.deepEqual(panels.map((panel) => panel.titles), [["rain"], ["New conversation", "sun"]]);
});

test("tabs: which one is seen, and which one is in use", () => {
  const { tabs, heard } = none();
  const [first, second] = [tabs.open(said("rain")), tabs.open(said("sun"))];
  panels[0]!.turn(false);
  assert.equal(heard.turned, 1);
  assert.deepEqual([tabs.isVisible(first), tabs.isVisible(second)], [false, true]);
  assert.equal(tabs.active(), second);
  tabs.reveal(first);
  assert.deepEqual(panels.map((panel) => panel.revealed), [1, 0]);
});

test("tabs: closing one ends nothing, and a tab is free again", () => {
  const { tabs, closed } = none();
  const live = said("rain");
  const pane = tabs.open(live);
  panels[0]!.dispose();
  assert.deepEqual(closed, [pane]);
  assert.deepEqual(tabs.all, []);
  assert.equal(tabs.of(live), undefined);
  assert.equal(pane.current, live, "what it showed goes on");
  tabs.close(tabs.open(live));
  assert.equal(panels[1]!.gone, true);
});

test("tabs: those of before a reload get their conversations when the server knows which there are", async () => {
  const { tabs, restores } = none();
  const panel = await back({ sessionId: "rain" });
  const lost = await back({ sessionId: "lost" });
  const [pane, gone] = tabs.all as [Pane, Pane];
  assert.equal(restores.count, 2);
  assert.deepEqual([tabs.vacant(pane), tabs.vacant(gone)], ["opening", "opening"]);
  panel.webview.say({ type: "ready" });
  const live = said("rain");
  const asked: string[] = [];
  const open = (id: string) => {
    asked.push(id);
    return Promise.resolve(id === "rain" ? live : undefined);
  };
  await Promise.all([tabs.restored(open), tabs.restored(open)]); // the second comes while the first is under way
  assert.deepEqual(asked, ["rain", "lost"]);
  assert.equal(pane.current, live);
  assert.equal(panel.title, "rain");
  assert.deepEqual([tabs.vacant(pane), tabs.vacant(gone)], [undefined, "gone"]);
  assert.equal(lost.gone, false, "it says that its conversation is no longer there");
  pane.tell({ type: "show", what: "conversation" });
  assert.deepEqual(types(panel.webview).slice(0, 4), ["strings", "conversation", "overview", "conversation"]);
});

test("tabs: one that is closed meanwhile, or whose conversation has another tab, shows nothing", async () => {
  const { tabs } = none();
  const live = said("rain");
  const early = await back({ sessionId: "rain" });
  await back({ sessionId: "rain" });
  const [closed, second] = tabs.all as [Pane, Pane];
  const other = tabs.open(live);
  await tabs.restored(() => {
    early.dispose();
    return Promise.resolve(live);
  });
  assert.deepEqual([closed.current, second.current, other.current], [null, null, live]);
  assert.equal(tabs.of(live), other);
});

test("tabs: one for a new conversation asks for its agent, also after a reload before that", async () => {
  const { tabs } = none();
  const pane = tabs.open(null);
  assert.equal(panels[0]!.title, "New conversation");
  assert.equal(tabs.vacant(pane), "choosing");
  await back(undefined);
  assert.equal(tabs.vacant(tabs.all[1]!), "choosing");
  const live = said("rain");
  pane.show(live);
  tabs.titled(live);
  assert.equal(tabs.vacant(pane), undefined);
  assert.equal(panels[0]!.title, "rain");
});

test("tabs: when the extension ends they stay, so that they come back", () => {
  const { tabs } = none();
  tabs.open(said("rain"));
  tabs.dispose();
  assert.equal(panels[0]!.gone, false);
  assert.equal(serializers.has(TAB), false);
});
