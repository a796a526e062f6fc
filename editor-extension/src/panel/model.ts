/**
 * The data of a conversation, for both sides of the panel. Schemas check what crosses the border, and the types are
 * derived from them. Agents' texts are passed on unchanged and never used as markup.
 */

import * as v from "valibot";

const id = v.pipe(v.string(), v.maxLength(256));
const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** A place in a file: the path as the agent gave it, the line from 1. */
export const Location = v.object({ path: text, line: v.optional(count) });
export type Location = v.InferOutput<typeof Location>;

/** One line of a diff's preview: " " in both, "-" before, "+" after, "@" a gap. */
export const DiffLine = v.object({ mark: v.picklist([" ", "-", "+", "@"]), text });
export type DiffLine = v.InferOutput<typeof DiffLine>;

/** A change that a tool call reports. The texts stay in the extension, where `index` identifies them. */
export const FileDiff = v.object({
  index: count,
  path: text,
  added: count,
  removed: count,
  created: v.boolean(),
  lines: v.array(DiffLine),
  /** How many lines the preview leaves out. */
  more: count,
});
export type FileDiff = v.InferOutput<typeof FileDiff>;

/** An attachment of the prompt: something mentioned, selected or added. */
export const Attachment = v.object({
  id,
  kind: v.picklist(["file", "folder", "selection", "symbol", "problem", "terminal", "image", "conversation", "changes"]),
  label: v.pipe(text, v.maxLength(400)),
  uri: v.pipe(text, v.maxLength(8192)),
  /** Line numbers from 1, both inclusive. */
  range: v.optional(v.object({ start: count, end: count })),
  /** Sent with the prompt instead of the file's text: a problem's message, or an image's data in base64. */
  text: v.optional(v.pipe(text, v.maxLength(8_000_000))),
  mimeType: v.optional(v.pipe(text, v.maxLength(100))),
});
export type Attachment = v.InferOutput<typeof Attachment>;

/** A prompt from another part of the extension. */
export interface Told {
  readonly sessionId: string;
  readonly text: string;
  readonly attachments: Attachment[];
}

export const ChangedFile = v.object({ uri: text, label: text, added: count, removed: count });
export type ChangedFile = v.InferOutput<typeof ChangedFile>;

export const ToolStatus = v.picklist(["pending", "in_progress", "completed", "failed", "cancelled"]);
export type ToolStatus = v.InferOutput<typeof ToolStatus>;

export const PlanItem = v.object({ text, state: v.picklist(["pending", "in_progress", "completed"]) });
export type PlanItem = v.InferOutput<typeof PlanItem>;

export const Option = v.object({ optionId: text, kind: text, label: text });
export type Option = v.InferOutput<typeof Option>;

/** What will be done if it is allowed. The server derives it from the request itself, never from a title. */
export const Question = v.object({
  requestId: id,
  action: v.picklist(["read", "write", "execute", "start", "other"]),
  text,
  reason: text,
  options: v.array(Option),
  target: v.optional(text),
  argv: v.optional(v.array(text)),
  cwd: v.optional(text),
  env: v.optional(v.array(text)),
  diffs: v.optional(v.array(FileDiff)),
});
export type Question = v.InferOutput<typeof Question>;

export const Field = v.object({
  name: v.pipe(text, v.maxLength(200)),
  label: text,
  hint: v.optional(text),
  type: v.picklist(["text", "multiline", "number", "integer", "boolean", "choice", "choices"]),
  required: v.boolean(),
  choices: v.optional(v.array(v.object({ value: text, label: text }))),
  initial: v.optional(v.union([text, v.number(), v.boolean(), v.array(text)])),
  minimum: v.optional(v.number()),
  maximum: v.optional(v.number()),
  format: v.optional(text),
});
export type Field = v.InferOutput<typeof Field>;

/** `end`: how it ended; neither code nor signal where nobody knows. */
export const Command = v.object({
  id,
  end: v.optional(v.object({ code: v.optional(v.number()), signal: v.optional(text), stopped: v.optional(v.boolean()) })),
});
export type Command = v.InferOutput<typeof Command>;

const base = { id };
/** The entry of the tool call whose sub-agent does or says it, which is shown below that call. */
const parent = v.optional(id);

export const Entry = v.variant("kind", [
  v.object({
    ...base,
    kind: v.literal("user"),
    text,
    attachments: v.array(Attachment),
    /** Known once the server has accepted the prompt. */
    turn: v.optional(count),
    undo: v.picklist(["no", "yes", "working", "done"]),
  }),
  v.object({ ...base, kind: v.literal("agent"), text, done: v.boolean(), parent }),
  v.object({ ...base, kind: v.literal("thought"), text, done: v.boolean(), parent }),
  v.object({ ...base, kind: v.literal("image"), mimeType: text, data: text, parent }),
  v.object({
    ...base,
    kind: v.literal("tool"),
    title: text,
    /** By which the agent calls the tool. */
    name: v.optional(text),
    parent,
    toolKind: text,
    status: ToolStatus,
    locations: v.array(Location),
    diffs: v.array(FileDiff),
    text,
    /** The end of its commands' output. */
    output: text,
    /** Its commands that run in terminals of ours. */
    commands: v.optional(v.array(Command)),
  }),
  v.object({ ...base, kind: v.literal("plan"), items: v.array(PlanItem) }),
  v.object({
    ...base,
    kind: v.literal("question"),
    question: Question,
    state: v.picklist(["open", "answered", "withdrawn"]),
    answer: v.optional(text),
  }),
  v.object({
    ...base,
    kind: v.literal("form"),
    requestId: id,
    message: text,
    fields: v.array(Field),
    /** Instead of fields: an address to open after consent. */
    url: v.optional(text),
    /** "finished": the agent said that the interaction at the address has ended. */
    state: v.picklist(["open", "answered", "finished", "withdrawn"]),
  }),
  v.object({
    ...base,
    kind: v.literal("notice"),
    level: v.picklist(["info", "warning", "error"]),
    text,
    /** What the agent says beside it. */
    detail: v.optional(text),
    action: v.optional(v.object({ id: text, label: text })),
  }),
  /** The agent replaces the conversation so far, of which it has no room for more, by a summary. */
  v.object({
    ...base,
    kind: v.literal("compaction"),
    /** "other": a state that ACP does not know yet. */
    status: v.picklist(["in_progress", "completed", "failed", "cancelled", "other"]),
    /** What the agent kept, if it shows that. */
    summary: text,
    error: v.optional(text),
  }),
  v.object({
    ...base,
    kind: v.literal("end"),
    turn: v.optional(count),
    reason: v.picklist(["end_turn", "cancelled", "max_tokens", "max_turn_requests", "refusal", "failed", "interrupted"]),
    error: v.optional(text),
    changes: v.array(ChangedFile),
    reviewed: v.boolean(),
    /** How many changes the user kept, and rejected. */
    kept: count,
    rejected: count,
    seconds: v.optional(v.number()),
  }),
]);
export type Entry = v.InferOutput<typeof Entry>;
export type EntryOf<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;

/** The changes of a conversation since the last message about it, in order. */
export const Op = v.variant("op", [
  /** A new entry goes to the end, or before the entry `before`. */
  v.object({ op: v.literal("put"), entry: Entry, before: v.optional(id) }),
  v.object({ op: v.literal("append"), id, text }),
  v.object({ op: v.literal("remove"), id }),
]);
export type Op = v.InferOutput<typeof Op>;

export const Choice = v.object({ id: text, name: text, description: v.optional(text) });
export type Choice = v.InferOutput<typeof Choice>;

/** A picker below the prompt: the session's mode, or one of the agent's own options. */
export const Picker = v.object({
  id: text,
  label: text,
  /** mode and model come first, others after them */
  category: v.picklist(["mode", "model", "thought_level", "other"]),
  current: text,
  choices: v.array(Choice),
  /** An on/off option. */
  toggle: v.optional(v.boolean()),
});
export type Picker = v.InferOutput<typeof Picker>;

export const Slash = v.object({ name: text, description: text, hint: v.optional(text) });
export type Slash = v.InferOutput<typeof Slash>;

export const SessionState = v.picklist(["starting", "idle", "running", "waiting", "failed"]);
export type SessionState = v.InferOutput<typeof SessionState>;

export const Summary = v.object({
  sessionId: id,
  title: text,
  agent: text,
  state: SessionState,
  /** A recorded conversation that nothing can be sent to. */
  recorded: v.boolean(),
  /** Something ended or asks a question, and the user has not looked since. */
  unseen: v.boolean(),
  /** Another conversation can begin with what was said in it: its agent can do that, and it does nothing at the moment. */
  forks: v.boolean(),
  /** Milliseconds since 1970. */
  used: v.optional(v.number()),
});
export type Summary = v.InferOutput<typeof Summary>;

export const Current = v.object({
  ...Summary.entries,
  agentId: text,
  pickers: v.array(Picker),
  slashes: v.array(Slash),
  usage: v.optional(v.object({ used: v.number(), size: v.number(), cost: v.optional(text) })),
  queue: v.array(v.object({ id, text })),
  /** The agent can resume a recorded conversation. */
  resumable: v.boolean(),
  images: v.boolean(),
  stopping: v.boolean(),
});
export type Current = v.InferOutput<typeof Current>;

export const Agent = v.object({
  id: text,
  name: text,
  source: v.picklist(["configured", "found", "registry", "demo"]),
  installed: v.boolean(),
  version: v.optional(text),
  description: v.optional(text),
  /** One sentence about what is missing. */
  needs: v.optional(text),
  /** What the one button does about it. */
  remedy: v.optional(v.object({ id: text, label: text })),
});
export type Agent = v.InferOutput<typeof Agent>;

export const Overview = v.object({
  /** Where the page is: in the side bar, with the lists, or in an editor tab, with its conversation alone. */
  place: v.picklist(["side", "tab"]),
  /**
   * Why a tab shows no conversation: it is of before a reload, and its conversation comes when the server runs; it is for a new one,
   * whose agent is to be chosen; or the conversation is no longer there.
   */
  vacant: v.optional(v.picklist(["opening", "choosing", "gone"])),
  agents: v.array(Agent),
  defaultAgent: v.optional(text),
  sessions: v.array(Summary),
  current: v.optional(Current),
  /** A problem of the sidecar itself, in words, with the one thing to do about it. */
  trouble: v.optional(v.object({ text, action: v.optional(v.object({ id: text, label: text })) })),
  connected: v.boolean(),
  /** The view goes where the agent works. */
  following: v.boolean(),
  /** Earlier prompts, newest last. */
  history: v.array(text),
  /** Identifies the draft's session. Stays the same while the session gets its id. */
  draftKey: text,
  draft: text,
  attachments: v.array(Attachment),
  tour: v.optional(v.object({ step: count, steps: v.array(text) })),
});
export type Overview = v.InferOutput<typeof Overview>;
