/** What pages ask for, and what is done about it. A page shows agents' text: what it asks for was checked against its schema, and is what a click may do. */

import * as vscode from "vscode";
import type { Overview } from "../model";
import type { FromWebview } from "../protocol";
import { addAgent, remedy } from "./agents";
import { AsTerminals } from "./as_terminal";
import { keepDraft } from "./drafts";
import { insert, openLink, openLocation, Told as ToldTexts } from "./links";
import type { Live } from "./live";
import type { Pane } from "./pane";
import type { Parts } from "./parts";
import { save } from "./save";
import { Search } from "./search";

export class Requests implements vscode.Disposable {
  readonly terminals = new AsTerminals();
  private readonly told = new ToldTexts();
  private readonly search: Search;

  constructor(private readonly parts: Parts) {
    this.search = new Search(parts.server);
  }

  dispose(): void {
    this.told.dispose();
    this.terminals.dispose();
  }

  /** Everything around the conversation that the page of this pane shows. */
  overview(pane: Pane): Overview {
    const { session, sessions, memory, places, beginnings, followed } = this.parts;
    const live = pane.current;
    const draft = memory.draft(live?.id ?? null);
    const { state } = session.client;
    const agent = beginnings.defaultAgent();
    const tour = pane === places.side ? this.parts.tour.state() : undefined;
    const vacant = places.tabs.vacant(pane);
    return {
      place: pane.place,
      agents: beginnings.agents(),
      sessions: pane === places.side ? sessions.summaries() : [],
      connected: state === "running",
      following: followed.is(pane),
      history: [...memory.history],
      draftKey: live?.key ?? "",
      draft: draft.text,
      attachments: draft.attachments,
      ...(vacant ? { vacant } : {}),
      ...(live ? { current: live.current(vscode.l10n.t("Mode")) } : {}),
      ...(agent === undefined ? {} : { defaultAgent: agent }),
      ...(state === "stopped" || state === "failed"
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

  async received(pane: Pane, one: FromWebview): Promise<void> {
    const { sessions, places, memory, beginnings, box } = this.parts;
    switch (one.type) {
      case "send":
        return this.send(pane, one);
      case "draft":
        return keepDraft(memory, sessions.all.values(), pane.current, one);
      case "newSession":
        await beginnings.begin(pane, one.agent ?? beginnings.defaultAgent());
        return;
      case "openSession":
        return places.show(await sessions.open(one.sessionId), pane);
      case "openInEditor":
        return places.inEditor(await sessions.open(one.sessionId));
      case "openInSideBar":
        return places.inSideBar(pane);
      case "forkSession": {
        const fork = await sessions.fork(one.sessionId);
        return pane === places.side ? places.show(fork, pane) : places.inEditor(fork); // beside the one that it comes from
      }
      case "home":
        return places.show(null, pane);
      case "refreshSessions":
        return this.parts.refresh();
      case "search": {
        pane.searched = one.query;
        const found = await this.search.find(one.query, sessions.summaries(), sessions.all, () => pane.searched === one.query);
        if (pane.searched === one.query) pane.tell({ type: "found", query: one.query, found });
        return;
      }
      case "renameSession":
        return sessions.rename(one.sessionId, one.title);
      case "deleteSession": {
        const shown = this.live(one.sessionId);
        if (shown) places.forget(shown);
        const kept = await sessions.remove(one.sessionId);
        if (kept.length > 0) void vscode.window.showWarningMessage(kept.join("\n"));
        return;
      }
      case "exportSession":
        return save(await sessions.open(one.sessionId));
      case "complete":
        return box.complete(pane, one.request, one.query);
      case "drop":
        return box.dropped(pane, one.uris);
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
        return this.parts.tour.start();
      case "focused":
        return places.focused(pane, one.on);
      case "follow":
        return this.parts.followed.set(pane, one.on);
      case "ready": // the pane's own
        return;
      default: {
        const live = this.live(one.sessionId);
        return live && this.inSession(live, one);
      }
    }
  }

  /** A message of the user's. It comes back into the box unless there is a conversation to send it to. */
  private async send(pane: Pane, one: Extract<FromWebview, { type: "send" }>): Promise<void> {
    const { sessions, memory, beginnings, tour } = this.parts;
    const live = this.live(one.sessionId) ?? (await beginnings.begin(pane, one.agent ?? beginnings.defaultAgent()));
    if (!live || (live.state === "failed" && !(await beginnings.again(live)))) {
      return pane.tell({ type: "compose", text: one.text, attachments: one.attachments, focus: false });
    }
    if (one.sessionId === null) memory.keepDraft(null, { text: "", attachments: [] });
    memory.sent(one.text);
    memory.keepDraft(live.id, { text: "", attachments: [] });
    tour.sent();
    return sessions.send(live, one.text, one.attachments);
  }

  private async inSession(live: Live, one: Extract<FromWebview, { sessionId: string }>): Promise<void> {
    const { sessions } = this.parts;
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
        const name = vscode.l10n.t("{0}’s command", sessions.agentName(live.agentId));
        return this.terminals.open(live.id, command, name, entry.output, () => void sessions.stopCommand(live, command.id));
      }
      case "openDiff": {
        const texts = live.conversation.diff(one.entry, one.index);
        if (texts) await this.told.open(texts);
        return;
      }
      case "seen":
        live.unseen = false;
        return this.parts.changed(live);
    }
  }

  private async action(pane: Pane, id: string): Promise<void> {
    const { session, beginnings, tour, refresh } = this.parts;
    if (id === "addAgent") await addAgent(session, refresh);
    else if (id === "restart") await vscode.commands.executeCommand("acpSidecar.restart");
    else if (id === "openFolder") await vscode.commands.executeCommand("workbench.action.files.openFolder");
    else if (id === "endTour") tour.end();
    else if (id.startsWith("signIn:")) await beginnings.signIn(pane, id.slice("signIn:".length), refresh);
  }

  private live(sessionId: string | null): Live | undefined {
    return sessionId === null ? undefined : this.parts.sessions.all.get(sessionId);
  }
}
