/**
 * Messages between the extension and its webview. Both sides check what they receive against these schemas and drop
 * anything else. The webview shows agents' text, so it is treated as if it could be compromised.
 */

import * as v from "valibot";
import { Attachment, Entry, Op, Overview } from "./model";

const id = v.pipe(v.string(), v.maxLength(256));
/** The most text that a user may send at once: 1 MiB. */
const typed = v.pipe(v.string(), v.maxLength(1 << 20));
const short = v.pipe(v.string(), v.maxLength(8192));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const Candidate = v.object({
  label: v.string(),
  detail: v.optional(v.string()),
  icon: v.string(),
  /** The text that replaces what was typed when this candidate is chosen. */
  insert: v.string(),
  attachments: v.optional(v.array(Attachment)),
});
export type Candidate = v.InferOutput<typeof Candidate>;

/** A conversation in which words were found, and where. */
export const Found = v.object({ sessionId: v.pipe(v.string(), v.maxLength(256)), excerpt: v.string() });
export type Found = v.InferOutput<typeof Found>;

export const ToWebview = v.variant("type", [
  v.object({ type: v.literal("overview"), overview: Overview }),
  /** The whole conversation to show; `null` shows the start page. */
  v.object({ type: v.literal("conversation"), sessionId: v.nullable(id), entries: v.array(Entry) }),
  v.object({ type: v.literal("ops"), sessionId: id, ops: v.array(Op) }),
  v.object({ type: v.literal("candidates"), request: count, candidates: v.array(Candidate) }),
  v.object({ type: v.literal("found"), query: v.string(), found: v.array(Found) }),
  /** Inserts words into the prompt box; only in response to a command by the user. */
  v.object({ type: v.literal("compose"), text: v.string(), attachments: v.array(Attachment), focus: v.boolean() }),
  v.object({ type: v.literal("show"), what: v.picklist(["sessions", "conversation", "agents", "question"]) }),
  v.object({ type: v.literal("strings"), bundle: v.record(v.string(), v.string()) }),
]);
export type ToWebview = v.InferOutput<typeof ToWebview>;

const session = { sessionId: id };

export const FromWebview = v.variant("type", [
  v.object({ type: v.literal("ready") }),
  v.object({
    type: v.literal("send"),
    sessionId: v.nullable(id),
    /** The agent for a new session; absent: the default one. */
    agent: v.optional(short),
    text: typed,
    attachments: v.pipe(v.array(Attachment), v.maxLength(64)),
  }),
  v.object({ type: v.literal("draft"), key: id, text: typed, attachments: v.pipe(v.array(Attachment), v.maxLength(64)) }),
  v.object({ type: v.literal("stop"), ...session }),
  v.object({ type: v.literal("stopCommand"), ...session, command: id }),
  v.object({ type: v.literal("openTerminal"), ...session, entry: id }),
  v.object({ type: v.literal("unqueue"), ...session, id }),
  v.object({ type: v.literal("undoTurn"), ...session, turn: count }),
  v.object({ type: v.literal("resend"), ...session, turn: v.optional(count), text: typed, undo: v.boolean() }),
  v.object({ type: v.literal("review"), ...session, turn: count, verdict: v.picklist(["keep", "reject", "open"]) }),
  v.object({ type: v.literal("answer"), ...session, requestId: id, optionId: short }),
  v.object({
    type: v.literal("submit"),
    ...session,
    requestId: id,
    action: v.picklist(["accept", "decline", "cancel"]),
    values: v.record(v.string(), v.union([typed, v.number(), v.boolean(), v.array(short)])),
  }),
  v.object({ type: v.literal("newSession"), agent: v.optional(short) }),
  v.object({ type: v.literal("openSession"), ...session }),
  v.object({ type: v.literal("openInEditor"), ...session }),
  v.object({ type: v.literal("openInSideBar") }),
  v.object({ type: v.literal("forkSession"), ...session }),
  v.object({ type: v.literal("continueSession"), ...session }),
  v.object({ type: v.literal("renameSession"), ...session, title: v.pipe(v.string(), v.maxLength(200)) }),
  v.object({ type: v.literal("deleteSession"), ...session }),
  v.object({ type: v.literal("exportSession"), ...session }),
  v.object({ type: v.literal("home") }),
  v.object({ type: v.literal("refreshSessions") }),
  /** Looks for these words in all conversations. */
  v.object({ type: v.literal("search"), query: v.pipe(v.string(), v.maxLength(200)) }),
  v.object({ type: v.literal("pick"), ...session, picker: short, value: v.union([short, v.boolean()]) }),
  v.object({ type: v.literal("openLocation"), path: short, line: v.optional(count) }),
  v.object({ type: v.literal("openDiff"), ...session, entry: id, index: count }),
  v.object({ type: v.literal("openFile"), uri: short }),
  v.object({ type: v.literal("openLink"), href: short }),
  v.object({ type: v.literal("copy"), text: typed }),
  v.object({ type: v.literal("insert"), text: typed }),
  v.object({ type: v.literal("complete"), request: count, query: v.pipe(v.string(), v.maxLength(200)) }),
  /** Files and folders that were dragged into the prompt box. */
  v.object({ type: v.literal("drop"), uris: v.pipe(v.array(short), v.maxLength(64)) }),
  v.object({ type: v.literal("remedy"), agent: short, id: short }),
  v.object({ type: v.literal("action"), id: short }),
  v.object({ type: v.literal("seen"), ...session }),
  v.object({ type: v.literal("tryIt") }),
  /** The page got the keyboard's focus, or lost it. */
  v.object({ type: v.literal("focused"), on: v.boolean() }),
  /** The view goes where the agent of the conversation works. */
  v.object({ type: v.literal("follow"), on: v.boolean() }),
]);
export type FromWebview = v.InferOutput<typeof FromWebview>;

/** The message, or null if it is invalid. Unknown keys are dropped. */
export function parse<S extends v.GenericSchema>(schema: S, data: unknown): v.InferOutput<S> | null {
  const result = v.safeParse(schema, data);
  return result.success ? result.output : null;
}
