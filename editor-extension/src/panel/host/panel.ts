/** The panel: puts its parts together, and hands on to them what the server tells. */

import * as vscode from "vscode";
import * as lsp from "../../lsp_ext";
import type { Session } from "../../session";
import { Attention } from "./attention";
import { Beginnings } from "./beginnings";
import { Box } from "./box";
import { commands } from "./commands";
import { Followed } from "./followed";
import { HasAgent } from "./has_agent";
import { label } from "./links";
import type { Live } from "./live";
import { Memory } from "./memory";
import { Fixes } from "./mentions";
import type { Pane } from "./pane";
import { Places } from "./places";
import { Requests } from "./requests";
import { serverOf } from "./server";
import { message, Sessions } from "./sessions";
import { Tour } from "./tour";
import { words } from "./words";

/** When documents change, the hunks of their sessions are checked at most this often, in milliseconds. */
const LOOK_AFTER = 300;

export class Panel implements vscode.Disposable {
  private readonly sessions: Sessions;
  private readonly memory: Memory;
  private readonly places: Places;
  private readonly attention: Attention;
  private readonly hasAgent: HasAgent;
  private readonly tour: Tour;
  private readonly requests: Requests;
  private readonly disposables: vscode.Disposable[] = [];
  private restored = false;
  private looking: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly session: Session) {
    const { context, log } = session;
    const memory = (this.memory = new Memory(context.workspaceState));
    const server = serverOf(session);
    const changed = (live: Live | null) => this.changed(live);
    const refresh = () => this.refresh();
    const sessions = (this.sessions = new Sessions(server, {
      changed,
      news: (live, what) => this.attention.news(live, what),
      adopted: (live) => {
        if (!places.side.current) places.show(live, places.side, null);
      },
      returned: (live, text) => box.add(live, { text, attachments: [] }),
      attached: (live, attachment) => box.add(live, { text: "", attachments: [attachment] }),
      label: (uri) => label(vscode.Uri.parse(uri)),
      remember: () => this.remember(),
      now: () => Date.now(),
      words: words(),
    }));
    sessions.titles = { ...memory.titles };
    const followed = new Followed(session);
    const places = (this.places = new Places(
      {
        extensionUri: context.extensionUri,
        overview: (pane) => this.requests.overview(pane),
        received: (pane, one) => this.requests.received(pane, one),
        failed: (pane, error) => this.failed(error, pane),
        log: (said) => log.warn(said),
      },
      {
        leaving: (pane) => followed.leaving(pane),
        closed: (pane) => {
          followed.closed(pane);
          places.side.changed(null);
          this.attention.count();
        },
        shown: () => this.remember(),
        seen: () => this.attention.look(),
        focused: () => {
          followed.isPageFocused = places.side.isFocused;
          void vscode.commands.executeCommand("setContext", "acpSidecar.panelFocused", places.all().some((one) => one.isFocused));
        },
        restore: () => {
          if (session.client.state === "running") void this.refresh();
        },
      },
    ));
    this.attention = new Attention(sessions, places);
    const box = new Box(session, places, memory);
    const beginnings = new Beginnings(session, sessions, places, memory, changed);
    this.hasAgent = new HasAgent(() => beginnings.defaultAgent() !== undefined);
    const tour = (this.tour = new Tour(context, {
      changed: () => places.side.changed(null),
      begin: (folder) => beginnings.begin(places.side, "demo", folder),
      compose: (text, attachments) => box.compose(text, attachments, true, places.side),
      log: (said) => log.warn(said),
    }));
    const parts = { session, server, sessions, memory, places, beginnings, box, tour, followed, refresh, changed };
    this.requests = new Requests(parts);
    this.disposables.push(
      places,
      followed,
      box,
      tour,
      this.hasAgent,
      this.requests,
      vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new Fixes(), { providedCodeActionKinds: Fixes.kinds }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("acpSidecar.agents") || event.affectsConfiguration("acpSidecar.defaultAgent")) void this.refresh();
      }),
      vscode.window.onDidChangeWindowState(() => this.attention.look()),
      ...this.told(),
      ...commands(parts, (error, pane) => this.failed(error, pane)),
    );
  }

  dispose(): void {
    clearTimeout(this.looking);
    for (const one of this.disposables.splice(0).reverse()) one.dispose();
  }

  /** What the server tells, and whether it is there. */
  private told(): vscode.Disposable[] {
    const { sessions, requests, tour } = this;
    const { client } = this.session;
    return [
      client.onNotification(lsp.sessionUpdate, ({ sessionId, update, replay }) => sessions.updated(sessionId, update, replay === true)),
      client.onNotification(lsp.sessionOpened, (one) => sessions.opened(one)),
      client.onNotification(lsp.notice, (one) => sessions.noticed(one.sessionId, one.message)),
      client.onNotification(lsp.terminalOutput, ({ sessionId, terminalId, output }) => {
        sessions.output(sessionId, terminalId, output);
        requests.terminals.said(sessionId, terminalId, output);
      }),
      client.onNotification(lsp.terminalEnded, ({ sessionId, terminalId, exitCode: code, ...how }) => {
        const end = code === undefined ? how : { code, ...how };
        sessions.commandEnded(sessionId, terminalId, end);
        requests.terminals.ended(sessionId, terminalId, end);
      }),
      client.onNotification(lsp.turnEnded, (end) => {
        sessions.ended(end);
        tour.ended(end);
        this.lookSoon();
      }),
      client.onNotification(lsp.changes, () => this.lookSoon()),
      client.onNotification(lsp.reviewed, (one) => sessions.decided(one.sessionId, one.turn, one.verdict, one.changes)),
      client.onNotification(lsp.agentState, (one) => {
        if (one.state === "failed") sessions.agentFailed(one.sessions, one.message);
      }),
      client.onRequest(lsp.requestPermission, (params, token) =>
        sessions.questions.ask(params, (then) => void token.onCancellationRequested(then)),
      ),
      client.onNotification(lsp.elicitationComplete, (one) => sessions.questions.finished(one.agent, one.elicitationId)),
      client.onRequest(lsp.elicitation, (params, token) => sessions.questions.elicit(params, (then) => void token.onCancellationRequested(then))),
      client.onDidChangeState((state) => {
        if (state === "running") void this.refresh();
        else if (state === "stopped" || state === "failed") sessions.gone();
        for (const pane of this.places.all()) pane.changed(null);
      }),
    ];
  }

  private remember(): void {
    const live = this.places.side.current;
    this.memory.current = live && !live.id.startsWith("starting-") ? live.id : undefined;
    this.memory.keepTitles(this.sessions.titles);
  }

  /** Loads what the server knows and, after a reload of the window, the conversations that were shown. */
  private async refresh(): Promise<void> {
    const { places, sessions } = this;
    try {
      await sessions.refresh();
      const known = (id: string): boolean => sessions.all.has(id) || sessions.rows.some((row) => row.sessionId === id);
      if (this.session.client.state === "running") {
        await places.tabs.restored(async (id) => (known(id) ? sessions.open(id) : undefined));
      }
      const last = this.memory.current;
      if (!this.restored) {
        this.restored = true;
        if (last !== undefined && places.side.current === null && known(last)) {
          const opened = await sessions.open(last);
          if (places.side.current === null) places.show(opened, places.side, null); // otherwise the user started another one meanwhile
        }
      }
    } catch (error) {
      this.session.log.warn(`panel: ${message(error)}`);
    }
  }

  private changed(live: Live | null): void {
    const { places } = this;
    for (const pane of places.all()) {
      if (live === null || pane === places.side || pane.current === live) pane.changed(live);
    }
    if (live) places.tabs.titled(live);
    if (live === null) this.hasAgent.say();
    void vscode.commands.executeCommand("setContext", "acpSidecar.forks", places.side.current?.summary().forks === true);
    this.attention.count();
  }

  private lookSoon(): void {
    this.looking ??= setTimeout(() => {
      this.looking = undefined;
      for (const live of this.sessions.all.values()) {
        if (!live.recorded && live.state !== "starting") void this.sessions.look(live).catch((error: unknown) => this.session.log.debug(message(error)));
      }
    }, LOOK_AFTER);
  }

  private failed(error: unknown, pane: Pane): void {
    this.session.log.warn(`panel: ${message(error)}`);
    if (pane.current) this.sessions.explain(pane.current, error);
    else void vscode.window.showErrorMessage(message(error));
  }
}
