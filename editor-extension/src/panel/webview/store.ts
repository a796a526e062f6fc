/** The page's state and the only code that changes it: messages arrive here, and listeners render once a frame. */

import type { Attachment, Entry, Overview } from "../model";
import { FromWebview, parse, type Candidate, type ToWebview } from "../protocol";
import { Blocks } from "./blocks";
import { setBundle, t } from "./strings";

export type Page = "conversation" | "sessions" | "agents";

export interface Compose {
  text: string;
  attachments: Attachment[];
  focus: boolean;
  /** Replaces the content of the box: another conversation's draft. */
  replace: boolean;
  /** Incremented, so that the same words twice are two requests. */
  serial: number;
}

/** The longest that a press of the pointer holds anything back, in milliseconds: longer than a click, shorter than anybody waits. */
const LONGEST_PRESS = 500;

export interface Port {
  post(message: FromWebview): void;
}

export class Store {
  overview: Overview | null = null;
  /** The conversation shown; null is the start page. */
  sessionId: string | null = null;
  entries: Entry[] = [];
  page: Page = "conversation";
  compose: Compose | null = null;
  /** The serial of the last one that is in the box. */
  composed = 0;
  /** The content of the prompt box. It outlives the box, which does not exist while a list is shown or the server is gone. */
  box: { text: string; attachments: Attachment[] } = { text: "", attachments: [] };
  candidates: { request: number; candidates: Candidate[] } = { request: 0, candidates: [] };
  /** A message that was sent before there was an agent to send it to. It goes to the agent that the user picks. */
  unsent: { text: string; attachments: Attachment[] } | null = null;
  /** Incremented with each message that the user sends, which the conversation then shows. */
  sends = 0;
  /** Where the words were found that were last looked for, by session. */
  found: { query: string; at: ReadonlyMap<string, string> } = { query: "", at: new Map() };
  /** Incremented when the user asked to see the open question. */
  revealQuestion = 0;
  /** What a screen reader should announce, each once: what became complete since the last render. */
  announcements: { key: number; words: string }[] = [];
  /** Incremented with each change of the entries. */
  revision = 0;
  private readonly blocks = new Map<string, Blocks>();
  private readonly listeners = new Set<() => void>();
  private scheduled = false;
  /** Ends the hold of a press that lasts; undefined while nothing is pressed. */
  private press: ReturnType<typeof setTimeout> | undefined;
  /** The announcements are on the page; the next one starts a new list. */
  private said = false;
  private spoken = 0;

  constructor(private readonly port: Port) {}

  send(message: FromWebview): void {
    const checked = parse(FromWebview, message);
    if (checked) this.port.post(checked);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  receive(message: ToWebview): void {
    switch (message.type) {
      case "overview": {
        const other = this.overview?.draftKey !== message.overview.draftKey;
        this.overview = message.overview;
        if (other) this.fill(message.overview.draft, message.overview.attachments, false, true);
        break;
      }
      case "conversation":
        this.sessionId = message.sessionId;
        this.entries = message.entries;
        this.blocks.clear();
        for (const entry of this.entries) this.parse(entry);
        this.revision += 1;
        break;
      case "ops":
        if (message.sessionId !== this.sessionId) return;
        for (const op of message.ops) {
          if (op.op === "put") this.put(op.entry, op.before);
          else if (op.op === "append") this.append(op.id, op.text);
          else this.entries = this.entries.filter((one) => one.id !== op.id);
        }
        this.revision += 1;
        break;
      case "candidates":
        if (message.request < this.candidates.request) return; // a late answer for fewer letters
        this.candidates = { request: message.request, candidates: message.candidates };
        break;
      case "found":
        this.found = { query: message.query, at: new Map(message.found.map((one) => [one.sessionId, one.excerpt])) };
        break;
      case "compose":
        this.page = "conversation";
        this.fill(message.text, message.attachments, message.focus, false);
        break;
      case "show":
        if (message.what === "question") {
          this.page = "conversation";
          this.revealQuestion += 1;
        } else if (message.what !== this.page) this.show(message.what);
        break;
      case "strings":
        setBundle(message.bundle);
        break;
    }
    this.changed();
  }

  /** `agent`: picked for this message; a new conversation begins with it. */
  sendMessage(text: string, attachments: Attachment[], agent?: string): void {
    this.send({ type: "send", sessionId: agent === undefined ? this.sessionId : null, text, attachments, ...(agent === undefined ? {} : { agent }) });
    this.box = { text: "", attachments: [] };
    this.sends += 1;
    this.show("conversation");
  }

  /** Asks which agent the message is for. It stays in the box until the user has picked one. */
  askForAgent(text: string, attachments: Attachment[]): void {
    this.unsent = { text, attachments };
    this.page = "agents";
    this.changed();
  }

  show(page: Page): void {
    this.page = page;
    this.unsent = null;
    this.changed();
  }

  /** Renders soon, at most once a frame. */
  changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.render());
  }

  /** The pointer is pressed. Nothing moves from under it until it is released: a press and a release on two elements are no click. */
  pressed(): void {
    clearTimeout(this.press);
    this.press = setTimeout(() => this.released(), LONGEST_PRESS);
  }

  released(): void {
    if (this.press === undefined) return;
    clearTimeout(this.press);
    this.press = undefined;
    if (this.scheduled) requestAnimationFrame(() => this.render()); // after the click, which comes with the release
  }

  private render(): void {
    if (this.press !== undefined || !this.scheduled) return;
    this.scheduled = false;
    for (const listener of this.listeners) listener();
    this.said = true;
  }

  blocksOf(id: string): Blocks | undefined {
    return this.blocks.get(id);
  }

  /** Joins two requests that arrive before the box is rendered: a draft, say, and text that a command adds to it. */
  private fill(text: string, attachments: Attachment[], focus: boolean, replace: boolean): void {
    const serial = (this.compose?.serial ?? 0) + 1;
    const waiting = !replace && this.compose && this.compose.serial !== this.composed ? this.compose : null;
    this.compose = {
      text: waiting ? added(waiting.text, text) : text,
      attachments: waiting ? merged(waiting.attachments, attachments) : attachments,
      focus: focus || waiting?.focus === true,
      replace: replace || waiting?.replace === true,
      serial,
    };
  }

  /** One announcement for each complete message or question. The list itself is silent; otherwise streaming would be read word by word. */
  private announce(before: Entry | undefined, entry: Entry): void {
    if (entry.kind === "agent" && entry.parent !== undefined) return; // a sub-agent does not speak to the user
    if (entry.kind === "agent" && entry.done && !(before?.kind === "agent" && before.done)) {
      this.say(t("Agent: {0}", entry.text.slice(0, 600)));
    } else if ((entry.kind === "question" || entry.kind === "form") && entry.state === "open" && !before) {
      this.say(t("The agent asks: {0}", entry.kind === "form" ? entry.message : entry.question.text.slice(0, 400)));
    } else if (entry.kind === "compaction" && entry.status === "in_progress" && !before) {
      this.say(t("The agent compacts the conversation"));
    } else if (entry.kind === "notice" && entry.level === "error" && !before) {
      this.say(entry.text);
    }
  }

  /** A message and the question after it arrive together. Neither may replace the other before it was heard. */
  private say(words: string): void {
    if (this.said) this.announcements = [];
    this.said = false;
    this.spoken += 1;
    this.announcements = [...this.announcements, { key: this.spoken, words }];
  }

  private put(entry: Entry, next?: string): void {
    const at = this.entries.findLastIndex((one) => one.id === entry.id);
    const before = at < 0 ? undefined : this.entries[at];
    const place = at < 0 && next !== undefined ? this.entries.findLastIndex((one) => one.id === next) : -1;
    if (at >= 0) this.entries[at] = entry;
    else if (place >= 0) this.entries.splice(place, 0, entry);
    else this.entries.push(entry);
    this.announce(before, entry);
    this.parse(entry, before);
  }

  private append(id: string, text: string): void {
    const at = this.entries.findLastIndex((one) => one.id === id);
    const entry = this.entries[at];
    if (!entry || (entry.kind !== "agent" && entry.kind !== "thought")) return;
    this.entries[at] = { ...entry, text: entry.text + text };
    this.blocks.get(id)?.append(text);
  }

  private parse(entry: Entry, before?: Entry): void {
    if (entry.kind !== "agent") return;
    const known = this.blocks.get(entry.id);
    const had = before?.kind === "agent" ? before.text : "";
    if (known && entry.text.startsWith(had)) return known.append(entry.text.slice(had.length));
    const blocks = new Blocks();
    blocks.append(entry.text);
    this.blocks.set(entry.id, blocks);
  }
}

/** Appends a text below the existing one. */
export function added(before: string, text: string): string {
  if (!before || !text) return before || text;
  return `${before.trimEnd()}\n${text}`;
}

export function merged(before: Attachment[], more: Attachment[]): Attachment[] {
  const fresh = more.filter((one) => !before.some((other) => other.id === one.id));
  return fresh.length ? [...before, ...fresh] : before;
}
