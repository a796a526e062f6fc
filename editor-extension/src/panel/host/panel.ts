/** The panel: its conversations, where they are shown (the view in the side bar, editor tabs), and what is done when a page asks for it. */

import * as vscode from "vscode";
import * as lsp from "../../lsp_ext";
import { type Session, TELL_AGENT } from "../../session";
import type { Agent, Overview, Told } from "../model";
import type { FromWebview } from "../protocol";
import { addAgent, agentRows, remedy, signIn } from "./agents";
import { exported } from "./export";
import { Follow } from "./follow";
import { AsTerminals } from "./as_terminal";
import { fileAttachment, insert, label, openLink, openLocation, Told as ToldTexts } from "./links";
import { LastOutput } from "./last_output";
import type { Live } from "./live";
import { Memory, type Draft } from "./memory";
import { candidates, Fixes, problem, selection } from "./mentions";
import { CHANGES, type Changed } from "./offers";
import type { Page } from "./outbox";
import { Pane } from "./pane";
import type { Server } from "./ports";
import { Search } from "./search";
import { message, Sessions } from "./sessions";
import { Tabs } from "./tabs";
import { Tour } from "./tour";

export const VIEW = "acpSidecar.panel";
/** When documents change, the hunks of their sessions are checked at most this often, in milliseconds. */
const LOOK_AFTER = 300;

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  /** The view in the side bar. */
  private readonly side: Pane;
  private readonly tabs: Tabs;
  /** The one that the user turned to last. What they add from elsewhere goes there. */
  private last: Pane;
  /** The one whose agent is followed. */
  private followed: Pane | undefined;
  private readonly sessions: Sessions;
  private readonly memory: Memory;
  private readonly told = new ToldTexts();
  private readonly terminals = new AsTerminals();
  private readonly output = new LastOutput();
  private readonly tour: Tour;
  private readonly follow: Follow;
  private readonly disposables: vscode.Disposable[] = [];
  private readonly search: Search;
  private restored = false;
  private looking: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly session: Session) {
    const { context, client, log } = session;
    this.memory = new Memory(context.workspaceState);
    const around = {
      extensionUri: context.extensionUri,
      overview: (pane: Pane) => this.overview(pane),
      received: (pane: Pane, one: FromWebview) => this.received(pane, one),
      failed: (pane: Pane, error: unknown) => this.failed(error, pane),
      turned: () => {
        this.focusMoved();
        this.look();
      },
      log: (words: string) => log.warn(words),
    };
    this.side = this.last = new Pane("side", around);
    this.tabs = new Tabs(
      around,
      (pane) => this.closed(pane),
      () => {
        if (client.state === "running") void this.refresh();
      },
    );
    const commands = server(session);
    this.search = new Search(commands);
    this.sessions = new Sessions(commands, {
      changed: (live) => this.changed(live),
      news: (live, what) => this.news(live, what),
      adopted: (live) => {
        if (!this.side.current) this.show(live, this.side, null);
      },
      returned: (live, text) => this.intoBox(live, { text, attachments: [] }),
      attached: (live, attachment) => this.intoBox(live, { text: "", attachments: [attachment] }),
      label: (uri) => label(vscode.Uri.parse(uri)),
      remember: () => this.remember(),
      now: () => Date.now(),
      words: {
        mode: vscode.l10n.t("Mode"),
        undoIncomplete: (count, reason) =>
          count === 1
            ? vscode.l10n.t("One change could not be undone: {0}", reason)
            : vscode.l10n.t("{0} changes could not be undone. The first: {1}", count, reason),
        allowed: (option) => option,
        cancelled: vscode.l10n.t("Cancelled"),
        signIn: vscode.l10n.t("Sign in"),
        signInFirst: (agent) => vscode.l10n.t("{0} wants you to sign in first.", agent),
        lost: vscode.l10n.t("The agent does not remember the messages above. It could not continue the conversation."),
        forked: (title) => vscode.l10n.t("{0} (fork)", title),
        forkedFrom: (title) =>
          title
            ? vscode.l10n.t("Forked from “{0}”. What is above is in both; from here on, each goes its own way.", title)
            : vscode.l10n.t("Forked. What is above is in both conversations; from here on, each goes its own way."),
        given: vscode.l10n.t("The conversation is attached to your next message."),
        earlier: vscode.l10n.t("The conversation so far"),
      },
    });
    this.sessions.titles = { ...this.memory.titles };
    this.tour = new Tour(context, {
      changed: () => this.side.changed(null),
      begin: (folder) => this.begin(this.side, "demo", folder),
      compose: (text, attachments) => this.compose(text, attachments, true, this.side),
      log: (words) => log.warn(words),
    });
    this.follow = new Follow(session, { followed: () => this.followed?.current?.id, changed: () => this.followed?.changed(null) });
    this.disposables.push(
      this.follow,
      this.tabs,
      vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new Fixes(), { providedCodeActionKinds: Fixes.kinds }),
      vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: false } }),
      this.told,
      this.output,
      this.tour,
      this.terminals,
      client.onNotification(lsp.sessionUpdate, ({ sessionId, update, replay }) => this.sessions.updated(sessionId, update, replay === true)),
      client.onNotification(lsp.sessionOpened, (one) => this.sessions.opened(one)),
      client.onNotification(lsp.notice, (one) => this.sessions.noticed(one.sessionId, one.message)),
      client.onNotification(lsp.terminalOutput, ({ sessionId, terminalId, output }) => {
        this.sessions.output(sessionId, terminalId, output);
        this.terminals.said(sessionId, terminalId, output);
      }),
      client.onNotification(lsp.terminalEnded, ({ sessionId, terminalId, exitCode: code, ...how }) => {
        const end = code === undefined ? how : { code, ...how };
        this.sessions.commandEnded(sessionId, terminalId, end);
        this.terminals.ended(sessionId, terminalId, end);
      }),
      client.onNotification(lsp.turnEnded, (end) => {
        this.sessions.ended(end);
        this.tour.ended(end);
        this.lookSoon();
      }),
      client.onNotification(lsp.changes, () => this.lookSoon()),
      client.onNotification(lsp.reviewed, (one) => this.sessions.decided(one.sessionId, one.turn, one.verdict, one.changes)),
      client.onNotification(lsp.agentState, (one) => {
        if (one.state === "failed") this.sessions.agentFailed(one.sessions, one.message);
      }),
      client.onRequest(lsp.requestPermission, (params, token) =>
        this.sessions.questions.ask(params, (then) => void token.onCancellationRequested(then)),
      ),
      client.onNotification(lsp.elicitationComplete, (one) => this.sessions.questions.finished(one.agent, one.elicitationId)),
      client.onRequest(lsp.elicitation, (params, token) => this.sessions.questions.elicit(params, (then) => void token.onCancellationRequested(then))),
      client.onDidChangeState((state) => {
        if (state === "running") void this.refresh();
        else if (state === "stopped" || state === "failed") this.sessions.gone();
        for (const pane of this.panes()) pane.changed(null);
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("acpSidecar.agents") || event.affectsConfiguration("acpSidecar.defaultAgent")) void this.refresh();
      }),
      vscode.window.onDidChangeWindowState(() => this.look()),
      ...this.commands(),
    );
  }

  dispose(): void {
    clearTimeout(this.looking);
    this.side.detached();
    for (const one of this.disposables.splice(0).reverse()) one.dispose();
  }

  // --- The view

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.side.attach(view.webview);
    view.onDidChangeVisibility(() => {
      if (view.visible) this.look();
      else this.side.hidden();
    });
    view.onDidDispose(() => {
      this.side.detached();
      this.view = undefined;
    });
  }

  /** The pages say themselves which has the keyboard's focus: VS Code's own `focusedView` is not set when the focus came by way of the page. */
  private focusMoved(): void {
    this.follow.isPageFocused = this.side.isFocused; // a file that takes the place of a tab would hide it
    void vscode.commands.executeCommand("setContext", "acpSidecar.panelFocused", this.panes().some((one) => one.isFocused));
  }

  private panes(): Pane[] {
    return [this.side, ...this.tabs.all];
  }

  /** Where the conversation is shown. Each is shown in one place at most, so that there is one box to write in. */
  private paneOf(live: Live): Pane | undefined {
    return this.side.current === live ? this.side : this.tabs.of(live);
  }

  private isVisible(pane: Pane): boolean {
    return pane === this.side ? this.view?.visible === true : this.tabs.isVisible(pane);
  }

  /** Brings it to the front, with the keyboard's focus. */
  private async turnTo(pane: Pane): Promise<void> {
    this.last = pane;
    if (pane === this.side) await vscode.commands.executeCommand(`${VIEW}.focus`);
    else this.tabs.reveal(pane);
  }

  /** The user closed a tab. Its conversation goes on, and is in the list. */
  private closed(pane: Pane): void {
    if (this.last === pane) this.last = this.side;
    if (this.followed === pane) this.follow.set(false);
    this.side.changed(null);
    this.badge();
  }

  private overview(pane: Pane): Overview {
    const live = pane.current;
    const draft = this.memory.draft(live?.id ?? null);
    const { client } = this.session;
    const tour = pane === this.side ? this.tour.state() : undefined;
    return {
      place: pane.place,
      opening: this.tabs.isOpening(pane),
      agents: this.agents(),
      sessions: pane === this.side ? this.sessions.summaries() : [],
      connected: client.state === "running",
      following: this.follow.on && this.followed === pane,
      history: [...this.memory.history],
      draftKey: live?.key ?? "",
      draft: draft.text,
      attachments: draft.attachments,
      ...(live ? { current: live.current(vscode.l10n.t("Mode")) } : {}),
      ...(this.defaultAgent() === undefined ? {} : { defaultAgent: this.defaultAgent()! }),
      ...(client.state === "stopped" || client.state === "failed"
        ? {
            trouble: {
              text: vscode.l10n.t("acp-sidecar is not running."),
              action: { id: "restart", label: vscode.l10n.t("Start again") },
            },
          }
        : {}),
      ...(tour ? { tour } : {}),
    };
  }

  private agents(): Agent[] {
    return agentRows(this.sessions.agents);
  }

  /** The agent in the settings, or else the only one there is. The demo agent is never chosen by default. */
  private defaultAgent(): string | undefined {
    const wanted = this.session.settings().defaultAgent;
    const usable = this.sessions.agents.filter((one) => one.installed && one.source !== "demo");
    return this.sessions.agents.find((one) => one.id === wanted)?.id ?? usable[0]?.id;
  }

  // --- Messages of the page

  private async received(pane: Pane, one: FromWebview): Promise<void> {
    switch (one.type) {
      case "send": {
        const live = this.live(one.sessionId) ?? (await this.begin(pane, one.agent ?? this.defaultAgent()));
        if (!live) {
          return pane.tell({ type: "compose", text: one.text, attachments: one.attachments, focus: false });
        }
        if (live.state === "failed" && !(await this.started(live, this.sessions.again(live)))) {
          return pane.tell({ type: "compose", text: one.text, attachments: one.attachments, focus: false });
        }
        if (one.sessionId === null) this.memory.keepDraft(null, { text: "", attachments: [] });
        this.memory.sent(one.text);
        this.memory.keepDraft(live.id, { text: "", attachments: [] });
        this.tour.sent();
        return this.sessions.send(live, one.text, one.attachments);
      }
      case "draft":
        if (one.key === (pane.current?.key ?? "")) this.memory.keepDraft(pane.current?.id ?? null, { text: one.text, attachments: one.attachments });
        return;
      case "newSession":
        await this.begin(pane, one.agent ?? this.defaultAgent());
        return;
      case "openSession":
        return this.show(await this.sessions.open(one.sessionId), pane);
      case "openInEditor":
        return this.inEditor(await this.sessions.open(one.sessionId));
      case "openInSideBar":
        return this.inSideBar(pane);
      case "forkSession": {
        const fork = await this.sessions.fork(one.sessionId);
        return pane === this.side ? this.show(fork, pane) : this.inEditor(fork); // beside the one that it comes from
      }
      case "home":
        return this.show(null, pane);
      case "refreshSessions":
        return this.refresh();
      case "search": {
        pane.searched = one.query;
        const found = await this.search.find(one.query, this.sessions.summaries(), this.sessions.all, () => pane.searched === one.query);
        if (pane.searched === one.query) pane.tell({ type: "found", query: one.query, found });
        return;
      }
      case "renameSession":
        return this.sessions.rename(one.sessionId, one.title);
      case "deleteSession": {
        if (this.side.current?.id === one.sessionId) this.show(null, this.side, "sessions");
        const shown = this.live(one.sessionId);
        const tab = shown && this.tabs.of(shown);
        if (tab) this.tabs.close(tab);
        const kept = await this.sessions.remove(one.sessionId);
        if (kept.length > 0) void vscode.window.showWarningMessage(kept.join("\n"));
        return;
      }
      case "exportSession":
        return this.export(await this.sessions.open(one.sessionId));
      case "complete":
        return this.complete(pane, one.request, one.query);
      case "drop":
        return this.dropped(pane, one.uris);
      case "openLocation":
        return openLocation(one.path, one.line);
      case "openFile":
        await vscode.window.showTextDocument(vscode.Uri.parse(one.uri), { preview: true });
        return;
      case "openLink":
        return openLink(one.href);
      case "copy":
        return vscode.env.clipboard.writeText(one.text);
      case "insert":
        return insert(one.text);
      case "remedy":
        return remedy(one.id);
      case "action":
        return this.action(pane, one.id);
      case "tryIt":
        return this.tour.start();
      case "focused":
        pane.isFocused = one.on;
        if (one.on) this.last = pane;
        return this.focusMoved();
      case "follow":
        return this.followIn(pane, one.on);
      case "ready": // the pane's own
        return;
      default:
        return this.inSession(one);
    }
  }

  /** The candidates for `@`. The next keystroke cancels a search, because a large folder has room for only one at a time. */
  private async complete(pane: Pane, request: number, query: string): Promise<void> {
    pane.completing?.cancel();
    const mine = (pane.completing = new vscode.CancellationTokenSource());
    try {
      const changed = await this.underReview(query);
      if (mine.token.isCancellationRequested) return;
      const found = await candidates(query, { output: this.output.get(), changed }, mine.token);
      if (!mine.token.isCancellationRequested) pane.post({ type: "candidates", request, candidates: found });
    } catch (error) {
      if (!mine.token.isCancellationRequested) throw error;
    } finally {
      if (pane.completing === mine) pane.completing = undefined;
      mine.dispose();
    }
  }

  /** The texts of the changes that `@` may offer; none while something else is typed, or without a server. */
  private async underReview(query: string): Promise<Changed[]> {
    if (this.session.client.state !== "running" || !CHANGES.some((one) => one.startsWith(query.toLowerCase()))) return [];
    const all = await this.session.client.command(lsp.listChanges, {}).catch(() => []);
    return all
      .filter((one) => !one.file)
      .map((one) => ({ where: label(vscode.Uri.parse(one.uri)), line: one.range.start.line + 1, oldText: one.oldText, newText: one.newText }));
  }

  /** Files and folders that were dragged into the prompt box. What is no file on this machine is left out, and the user is told. */
  private async dropped(pane: Pane, uris: string[]): Promise<void> {
    const attachments = await Promise.all(
      uris.map(async (one) => {
        const uri = vscode.Uri.parse(one);
        if (uri.scheme !== "file") return undefined;
        const stat = await Promise.resolve(vscode.workspace.fs.stat(uri)).catch(() => undefined);
        return stat && fileAttachment(uri, (stat.type & vscode.FileType.Directory) !== 0);
      }),
    );
    const found = attachments.filter((one) => one !== undefined);
    if (found.length < uris.length) void vscode.window.showWarningMessage(vscode.l10n.t("Only files and folders on this machine can be added."));
    if (found.length > 0) pane.tell({ type: "compose", text: "", attachments: found, focus: true });
  }

  private async inSession(one: Extract<FromWebview, { sessionId: string }>): Promise<void> {
    const live = this.live(one.sessionId);
    if (!live) return;
    const { sessions } = this;
    switch (one.type) {
      case "stop":
        return sessions.stop(live);
      case "unqueue":
        return sessions.unqueue(live, one.id);
      case "undoTurn":
        await sessions.undoTurn(live, one.turn);
        return;
      case "resend":
        return sessions.resend(live, one.turn, one.text, one.undo);
      case "review":
        if (one.verdict === "open") await vscode.commands.executeCommand("acpSidecar.review.openChanges", { sessionId: live.id, turn: one.turn });
        else await sessions.review(live, one.turn, one.verdict);
        return;
      case "answer":
        sessions.questions.answer(live.id, one.requestId, one.optionId);
        return;
      case "submit": {
        const address = sessions.questions.address(live.id, one.requestId);
        if (address !== undefined && one.action === "accept" && !(await vscode.env.openExternal(vscode.Uri.parse(address)))) return;
        sessions.questions.submit(one.requestId, one.action === "accept" ? { action: "accept", ...(address === undefined ? { content: one.values } : {}) } : { action: one.action });
        return;
      }
      case "continueSession":
        return sessions.resume(live);
      case "pick":
        return sessions.pick(live, one.picker, one.value);
      case "stopCommand":
        return sessions.stopCommand(live, one.command);
      case "openTerminal": {
        const entry = live.conversation.get(one.entry);
        const command = entry?.kind === "tool" ? entry.commands?.at(-1) : undefined;
        if (entry?.kind !== "tool" || !command) return;
        const name = vscode.l10n.t("{0}’s command", this.sessions.agentName(live.agentId));
        return this.terminals.open(live.id, command, name, entry.output, () => void sessions.stopCommand(live, command.id));
      }
      case "openDiff": {
        const texts = live.conversation.diff(one.entry, one.index);
        if (texts) await this.told.open(texts);
        return;
      }
      case "seen":
        live.unseen = false;
        return this.changed(live);
    }
  }

  private async action(pane: Pane, id: string): Promise<void> {
    if (id === "addAgent") await addAgent(this.session, () => this.refresh());
    else if (id === "restart") await vscode.commands.executeCommand("acpSidecar.restart");
    else if (id === "openFolder") await vscode.commands.executeCommand("workbench.action.files.openFolder");
    else if (id === "endTour") this.tour.end();
    else if (id.startsWith("signIn:")) await this.signIn(pane, id.slice("signIn:".length));
  }

  private async signIn(pane: Pane, agent: string): Promise<void> {
    const live = pane.current;
    if (!(await signIn(this.session, agent, this.sessions.agentName(agent)))) return;
    await this.refresh();
    if (live?.state === "failed" && live.agentId === agent) await this.started(live, this.sessions.again(live));
  }

  // --- Sessions

  private live(sessionId: string | null): Live | undefined {
    return sessionId === null ? undefined : this.sessions.all.get(sessionId);
  }

  private async begin(pane: Pane, agent: string | undefined, cwd?: string): Promise<Live | undefined> {
    if (agent === undefined) {
      pane.tell({ type: "show", what: "agents" });
      return undefined;
    }
    const { live, ready } = this.sessions.begin(agent, cwd ?? homeless());
    if (pane.current === null && cwd === undefined) this.memory.moveDraft("", live.id); // what was typed on the start page
    this.show(live, pane);
    if (await this.started(live, ready)) return live;
    if (!vscode.workspace.workspaceFolders?.length && cwd === undefined) {
      const action = { id: "openFolder", label: vscode.l10n.t("Open folder…") };
      live.conversation.notice("info", vscode.l10n.t("An agent works in a folder."), action);
      this.changed(live);
    }
    return undefined;
  }

  private async started(live: Live, ready: Promise<boolean>): Promise<boolean> {
    const before = live.id;
    const begun = await ready;
    this.memory.moveDraft(before, live.id);
    return begun;
  }

  /**
   * Shows it in the pane, or turns to the tab that shows it already. `page`: null if the user did not ask for it, so that
   * an open list stays open, and no tab comes to the front.
   */
  private show(live: Live | null, pane: Pane, page: Page | null = "conversation"): void {
    const elsewhere = live ? this.paneOf(live) : undefined;
    if (elsewhere && elsewhere !== pane) {
      if (page !== null) void this.turnTo(elsewhere);
      return;
    }
    if (live && elsewhere) {
      if (page !== null) pane.tell({ type: "show", what: page });
      return this.look();
    }
    if (live !== pane.current && this.followed === pane) this.follow.forget();
    pane.show(live, page ?? undefined);
    if (live) this.tabs.titled(live);
    this.remember();
    this.look();
  }

  /** Moves a conversation into an editor tab, or turns to the one that it has. */
  private inEditor(live: Live): void {
    const tab = this.tabs.of(live);
    if (tab) return void this.turnTo(tab);
    if (this.side.current === live) this.show(null, this.side);
    this.last = this.tabs.open(live);
    this.look();
  }

  /** Moves a tab's conversation back into the side bar. */
  private async inSideBar(tab: Pane): Promise<void> {
    const live = tab.current;
    if (tab === this.side || !live) return;
    tab.current = null; // it is free to be shown elsewhere
    this.tabs.close(tab);
    this.show(live, this.side);
    await this.turnTo(this.side);
  }

  private followIn(pane: Pane, on: boolean): void {
    const before = this.followed;
    if (before !== pane) this.follow.forget();
    this.followed = pane;
    this.follow.set(on);
    before?.changed(null);
    pane.changed(null);
  }

  /** Adds to the session's prompt box, now or when it is shown. */
  private intoBox(live: Live, { text, attachments }: Draft): void {
    const pane = this.paneOf(live);
    if (pane) return pane.tell({ type: "compose", text, attachments, focus: false });
    const draft = this.memory.draft(live.id);
    const more = attachments.filter((one) => !draft.attachments.some((other) => other.id === one.id));
    this.memory.keepDraft(live.id, { text: [draft.text, text].filter(Boolean).join("\n"), attachments: [...draft.attachments, ...more] });
  }

  private remember(): void {
    const live = this.side.current;
    this.memory.current = live && !live.id.startsWith("starting-") ? live.id : undefined;
    this.memory.keepTitles(this.sessions.titles);
  }

  /** Loads what the server knows and, after a reload of the window, the conversation that was shown. */
  private async refresh(): Promise<void> {
    try {
      await this.sessions.refresh();
      const known = (id: string): boolean => this.sessions.all.has(id) || this.sessions.rows.some((row) => row.sessionId === id);
      if (this.session.client.state === "running") {
        await this.tabs.restored(async (id) => (known(id) ? this.sessions.open(id) : undefined));
      }
      const last = this.memory.current;
      if (!this.restored) {
        this.restored = true;
        if (last !== undefined && this.side.current === null && known(last)) {
          const opened = await this.sessions.open(last);
          if (this.side.current === null) this.show(opened, this.side, null); // otherwise the user started another one meanwhile
        }
      }
    } catch (error) {
      this.session.log.warn(`panel: ${message(error)}`);
    }
  }

  private changed(live: Live | null): void {
    for (const pane of this.panes()) {
      if (live === null || pane === this.side || pane.current === live) pane.changed(live);
    }
    if (live) this.tabs.titled(live);
    if (live === null) void vscode.commands.executeCommand("setContext", "acpSidecar.hasAgent", this.defaultAgent() !== undefined);
    void vscode.commands.executeCommand("setContext", "acpSidecar.forks", this.side.current?.summary().forks === true);
    this.badge();
  }

  /** The user is looking at the panel, so what it shows is no longer unseen. */
  private look(): void {
    for (const pane of this.panes()) {
      if (!this.isVisible(pane) || !vscode.window.state.focused || !pane.current) continue;
      pane.current.unseen = false;
      pane.changed(pane.current);
    }
    this.badge();
  }

  private badge(): void {
    const waiting = this.sessions.waiting().length;
    const unseen = [...this.sessions.all.values()].filter((one) => one.unseen).length;
    const value = waiting + unseen;
    void vscode.commands.executeCommand("setContext", "acpSidecar.question", waiting > 0);
    if (!this.view) return;
    this.view.badge =
      value === 0
        ? undefined
        : { value, tooltip: waiting > 0 ? vscode.l10n.t("An agent is waiting for you") : vscode.l10n.t("An agent has finished") };
  }

  /** Tells the user if they are looking elsewhere. The message only leads to the panel; it does not answer the question. */
  private news(live: Live, what: "ended" | "asks"): void {
    const pane = this.paneOf(live);
    const hidden = !this.isVisible(pane ?? this.side);
    if (pane && !hidden && vscode.window.state.focused) return;
    if (what === "ended") live.unseen = true;
    this.badge();
    const wanted = vscode.workspace.getConfiguration("acpSidecar").get<boolean>("notify", true);
    // a question that nobody sees would block the turn for ever
    if (!(what === "asks" && hidden) && !(wanted && (hidden || !vscode.window.state.focused))) return;
    const show = vscode.l10n.t("Show");
    const words =
      what === "asks"
        ? vscode.l10n.t("{0} asks for your permission: {1}", live.agentName, live.title)
        : vscode.l10n.t("{0} has finished: {1}", live.agentName, live.title);
    void vscode.window.showInformationMessage(words, show).then((chosen) => {
      if (chosen !== show) return;
      this.show(live, this.paneOf(live) ?? this.side);
      void this.turnTo(this.paneOf(live) ?? this.side);
    });
  }

  private lookSoon(): void {
    this.looking ??= setTimeout(() => {
      this.looking = undefined;
      for (const live of this.sessions.all.values()) {
        if (!live.recorded && live.state !== "starting") void this.sessions.look(live).catch((error: unknown) => this.session.log.debug(message(error)));
      }
    }, LOOK_AFTER);
  }

  private failed(error: unknown, pane: Pane = this.last): void {
    this.session.log.warn(`panel: ${message(error)}`);
    if (pane.current) this.sessions.explain(pane.current, error);
    else void vscode.window.showErrorMessage(message(error));
  }

  private async export(live: Live): Promise<void> {
    const title = live.title || vscode.l10n.t("Conversation");
    const name = title.replace(/[^\p{L}\p{N} _-]+/gu, "").trim().slice(0, 60) || "conversation";
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const target = await vscode.window.showSaveDialog({
      filters: { Markdown: ["md"] },
      ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, `${name}.md`) } : {}),
    });
    if (!target) return;
    await vscode.workspace.fs.writeFile(target, Buffer.from(exported(title, live.agentName, live.conversation.entries)));
    await vscode.window.showTextDocument(target);
  }

  // --- Commands

  private commands(): vscode.Disposable[] {
    const focus = () => this.turnTo(this.side);
    const all: Record<string, (...args: never[]) => unknown> = {
      "acpSidecar.panel.new": async () => {
        await focus();
        const usable = this.agents().filter((one) => one.installed && one.source !== "demo");
        if (usable.length === 1) await this.begin(this.side, usable[0]!.id);
        else this.side.tell({ type: "show", what: "agents" });
      },
      "acpSidecar.panel.focusPrompt": (way?: unknown) =>
        way === "back" ? vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup") : this.compose("", [], true),
      "acpSidecar.panel.sessions": async () => {
        await focus();
        await this.refresh();
        this.side.tell({ type: "show", what: "sessions" });
      },
      "acpSidecar.panel.export": () => (this.side.current ? this.export(this.side.current) : undefined),
      "acpSidecar.panel.fork": async () => {
        if (this.side.current) this.show(await this.sessions.fork(this.side.current.id), this.side);
      },
      "acpSidecar.panel.openInEditor": async (sessionId?: unknown) => {
        const live = typeof sessionId === "string" ? await this.sessions.open(sessionId) : this.side.current;
        if (live) this.inEditor(live);
      },
      "acpSidecar.panel.openInSideBar": () => {
        const tab = this.tabs.active();
        return tab && this.inSideBar(tab);
      },
      "acpSidecar.panel.question": async () => {
        const live = this.sessions.waiting()[0];
        if (!live) return;
        const pane = this.paneOf(live) ?? this.side;
        await this.turnTo(pane);
        this.show(live, pane);
        pane.tell({ type: "show", what: "question" });
      },
      "acpSidecar.panel.add": (target?: unknown, more?: unknown) => this.add(target, more),
      "acpSidecar.panel.fix": (uri: vscode.Uri, diagnostics: vscode.Diagnostic[], fix: boolean) =>
        this.compose(
          !fix ? "" : diagnostics.length === 1 ? vscode.l10n.t("Fix this problem.") : vscode.l10n.t("Fix these problems."),
          diagnostics.map((one) => problem(uri, one)),
          true,
        ),
      "acpSidecar.panel.addAgent": () => addAgent(this.session, () => this.refresh()),
      "acpSidecar.panel.tryIt": () => this.tour.start(),
      "acpSidecar.panel.follow": () => this.followIn(this.last, !this.follow.on),
    };
    const shown = Object.entries(all).map(([name, run]) =>
      vscode.commands.registerCommand(name, async (...args: never[]) => {
        try {
          return await run(...args);
        } catch (error) {
          return this.failed(error);
        }
      }),
    );
    return [...shown, vscode.commands.registerCommand(TELL_AGENT, (what: Told) => this.deliver(what))];
  }

  /** Sends a prompt from elsewhere in this extension; queues it while a turn is running. Rejects if the session cannot go on. */
  private async deliver({ sessionId, text, attachments }: Told): Promise<void> {
    const live = await this.sessions.open(sessionId);
    if (live.recorded) await this.sessions.resume(live);
    if (live.recorded || live.state === "failed") throw new Error(vscode.l10n.t("The conversation cannot be continued. Open it in the panel to see why."));
    this.show(live, this.paneOf(live) ?? this.side, null);
    void this.sessions.send(live, text, attachments);
  }

  /** From the editor: its selection, or else its file. From the explorer: the selected files. */
  private async add(target: unknown, more: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor && (!(target instanceof vscode.Uri) || target.toString() === editor.document.uri.toString()) && !editor.selection.isEmpty) {
      return this.compose("", [selection(editor)], true);
    }
    const uris = Array.isArray(more) ? more.filter((one) => one instanceof vscode.Uri) : target instanceof vscode.Uri ? [target] : editor ? [editor.document.uri] : [];
    const attachments = await Promise.all(
      uris.map(async (uri) => {
        if (uri.scheme === "untitled") return fileAttachment(uri);
        const stat = await vscode.workspace.fs.stat(uri);
        return fileAttachment(uri, (stat.type & vscode.FileType.Directory) !== 0);
      }),
    );
    return this.compose("", attachments, true);
  }

  /** Puts it into the prompt box; the user decides what is sent. */
  private async compose(text: string, attachments: Draft["attachments"], focus: boolean, pane = this.target()): Promise<void> {
    await this.turnTo(pane);
    pane.tell({ type: "compose", text, attachments, focus });
  }

  /** Where the user writes: the tab that they are in or were in last, while it can be seen; else the side bar. */
  private target(): Pane {
    const pane = this.tabs.active() ?? this.last;
    return pane !== this.side && this.tabs.isVisible(pane) ? pane : this.side;
  }
}

/** The folder for a session in a window without a folder: that of the open file. */
function homeless(): string | undefined {
  if (vscode.workspace.workspaceFolders?.length) return undefined;
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === "file" ? vscode.Uri.joinPath(uri, "..").fsPath : undefined;
}

function server({ client }: Session): Server {
  return {
    newSession: (argument) => client.command(lsp.newSession, argument),
    prompt: (argument) => client.command(lsp.prompt, argument),
    cancel: (sessionId) => client.command(lsp.cancel, { sessionId }),
    stopCommand: (sessionId, terminalId) => client.command(lsp.stopCommand, { sessionId, terminalId }),
    close: (sessionId) => client.command(lsp.closeSession, { sessionId }),
    listAgents: () => client.command(lsp.listAgents, {}),
    listSessions: () => client.command(lsp.listSessions, {}),
    load: (sessionId, replay) => client.command(lsp.loadSession, { sessionId, replay }),
    fork: (sessionId) => client.command(lsp.forkSession, { sessionId }),
    remove: (sessionId) => client.command(lsp.deleteSession, { sessionId }),
    transcript: (sessionId) => client.command(lsp.transcript, { sessionId }),
    setMode: (sessionId, modeId) => client.command(lsp.setMode, { sessionId, modeId }),
    setOption: (sessionId, configId, value) => client.command(lsp.setConfigOption, { sessionId, configId, value }),
    revertTurn: (sessionId, turn) => client.command(lsp.revertTurn, { sessionId, turn }),
    keep: (sessionId, turn) => client.command(lsp.keep, { sessionId, turn }),
    reject: (sessionId, turn) => client.command(lsp.reject, { sessionId, turn }),
    changes: (sessionId) => client.command(lsp.listChanges, { sessionId }),
    authenticate: (agent, methodId, finished) =>
      client.command(lsp.authenticate, {
        agent,
        ...(methodId === undefined ? {} : { methodId }),
        ...(finished === undefined ? {} : { finished }),
      }),
  };
}
