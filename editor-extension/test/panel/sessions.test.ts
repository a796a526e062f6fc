import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionParams, TranscriptResult } from "../../src/lsp_ext";
import type { Attachment, Entry } from "../../src/panel/model";
import { promptWords } from "../../src/panel/host/acp";
import type { Live } from "../../src/panel/host/live";
import type { Server } from "../../src/panel/host/ports";
import { Sessions, titleOf } from "../../src/panel/host/sessions";

/** A server that notes what it is asked; answers are the test's. */
class FakeServer {
  readonly calls: string[] = [];
  turn = 0;
  readonly prompts: Record<string, unknown>[][] = [];
  impossible: { changeId: string; reason: string }[] = [];
  refuse: Error | null = null;
  record: TranscriptResult | null = null;
  remembers = true;

  readonly server: Server = {
    newSession: async ({ agent }) => this.did(`new ${agent}`, { sessionId: "s1", agent: agent ?? "" }),
    prompt: async ({ sessionId, prompt }) => {
      this.turn += 1;
      this.prompts.push(prompt);
      return this.did(`prompt ${String(prompt[0]?.["text"])}`, { sessionId, turn: this.turn });
    },
    cancel: async (id) => this.did(`cancel ${id}`, null),
    stopCommand: async (id, command) => this.did(`stop ${command} of ${id}`, null),
    close: async (id) => this.did(`close ${id}`, null),
    listAgents: async () => [{ id: "a", name: "Agent A", source: "found" as const, installed: true }],
    listSessions: async () => [],
    load: async (id, replay) => this.did(replay ? `load and replay ${id}` : `load ${id}`, { agent: "a", remembers: this.remembers, ...(this.remembers ? {} : { note: "forgot" }) }),
    fork: async (id) => this.did(`fork ${id}`, { sessionId: `${id} fork`, forks: true }),
    remove: async (id) => this.did(`remove ${id}`, { deleted: [id], kept: [] }),
    transcript: async () => this.record!,
    setMode: async (_, mode) => this.did(`mode ${mode}`, { modes: { currentModeId: mode, availableModes: [] } }),
    setOption: async (_, option, value) => this.did(`option ${option}=${value}`, { configOptions: [] }),
    revertTurn: async (_, turn) => this.did(`revert ${turn}`, { rejected: [], impossible: this.impossible }),
    keep: async (_, turn) => this.did(`keep ${turn}`, null),
    reject: async (_, turn) => this.did(`reject ${turn}`, { rejected: [], impossible: this.impossible }),
    changes: async () => [],
    authenticate: async (agent) => ({ agent, state: "done" as const }),
  };

  private did<T>(call: string, answer: T): T {
    this.calls.push(call);
    if (this.refuse) throw this.refuse;
    return answer;
  }
}

interface Heard {
  clock: number;
  news: string[];
  returned: string[];
  attached: Attachment[];
  adopted: string[];
}

async function started(): Promise<{ fake: FakeServer; sessions: Sessions; live: Live; heard: Heard }> {
  const fake = new FakeServer();
  const heard: Heard = { clock: 0, news: [], returned: [], attached: [], adopted: [] };
  const sessions = new Sessions(fake.server, {
    changed: () => undefined,
    news: (_, what) => heard.news.push(what),
    adopted: (one) => heard.adopted.push(one.id),
    returned: (_, text) => heard.returned.push(text),
    attached: (_, one) => heard.attached.push(one),
    label: (uri) => uri,
    remember: () => undefined,
    now: () => (heard.clock += 1000),
    words: { mode: "Mode", undoIncomplete: (count, reason) => `${count} left: ${reason}`, allowed: (label) => label, cancelled: "", signIn: "Sign in", signInFirst: (agent) => `${agent}: sign in`, lost: "lost", forked: (title) => `${title} (fork)`, forkedFrom: (title) => `from ${title}`, given: "(attached)", earlier: "Earlier" },
  });
  await sessions.refresh();
  const { live, ready } = sessions.begin("a");
  assert.equal(live.state, "starting");
  await ready;
  return { fake, sessions, live, heard };
}

const end = (turn: number, stopReason = "end_turn", more: object = {}) => ({ sessionId: "s1", turn, stopReason, changes: [], ...more });
const CHANGED = { changes: [{ uri: "file:///a", added: 1, removed: 0 }] };
const kinds = (live: Live): string[] => live.conversation.entries.map((one: Entry) => one.kind);
const asked = (requestId: string): PermissionParams => ({
  sessionId: "s1",
  requestId,
  action: "execute",
  text: "run",
  reason: "",
  options: [{ optionId: "yes", kind: "allow_once", label: "Allow" }],
});

test("sessions: a prompt, its turn, its end", async () => {
  const { fake, sessions, live } = await started();
  await sessions.send(live, "fix it\nplease", []);
  assert.equal(live.state, "running");
  assert.equal(live.title, "fix it");
  sessions.updated("s1", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "ok" } }, false);
  sessions.ended(end(1));
  assert.deepEqual(kinds(live), ["user", "agent", "end"]);
  assert.equal(live.state, "idle");
  assert.deepEqual(fake.calls, ["new a", "prompt fix it\nplease"]);
});

test("sessions: an end that overtakes the answer to the prompt still numbers it", async () => {
  const { sessions, live } = await started();
  const sending = sessions.send(live, "x", []);
  sessions.ended(end(1, "end_turn", CHANGED));
  await sending;
  const entry = live.conversation.entries[0]!;
  assert.ok(entry.kind === "user" && entry.turn === 1 && entry.undo === "yes");
  assert.equal(live.state, "idle");
});

test("sessions: what is sent meanwhile is queued and goes one by one", async () => {
  const { fake, sessions, live } = await started();
  await sessions.send(live, "1", []);
  await sessions.send(live, "2", []);
  await sessions.send(live, "3", []);
  assert.deepEqual(live.queue.map((one) => one.text), ["2", "3"]);
  sessions.unqueue(live, live.queue[0]!.id);
  sessions.ended(end(1));
  await Promise.resolve();
  assert.deepEqual(fake.calls.slice(1), ["prompt 1", "prompt 3"]);
  assert.equal(live.state, "running");
});

test("sessions: after a stop what was queued goes back to the user, not to the agent", async () => {
  const { fake, sessions, live, heard } = await started();
  await sessions.send(live, "1", []);
  await sessions.send(live, "2", []);
  await sessions.stop(live);
  sessions.ended(end(1, "cancelled"));
  assert.deepEqual(heard.returned, ["2"]);
  assert.deepEqual(fake.calls.slice(1), ["prompt 1", "cancel s1"]);
});

test("sessions: a refused prompt is told where it was sent", async () => {
  const { fake, sessions, live } = await started();
  fake.refuse = new Error("no folder");
  await sessions.send(live, "1", []);
  const last = live.conversation.entries.at(-1)!;
  assert.ok(last.kind === "end" && last.reason === "failed" && last.error === "no folder");
  assert.equal(live.state, "idle");
});

test("sessions: an agent that does not start says why", async () => {
  const { fake, sessions } = await started();
  fake.refuse = new Error("not installed");
  const { live, ready } = sessions.begin("b");
  assert.equal(await ready, false);
  assert.deepEqual(kinds(live), ["notice"]);
  assert.equal(live.state, "failed");
});

test("sessions: undo of a turn, complete and incomplete", async () => {
  const { fake, sessions, live } = await started();
  await sessions.send(live, "1", []);
  sessions.ended(end(1, "end_turn", { changes: [{ uri: "file:///a", added: 1, removed: 0 }] }));
  fake.impossible = [{ changeId: "c", reason: "the file is gone" }];
  assert.equal(await sessions.undoTurn(live, 1), false);
  assert.ok(live.conversation.entries.some((one) => one.kind === "notice" && one.text === "1 left: the file is gone"));
  fake.impossible = [];
  assert.equal(await sessions.undoTurn(live, 1), true);
  assert.equal(await sessions.undoTurn(live, 1), false, "once");
  const first = live.conversation.entries[0]!;
  assert.ok(first.kind === "user" && first.undo === "done");
  assert.ok(live.conversation.entries.some((one) => one.kind === "end" && one.reviewed));
});

test("sessions: what was kept and rejected stands at its turn's end", async () => {
  const { sessions, live } = await started();
  const decisions = () => live.conversation.entries.flatMap((one) => (one.kind === "end" ? [[one.kept, one.rejected]] : []));
  await sessions.send(live, "1", []);
  sessions.decided("s1", 1, "kept", 1);
  sessions.ended(end(1, "end_turn", { changes: [{ uri: "file:///a", added: 1, removed: 0 }] }));
  assert.deepEqual(decisions(), [[1, 0]]);
  await sessions.send(live, "2", []);
  sessions.ended(end(2, "end_turn"));
  sessions.decided("s1", 1, "rejected", 2);
  sessions.decided("s1", 1, "kept", 3);
  sessions.decided("unheard of", 1, "kept", 3);
  assert.deepEqual(decisions(), [[4, 2], [0, 0]]);
});

test("sessions: a turn can be undone while it runs, and afterwards where it changed something", async () => {
  const { fake, sessions, live } = await started();
  const undo = (): string => {
    const first = live.conversation.entries[0]!;
    return first.kind === "user" ? first.undo : "";
  };
  await sessions.send(live, "1", []);
  assert.equal(undo(), "yes");
  sessions.ended(end(1));
  assert.equal(undo(), "no");
  await sessions.resend(live, 1, "1b", true); // asked for before the end was heard of
  assert.deepEqual(fake.calls.slice(2), ["prompt 1b"]);
  sessions.ended(end(2));
  const late = { changeId: "c", uri: "file:///a", oldText: "", newText: "x\n", turn: 1 };
  fake.server.changes = async () => [late];
  await sessions.look(live); // a change that was found after the end
  assert.equal(undo(), "yes");
});

test("sessions: edited and sent again, the turn undone first; not sent when that failed", async () => {
  const { fake, sessions, live } = await started();
  await sessions.send(live, "1", []);
  sessions.ended(end(1, "end_turn", CHANGED));
  await sessions.resend(live, 1, "1b", true);
  assert.deepEqual(fake.calls.slice(2), ["revert 1", "prompt 1b"]);
  sessions.ended(end(2, "end_turn", CHANGED));
  fake.impossible = [{ changeId: "c", reason: "" }];
  await sessions.resend(live, 2, "1c", true);
  assert.equal(fake.calls.at(-1), "revert 2");
});

test("sessions: a question is answered once, by an option that was offered, in its own session", async () => {
  const { sessions, live, heard } = await started();
  await sessions.send(live, "1", []);
  const answer = sessions.questions.ask(asked("q"), () => undefined);
  assert.equal(live.state, "waiting");
  assert.deepEqual(heard.news, ["asks"]);
  assert.equal(sessions.questions.answer("s1", "q", "always"), false);
  assert.equal(sessions.questions.answer("s2", "q", "yes"), false);
  assert.equal(sessions.questions.answer("s1", "other", "yes"), false);
  assert.equal(sessions.questions.answer("s1", "q", "yes"), true);
  assert.equal(sessions.questions.answer("s1", "q", "yes"), false);
  assert.deepEqual(await answer, { optionId: "yes" });
  assert.equal(live.state, "running");
});

test("sessions: one that was begun elsewhere is told of, and asks here", async () => {
  const { sessions, heard } = await started();
  const answer = sessions.questions.ask({ ...asked("q"), sessionId: "other" }, () => undefined);
  sessions.updated("other", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } }, false);
  assert.deepEqual(heard.adopted, ["other"]);
  assert.equal(sessions.questions.answer("other", "q", "yes"), true);
  assert.deepEqual(await answer, { optionId: "yes" });
  sessions.ended({ ...end(1), sessionId: "other" });
  assert.deepEqual(kinds(sessions.all.get("other")!), ["question", "agent", "end"]);
});

const MODES = { currentModeId: "ask", availableModes: [{ id: "ask" }, { id: "code" }] };
const MODEL = { id: "m", name: "Model", category: "model", type: "select", currentValue: "x", options: [{ value: "x" }, { value: "y" }] };
const ABLE = { modes: MODES, configOptions: [MODEL], promptCapabilities: { image: true } };
const ROW = { sessionId: "s2", agent: "a", cwd: "/w", open: true, running: false, turn: 1, transcript: true, listed: false, loads: true, forks: true };
const EMPTY = { sessionId: "s2", agent: "a", cwd: "/w", createdAt: "", updatedAt: "2026-01-01T00:00:00Z", entries: [] };
/** What its pickers show, and whether pictures can be added. */
const picks = (live: Live): unknown[] => {
  const { pickers, images } = live.current("Mode");
  return [...pickers.map((one) => `${one.category}: ${one.current} of ${one.choices.length}`), images];
};
const BOTH = ["mode: ask of 2", "model: x of 2", true];

test("sessions: pickers are there in every session, however it was made", async () => {
  const { fake, sessions } = await started();
  fake.server.newSession = async () => ({ sessionId: "new", agent: "a", ...ABLE });
  const begun = sessions.begin("a");
  await begun.ready;
  assert.deepEqual(picks(begun.live), BOTH, "begun here");

  // by a command or another client, and chosen from the list
  fake.server.listSessions = async () => [{ ...ROW, ...ABLE }];
  fake.record = EMPTY;
  sessions.opened({ sessionId: "s2", ...ABLE });
  await settled();
  assert.deepEqual(sessions.summaries().find((one) => one.sessionId === "s2")?.recorded, false, "it is in the list without being asked for");
  assert.deepEqual(picks(await sessions.open("s2")), BOTH, "begun elsewhere");

  // the server was started again: a record until it is continued, here or by another client
  sessions.gone();
  await sessions.resume(begun.live);
  assert.deepEqual(picks(begun.live), [false], "an agent that says nothing of it");
  sessions.opened({ sessionId: "new", ...ABLE });
  assert.deepEqual(picks(begun.live), BOTH, "its next prompt, or the agent's new process, told them");
  const other = sessions.all.get("s2")!;
  assert.ok(other.recorded);
  sessions.opened({ sessionId: "s2", ...ABLE });
  assert.deepEqual([other.recorded, ...picks(other)], [false, ...BOTH], "continued by another client");
});

test("sessions: after a restart of the server one can be continued where its agent can, however it was made", async () => {
  const { fake, sessions, live } = await started();
  fake.server.listSessions = async () => [ROW, { ...ROW, sessionId: "s1" }, { ...ROW, sessionId: "s3", loads: false }];
  for (const id of ["s2", "s3"]) sessions.updated(id, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } }, false);
  await settled();
  sessions.gone();
  fake.server.listSessions = async () => ["s1", "s2", "s3"].map((sessionId) => ({ ...ROW, sessionId, open: false, loads: false }));
  await sessions.refresh();
  const others = ["s2", "s3"].map((id) => sessions.all.get(id)!);
  assert.deepEqual([live, ...others].map((one) => [one.recorded, one.resumable]), [[true, true], [true, true], [true, false]]);
});

test("sessions: one whose first news is a change of its mode has all of them to pick", async () => {
  const { fake, sessions } = await started();
  fake.server.listSessions = async () => [{ ...ROW, ...ABLE, modes: { ...MODES, currentModeId: "code" } }];
  fake.record = EMPTY;
  sessions.updated("s2", { sessionUpdate: "current_mode_update", currentModeId: "code" }, false);
  await settled();
  assert.deepEqual(picks(sessions.all.get("s2")!), ["mode: code of 2", "model: x of 2", true]);
});

test("sessions: a fork begins with what was said, and is a conversation of its own", async () => {
  const { fake, sessions, live } = await started();
  live.opened({ forks: true });
  assert.equal(live.summary().forks, false, "there is nothing to begin with");
  await sessions.send(live, "count", []);
  assert.equal(live.summary().forks, false, "while it works");
  sessions.ended(end(1));
  assert.ok(live.summary().forks);
  fake.record = { ...prompted(1, "count", true), title: "count (fork)" };
  const fork = await sessions.fork("s1");
  assert.deepEqual([fork.id, fork.recorded, fork.title, fork.forks], ["s1 fork", false, "count (fork)", true]);
  assert.deepEqual(kinds(fork), ["user", "end", "notice"]);
  assert.equal((fork.conversation.entries[2] as { text?: string }).text, "from count");
  assert.equal((fork.conversation.entries[0] as { undo?: string }).undo, "no", "what the other one changed is undone there");
  await sessions.send(fork, "further", []);
  assert.deepEqual([kinds(live), live.state], [["user", "end"], "idle"]);
  // a title of the user's goes along
  sessions.ended({ ...end(2), sessionId: "s1 fork" });
  sessions.rename("s1 fork", "Mine");
  assert.equal((await sessions.fork("s1 fork")).title, "Mine (fork)");
  // from the list, where nobody has opened it
  fake.server.listSessions = async () => [{ ...ROW, open: false }, { ...ROW, sessionId: "s3", running: true }, { ...ROW, sessionId: "s4", forks: false }];
  await sessions.refresh();
  const forks = new Map(sessions.summaries().map((one) => [one.sessionId, one.forks]));
  assert.deepEqual(["s2", "s3", "s4"].map((id) => forks.get(id)), [true, false, false]);
});

test("sessions: a withdrawn question", async () => {
  const { sessions, live } = await started();
  await sessions.send(live, "1", []);
  let withdraw = (): void => undefined;
  const answer = sessions.questions.ask(asked("q"), (then) => (withdraw = then));
  withdraw();
  assert.deepEqual(await answer, { cancelled: true });
  assert.equal(sessions.questions.answer("s1", "q", "yes"), false);
});

test("sessions: what is asked while a session starts is asked in it", async () => {
  const { sessions } = await started();
  const { live, ready } = sessions.begin("a");
  const answer = sessions.questions.ask({ ...asked("q"), sessionId: "not told yet" }, () => undefined);
  assert.deepEqual(kinds(live), ["question"]);
  assert.equal(sessions.questions.answer(live.id, "q", "yes"), true);
  assert.deepEqual(await answer, { optionId: "yes" });
  await ready;
});

test("sessions: when the server goes, turns are interrupted and questions withdrawn", async () => {
  const { sessions, live } = await started();
  await sessions.send(live, "1", []);
  const answer = sessions.questions.ask(asked("q"), () => undefined);
  sessions.gone();
  assert.deepEqual(await answer, { cancelled: true });
  assert.ok(live.recorded);
  assert.ok(live.conversation.entries.some((one) => one.kind === "end" && one.reason === "interrupted"));
});

test("sessions: a record comes back as it was; a turn without an end was interrupted", async () => {
  const { fake, heard, sessions } = await started();
  const at = "2026-01-01T00:00:00Z";
  const say = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  fake.record = {
    sessionId: "old",
    agent: "a",
    cwd: "/w",
    createdAt: at,
    updatedAt: at,
    entries: [
      { at, type: "omitted" },
      { at, type: "prompt", turn: 1, prompt: [{ type: "text", text: "one" }, { type: "resource_link", uri: "file:///a", name: "a" }] },
      { at, type: "update", turn: 1, update: say("yes") },
      { at, type: "reviewed", turn: 1, verdict: "rejected", changed: 1 },
      { at, type: "end", turn: 1, stopReason: "end_turn", changes: [] },
      { at, type: "reviewed", turn: 1, verdict: "kept", changed: 2 },
      { at, type: "reviewed", turn: 1, verdict: "kept", changed: 1 },
      { at, type: "prompt", turn: 2, prompt: [{ type: "text", text: "two" }] },
      { at, type: "update", turn: 2, update: say("well") },
    ],
  };
  const live = await sessions.open("old");
  assert.deepEqual(kinds(live), ["user", "agent", "end", "user", "agent", "end"]);
  assert.equal(live.title, "one");
  assert.ok(live.recorded);
  const first = live.conversation.entries[2]!;
  assert.ok(first.kind === "end" && first.kept === 3 && first.rejected === 1);
  const last = live.conversation.entries.at(-1)!;
  assert.ok(last.kind === "end" && last.reason === "interrupted");
  assert.equal(await sessions.open("old"), live, "opened once");
  fake.remembers = false;
  await sessions.resume(live);
  assert.equal(live.recorded, false);
  assert.ok(live.conversation.entries.some((one) => one.kind === "notice" && one.text === "forgot (attached)"));
  const [attached] = heard.attached;
  assert.ok(attached?.kind === "conversation" && attached.label === "Earlier");
  assert.match(attached.text ?? "", /## You\n\none\n[^]*well/);
  await sessions.send(live, "three", [attached]);
  const sent = fake.prompts.at(-1)!;
  assert.match(String(sent[1]?.["text"]), /^This is the earlier conversation[^]*well/);
  // in the record it is a thing that went along, not the user's words
  assert.deepEqual(promptWords(sent, "Earlier"), { text: "three", attachments: [{ id: "earlier", kind: "conversation", label: "Earlier", uri: "" }] });
});

test("sessions: what only the agent recorded is replayed, what is recorded here is not told twice", async () => {
  const { fake, sessions } = await started();
  const record = { sessionId: "far", agent: "a", updatedAt: "2026-01-01T00:00:00Z", entries: [] };
  fake.record = record as unknown as TranscriptResult;
  const live = await sessions.open("far");
  const load = fake.server.load;
  fake.server.load = async (id, replay) => {
    const chunk = (sessionUpdate: string, text: string) => sessions.updated(id, { sessionUpdate, content: { type: "text", text } }, true);
    chunk("user_message_chunk", "hello");
    chunk("agent_message_chunk", "hi");
    return load(id, replay);
  };
  await sessions.resume(live);
  assert.deepEqual(kinds(live), ["user", "agent"]);
  assert.equal(fake.calls.at(-1), "load and replay far");
  fake.server.load = load;
  fake.refuse = new Error("gone");
  await sessions.resume(live);
  assert.equal(fake.calls.at(-1), "load far");
  assert.equal(live.recorded, true, "it can be tried again");
});

test("sessions: a title of the user's is not replaced", async () => {
  const { sessions, live } = await started();
  sessions.rename("s1", "mine");
  sessions.updated("s1", { sessionUpdate: "session_info_update", title: "the agent's" }, false);
  assert.equal(live.title, "mine");
});

test("sessions: titles", () => {
  assert.equal(titleOf("  a\nb"), "a");
  assert.equal(titleOf("x".repeat(100)).length, 80);
});

const settled = () => new Promise((done) => setImmediate(done));
const prompted = (turn: number, words: string, ended = false): TranscriptResult =>
  ({
    sessionId: "s1",
    agent: "a",
    updatedAt: "2026-01-01T00:00:00Z",
    entries: [
      { at: "", type: "prompt", turn, prompt: [{ type: "text", text: words }] },
      ...(ended ? [{ at: "", type: "end", turn, stopReason: "end_turn" }] : []),
    ],
  }) as unknown as TranscriptResult;

test("sessions: the words of a prompt that was sent by a command stand above its answer", async () => {
  const { fake, sessions, live } = await started();
  fake.record = prompted(1, "from elsewhere");
  sessions.updated("s1", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } }, false);
  await settled();
  assert.deepEqual(kinds(live), ["user", "agent"]);
  assert.equal(live.state, "running");
  assert.deepEqual(live.conversation.take().at(-1), { op: "put", entry: live.conversation.entries[0]!, before: live.conversation.entries[1]!.id });
  sessions.ended(end(1));
  await settled();
  assert.deepEqual(kinds(live), ["user", "agent", "end"]);
  fake.record = prompted(2, "and without an answer", true);
  sessions.ended(end(2));
  await settled();
  assert.deepEqual(kinds(live), ["user", "agent", "end", "user", "end"]);
  assert.equal(live.state, "idle");
});

test("sessions: the sidecar's own words stand below the prompt that they are about", async () => {
  const { fake, sessions, live, heard } = await started();
  const sending = sessions.send(live, "go", []);
  sessions.noticed("s1", "Your unsaved text of a.txt was sent with the prompt.");
  await sending;
  assert.deepEqual(kinds(live), ["user", "notice"]);
  const { level, text } = live.conversation.entries[1] as Extract<Entry, { kind: "notice" }>;
  assert.deepEqual([level, text], ["info", "Your unsaved text of a.txt was sent with the prompt."]);
  fake.record = { ...prompted(1, "from elsewhere"), sessionId: "s2" };
  sessions.noticed("s2", "Of a conversation that the panel has not opened.");
  await settled();
  assert.deepEqual(heard.adopted, ["s2"]);
  assert.deepEqual(kinds(sessions.all.get("s2")!), ["user", "notice"]);
});

test("sessions: what an agent says after its turn is no turn", async () => {
  const { fake, sessions, live } = await started();
  await sessions.send(live, "go", []);
  sessions.ended(end(1));
  fake.record = prompted(1, "go", true);
  sessions.updated("s1", { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "late" } }, false);
  await settled();
  assert.deepEqual(kinds(live), ["user", "end", "agent"]);
  assert.equal(live.state, "idle");
});

test("sessions: an agent that wants a login says so in one sentence with one button, before and in a turn", async () => {
  const { fake, sessions, live } = await started();
  const button = { level: "warning", text: "Agent A: sign in", action: { id: "signIn:a", label: "Sign in" } };
  sessions.ended(end(1, "failed", { error: "a long story", errorKind: "auth_required" }));
  const { id: _, kind: __, ...notice } = live.conversation.entries.at(-1) as Extract<Entry, { kind: "notice" }>;
  assert.deepEqual(notice, button);
  fake.refuse = Object.assign(new Error("a long story"), { data: { kind: "auth_required" } });
  const second = sessions.begin("a");
  assert.equal(await second.ready, false);
  assert.deepEqual(kinds(second.live), ["notice"]);
  assert.deepEqual((second.live.conversation.entries[0] as { action?: unknown }).action, button.action);
});

test("sessions: a page that was opened for the agent has ended", async () => {
  const { sessions, live } = await started();
  const url = { requestId: "r", agent: "a", sessionId: "s1", mode: "url" as const, message: "Sign in", url: "https://x.example/", elicitationId: "e1" };
  const answer = sessions.questions.elicit(url, () => undefined);
  sessions.questions.finished("b", "e1");
  sessions.questions.submit("r", { action: "accept" });
  assert.deepEqual(await answer, { action: "accept" });
  assert.equal((live.conversation.entries[0] as { state?: string }).state, "answered");
  sessions.questions.finished("a", "e1");
  assert.equal((live.conversation.entries[0] as { state?: string }).state, "finished");
});

test("sessions: a picture goes to the agent, also again, and never back to the page", async () => {
  const { fake, sessions, live } = await started();
  const prompts: unknown[] = [];
  const prompt = fake.server.prompt;
  fake.server.prompt = async (argument) => {
    prompts.push(argument.prompt[1]);
    return prompt(argument);
  };
  const picture = { id: "i", kind: "image" as const, label: "Picture", uri: "", text: "AAAA", mimeType: "image/png" };
  await sessions.send(live, "look", [picture]);
  sessions.ended(end(1));
  await sessions.resend(live, 1, "look again", false);
  assert.deepEqual(prompts, [1, 2].map(() => ({ type: "image", mimeType: "image/png", data: "AAAA" })));
  const shown = live.conversation.entries.flatMap((one) => (one.kind === "user" ? one.attachments : []));
  assert.deepEqual(shown.map((one) => [one.label, one.text]), [["Picture", undefined], ["Picture", undefined]]);
});
