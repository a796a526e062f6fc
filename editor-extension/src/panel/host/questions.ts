/** Questions from agents: permissions, forms and addresses. Each is answered once, by the user or by withdrawal. */

import type { ElicitationAnswer, ElicitationParams, PermissionParams } from "../../lsp_ext";
import { fields } from "./acp";
import { list, object, type DiffTexts } from "./conversation";
import type { Live } from "./live";
import type { Editor } from "./ports";

type Answer = { optionId: string } | { cancelled: true };

/** Finds the session that a question belongs to. */
export interface Asking {
  /** By its id, whether known or not. */
  session(id: string): Live;
  /** For a question that names no session: the session that is starting, or the agent's newest. */
  ofAgent(agent: string): Live | undefined;
}

export class Questions {
  private readonly permissions = new Map<string, { session: Live; options: Map<string, string>; answer: (answer: Answer) => void }>();
  private readonly forms = new Map<string, { session: Live; answer: (answer: ElicitationAnswer) => void }>();
  /** Addresses whose end the agent may report, by agent and the agent's own id for each. */
  private readonly pages = new Map<string, { session: Live; requestId: string }>();

  constructor(
    private readonly editor: Editor,
    private readonly asks: Asking,
  ) {}

  ask(params: PermissionParams, withdrawn: (then: () => void) => void): Promise<Answer> {
    const live = this.asks.session(params.sessionId);
    const { sessionId: _, diff, ...question } = params;
    live.conversation.question(question, diffsOf(diff));
    live.settleState();
    const asked = new Promise<Answer>((answer) => {
      const options = new Map(params.options.map((one) => [one.optionId, one.label]));
      this.permissions.set(params.requestId, { session: live, options, answer });
    });
    withdrawn(() => this.withdraw(params.requestId));
    this.editor.news(live, "asks");
    this.editor.changed(live);
    return asked;
  }

  /** Accepts only an option that was offered, for an open question, in the session that asked. */
  answer(sessionId: string, requestId: string, optionId: string): boolean {
    const asked = this.permissions.get(requestId);
    const label = asked?.options.get(optionId);
    if (!asked || label === undefined || asked.session.id !== sessionId) return false;
    this.permissions.delete(requestId);
    asked.session.conversation.settle(requestId, this.editor.words.allowed(label));
    asked.session.settleState();
    asked.answer({ optionId });
    this.editor.changed(asked.session);
    return true;
  }

  private withdraw(requestId: string): void {
    const asked = this.permissions.get(requestId);
    if (!asked) return;
    this.permissions.delete(requestId);
    asked.session.conversation.settle(requestId, null);
    asked.session.settleState();
    asked.answer({ cancelled: true });
    this.editor.changed(asked.session);
  }

  elicit(params: ElicitationParams, withdrawn: (then: () => void) => void): Promise<ElicitationAnswer> {
    const live = params.sessionId === undefined ? this.asks.ofAgent(params.agent) : this.asks.session(params.sessionId);
    if (!live) return Promise.resolve({ action: "cancel" });
    live.conversation.form(params.requestId, params.message, fields(params.requestedSchema), params.url);
    live.settleState();
    const asked = new Promise<ElicitationAnswer>((answer) => this.forms.set(params.requestId, { session: live, answer }));
    withdrawn(() => this.submit(params.requestId, { action: "cancel" }, true));
    if (params.elicitationId !== undefined) this.pages.set(`${params.agent}\0${params.elicitationId}`, { session: live, requestId: params.requestId });
    this.editor.news(live, "asks");
    this.editor.changed(live);
    return asked;
  }

  /** The address that the form asks to open; undefined for a form with fields. */
  address(sessionId: string, requestId: string): string | undefined {
    const form = this.forms.get(requestId);
    if (!form || form.session.id !== sessionId) return undefined;
    const entry = form.session.conversation.entries.findLast((one) => one.kind === "form" && one.requestId === requestId);
    return entry?.kind === "form" ? entry.url : undefined;
  }

  /** The interaction at an address has ended. */
  finished(agent: string, elicitationId: string): void {
    const key = `${agent}\0${elicitationId}`;
    const page = this.pages.get(key);
    if (!page) return;
    this.pages.delete(key);
    page.session.conversation.finished(page.requestId);
    this.editor.changed(page.session);
  }

  submit(requestId: string, answer: ElicitationAnswer, withdrawn = false): boolean {
    const form = this.forms.get(requestId);
    if (!form) return false;
    this.forms.delete(requestId);
    form.session.conversation.settle(requestId, withdrawn ? null : "");
    form.session.settleState();
    form.answer(answer);
    this.editor.changed(form.session);
    return true;
  }

  /** Withdraws all questions. */
  withdrawAll(): void {
    for (const id of [...this.permissions.keys()]) this.withdraw(id);
    for (const id of [...this.forms.keys()]) this.submit(id, { action: "cancel" }, true);
  }
}

function diffsOf(diff: unknown): DiffTexts[] {
  return list(Array.isArray(diff) ? diff : diff === undefined ? [] : [diff]).flatMap((raw) => {
    const { path, oldText, newText } = object(raw);
    if (typeof path !== "string" || typeof newText !== "string") return [];
    return [{ path, oldText: typeof oldText === "string" ? oldText : null, newText }];
  });
}
