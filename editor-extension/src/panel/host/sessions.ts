/**
 * The panel's sessions, kept in step with the server: prompts, turns, records. Questions from agents are in
 * questions.ts. Imports no VS Code, so that its rules can be tested with a fake server; everything that needs the
 * editor goes through `Editor`.
 */

import type { AgentInfo, Choices, SessionRow, TranscriptResult, TurnEnded, Verdict } from "../../lsp_ext";
import type { Attachment, ChangedFile, Command, Summary } from "../model";
import { earlier, MODE, promptOf, promptWords } from "./acp";
import { object } from "./conversation";
import { exported } from "./export";
import { countLines } from "./preview";
import { Live } from "./live";
import type { Editor, Hunk, Server } from "./ports";
import { Questions } from "./questions";

/** Milliseconds between attempts to find a prompt that was sent elsewhere. */
const READ_AGAIN = 500;
/** Updates that occur only in a turn. Modes and commands may change at any time. */
const OF_A_TURN = new Set(["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"]);

export class Sessions {
  readonly all = new Map<string, Live>();
  /** Entries of the record other than updates. */
  rows: SessionRow[] = [];
  agents: AgentInfo[] = [];
  /** Titles that the user set. */
  titles: Record<string, string> = {};
  readonly questions: Questions;
  /** The attachments of prompts, by entry, so that pictures are not sent to the page again. */
  private readonly sent = new WeakMap<Live, Map<string, Attachment[]>>();
  /** Sessions whose record is being read for a prompt. True: read it once more afterwards. */
  private readonly reading = new Map<Live, boolean>();
  /** When the record was last read, so that output after a turn does not cause a request each time. */
  private readonly read = new WeakMap<Live, number>();
  private serial = 0;

  constructor(
    private readonly server: Server,
    private readonly editor: Editor,
  ) {
    const newest = (agent: string): Live | undefined => [...this.all.values()].findLast((one) => one.agentId === agent && !one.recorded);
    this.questions = new Questions(editor, { session: (id) => this.find(id), ofAgent: (agent) => this.starting() ?? newest(agent) });
  }

  // --- Lists

  async refresh(): Promise<void> {
    const [agents, rows] = await Promise.all([this.server.listAgents(), this.server.listSessions()]);
    this.agents = agents;
    this.rows = rows;
    for (const [id, live] of this.all) live.resumable ||= rows.some((row) => row.sessionId === id && canContinue(row));
    this.editor.changed(null);
  }

  agentName(id: string): string {
    const agent = this.agents.find((one) => one.id === id);
    return agent ? nameOf(agent) : id;
  }

  /** Most recently used first: the open ones, then those from the record. */
  summaries(): Summary[] {
    const open = [...this.all.values()].filter((one) => one.conversation.entries.length > 0 || !one.recorded).map((one) => one.summary());
    const known = new Set(open.map((one) => one.sessionId));
    const recorded = this.rows
      .filter((row) => !known.has(row.sessionId))
      .map((row): Summary => {
        const used = row.updatedAt ? Date.parse(row.updatedAt) : Number.NaN;
        return {
          sessionId: row.sessionId,
          title: this.titles[row.sessionId] ?? row.title ?? "",
          agent: this.agentName(row.agent),
          state: row.running ? "running" : "idle",
          recorded: !row.open,
          unseen: false,
          forks: row.forks === true && !row.running,
          ...(Number.isNaN(used) ? {} : { used }),
        };
      });
    return [...open, ...recorded].sort((a, b) => (b.used ?? 0) - (a.used ?? 0));
  }

  // --- Beginning, opening, ending

  /** Starts at once so that there is something to show; the server's id comes later. Never rejects: errors appear in the conversation. */
  begin(agent: string, cwd?: string): { live: Live; ready: Promise<boolean> } {
    this.serial += 1;
    const live = new Live(`starting-${this.serial}`, agent, this.agentName(agent));
    live.state = "starting";
    live.used = this.editor.now();
    live.cwd = cwd;
    this.all.set(live.id, live);
    this.editor.changed(live);
    return { live, ready: this.start(live) };
  }

  /** A session that failed to start tries again, for example after a sign-in. */
  async again(live: Live): Promise<boolean> {
    if (live.state !== "failed") return false;
    for (const entry of [...live.conversation.entries]) live.conversation.remove(entry.id);
    live.state = "starting";
    this.editor.changed(live);
    return this.start(live);
  }

  private async start(live: Live): Promise<boolean> {
    const { cwd } = live;
    try {
      const opened = await this.server.newSession({ agent: live.agentId, ...(cwd === undefined ? {} : { cwd }) });
      this.all.delete(live.id);
      live.id = opened.sessionId;
      this.all.set(live.id, live);
      live.opened(opened);
      if (live.state === "starting") live.state = "idle";
      this.editor.changed(live);
      this.editor.remember();
      return true;
    } catch (error) {
      live.state = "failed";
      if (object(object(error)["data"])["kind"] === "auth_required") this.signInFirst(live);
      else this.explain(live, error);
      return false;
    }
  }

  /** The session with this id, loaded from the record if it is not open. */
  async open(sessionId: string): Promise<Live> {
    const known = this.all.get(sessionId);
    if (known) return known;
    const record = await this.server.transcript(sessionId);
    const row = this.rows.find((one) => one.sessionId === sessionId);
    const live = new Live(sessionId, record.agent, this.agentName(record.agent));
    live.title = this.titles[sessionId] ?? record.title ?? "";
    live.renamed = sessionId in this.titles;
    live.recorded = !(row?.open ?? false);
    live.resumable = row !== undefined && canContinue(row);
    if (row) live.opened(row);
    live.used = Date.parse(record.updatedAt);
    this.replay(live, record);
    this.all.set(sessionId, live);
    this.editor.changed(live);
    return live;
  }

  private replay(live: Live, record: TranscriptResult): void {
    const { conversation } = live;
    let open = false;
    for (const entry of record.entries) {
      if (entry.type === "prompt") {
        if (open) conversation.ended({ reason: "interrupted" });
        const { text, attachments } = promptWords(entry.prompt, this.editor.words.earlier);
        conversation.user(text, attachments, entry.turn);
        if (!live.title) live.title = titleOf(text);
        open = true;
      } else if (entry.type === "update" && entry.update) live.update(entry.update, true);
      else if (entry.type === "end") {
        conversation.ended({
          reason: entry.stopReason ?? "",
          changes: this.changed(entry.changes),
          ...(entry.turn === undefined ? {} : { turn: entry.turn }),
          ...(entry.error ? { error: entry.error } : {}),
        });
        open = false;
      } else if (entry.type === "reviewed" && entry.turn !== undefined && entry.verdict) {
        conversation.decided(entry.turn, entry.verdict, entry.changed ?? 0);
      }
    }
    if (open && !live.running) conversation.ended({ reason: "interrupted" });
    conversation.take();
  }

  /** Resumes a recorded conversation. */
  async resume(live: Live): Promise<void> {
    live.state = "starting";
    const unseen = live.conversation.entries.length === 0;
    if (unseen) live.recorded = false; // the replay will be shown
    this.editor.changed(live);
    try {
      const loaded = await this.server.load(live.id, unseen);
      live.opened(loaded);
      live.recorded = false;
      live.state = "idle";
      if (!loaded.remembers) this.anew(live, loaded.note);
    } catch (error) {
      live.recorded = true;
      live.state = "idle";
      this.explain(live, error);
    }
    this.editor.changed(live);
    this.editor.remember();
  }

  /** The agent does not remember the conversation, so the user's next message includes it. */
  private anew(live: Live, why: string | undefined): void {
    const { lost, given, earlier: name } = this.editor.words;
    const said = exported(live.title, live.agentName, live.conversation.entries);
    const any = live.conversation.entries.some((one) => one.kind === "user" || one.kind === "agent");
    live.conversation.notice("info", any ? `${why ?? lost} ${given}` : (why ?? lost));
    if (any) this.editor.attached(live, earlier(name, said));
  }

  /** Begins another conversation with what was said in this one. */
  async fork(sessionId: string): Promise<Live> {
    const { words } = this.editor;
    const { sessionId: id, ...choices } = await this.server.fork(sessionId);
    const live = await this.open(id);
    Object.assign(live, { recorded: false, resumable: true, used: this.editor.now() });
    live.opened(choices);
    const before = this.titles[sessionId] ?? this.all.get(sessionId)?.title ?? this.rows.find((one) => one.sessionId === sessionId)?.title ?? "";
    if (sessionId in this.titles) this.rename(id, words.forked(before));
    live.conversation.notice("info", words.forkedFrom(before));
    this.editor.remember();
    this.editor.changed(live);
    return live;
  }

  async remove(sessionId: string): Promise<string[]> {
    if (this.all.get(sessionId)?.recorded === false) await this.server.close(sessionId).catch(() => undefined);
    const { kept } = await this.server.remove(sessionId);
    if (!kept.some((one) => one.sessionId === sessionId)) {
      this.all.delete(sessionId);
      this.rows = this.rows.filter((one) => one.sessionId !== sessionId);
      const { [sessionId]: _, ...titles } = this.titles;
      this.titles = titles;
    }
    this.editor.remember();
    this.editor.changed(null);
    return kept.map((one) => one.reason);
  }

  rename(sessionId: string, title: string): void {
    this.titles[sessionId] = title;
    const live = this.all.get(sessionId);
    if (live) Object.assign(live, { title, renamed: true });
    this.editor.remember();
    this.editor.changed(live ?? null);
  }

  // --- Prompts

  /** Sends the message, or queues it while a turn runs. */
  async send(live: Live, text: string, attachments: Attachment[]): Promise<void> {
    if (live.running || live.state === "starting") {
      this.serial += 1;
      live.queue.push({ id: `q${this.serial}`, text, send: () => void this.send(live, text, attachments) });
      this.editor.changed(live);
      return;
    }
    const shown = attachments.map(({ text: carried, ...one }) => (one.kind === "image" || carried === undefined ? one : { ...one, text: carried }));
    const entry = live.conversation.user(text, shown);
    this.sent.set(live, (this.sent.get(live) ?? new Map<string, Attachment[]>()).set(entry.id, attachments));
    if (!live.title) live.title = titleOf(text);
    live.state = "running";
    live.turn = null;
    live.startedAt = live.used = this.editor.now();
    live.unseen = false;
    this.editor.changed(live);
    this.editor.remember();
    try {
      const { turn } = await this.server.prompt({ sessionId: live.id, prompt: promptOf(text, attachments) });
      this.numbered(live, entry.id, turn);
    } catch (error) {
      live.conversation.ended({ reason: "failed", error: message(error) });
      live.state = "idle";
      this.giveBack(live);
    }
    this.editor.changed(live);
  }

  private numbered(live: Live, entryId: string, turn: number): void {
    const now = live.conversation.get(entryId);
    if (now?.kind !== "user" || now.turn !== undefined) return;
    live.conversation.put({ ...now, turn, undo: "yes" });
    if (live.running) live.turn = turn;
  }

  /** Sends the queued messages, one turn at a time. */
  next(live: Live): void {
    if (!live.running && live.state !== "starting" && !live.recorded) live.queue.shift()?.send();
  }

  /** queued messages were meant for after a success */
  private giveBack(live: Live): void {
    const text = live.queue.map((one) => one.text).join("\n\n");
    live.queue = [];
    if (text) this.editor.returned(live, text);
  }

  unqueue(live: Live, id: string): void {
    live.queue = live.queue.filter((one) => one.id !== id);
    this.editor.changed(live);
  }

  async stop(live: Live): Promise<void> {
    live.stopping = true; // the agent may take its time; the server ends agents that never stop
    this.editor.changed(live);
    try {
      await this.server.cancel(live.id);
    } catch (error) {
      this.explain(live, error);
    }
  }

  /** Puts back everything that the agent did in this turn. The server cancels a running turn first. */
  async undoTurn(live: Live, turn: number): Promise<boolean> {
    const entry = live.conversation.entries.find((one) => one.kind === "user" && one.turn === turn);
    if (entry?.kind !== "user" || entry.undo !== "yes") return false;
    live.conversation.put({ ...entry, undo: "working" });
    live.stopping = live.running && live.turn === turn;
    this.editor.changed(live);
    let done = false;
    try {
      const { impossible } = await this.server.revertTurn(live.id, turn);
      done = impossible.length === 0;
      if (!done) live.conversation.notice("warning", this.editor.words.undoIncomplete(impossible.length, impossible[0]?.reason ?? ""));
      else this.reviewed(live, turn);
    } catch (error) {
      this.explain(live, error);
    }
    const now = live.conversation.get(entry.id);
    if (now?.kind === "user") live.conversation.put({ ...now, undo: done ? "done" : "yes" });
    this.editor.changed(live);
    return done;
  }

  async resend(live: Live, turn: number | undefined, text: string, undo: boolean): Promise<void> {
    const before = live.conversation.entries.find((one) => one.kind === "user" && one.turn === turn);
    const any = before?.kind !== "user" || before.undo !== "no"; // the turn may have ended meanwhile, without a change
    if (undo && any && turn !== undefined && !(await this.undoTurn(live, turn))) return;
    await this.send(live, text, before?.kind === "user" ? (this.sent.get(live)?.get(before.id) ?? before.attachments) : []);
  }

  async review(live: Live, turn: number, verdict: "keep" | "reject"): Promise<void> {
    try {
      if (verdict === "keep") await this.server.keep(live.id, turn);
      else {
        const { impossible } = await this.server.reject(live.id, turn);
        if (impossible.length > 0) {
          live.conversation.notice("warning", this.editor.words.undoIncomplete(impossible.length, impossible[0]?.reason ?? ""));
        }
      }
      await this.look(live);
    } catch (error) {
      this.explain(live, error);
    }
    this.editor.changed(live);
  }

  /**
   * Hunks changed somewhere. The list from the server decides which turns still have something to review; the turn's
   * end only announced it.
   */
  async look(live: Live): Promise<void> {
    const open = grouped(await this.server.changes(live.id), (one) => one.turn);
    for (const entry of [...live.conversation.entries]) {
      if (entry.kind !== "end" || entry.turn === undefined) continue;
      const left = open.get(entry.turn);
      const changes = entry.changes.length > 0 || !left ? entry.changes : this.counted(left);
      if (changes !== entry.changes || (changes.length > 0 && entry.reviewed !== !left)) {
        live.conversation.put({ ...entry, changes, reviewed: !left });
        live.conversation.undoable(entry.turn, true);
      }
    }
    this.editor.changed(live);
  }

  private counted(hunks: readonly Hunk[]): ChangedFile[] {
    const files = grouped(hunks, (one) => one.uri);
    return this.changed([...files].map(([uri, of]) => ({ uri, added: sum(of, (one) => one.newText), removed: sum(of, (one) => one.oldText) })));
  }

  private reviewed(live: Live, turn: number): void {
    for (const entry of [...live.conversation.entries]) {
      if (entry.kind === "end" && entry.turn === turn) live.conversation.put({ ...entry, reviewed: true });
    }
  }

  async pick(live: Live, picker: string, value: string | boolean): Promise<void> {
    try {
      if (picker === MODE) live.modes = (await this.server.setMode(live.id, String(value))).modes;
      else live.configOptions = (await this.server.setOption(live.id, picker, value)).configOptions;
    } catch (error) {
      this.explain(live, error);
    }
    this.editor.changed(live);
  }

  // --- What the server tells

  updated(sessionId: string, update: Record<string, unknown>, replayed: boolean): void {
    const live = this.find(sessionId);
    if (live.recorded) return;
    if (!replayed && !live.running && live.state !== "starting" && OF_A_TURN.has(String(update["sessionUpdate"]))) {
      if (this.editor.now() - (this.read.get(live) ?? 0) >= READ_AGAIN) this.elsewhere(live);
    }
    live.update(update, replayed);
    this.editor.changed(live);
  }

  /** Whoever asked for it: this window, a command, another client, or a prompt after the agent's death. */
  opened({ sessionId, ...choices }: { sessionId: string } & Choices): void {
    const live = this.all.get(sessionId);
    if (!live) {
      if (!this.starting()) void this.refresh().catch(() => undefined); // it is in the list when the user opens that
      return;
    }
    live.opened(choices);
    live.recorded = false;
    this.editor.changed(live);
  }

  noticed(sessionId: string, words: string): void {
    const live = this.find(sessionId);
    live.conversation.notice("info", words);
    this.editor.changed(live);
  }

  output(sessionId: string, terminalId: string, output: string): void {
    const live = this.all.get(sessionId);
    if (!live) return;
    live.conversation.output(terminalId, output);
    this.editor.changed(live);
  }

  commandEnded(sessionId: string, terminalId: string, end: NonNullable<Command["end"]>): void {
    const live = this.all.get(sessionId);
    if (!live) return;
    live.conversation.commandEnded(terminalId, end);
    this.editor.changed(live);
  }

  /** Ends one command; the turn goes on. */
  async stopCommand(live: Live, terminalId: string): Promise<void> {
    try {
      await this.server.stopCommand(live.id, terminalId);
    } catch (error) {
      this.explain(live, error);
    }
  }

  ended(end: TurnEnded): void {
    const live = this.all.get(end.sessionId);
    if (!live) return;
    const unnumbered = live.conversation.entries.findLast((one) => one.kind === "user" && one.turn === undefined);
    if (unnumbered) this.numbered(live, unnumbered.id, end.turn);
    else if (!live.conversation.entries.some((one) => one.kind === "user" && one.turn === end.turn)) this.elsewhere(live);
    live.conversation.ended({
      turn: end.turn,
      reason: end.stopReason,
      changes: this.changed(end.changes),
      seconds: (this.editor.now() - live.startedAt) / 1000,
      ...(end.error && end.errorKind !== "auth_required" ? { error: end.error } : {}),
    });
    if (end.errorKind === "auth_required") this.signInFirst(live);
    live.state = "idle";
    live.stopping = false;
    live.turn = null;
    live.used = this.editor.now();
    if (end.stopReason === "end_turn") this.next(live);
    else this.giveBack(live);
    if (!live.running) this.editor.news(live, "ended");
    this.editor.changed(live);
  }

  decided(sessionId: string, turn: number, verdict: Verdict, changes: number): void {
    const live = this.all.get(sessionId);
    if (!live) return;
    live.conversation.decided(turn, verdict, changes);
    this.editor.changed(live);
  }

  /** The server is gone, and every agent with it. */
  gone(): void {
    for (const live of this.all.values()) {
      if (live.recorded) continue;
      if (live.running) live.conversation.ended({ reason: "interrupted" });
      live.recorded = true;
      live.stopping = false;
      live.state = "idle";
      this.giveBack(live);
      this.editor.changed(live);
    }
    this.questions.withdrawAll();
  }

  /** An agent's process failed, so its sessions have lost their conversations. */
  agentFailed(sessions: readonly string[], words: string | undefined): void {
    for (const id of sessions) {
      const live = this.all.get(id);
      if (!live) continue;
      if (words) live.conversation.notice("error", words);
      this.editor.changed(live);
    }
  }

  waiting(): Live[] {
    return [...this.all.values()].filter((one) => one.conversation.openQuestions() > 0);
  }

  /** Shows the error in the conversation where it happened. */
  explain(live: Live, error: unknown): void {
    live.conversation.notice("error", message(error));
    this.editor.changed(live);
  }

  private signInFirst(live: Live): void {
    const { signIn, signInFirst } = this.editor.words;
    live.conversation.notice("warning", signInFirst(live.agentName), { id: `signIn:${live.agentId}`, label: signIn });
    this.editor.changed(live);
  }

  /**
   * A turn that was started outside the panel: by a command, or in the chat of another window. Its prompt is in the
   * record. When it has been read, it is placed before the turn's updates.
   */
  private elsewhere(live: Live, index = live.conversation.entries.length): void {
    const again = this.reading.has(live);
    this.reading.set(live, again);
    if (again) return;
    void this.server
      .transcript(live.id)
      .then((record) => {
        const known = new Set(live.conversation.entries.map((one) => (one.kind === "user" ? one.turn : undefined)));
        const prompts = record.entries.filter((one) => one.type === "prompt" && one.turn !== undefined && !known.has(one.turn));
        const prompt = prompts.at(-1);
        if (prompt?.turn === undefined) return;
        const { text, attachments } = promptWords(prompt.prompt, this.editor.words.earlier);
        live.conversation.userAt(index, text, attachments, prompt.turn);
        live.title ||= titleOf(text);
        const over = live.conversation.entries.some((one) => one.kind === "end" && one.turn === prompt.turn);
        if (!over && !live.running) Object.assign(live, { state: "running", startedAt: this.editor.now() });
        if (!over && live.running) live.turn = prompt.turn;
        live.settleState();
      })
      .catch(() => undefined) // the updates are shown anyway
      .finally(() => {
        const once = this.reading.get(live) === true;
        this.reading.delete(live);
        this.read.set(live, this.editor.now());
        this.editor.changed(live);
        if (once) this.elsewhere(live, index);
      });
  }

  /**
   * The session with this id; or one that is starting and has no id yet; or else one that was started elsewhere, for
   * example by a command.
   */
  private find(sessionId: string): Live {
    const known = this.all.get(sessionId) ?? this.starting();
    if (known) return known;
    const live = new Live(sessionId, "", "");
    live.state = "running";
    live.used = live.startedAt = this.editor.now();
    this.all.set(sessionId, live);
    void this.refresh().then(
      () => {
        const row = this.rows.find((one) => one.sessionId === sessionId);
        if (!row) return;
        live.agentId = row.agent;
        live.agentName = this.agentName(row.agent);
        live.title ||= this.titles[sessionId] ?? row.title ?? "";
        live.opened(row); // newer than the updates until now, which said only what was chosen
        if (!row.running && live.state === "running") live.state = "idle";
        this.editor.changed(live);
      },
      () => undefined, // the updates are shown anyway
    );
    this.editor.adopted(live);
    this.elsewhere(live);
    return live;
  }

  /** A session whose id is not known yet. A question with an unknown id meanwhile belongs to it. */
  private starting(): Live | undefined {
    return [...this.all.values()].findLast((one) => one.state === "starting");
  }

  private changed(changes: readonly { uri: string; added: number; removed: number }[] | undefined): ChangedFile[] {
    return (changes ?? []).map((one) => ({ uri: one.uri, label: this.editor.label(one.uri), added: one.added, removed: one.removed }));
  }
}

/** A server that was started anew knows less of it. */
function canContinue(row: SessionRow): boolean {
  return row.loads || row.listed;
}

function grouped<K, V>(all: readonly V[], key: (one: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

function sum(hunks: readonly Hunk[], text: (hunk: Hunk) => string): number {
  return hunks.reduce((count, one) => count + countLines(text(one)), 0);
}

/** The agent's name. An agent from the settings has its name there, because several may report the same name for themselves. */
export function nameOf({ id, name, source }: AgentInfo): string {
  return source === "configured" ? id : name;
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first line of the prompt. */
export function titleOf(text: string): string {
  const line = text.trim().split("\n")[0]?.trim() ?? "";
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
