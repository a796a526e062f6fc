/** What the panel keeps when the window reloads: the shown conversation, titles, drafts, earlier prompts. */

import type { Memento } from "vscode";
import type { Attachment } from "../model";

const KEY = "panel";
const HISTORY = 100;
const DRAFTS = 50;

export interface Draft {
  text: string;
  attachments: Attachment[];
}

interface Kept {
  current?: string;
  titles: Record<string, string>;
  /** By session; "" is the start page. */
  drafts: Record<string, Draft>;
  history: string[];
}

export class Memory {
  private kept: Kept;

  constructor(private readonly state: Memento) {
    const found = state.get<Partial<Kept>>(KEY) ?? {};
    this.kept = { titles: {}, drafts: {}, history: [], ...found };
  }

  get current(): string | undefined {
    return this.kept.current;
  }

  set current(sessionId: string | undefined) {
    const { current: _, ...rest } = this.kept;
    this.kept = sessionId === undefined ? rest : { ...rest, current: sessionId };
    this.write();
  }

  get titles(): Record<string, string> {
    return this.kept.titles;
  }

  keepTitles(titles: Record<string, string>): void {
    this.kept.titles = titles;
    this.write();
  }

  draft(sessionId: string | null): Draft {
    return this.kept.drafts[sessionId ?? ""] ?? { text: "", attachments: [] };
  }

  keepDraft(sessionId: string | null, draft: Draft): void {
    const { [sessionId ?? ""]: _, ...others } = this.kept.drafts;
    const small = draft.attachments.filter((one) => one.kind !== "image");
    const kept = draft.text || small.length > 0 ? { [sessionId ?? ""]: { text: draft.text, attachments: small } } : {};
    this.kept.drafts = Object.fromEntries(Object.entries({ ...others, ...kept }).slice(-DRAFTS));
    this.write();
  }

  /** A session got its id. */
  moveDraft(from: string, to: string): void {
    const draft = this.draft(from);
    if (from === to || (!draft.text && draft.attachments.length === 0)) return;
    this.keepDraft(from, { text: "", attachments: [] });
    this.keepDraft(to, draft);
  }

  get history(): readonly string[] {
    return this.kept.history;
  }

  sent(text: string): void {
    this.kept.history = [...this.kept.history.filter((one) => one !== text), text].slice(-HISTORY);
    this.write();
  }

  private write(): void {
    void this.state.update(KEY, this.kept);
  }
}
