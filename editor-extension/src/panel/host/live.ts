/** One session as the panel has it: its conversation, and what stands around it. */

import type { Current, SessionState, Slash, Summary } from "../model";
import { pickers, slashes, usage } from "./acp";
import { Conversation, object } from "./conversation";

type Json = Record<string, unknown>;

export interface Queued {
  id: string;
  text: string;
  send: () => void;
}

export class Live {
  readonly conversation = new Conversation();
  title = "";
  /** The user gave the title; the agent's is not taken any more. */
  renamed = false;
  state: SessionState = "idle";
  /** The turn was asked to end, and has not yet. */
  stopping = false;
  recorded = false;
  resumable = false;
  unseen = false;
  used: number | undefined;
  /** The turn that runs, once the server told its number. */
  turn: number | null = null;
  startedAt = 0;
  /** The folder it was asked to begin in; undefined: the workspace's. */
  cwd: string | undefined;
  modes: unknown;
  configOptions: unknown;
  /** ACP's `promptCapabilities`, as far as the server tells them. */
  promptCapabilities: { image?: boolean } | undefined;
  queue: Queued[] = [];
  private commands: Slash[] = [];
  private usage: Current["usage"];

  /** What stays the same when it gets its id. */
  readonly key: string;

  constructor(
    public id: string,
    public agentId: string,
    public agentName: string,
  ) {
    this.key = id;
  }

  get running(): boolean {
    return this.state === "running" || this.state === "waiting";
  }

  /** One update in ACP's shape: states are kept here, everything else is the conversation's. */
  update(update: Json, replayed: boolean): void {
    switch (update["sessionUpdate"]) {
      case "available_commands_update":
        this.commands = slashes(update);
        break;
      case "current_mode_update":
        if (typeof update["currentModeId"] === "string") this.modes = { ...object(this.modes), currentModeId: update["currentModeId"] };
        break;
      case "config_option_update":
        this.configOptions = update["configOptions"];
        break;
      case "usage_update":
        this.usage = usage(update) ?? this.usage;
        break;
      case "session_info_update":
        if (typeof update["title"] === "string" && update["title"] && !this.renamed) this.title = update["title"].slice(0, 200);
        break;
      default:
        this.conversation.update(update, replayed);
    }
  }

  /** Waiting is running with a question open. */
  settleState(): void {
    if (!this.running) return;
    this.state = this.conversation.openQuestions() > 0 ? "waiting" : "running";
  }

  summary(): Summary {
    return {
      sessionId: this.id,
      title: this.title,
      agent: this.agentName,
      state: this.state,
      recorded: this.recorded,
      unseen: this.unseen,
      ...(this.used === undefined ? {} : { used: this.used }),
    };
  }

  current(modeLabel: string): Current {
    return {
      ...this.summary(),
      agentId: this.agentId,
      pickers: pickers(this.modes, this.configOptions, modeLabel),
      slashes: this.commands,
      queue: this.queue.map(({ id, text }) => ({ id, text })),
      resumable: this.resumable,
      stopping: this.stopping && this.running,
      images: this.promptCapabilities?.image === true,
      ...(this.usage ? { usage: this.usage } : {}),
    };
  }
}
