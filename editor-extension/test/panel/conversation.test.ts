import assert from "node:assert/strict";
import { test } from "node:test";
import { Conversation } from "../../src/panel/host/conversation";
import { exported } from "../../src/panel/host/export";
import type { Entry, EntryOf, Op } from "../../src/panel/model";

type Update = Record<string, unknown>;
const say = (text: string, messageId?: string): Update => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...(messageId ? { messageId } : {}),
});
const think = (text: string): Update => ({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
const tool = (toolCallId: string, more: Update = {}): Update => ({ sessionUpdate: "tool_call", toolCallId, ...more });
const changed = (toolCallId: string, more: Update): Update => ({ sessionUpdate: "tool_call_update", toolCallId, ...more });

const text = (words: string): Update => ({ type: "text", text: words });
const compaction = (compactionId: string, more: Update): Update => ({ sessionUpdate: "compaction_update", compactionId, ...more });
const summary = (compactionId: string, words: string): Update => ({ sessionUpdate: "compaction_summary_chunk", compactionId, content: text(words) });
/** What a sub-agent does or says that this tool call started. */
const below = (parentToolCallId: unknown, update: Update): Update => ({ ...update, _meta: { parentToolCallId } });

/** One line an entry, as the tables below write it. */
const line = (entry: Entry): string => {
  switch (entry.kind) {
    case "agent":
    case "thought":
      return `${entry.kind}${entry.done ? "" : "…"}: ${entry.text}`;
    case "tool": {
      const diffs = entry.diffs.map((one) => ` ${one.path}+${one.added}-${one.removed}`).join("");
      return `tool ${entry.status} ${entry.toolKind} ${entry.title}${diffs}${entry.text ? ` = ${entry.text}` : ""}${entry.output ? ` > ${entry.output}` : ""}`;
    }
    case "plan":
      return `plan ${entry.items.map((one) => `${one.state}:${one.text}`).join(", ")}`;
    case "user":
      return `user ${entry.text}`;
    case "image":
      return `image ${entry.mimeType}`;
    case "notice":
      return `${entry.level} ${entry.text}${entry.detail ? ` = ${entry.detail}` : ""}`;
    case "compaction":
      return `compaction ${entry.status}${entry.summary ? ` = ${entry.summary}` : ""}${entry.error ? ` ! ${entry.error}` : ""}`;
    case "end":
      return `end ${entry.reason}${entry.error ? ` ${entry.error}` : ""}`;
    default:
      return entry.kind;
  }
};

const CASES: [string, Update[], string[]][] = [
  ["chunks are one message", [say("a"), say("b")], ["agent…: ab"]],
  ["messages with other ids are two", [say("a", "1"), say("b", "1"), say("c", "2")], ["agent: ab", "agent…: c"]],
  ["a thought between ends a message", [say("a"), think("t"), say("b")], ["agent: a", "thought: t", "agent…: b"]],
  ["a tool call between ends a message", [say("a"), tool("1", { title: "T" }), say("b")], ["agent: a", "tool pending other T", "agent…: b"]],
  ["a second call with the same id is the same", [tool("1", { title: "A" }), tool("1", { title: "B", status: "completed" })], ["tool completed other B"]],
  ["an update of a call that was never announced", [changed("x", { title: "A", kind: "edit" })], ["tool pending edit A"]],
  ["a status that does not exist", [tool("1", { status: "dreaming" })], ["tool pending other "]],
  ["no id", [{ sessionUpdate: "tool_call" }, { sessionUpdate: "tool_call", toolCallId: 3 }], []],
  [
    "diffs are counted",
    [tool("1", { content: [{ type: "diff", path: "/a", oldText: "a\nb\n", newText: "a\nc\nd\n" }] })],
    ["tool pending other  /a+2-1"],
  ],
  ["a diff of a new file", [tool("1", { content: [{ type: "diff", path: "/a", newText: "x\n" }] })], ["tool pending other  /a+1-0"]],
  ["a diff without its text", [tool("1", { content: [{ type: "diff", path: "/a" }, null, 3] })], ["tool pending other "]],
  ["text of a call", [tool("1", { content: [{ type: "content", content: { type: "text", text: "hi" } }] })], ["tool pending other  = hi"]],
  [
    "a plan is replaced",
    [
      { sessionUpdate: "plan", entries: [{ content: "a", status: "pending" }] },
      { sessionUpdate: "plan", entries: [{ content: "a", status: "completed" }, { content: "b", status: "?" }] },
    ],
    ["plan completed:a, pending:b"],
  ],
  ["kinds that nobody knows", [{ sessionUpdate: "dance" }, {}, { sessionUpdate: 4 }], []],
  ["chunks without content", [{ sessionUpdate: "agent_message_chunk" }, { sessionUpdate: "agent_message_chunk", content: [] }], []],
  ["an image", [{ sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png", data: "aGk=" } }], ["image image/png"]],
  ["an image that is markup", [{ sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/svg+xml", data: "aGk=" } }], []],
  ["an image that is no base64", [{ sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png", data: '"onload=' } }], []],
  [
    "a link to a file",
    [{ sessionUpdate: "agent_message_chunk", content: { type: "resource_link", name: "a]b", uri: "file:///a" } }],
    ["agent…: [a\\]b](<file:///a>)"],
  ],
  ["a notice", [{ sessionUpdate: "notice", severity: "warning", title: "No server", description: "Going on." }, { sessionUpdate: "notice", severity: "?", title: "New" }, { sessionUpdate: "notice", title: 3 }], ["warning No server = Going on.", "info New"]],
  [
    "a compaction keeps its place",
    [compaction("1", { status: "in_progress" }), say("a"), summary("1", "Ke"), summary("1", "pt"), compaction("1", { status: "completed" })],
    ["compaction completed = Kept", "agent…: a"],
  ],
  [
    "a whole summary replaces its pieces, and null clears it",
    [compaction("1", { status: "in_progress" }), summary("1", "x"), compaction("1", { status: "completed", summary: [text("a"), text("b")] }), compaction("2", { status: "completed", summary: [text("c")] }), compaction("2", { status: "completed", summary: null })],
    ["compaction completed = a\n\nb", "compaction completed"],
  ],
  [
    "a compaction that fails, and one in a state of tomorrow",
    [compaction("1", { status: "failed", error: "no room" }), compaction("2", { status: "_new", error: "x" }), compaction("2", { status: "completed", error: null })],
    ["compaction failed ! no room", "compaction completed"],
  ],
  ["a summary of no compaction, and one without an id", [summary("9", "x"), { sessionUpdate: "compaction_update", status: "completed" }], []],
  ["the user's words are known already", [{ sessionUpdate: "user_message_chunk", content: { type: "text", text: "hi" } }], []],
];

for (const [name, updates, expected] of CASES) {
  test(`conversation: ${name}`, () => {
    const conversation = new Conversation();
    for (const update of updates) conversation.update(update);
    assert.deepEqual(conversation.entries.map(line), expected);
    assert.deepEqual(replay(conversation.take()), conversation.entries);
  });
}

/** What the page has after these operations. */
function replay(ops: Op[]): Entry[] {
  const entries: Entry[] = [];
  for (const op of ops) {
    if (op.op === "remove") entries.splice(entries.findIndex((one) => one.id === op.id), 1);
    else if (op.op === "put") {
      const at = entries.findIndex((one) => one.id === op.entry.id);
      if (at < 0) entries.push(op.entry);
      else entries[at] = op.entry;
    } else {
      const at = entries.findIndex((one) => one.id === op.id);
      const entry = entries[at];
      assert.ok(entry && "text" in entry);
      entries[at] = { ...entry, text: entry.text + op.text };
    }
  }
  return entries;
}

test("conversation: operations taken at any time give the same entries", () => {
  const conversation = new Conversation();
  const ops: Op[] = [];
  const updates = [say("a"), think("x"), say("b"), say("c"), tool("1"), changed("1", { status: "completed" }), say("d")];
  conversation.user("hi");
  for (const [at, update] of updates.entries()) {
    conversation.update(update);
    if (at % 2) ops.push(...conversation.take());
  }
  conversation.ended({ reason: "end_turn" });
  ops.push(...conversation.take());
  assert.deepEqual(replay(ops), conversation.entries);
});

test("conversation: a replay has the user's words in it", () => {
  const conversation = new Conversation();
  for (const text of ["he", "llo"]) conversation.update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } }, true);
  conversation.update(say("hi"), true);
  assert.deepEqual(conversation.entries.map(line), ["user hello", "agent…: hi"]);
});

test("conversation: the end of a turn ends what ran", () => {
  const conversation = new Conversation();
  conversation.update(tool("1", { status: "in_progress", title: "T" }));
  conversation.update(say("a"));
  conversation.ended({ reason: "cancelled" });
  assert.deepEqual(conversation.entries.map(line), ["tool cancelled other T", "agent: a", "end cancelled"]);
});

function toolAt(conversation: Conversation, index = 0): EntryOf<"tool"> {
  const entry = conversation.entries[index]!;
  assert.ok(entry.kind === "tool");
  return entry;
}

test("conversation: what a command said and how it ended before a call showed it is not lost", () => {
  const conversation = new Conversation();
  conversation.output("t", "early\n");
  conversation.commandEnded("t", { code: 3 });
  assert.deepEqual(conversation.entries, []);
  const shows = tool("1", { content: [{ type: "terminal", terminalId: "t" }] });
  conversation.update(shows);
  conversation.update(shows); // agents tell it again with every update
  assert.equal(toolAt(conversation).output, "early\n");
  assert.deepEqual(toolAt(conversation).commands, [{ id: "t", end: { code: 3 } }]);
});

test("conversation: of commands that no call ever shows, a few are kept", () => {
  const conversation = new Conversation();
  for (let number = 0; number < 100; number += 1) conversation.output(`t${number}`, "x");
  for (const id of ["t0", "t99"]) conversation.update(tool(id, { content: [{ type: "terminal", terminalId: id }] }));
  assert.deepEqual([0, 1].map((index) => toolAt(conversation, index).output), ["", "x"]);
});

test("conversation: a command runs until it ends, at the latest with its turn", () => {
  const conversation = new Conversation();
  const content = ["t", "u"].map((terminalId) => ({ type: "terminal", terminalId }));
  conversation.update(tool("1", { status: "completed", content }));
  assert.deepEqual(toolAt(conversation).commands, [{ id: "t" }, { id: "u" }]);
  conversation.commandEnded("t", { signal: "SIGTERM", stopped: true });
  assert.deepEqual(toolAt(conversation).commands?.map((one) => one.end), [undefined, { signal: "SIGTERM", stopped: true }]);
  conversation.ended({ reason: "end_turn" });
  assert.deepEqual(toolAt(conversation).commands?.map((one) => one.end), [{}, { signal: "SIGTERM", stopped: true }]);
  assert.equal(toolAt(conversation).status, "completed");
});

test("conversation: output of a terminal belongs to the call that showed it, its end is kept", () => {
  const conversation = new Conversation();
  conversation.update(tool("1", { content: [{ type: "terminal", terminalId: "t" }] }));
  conversation.output("t", "a".repeat(100_000));
  conversation.output("t", "end");
  const entry = conversation.entries[0]!;
  assert.ok(entry.kind === "tool");
  assert.equal(entry.output.length, 64 << 10);
  assert.ok(entry.output.endsWith("aend"));
});

test("conversation: a question is settled once", () => {
  const conversation = new Conversation();
  conversation.question({ requestId: "q", action: "execute", text: "", reason: "", options: [] });
  assert.equal(conversation.openQuestions(), 1);
  assert.equal(conversation.settle("q", "Allow"), true);
  assert.equal(conversation.settle("q", null), false);
  assert.equal(conversation.openQuestions(), 0);
});

/** Each entry with the titles of the calls that it is below. */
function tree(conversation: Conversation): string[] {
  const path = (entry: Entry): string => {
    const parent = "parent" in entry && entry.parent !== undefined ? conversation.get(entry.parent) : undefined;
    return `${parent ? `${path(parent)} > ` : ""}${entry.kind === "tool" ? entry.title : "text" in entry ? entry.text : entry.kind}`;
  };
  return conversation.entries.map(path);
}

test("conversation: a sub-agent's work is below the call that started it, and what it says apart from the agent's own words", () => {
  const conversation = new Conversation();
  const all = [
    say("I look. "),
    tool("task", { title: "Task" }),
    below("task", tool("r", { title: "Read" })),
    below("task", say("It ")),
    say("Meanwhile "),
    below("task", say("rains.")),
    say("I wait."),
    changed("r", { status: "completed" }),
    below("r", tool("deep", { title: "Deep" })),
    below("nobody", tool("x", { title: "Beside" })),
    below({ task: 1 }, tool("y", { title: "Odd" })),
    below("task", { sessionUpdate: "user_message_chunk", content: text("Find the rain") }),
  ];
  for (const update of all) conversation.update(update, true);
  assert.deepEqual(tree(conversation), ["I look. ", "Task", "Task > Read", "Task > It rains.", "Meanwhile I wait.", "Task > Read > Deep", "Beside", "Odd"]);
  const said = () => conversation.entries.flatMap((one) => (one.kind === "agent" ? [[one.text, one.done]] : []));
  assert.deepEqual(said().at(1), ["It rains.", false]);
  conversation.update(changed("task", { status: "completed" }));
  assert.deepEqual(said().at(1), ["It rains.", true], "its call has ended");
  assert.ok(!exported("", "", conversation.entries).includes("rains"), "it spoke to the agent, not to the user");
});

test("conversation: sub-agents of sub-agents without end do not stand ever deeper", () => {
  const conversation = new Conversation();
  conversation.update(tool("0", { title: "0" }));
  for (let at = 1; at < 50; at += 1) conversation.update(below(String(at - 1), tool(String(at), { title: String(at) })));
  assert.ok(tree(conversation).every((one) => one.split(" > ").length <= 4));
  assert.ok(tree(conversation).every((one) => one.startsWith("0")));
});

test("conversation: a turn's end ends what was compacted in it", () => {
  const conversation = new Conversation();
  conversation.update(compaction("1", { status: "in_progress" }));
  conversation.ended({ reason: "cancelled" });
  assert.equal(line(conversation.entries[0]!), "compaction cancelled");
});

test("conversation: a tool's name", () => {
  const conversation = new Conversation();
  conversation.update(tool("1", { title: "T", name: "read_file" }));
  conversation.update(changed("1", { name: null }));
  assert.equal(toolAt(conversation).name, "read_file");
  conversation.update(changed("1", { name: "x".repeat(1000) }));
  assert.equal(toolAt(conversation).name?.length, 200);
});
