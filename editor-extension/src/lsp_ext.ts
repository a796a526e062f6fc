/**
 * What acp-sidecar adds to LSP, as far as this extension uses it; the counterpart of `sidecar/lsp/ext.py`. A test
 * compares names and flags of the two. docs/reference.md describes the shapes.
 */

import { NotificationType, RequestType, type Diagnostic, type Range, type TextEdit } from "vscode-languageclient/node";

/** Sent in `initializationOptions.client`: the custom methods that some part of this extension handles. */
export interface ClientFlags {
  save: boolean;
  open: boolean;
  reload: boolean;
  sessionUpdates: boolean;
  permissions: boolean;
  changes: boolean;
  conflicts: boolean;
  agentState: boolean;
  elicitation: boolean;
  terminalLogin: boolean;
  messageButtons: boolean;
  activity: boolean;
  context: boolean;
}

// Commands: workspace/executeCommand with one argument object

/** A server command with the types of its argument and result. */
export class ServerCommand<A, R> {
  /** Never set; it only carries the types. */
  declare readonly _types?: [A, R];
  constructor(readonly name: string) {}
}

export interface NewSessionArguments {
  agent?: string;
  /** An absolute path; the first workspace folder when absent. */
  cwd?: string;
  additionalDirectories?: string[];
  mcpServers?: Record<string, unknown>[];
}
/** What the user can choose in a session that is open, in ACP's shapes. */
export interface Choices {
  modes?: unknown;
  configOptions?: unknown;
  promptCapabilities?: { image?: boolean };
  /** The agent can begin another conversation with what was said in it. */
  forks?: boolean;
}
export interface NewSessionResult extends Choices {
  sessionId: string;
  agent: string;
}
export const newSession = new ServerCommand<NewSessionArguments, NewSessionResult>("sidecar.newSession");

export interface PromptArguments {
  /** Text, or ACP content blocks. */
  prompt: string | Record<string, unknown>[];
  sessionId?: string;
  wait?: boolean;
  /** What the prompt refers to: a selection in an open document, with its diagnostics (the server leaves out its own hints). */
  context?: { uri: string; range?: Range; diagnostics?: Diagnostic[] }[];
}
export interface PromptResult {
  sessionId: string;
  turn: number;
}
export const prompt = new ServerCommand<PromptArguments, PromptResult>("sidecar.prompt");

export interface OfSession {
  sessionId?: string;
}
export const openChat = new ServerCommand<OfSession, { uri: string; sessionId?: string }>("sidecar.openChat");
export const send = new ServerCommand<{ uri?: string }, { uri: string }>("sidecar.send");
export const answer = new ServerCommand<{ questionId: string; optionId: string }, null>("sidecar.answer");
export const cancel = new ServerCommand<OfSession, null>("sidecar.cancel");
export const stopCommand = new ServerCommand<{ sessionId: string; terminalId: string }, null>("sidecar.stopCommand");
export const closeSession = new ServerCommand<OfSession, null>("sidecar.closeSession");

export interface AgentInfo {
  id: string;
  name: string;
  source: "configured" | "found" | "registry" | "demo";
  installed: boolean;
  version?: string;
  /** What is missing, in words for the user. */
  needs?: string;
}
export const listAgents = new ServerCommand<Record<string, never>, AgentInfo[]>("sidecar.listAgents");

export interface AuthMethod {
  id: string;
  name: string;
  description?: string;
  type: "agent" | "terminal" | "env_var";
}
export interface AuthenticateResult {
  agent: string;
  /** choose: call again with a `methodId` · terminal: run it, then call again with `finished` · env: `message` says what to set. */
  state: "done" | "choose" | "terminal" | "env";
  methods?: AuthMethod[];
  terminal?: { command: string; args: string[]; env: Record<string, string>; cwd?: string };
  message?: string;
  vars?: Record<string, unknown>[];
  link?: string;
}
export const authenticate = new ServerCommand<
  { agent: string; methodId?: string; finished?: boolean },
  AuthenticateResult
>("sidecar.authenticate");
export const logout = new ServerCommand<{ agent: string }, null>("sidecar.logout");

/** One conversation, open or not. */
export interface SessionRow extends Choices {
  sessionId: string;
  agent: string;
  cwd: string;
  title?: string;
  /** ISO 8601. */
  updatedAt?: string;
  open: boolean;
  running: boolean;
  turn: number;
  /** The sidecar has a record of it. */
  transcript: boolean;
  /** Its agent says that it keeps the conversation. */
  listed: boolean;
  /** Its agent said that it can resume conversations. */
  loads: boolean;
}
export const listSessions = new ServerCommand<{ agent?: string; all?: boolean }, SessionRow[]>("sidecar.listSessions");

export interface LoadSessionResult extends Choices {
  sessionId: string;
  agent: string;
  history: "agent" | "transcript" | "none";
  /** False: the agent cannot resume it. The next prompt opens a new conversation with the agent. */
  remembers: boolean;
  note?: string;
  title?: string;
}
export const loadSession = new ServerCommand<{ sessionId: string; replay?: boolean }, LoadSessionResult>(
  "sidecar.loadSession",
);
export interface ForkSessionResult extends Choices {
  /** The new conversation's, which is open; its record begins with what was said before. */
  sessionId: string;
  agent: string;
  forkOf: string;
  title?: string;
}
export const forkSession = new ServerCommand<{ sessionId: string }, ForkSessionResult>("sidecar.forkSession");
export const deleteSession = new ServerCommand<
  { sessionId?: string; all?: boolean },
  { deleted: string[]; kept: { sessionId: string; reason: string }[] }
>("sidecar.deleteSession");

export interface TranscriptEntry {
  at: string;
  type: "prompt" | "update" | "end" | "reviewed" | "omitted";
  turn?: number;
  prompt?: Record<string, unknown>[];
  update?: Record<string, unknown>;
  stopReason?: string;
  changes?: { uri: string; added: number; removed: number }[];
  error?: string;
  verdict?: Verdict;
  changed?: number;
}
export interface TranscriptResult {
  sessionId: string;
  agent: string;
  cwd: string;
  title?: string;
  createdAt: string;
  updatedAt: string;
  entries: TranscriptEntry[];
}
export const transcript = new ServerCommand<{ sessionId: string }, TranscriptResult>("sidecar.transcript");
export const setMode = new ServerCommand<{ sessionId: string; modeId: string }, { modes: unknown }>("sidecar.setMode");
export const setConfigOption = new ServerCommand<
  { sessionId: string; configId: string; value: string | boolean },
  { configOptions: unknown }
>("sidecar.setConfigOption");
export const status = new ServerCommand<Record<string, never>, Record<string, unknown>>("sidecar.status");

export interface ListChangesArguments {
  sessionId?: string;
  uri?: string;
}
/** An agent's hunk in the current text. */
export interface Change {
  changeId: string;
  uri: string;
  range: Range;
  oldText: string;
  newText: string;
  sessionId: string;
  turn: number;
  /** The agent's name; "" if it is no longer known. */
  agent: string;
  /** The first words of the turn's prompt, if the server knows it. */
  title?: string;
  /** Other turns that changed the same lines earlier, oldest first. */
  earlier?: { sessionId: string; turn: number; agent: string; title?: string }[];
  toolCallId?: string;
  state: string;
  /** The version of the document that `range` refers to, if it is open. */
  version?: number;
  /** The agent created the file. */
  created?: boolean;
  /** Found on disk while agents worked; nobody knows whose it is. `sessionId` and `agent` are "", `turn` is 0. */
  unknown?: boolean;
  /** The change is of the whole file, not of a text; `range` and `newText` mean nothing. */
  file?: FileChange;
}
export interface FileChange {
  kind: "created" | "deleted" | "renamed" | "mode" | "link" | "changed";
  /** URI, with `renamed`. */
  from?: string;
  /** Octal, with `mode`. */
  oldMode?: string;
  newMode?: string;
  /** With `link`; "" where there was or is no link. */
  oldTarget?: string;
  newTarget?: string;
}
export const listChanges = new ServerCommand<ListChangesArguments, Change[]>("sidecar.listChanges");

export interface TextBeforeArguments {
  uri: string;
  sessionId?: string;
  turn?: number;
}
/** The document without its unreviewed changes, or without those of a session or turn; null if there are none. */
export const textBefore = new ServerCommand<TextBeforeArguments, { text: string | null }>("sidecar.textBefore");

/** One hunk, one file, one session or turn, or everything. */
export interface ChangesArguments {
  changeId?: string;
  /** Hunks of one document are put back in one undo step. */
  changeIds?: string[];
  uri?: string;
  sessionId?: string;
  turn?: number;
  all?: boolean;
  /** Why, for an agent that waits for the answer to its write (`writes: "confirm"`). */
  reason?: string;
}
export interface Impossible {
  changeId: string;
  reason: string;
}
export const keep = new ServerCommand<ChangesArguments, { kept: string[]; impossible: Impossible[] }>("sidecar.keep");
export interface Rejected {
  rejected: string[];
  impossible: Impossible[];
}
/** `told`: those whose agent gets the reason with the answer to its write. */
export const reject = new ServerCommand<ChangesArguments, Rejected & { told: string[] }>("sidecar.reject");
export const revertTurn = new ServerCommand<{ sessionId: string; turn: number }, Rejected>("sidecar.revertTurn");

/** A place that both the user and an agent changed, in whole lines. Each text may be empty; line ends are "\n". */
export interface ConflictHunk {
  /** The place of `mine` in the document, at the conflict's version. */
  range: Range;
  base: string;
  mine: string;
  agent: string;
}
/** `sidecar/conflict`, and a row of `sidecar.listConflicts`. */
export interface Conflict {
  conflictId: string;
  uri: string;
  version: number;
  state: "open" | "closed";
  /** disk: the file has the agent's text and the buffer does not; write: the agent's write was refused, and the agent was told. */
  origin: "disk" | "write";
  /** The agent was asked to make its change again. */
  asked: boolean;
  hunks: ConflictHunk[];
  /** Absent, like `agent`, if the author of the change is unknown. */
  sessionId?: string;
  agent?: string;
  outcome?: "mine" | "agent" | "saved" | "closed" | "gone";
}
export const listConflicts = new ServerCommand<{ uri?: string }, Conflict[]>("sidecar.listConflicts");
export const resolveConflict = new ServerCommand<
  { conflictId: string; take: "mine" | "agent" | "ask" },
  { conflictId: string; outcome: "mine" | "agent" | "asked" | "gone" }
>("sidecar.resolveConflict");

// Methods: server → client

/** Announced by `sessionUpdates`. The update has ACP's shape; `replay`: it is history. */
export const sessionUpdate = new NotificationType<{
  sessionId: string;
  update: Record<string, unknown>;
  replay?: boolean;
}>("sidecar/sessionUpdate");
/** Announced by `sessionUpdates`: whoever asked for it, a session is open with its agent now, perhaps anew. */
export const sessionOpened = new NotificationType<{ sessionId: string; agent: string } & Choices>("sidecar/sessionOpened");
/** Announced by `sessionUpdates`: the sidecar's own words, a line in the conversation. */
export const notice = new NotificationType<{ sessionId: string; message: string }>("sidecar/notice");
/** Announced by `sessionUpdates`: new output of an agent's command. */
export const terminalOutput = new NotificationType<{ sessionId: string; terminalId: string; output: string }>(
  "sidecar/terminalOutput",
);

/** Neither code nor signal: it could not be started. `stopped`: by the user. */
export interface TerminalEnded {
  sessionId: string;
  terminalId: string;
  exitCode?: number;
  signal?: string;
  stopped?: boolean;
}
/** Announced by `sessionUpdates`: an agent's command has ended; nothing more of its output comes. */
export const terminalEnded = new NotificationType<TerminalEnded>("sidecar/terminalEnded");

export type Verdict = "kept" | "rejected";
/** Announced by `sessionUpdates`: so many changes of a turn were just kept or rejected, in whatever way. */
export const reviewed = new NotificationType<{ sessionId: string; turn: number; verdict: Verdict; changes: number }>(
  "sidecar/reviewed",
);

export interface TurnEnded {
  sessionId: string;
  turn: number;
  stopReason: string;
  changes: { uri: string; added: number; removed: number }[];
  error?: string;
  /** "auth_required" comes with `methods`. */
  errorKind?: string;
  methods?: AuthMethod[];
}
/** Sent to every client. */
export const turnEnded = new NotificationType<TurnEnded>("sidecar/turnEnded");

export interface PermissionParams {
  sessionId: string;
  requestId: string;
  action: "read" | "write" | "execute" | "start" | "other";
  text: string;
  reason: string;
  options: { optionId: string; kind: string; label: string }[];
  /** The canonical path. */
  target?: string;
  argv?: string[];
  cwd?: string;
  /** Names only. */
  env?: string[];
  diff?: unknown;
}
/** Announced by `permissions`; withdrawn through its cancellation token. */
export const requestPermission = new RequestType<
  PermissionParams,
  { optionId: string } | { cancelled: true },
  void
>("sidecar/requestPermission");

export interface SaveParams {
  uri: string;
  version: number;
  /** Keep the text exactly as it is, without the changes that the user's settings make on every save, if possible. */
  exact?: boolean;
}
export interface SaveAnswer {
  saved: boolean;
  /** The user typed, undid or redid while the save was being prepared, so not every change comes from save participants. */
  typed?: boolean;
}
/** Announced by `save`. */
export const save = new RequestType<SaveParams, SaveAnswer, void>("sidecar/save");
/** Announced by `open`: opens the document without showing it. */
export const open = new RequestType<{ uri: string }, { version: number }, void>("sidecar/open");
/** Announced by `open`: closes a document that was opened this way, unless somebody is looking at it. */
export const close = new RequestType<{ uri: string }, null, void>("sidecar/close");

export interface ReloadParams {
  uri: string;
  version: number;
  edits: TextEdit[];
  /** What changes in the text of `version` by all this, so that the cursor can stay where the user types. */
  changes?: TextEdit[];
}
/** `taken`: the version with which an edit or the workbench put the disk's text in the place of what the document said. `read`: the one with the disk's
 * text that it is based on now: another one if the file was written in between. `made`: what was put on top of that text. The server puts right what the
 * editor could not know. */
export type ReloadAnswer = { version: number; taken: number; read: number; made: TextEdit[] } | { refused: "version" | "not-active" };
/** Announced by `reload`: take the disk's text, then apply these edits. */
export const reload = new RequestType<ReloadParams, ReloadAnswer, void>("sidecar/reload");

/** Announced by `changes`: the hunks of these documents changed; this client displays them itself. */
export const changes = new NotificationType<{ uris: string[] }>("sidecar/changes");

/** Announced by `conflicts`: a conflict was found, changed or ended. */
export const conflict = new NotificationType<Conflict>("sidecar/conflict");

/** Announced by `agentState`: the state of an agent's process. */
export const agentState = new NotificationType<{
  agent: string;
  state: "starting" | "running" | "stopped" | "failed";
  name?: string;
  version?: string;
  /** failed: why, and what the user can do. */
  message?: string;
  /** failed: the open sessions whose conversation was lost. */
  sessions: string[];
}>("sidecar/agentState");

export interface ElicitationParams {
  requestId: string;
  agent: string;
  /** Absent if the question belongs to no session (a login). */
  sessionId?: string;
  toolCallId?: string;
  mode: "form" | "url";
  message: string;
  requestedSchema?: Record<string, unknown>;
  url?: string;
  elicitationId?: string;
}
export interface ElicitationAnswer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, unknown>;
}
/** Announced by `context`: the diagnostics of these documents; without `uris`, of the active one, with its selection. */
export const context = new RequestType<
  { uris?: string[] },
  { uri: string; range?: Range; diagnostics: Diagnostic[] }[],
  void
>("sidecar/context");
/** Announced by `elicitation`; withdrawn through its cancellation token. */
export const elicitation = new RequestType<ElicitationParams, ElicitationAnswer, void>("sidecar/elicitation");
/** Announced by `elicitation`: the interaction at an elicitation's URL has ended. */
export const elicitationComplete = new NotificationType<{ agent: string; elicitationId: string }>(
  "sidecar/elicitationComplete",
);

export interface Activity {
  sessionId: string;
  turn: number;
  kind: "read" | "write";
  uri: string;
  /** The first line that was read or changed (from 0), if known. */
  line?: number;
  /** `ok`, or the `errorKind` that the agent got. */
  outcome: string;
  toolCallId?: string;
}
/** Announced by `activity`: one read or write by an agent, after it was answered. */
export const activity = new NotificationType<Activity>("sidecar/activity");

// Methods: client → server

/** A file that is open where text sync does not reach: in a notebook or custom editor. */
export const opaque = new NotificationType<{ uri: string; dirty: boolean }>("sidecar/opaque");
