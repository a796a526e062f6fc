/**
 * One session's conversation: takes ACP updates and the user's actions, and produces entries. Pure: no VS Code, no
 * clock, no wire. Tolerates agents' mistakes (repeated ids, missing states, unknown kinds), and limits every text.
 */

import type { Verdict } from "../../lsp_ext";
import type { Attachment, ChangedFile, Command, Entry, EntryOf, Field, Location, Op, PlanItem, Question, ToolStatus } from "../model";
import { preview } from "./preview";

type Json = Record<string, unknown>;

/** The texts of a diff. They are not sent to the page. */
export interface DiffTexts {
  path: string;
  oldText: string | null;
  newText: string;
}

/** What was told of a command: until a call shows it, that waits here. */
interface Told {
  entry: string | null;
  output: string;
  end?: NonNullable<Command["end"]>;
}

const TEXT_LIMIT = 4 << 20;
const OUTPUT_LIMIT = 64 << 10;
const IMAGE_LIMIT = 8 << 20;
const DIFFS_LIMIT = 200;
/** Commands of one call. */
const COMMANDS_LIMIT = 32;
/** Commands that no call has shown yet. */
const UNSHOWN_LIMIT = 64;
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** How deep sub-agents of sub-agents are shown; what is deeper stands beside its parent. */
const DEEPEST = 3;
const COMPACTIONS = ["in_progress", "completed", "failed", "cancelled"] as const;
const LEVELS = ["info", "warning", "error"] as const;
const STATUSES = new Set<string>(["pending", "in_progress", "completed", "failed", "cancelled"]);

export class Conversation {
  readonly entries: Entry[] = [];
  private readonly byId = new Map<string, Entry>();
  private readonly tools = new Map<string, string>();
  /** By turn: how many changes were kept, and rejected. */
  private readonly verdicts = new Map<number, Record<Verdict, number>>();
  private readonly commands = new Map<string, Told>();
  private readonly texts = new Map<string, DiffTexts[]>();
  private pending: Op[] = [];
  private serial = 0;
  /** The entry that chunks are appended to, and the message it belongs to: the agent's under "", a sub-agent's under its parent. */
  private readonly open = new Map<string, { id: string; messageId: string | null }>();
  private readonly compactions = new Map<string, string>();
  private plan: string | null = null;

  /** The operations since the last call. Consecutive `append`s to one entry are joined. */
  take(): Op[] {
    const ops = this.pending;
    this.pending = [];
    return ops;
  }

  get(id: string): Entry | undefined {
    return this.byId.get(id);
  }

  diff(entry: string, index: number): DiffTexts | undefined {
    return this.texts.get(entry)?.[index];
  }

  user(text: string, attachments: Attachment[] = [], turn?: number): EntryOf<"user"> {
    this.close();
    this.plan = null;
    return this.add({
      id: this.next(),
      kind: "user",
      text,
      attachments,
      undo: turn === undefined ? "no" : "yes",
      ...(turn === undefined ? {} : { turn }),
    });
  }

  /** Adds a prompt that was sent elsewhere and became known late. It goes before the entries from `index` on, which belong to its turn. */
  userAt(index: number, text: string, attachments: Attachment[], turn: number): EntryOf<"user"> {
    const before = this.entries[index];
    const entry: EntryOf<"user"> = { id: this.next(), kind: "user", text, attachments, turn, undo: "yes" };
    if (!before) return this.add(entry);
    this.entries.splice(index, 0, entry);
    this.byId.set(entry.id, entry);
    this.pending.push({ op: "put", entry, before: before.id });
    return entry;
  }

  notice(level: "info" | "warning" | "error", text: string, action?: { id: string; label: string }, detail?: string): EntryOf<"notice"> {
    this.close();
    return this.add({ id: this.next(), kind: "notice", level, text, ...(action ? { action } : {}), ...(detail ? { detail } : {}) });
  }

  /** `diffs`: the changes that the question is about; the card shows their first lines. */
  question(question: Question, diffs: DiffTexts[] = []): EntryOf<"question"> {
    this.close();
    const id = this.next();
    this.texts.set(id, diffs);
    const shown = diffs.length ? { diffs: diffs.map((one, index) => preview(one, index)) } : {};
    return this.add({ id, kind: "question", question: { ...question, ...shown }, state: "open" });
  }

  form(requestId: string, message: string, fields: Field[], url?: string): EntryOf<"form"> {
    this.close();
    return this.add({ id: this.next(), kind: "form", requestId, message, fields, state: "open", ...(url ? { url } : {}) });
  }

  /** Closes the question with this id. `answer`: the label of the chosen option; null: withdrawn. */
  settle(requestId: string, answer: string | null): boolean {
    for (const entry of this.entries) {
      if (entry.kind === "question" && entry.question.requestId === requestId && entry.state === "open") {
        this.put({ ...entry, state: answer === null ? "withdrawn" : "answered", ...(answer === null ? {} : { answer }) });
        return true;
      }
      if (entry.kind === "form" && entry.requestId === requestId && entry.state === "open") {
        this.put({ ...entry, state: answer === null ? "withdrawn" : "answered" });
        return true;
      }
    }
    return false;
  }

  /** The agent said that the interaction at a form's address has ended. */
  finished(requestId: string): void {
    const entry = this.entries.findLast((one) => one.kind === "form" && one.requestId === requestId);
    if (entry?.kind === "form" && entry.state === "answered") this.put({ ...entry, state: "finished" });
  }

  openQuestions(): number {
    return this.entries.filter((one) => (one.kind === "question" || one.kind === "form") && one.state === "open").length;
  }

  /** Ends the turn: nothing streams any more, and unfinished tool calls are marked as such. */
  ended(end: {
    turn?: number;
    reason: string;
    error?: string;
    changes?: ChangedFile[];
    seconds?: number;
  }): void {
    this.close();
    for (const entry of [...this.entries]) {
      if (entry.kind === "compaction" && entry.status === "in_progress") this.put({ ...entry, status: "cancelled" });
      if (entry.kind !== "tool") continue;
      const unfinished = entry.status === "pending" || entry.status === "in_progress";
      const running = entry.commands?.some((one) => !one.end) ?? false;
      if (!unfinished && !running) continue;
      this.put({
        ...entry,
        ...(unfinished ? { status: end.reason === "end_turn" ? "completed" : "cancelled" } : {}),
        ...(running ? { commands: entry.commands!.map((one) => ({ end: {}, ...one })) } : {}),
      });
    }
    if (end.turn !== undefined) this.undoable(end.turn, (end.changes?.length ?? 0) > 0);
    this.add({
      id: this.next(),
      kind: "end",
      reason: reasonOf(end.reason, end.error),
      changes: end.changes ?? [],
      reviewed: false,
      ...this.decisions(end.turn),
      ...(end.turn === undefined ? {} : { turn: end.turn }),
      ...(end.error ? { error: end.error } : {}),
      ...(end.seconds === undefined ? {} : { seconds: end.seconds }),
    });
  }

  /** The user kept or rejected so many changes of a turn, which may still be running. */
  decided(turn: number, verdict: Verdict, changes: number): void {
    const before = this.decisions(turn);
    const now = { ...before, [verdict]: before[verdict] + changes };
    this.verdicts.set(turn, now);
    const entry = this.entries.findLast((one) => one.kind === "end" && one.turn === turn);
    if (entry?.kind === "end") this.put({ ...entry, ...now });
  }

  private decisions(turn: number | undefined): Record<Verdict, number> {
    return (turn === undefined ? undefined : this.verdicts.get(turn)) ?? { kept: 0, rejected: 0 };
  }

  /** Offers to undo the turn, or no longer. A turn that is undone, or being undone, stays so. */
  undoable(turn: number, any: boolean): void {
    const entry = this.entries.findLast((one) => one.kind === "user" && one.turn === turn);
    const undo = any ? "yes" : "no";
    if (entry?.kind === "user" && (entry.undo === "yes" || entry.undo === "no") && entry.undo !== undo) this.put({ ...entry, undo });
  }

  put(entry: Entry): void {
    const index = this.indexOf(entry.id);
    if (index < 0) return;
    this.entries[index] = entry;
    this.byId.set(entry.id, entry);
    this.pending.push({ op: "put", entry });
  }

  remove(id: string): void {
    const index = this.indexOf(id);
    if (index < 0) return;
    this.entries.splice(index, 1);
    this.byId.delete(id);
    this.pending.push({ op: "remove", id });
  }

  /** Handles one `session/update` in ACP's shape. `replayed`: from a record, so it also contains the user's own messages. */
  update(update: Json, replayed = false): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.chunk("agent", update);
      case "agent_thought_chunk":
        return this.chunk("thought", update);
      case "user_message_chunk":
        return replayed ? this.userChunk(update) : undefined;
      case "tool_call":
      case "tool_call_update":
        return this.tool(update);
      case "plan":
        return this.planned(update);
      case "notice":
        return this.noticed(update);
      case "compaction_update":
        return this.compaction(update);
      case "compaction_summary_chunk":
        return this.summary(update);
      default:
        return undefined;
    }
  }

  output(terminalId: string, output: string): void {
    const told = this.command(terminalId);
    told.output = (told.output + output).slice(-OUTPUT_LIMIT);
    this.show(terminalId, told);
  }

  commandEnded(terminalId: string, end: NonNullable<Command["end"]>): void {
    const told = this.command(terminalId);
    told.end = end;
    this.show(terminalId, told);
  }

  private command(terminalId: string): Told {
    const known = this.commands.get(terminalId);
    if (known) return known;
    const told: Told = { entry: null, output: "" };
    this.commands.set(terminalId, told);
    const unshown = [...this.commands].filter(([, one]) => one.entry === null);
    if (unshown.length > UNSHOWN_LIMIT) this.commands.delete(unshown[0]![0]);
    return told;
  }

  /** Hands on what was told of a command, once a call shows it. */
  private show(terminalId: string, told: Told): void {
    const entry = told.entry === null ? undefined : this.byId.get(told.entry);
    if (entry?.kind !== "tool") return;
    const shown: Command = told.end ? { id: terminalId, end: told.end } : { id: terminalId };
    const others = (entry.commands ?? []).filter((one) => one.id !== terminalId);
    this.put({ ...entry, output: (entry.output + told.output).slice(-OUTPUT_LIMIT), commands: [...others, shown] });
    told.output = "";
  }

  private chunk(kind: "agent" | "thought", update: Json): void {
    const content = object(update.content);
    const messageId = typeof update.messageId === "string" ? update.messageId : null;
    const parent = this.parentOf(update);
    const below = parent === undefined ? {} : { parent };
    const image = imageOf(content);
    if (image) {
      this.close(parent ?? "");
      this.add({ id: this.next(), kind: "image", ...image, ...below });
      return;
    }
    const text = textOf(content);
    if (!text) return;
    const open = this.open.get(parent ?? "");
    const last = open ? this.byId.get(open.id) : undefined;
    if (last?.kind === kind && open?.messageId === messageId) {
      return this.append(last, text);
    }
    this.close(parent ?? "");
    const entry = this.add({ id: this.next(), kind, text: text.slice(0, TEXT_LIMIT), done: false, ...below });
    this.open.set(parent ?? "", { id: entry.id, messageId });
  }

  /**
   * The entry below which this is shown: that of the tool call that started a sub-agent. The server tells every agent's
   * way of saying it in one. A call that nobody has heard of has nothing below it.
   */
  private parentOf(update: Json): string | undefined {
    const { parentToolCallId } = object(update._meta);
    let id = typeof parentToolCallId === "string" ? this.tools.get(parentToolCallId) : undefined;
    const above: string[] = [];
    for (let one = id; one !== undefined; ) {
      above.push(one);
      const entry = this.byId.get(one);
      one = entry?.kind === "tool" ? entry.parent : undefined;
    }
    if (above.length > DEEPEST) id = above[above.length - DEEPEST];
    return id;
  }

  private append(entry: EntryOf<"agent"> | EntryOf<"thought">, text: string): void {
    const room = TEXT_LIMIT - entry.text.length;
    if (room <= 0) return;
    const part = text.slice(0, room);
    const grown = { ...entry, text: entry.text + part };
    this.entries[this.entries.lastIndexOf(entry)] = grown;
    this.byId.set(entry.id, grown);
    const last = this.pending.at(-1);
    if (last?.op === "append" && last.id === entry.id) last.text += part;
    else if (last?.op === "put" && last.entry.id === entry.id) last.entry = grown;
    else this.pending.push({ op: "append", id: entry.id, text: part });
  }

  private userChunk(update: Json): void {
    if (this.parentOf(update) !== undefined) return; // what the agent asks its sub-agent, and no words of the user
    const text = textOf(object(update.content));
    if (!text) return;
    const last = this.entries.at(-1);
    if (last?.kind === "user") this.put({ ...last, text: (last.text + text).slice(0, TEXT_LIMIT) });
    else this.user(text);
  }

  private tool(update: Json): void {
    const callId = typeof update.toolCallId === "string" ? update.toolCallId : "";
    if (!callId) return;
    const known = this.tools.get(callId);
    let entry = known === undefined ? undefined : this.byId.get(known);
    if (entry?.kind !== "tool") {
      const parent = this.parentOf(update);
      this.close(parent ?? "");
      entry = this.add({
        id: this.next(),
        kind: "tool",
        title: "",
        ...(parent === undefined ? {} : { parent }),
        toolKind: "other",
        status: "pending",
        locations: [],
        diffs: [],
        text: "",
        output: "",
      });
      this.tools.set(callId, entry.id);
    }
    const next: EntryOf<"tool"> = { ...entry };
    if (typeof update.title === "string") next.title = update.title.slice(0, 2000);
    if (typeof update.name === "string" && update.name) next.name = update.name.slice(0, 200);
    if (typeof update.kind === "string") next.toolKind = update.kind;
    if (typeof update.status === "string" && STATUSES.has(update.status)) next.status = update.status as ToolStatus;
    if (Array.isArray(update.locations)) next.locations = locationsOf(update.locations);
    const shown = Array.isArray(update.content) ? this.content(next, update.content) : [];
    this.put(next);
    if (next.status === "completed" || next.status === "failed") this.close(next.id); // its sub-agent says no more
    for (const terminalId of shown) {
      const told = this.command(terminalId);
      if (told.entry === next.id) continue;
      told.entry = next.id;
      this.show(terminalId, told);
    }
  }

  /** Returns the terminals that are shown. */
  private content(entry: EntryOf<"tool">, items: unknown[]): string[] {
    const terminals: string[] = [];
    const texts: string[] = [];
    const diffs: DiffTexts[] = [];
    for (const raw of items) {
      const item = object(raw);
      if (item.type === "content") texts.push(textOf(object(item.content)));
      else if (item.type === "terminal" && typeof item.terminalId === "string") terminals.push(item.terminalId);
      else if (item.type === "diff" && typeof item.path === "string" && typeof item.newText === "string") {
        const oldText = typeof item.oldText === "string" ? item.oldText : null;
        if (diffs.length < DIFFS_LIMIT) diffs.push({ path: item.path, oldText, newText: item.newText });
      }
    }
    entry.text = texts.filter(Boolean).join("\n\n").slice(0, TEXT_LIMIT);
    entry.diffs = diffs.map((one, index) => preview(one, index));
    this.texts.set(entry.id, diffs);
    return terminals.slice(0, COMMANDS_LIMIT);
  }

  private planned(update: Json): void {
    const items: PlanItem[] = list(update.entries).slice(0, 500).map((raw) => {
      const item = object(raw);
      const state = item.status === "completed" || item.status === "in_progress" ? item.status : "pending";
      return { text: text(item.content).slice(0, 2000), state };
    });
    const known = this.plan === null ? undefined : this.byId.get(this.plan);
    if (known?.kind === "plan") return this.put({ ...known, items });
    if (!items.length) return;
    this.close();
    this.plan = this.add({ id: this.next(), kind: "plan", items }).id;
  }

  private noticed(update: Json): void {
    const title = text(update.title).slice(0, 2000);
    if (!title) return;
    const level = LEVELS.find((one) => one === update.severity) ?? "info";
    this.notice(level, title, undefined, text(update.description).slice(0, 20_000));
  }

  /** The first update fixes the place; later ones change what they name. */
  private compaction(update: Json): void {
    const compactionId = text(update.compactionId);
    if (!compactionId) return;
    const known = this.byId.get(this.compactions.get(compactionId) ?? "");
    const status = COMPACTIONS.find((one) => one === update.status) ?? "other";
    let entry: EntryOf<"compaction">;
    if (known?.kind === "compaction") entry = { ...known, status };
    else {
      this.close();
      entry = this.add({ id: this.next(), kind: "compaction", status, summary: "" });
      this.compactions.set(compactionId, entry.id);
    }
    if (update.summary !== undefined) entry.summary = list(update.summary).map((one) => textOf(object(one))).join("\n\n").slice(0, TEXT_LIMIT);
    if (update.error === null) delete entry.error;
    else if (typeof update.error === "string" && update.error) entry.error = update.error.slice(0, 2000);
    this.put(entry);
  }

  private summary(update: Json): void {
    const known = this.byId.get(this.compactions.get(text(update.compactionId)) ?? "");
    if (known?.kind !== "compaction") return;
    this.put({ ...known, summary: (known.summary + textOf(object(update.content))).slice(0, TEXT_LIMIT) });
  }

  /** Marks streamed texts as complete: those below this entry, "" being the agent's own, or all of them. */
  private close(parent?: string): void {
    for (const key of parent === undefined ? [...this.open.keys()] : [parent]) {
      const entry = this.byId.get(this.open.get(key)?.id ?? "");
      this.open.delete(key);
      if (entry && (entry.kind === "agent" || entry.kind === "thought") && !entry.done) this.put({ ...entry, done: true });
    }
  }

  private add<E extends Entry>(entry: E): E {
    this.entries.push(entry);
    this.byId.set(entry.id, entry);
    this.pending.push({ op: "put", entry });
    return entry;
  }

  /** Searches from the end, because changes are nearly always there. */
  private indexOf(id: string): number {
    return this.entries.findLastIndex((one) => one.id === id);
  }

  private next(): string {
    this.serial += 1;
    return `e${this.serial}`;
  }
}

const REASONS = ["end_turn", "cancelled", "max_tokens", "max_turn_requests", "refusal", "interrupted"] as const;

function reasonOf(reason: string, error: string | undefined): EntryOf<"end">["reason"] {
  if (error) return "failed";
  return REASONS.find((one) => one === reason) ?? "failed";
}

export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An agent may send anything where a text belongs; anything that is not a string counts as empty. */
function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The text of a content block. Links and files become markdown links that open on a click, like any other. */
export function textOf(content: Json): string {
  if (content.type === "text") return text(content.text);
  if (content.type === "resource_link") return `[${label(content.title ?? content.name)}](<${text(content.uri)}>)`;
  if (content.type === "resource") {
    const resource = object(content.resource);
    return typeof resource.text === "string" ? resource.text : `[${label(resource.uri)}](<${text(resource.uri)}>)`;
  }
  if (content.type === "audio") return "*(audio)*";
  return "";
}

function label(value: unknown): string {
  return text(value).replace(/[[\]\\]/g, "\\$&");
}

function imageOf(content: Json): { mimeType: string; data: string } | null {
  const { type, mimeType, data } = content;
  if (type !== "image" || typeof mimeType !== "string" || !IMAGES.has(mimeType)) return null;
  if (typeof data !== "string" || data.length > IMAGE_LIMIT || !/^[A-Za-z0-9+/=\s]*$/.test(data)) return null;
  return { mimeType, data };
}

function locationsOf(items: unknown[]): Location[] {
  return items.slice(0, 100).flatMap((raw) => {
    const { path, line } = object(raw);
    if (typeof path !== "string" || !path) return [];
    return [typeof line === "number" && Number.isInteger(line) && line > 0 ? { path, line } : { path }];
  });
}
