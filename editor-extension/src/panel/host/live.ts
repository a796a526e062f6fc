/** One session in the panel: its conversation and its state. */

import type { Choices } from "../../lsp_ext";
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
  /** The user set the title, so titles from the agent are ignored. */
  renamed = false;
  state: SessionState = "idle";
  /** The turn was asked to end but has not ended yet. */
  stopping = false;
  recorded = false;
  /** Its agent is known to be able to go on with it after it has ended. */
  resumable = false;
  unseen = false;
  used: number | undefined;
  /** The number of the running turn, once the server has sent it. */
  turn: number | null = null;
  startedAt = 0;
  /** The folder that the session was to start in; undefined: the workspace's. */
  cwd: string | undefined;
  modes: unknown;
  configOptions: unknown;
  /** The agent can begin another conversation with what was said in it. */
  forks = false;
  private takesImages = false;
  queue: Queued[] = [];
  private commands: Slash[] = [];
  private usage: Current["usage"];

  /** An identifier that does not change when the session gets its id. */
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

  /** The session is open with its agent, perhaps anew: this can be chosen in it now. */
  opened({ modes, configOptions, promptCapabilities, forks }: Choices): void {
    this.modes = modes;
    this.configOptions = configOptions;
    this.takesImages = promptCapabilities?.image === true;
    this.forks = forks === true;
  }

  /** Handles one update in ACP's shape: keeps states here and passes everything else to the conversation. */
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

  /** A running turn with an open question is waiting. */
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
      forks: this.forks && !this.running && this.conversation.entries.length > 0,
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
      images: this.takesImages,
      ...(this.usage ? { usage: this.usage } : {}),
    };
  }
}
