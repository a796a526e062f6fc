/** What the panel's sessions need from the server and the editor. Tests supply both. */

import type { AgentInfo, AuthenticateResult, Choices, Rejected, SessionRow, TranscriptResult } from "../../lsp_ext";
import type { Attachment } from "../model";
import type { Live } from "./live";

export interface Hunk {
  turn: number;
  uri: string;
  oldText: string;
  newText: string;
}

/** The server's commands, as the panel uses them. Each rejects with an error whose message is for the user. */
export interface Server {
  newSession(argument: { agent?: string; cwd?: string }): Promise<{ sessionId: string; agent: string } & Choices>;
  prompt(argument: { sessionId: string; prompt: Record<string, unknown>[] }): Promise<{ sessionId: string; turn: number }>;
  cancel(sessionId: string): Promise<unknown>;
  stopCommand(sessionId: string, terminalId: string): Promise<unknown>;
  close(sessionId: string): Promise<unknown>;
  listAgents(): Promise<AgentInfo[]>;
  listSessions(): Promise<SessionRow[]>;
  /** `replay`: the agent's own record arrives as updates, for a conversation that has no record here. */
  load(sessionId: string, replay: boolean): Promise<{ agent: string; remembers: boolean; note?: string; title?: string } & Choices>;
  fork(sessionId: string): Promise<{ sessionId: string } & Choices>;
  remove(sessionId: string): Promise<{ deleted: string[]; kept: { sessionId: string; reason: string }[] }>;
  transcript(sessionId: string): Promise<TranscriptResult>;
  setMode(sessionId: string, modeId: string): Promise<{ modes: unknown }>;
  setOption(sessionId: string, configId: string, value: string | boolean): Promise<{ configOptions: unknown }>;
  revertTurn(sessionId: string, turn: number): Promise<Rejected>;
  keep(sessionId: string, turn: number): Promise<unknown>;
  reject(sessionId: string, turn: number): Promise<Rejected>;
  changes(sessionId: string): Promise<Hunk[]>;
  authenticate(agent: string, methodId?: string, finished?: boolean): Promise<AuthenticateResult>;
}

/** What the sessions need from the editor. */
export interface Editor {
  /** Something about this session changed: its state or, with `content`, the conversation itself. */
  changed(session: Live | null): void;
  /** A turn ended or an agent asks something, for users who are looking elsewhere. */
  news(session: Live, what: "ended" | "asks"): void;
  /** The server reported a session that was not started in the panel. */
  adopted(session: Live): void;
  /** A queued message will not be sent; give it back to the user. */
  returned(session: Live, text: string): void;
  /** Adds this to the session's prompt box, where the user sees it and may remove it. */
  attached(session: Live, attachment: Attachment): void;
  label(uri: string): string;
  words: Words;
  /** Storage that outlives the window. */
  remember(): void;
  now(): number;
}

export interface Words {
  mode: string;
  /** {0} is the number of changes that could not be put back, {1} the reason. */
  undoIncomplete(count: number, reason: string): string;
  allowed(label: string): string;
  cancelled: string;
  signIn: string;
  signInFirst: (agent: string) => string;
  lost: string;
  /** Follows the reason why the conversation was lost. */
  given: string;
  /** The title of a fork, from that of the conversation that it begins with. */
  forked(title: string): string;
  /** Stands where a fork leaves the conversation that it begins with. */
  forkedFrom(title: string): string;
  /** The name of the attachment with the conversation before the session was started again. */
  earlier: string;
}
