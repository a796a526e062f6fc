/** How a conversation begins, or goes on, from the panel: with which agent, in which folder, and what is said where it does not. */

import * as vscode from "vscode";
import type { Session } from "../../session";
import type { Agent, Told } from "../model";
import { agentRows, signIn } from "./agents";
import type { Live } from "./live";
import type { Memory } from "./memory";
import type { Pane } from "./pane";
import type { Places } from "./places";
import type { Sessions } from "./sessions";

export class Beginnings {
  constructor(
    private readonly session: Session,
    private readonly sessions: Sessions,
    private readonly places: Places,
    private readonly memory: Memory,
    /** The conversation has something new to show. */
    private readonly changed: (live: Live) => void,
  ) {}

  /** The agents that the user may choose from. */
  agents(): Agent[] {
    return agentRows(this.sessions.agents);
  }

  /** The agent in the settings, or else the only one there is. The demo agent is never chosen by default. */
  defaultAgent(): string | undefined {
    const wanted = this.session.settings().defaultAgent;
    return this.sessions.agents.find((one) => one.id === wanted)?.id ?? this.usable()[0]?.id;
  }

  /** The only agent that can be started, the demo aside; undefined where there is a choice, or nothing to choose. */
  onlyAgent(): string | undefined {
    const usable = this.usable();
    return usable.length === 1 ? usable[0]!.id : undefined;
  }

  private usable(): { id: string }[] {
    return this.sessions.agents.filter((one) => one.installed && one.source !== "demo");
  }

  /** A new conversation in the pane; without an agent, the page asks for one. Undefined unless it has begun. `cwd`: another folder than the window's. */
  async begin(pane: Pane, agent: string | undefined, cwd?: string): Promise<Live | undefined> {
    if (agent === undefined) {
      pane.tell({ type: "show", what: "agents" });
      return undefined;
    }
    const { live, ready } = this.sessions.begin(agent, cwd ?? homeless());
    if (pane === this.places.side && pane.current === null && cwd === undefined) this.memory.moveDraft("", live.id); // what was typed on the start page
    this.places.show(live, pane);
    if (await this.started(live, ready)) return live;
    if (!vscode.workspace.workspaceFolders?.length && cwd === undefined) {
      const action = { id: "openFolder", label: vscode.l10n.t("Open folder…") };
      live.conversation.notice("info", vscode.l10n.t("An agent works in a folder."), action);
      this.changed(live);
    }
    return undefined;
  }

  /** Tries again to start a conversation that failed to. */
  again(live: Live): Promise<boolean> {
    return this.started(live, this.sessions.again(live));
  }

  private async started(live: Live, ready: Promise<boolean>): Promise<boolean> {
    const before = live.id;
    const begun = await ready;
    this.memory.moveDraft(before, live.id);
    return begun;
  }

  /** Lets the user sign in with the agent, and starts again what waited for that. `refresh`: brings the list of agents up to date. */
  async signIn(pane: Pane, agent: string, refresh: () => Promise<void>): Promise<void> {
    const live = pane.current;
    if (!(await signIn(this.session, agent, this.sessions.agentName(agent)))) return;
    await refresh();
    if (live?.state === "failed" && live.agentId === agent) await this.again(live);
  }

  /** Sends a prompt from elsewhere in this extension; queues it while a turn is running. Rejects if the session cannot go on. */
  async deliver({ sessionId, text, attachments }: Told): Promise<void> {
    const live = await this.sessions.open(sessionId);
    if (live.recorded) await this.sessions.resume(live);
    if (live.recorded || live.state === "failed") throw new Error(vscode.l10n.t("The conversation cannot be continued. Open it in the panel to see why."));
    this.places.show(live, this.places.of(live) ?? this.places.side, null);
    void this.sessions.send(live, text, attachments);
  }
}

/** The folder for a session in a window without a folder: that of the open file. */
function homeless(): string | undefined {
  if (vscode.workspace.workspaceFolders?.length) return undefined;
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === "file" ? vscode.Uri.joinPath(uri, "..").fsPath : undefined;
}
