/**
 * What acp-sidecar adds to LSP, as this extension uses it: the mirror of `sidecar/lsp/ext.py`. A test of the project keeps
 * names and flags of the two equal; shapes are described in docs/reference.md.
 */

import { NotificationType, RequestType, type Diagnostic, type Range, type TextEdit } from "vscode-languageclient/node";

/** What `initializationOptions.client` announces: custom methods that a part of this extension handles. */
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
  activity: boolean;
}

// Commands: workspace/executeCommand with one argument object

/** A server command with the types of its argument and result. */
export class ServerCommand<A, R> {
  /** Never set: carries the types. */
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
export interface NewSessionResult {
  sessionId: string;
  agent: string;
  modes?: unknown;
  configOptions?: unknown;
  promptCapabilities?: { image?: boolean };
}
export const newSession = new ServerCommand<NewSessionArguments, NewSessionResult>("sidecar.newSession");

export interface PromptArguments {
  /** Text, or ACP content blocks. */
  prompt: string | Record<string, unknown>[];
  sessionId?: string;
  wait?: boolean;
  /** What it refers to: a selection in an open document, and its diagnostics (the server leaves out its own hints). */
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
export const closeSession = new ServerCommand<OfSession, null>("sidecar.closeSession");

export interface AgentInfo {
  id: string;
  name: string;
  source: "configured" | "found" | "registry" | "demo";
  installed: boolean;
  version?: string;
  /** What is missing, for a person. */
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
  /** choose: again with a `methodId` · terminal: run it, then again with `finished` · env: `message` says what to set. */
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
export interface SessionRow {
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
  /** Its agent says that it keeps it. */
  listed: boolean;
  /** Its agent said that it can take conversations up again. */
  loads: boolean;
  modes?: unknown;
  configOptions?: unknown;
  promptCapabilities?: { image?: boolean };
}
export const listSessions = new ServerCommand<{ agent?: string; all?: boolean }, SessionRow[]>("sidecar.listSessions");

export interface LoadSessionResult {
  sessionId: string;
  agent: string;
  history: "agent" | "transcript" | "none";
  /** False: the agent cannot take it up again; its next prompt opens a new conversation with it. */
  remembers: boolean;
  note?: string;
  title?: string;
  modes?: unknown;
  configOptions?: unknown;
  promptCapabilities?: { image?: boolean };
}
export const loadSession = new ServerCommand<{ sessionId: string; replay?: boolean }, LoadSessionResult>(
  "sidecar.loadSession",
);
export const deleteSession = new ServerCommand<
  { sessionId?: string; all?: boolean },
  { deleted: string[]; kept: { sessionId: string; reason: string }[] }
>("sidecar.deleteSession");

export interface TranscriptEntry {
  at: string;
  type: "prompt" | "update" | "end" | "omitted";
  turn?: number;
  prompt?: Record<string, unknown>[];
  update?: Record<string, unknown>;
  stopReason?: string;
  changes?: { uri: string; added: number; removed: number }[];
  error?: string;
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
/** A hunk of an agent's in the current text. */
export interface Change {
  changeId: string;
  uri: string;
  range: Range;
  oldText: string;
  newText: string;
  sessionId: string;
  turn: number;
  /** The agent's name; "" where that is no longer known. */
  agent: string;
  /** Other turns that changed the same lines before, oldest first. */
  earlier?: { sessionId: string; turn: number; agent: string }[];
  toolCallId?: string;
  state: string;
  /** Of the document in which `range` lies, when it is open. */
  version?: number;
  /** The agent made the file. */
  created?: boolean;
}
export const listChanges = new ServerCommand<ListChangesArguments, Change[]>("sidecar.listChanges");

export interface TextBeforeArguments {
  uri: string;
  sessionId?: string;
  turn?: number;
}
/** The document without its unreviewed work, or that of a session or turn; null when it has none. */
export const textBefore = new ServerCommand<TextBeforeArguments, { text: string | null }>("sidecar.textBefore");

/** One hunk, one file, one session or turn, or everything. */
export interface ChangesArguments {
  changeId?: string;
  /** Those of one document are put back in one undo step. */
  changeIds?: string[];
  uri?: string;
  sessionId?: string;
  turn?: number;
  all?: boolean;
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
export const reject = new ServerCommand<ChangesArguments, Rejected>("sidecar.reject");
export const revertTurn = new ServerCommand<{ sessionId: string; turn: number }, Rejected>("sidecar.revertTurn");

/** A place that the user and an agent both changed, as whole lines; each text may be empty, with "\n" as line ends. */
export interface ConflictHunk {
  /** Where `mine` lies in the document, of the conflict's version. */
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
  /** disk: the file says what the agent wants and the buffer does not; write: the agent's write was refused, and it was told. */
  origin: "disk" | "write";
  /** The agent was asked to do it again. */
  asked: boolean;
  hunks: ConflictHunk[];
  /** Absent, as `agent`, when nobody knows whose change it is. */
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

/** Announced by `sessionUpdates`; the update is in ACP's shape, `replay` is history. */
export const sessionUpdate = new NotificationType<{
  sessionId: string;
  update: Record<string, unknown>;
  replay?: boolean;
}>("sidecar/sessionUpdate");
/** Announced by `sessionUpdates`: what an agent's command said since the last one. */
export const terminalOutput = new NotificationType<{ sessionId: string; terminalId: string; output: string }>(
  "sidecar/terminalOutput",
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
/** Announced by `permissions`; withdrawn by its cancellation token. */
export const requestPermission = new RequestType<
  PermissionParams,
  { optionId: string } | { cancelled: true },
  void
>("sidecar/requestPermission");

export interface SaveParams {
  uri: string;
  version: number;
  /** The text must stay exactly as it is: without what the user has done at every save, where that is possible. */
  exact?: boolean;
}
export interface SaveAnswer {
  saved: boolean;
  /** The user typed while the save was being prepared, so that not every change then came from what is done at a save. */
  typed?: boolean;
}
/** Announced by `save`. */
export const save = new RequestType<SaveParams, SaveAnswer, void>("sidecar/save");
/** Announced by `open`: opens the document without showing it. */
export const open = new RequestType<{ uri: string }, { version: number }, void>("sidecar/open");
/** Announced by `open`: closes what was opened so, unless somebody looks at it. */
export const close = new RequestType<{ uri: string }, null, void>("sidecar/close");

export interface ReloadParams {
  uri: string;
  version: number;
  edits: TextEdit[];
}
export type ReloadAnswer = { version: number } | { refused: "version" | "not-active" };
/** Announced by `reload`: take the disk's text, then apply these edits. */
export const reload = new RequestType<ReloadParams, ReloadAnswer, void>("sidecar/reload");

/** Announced by `changes`: the hunks of these documents moved; this client shows them itself. */
export const changes = new NotificationType<{ uris: string[] }>("sidecar/changes");

/** Announced by `conflicts`: a conflict was found, changed or ended. */
export const conflict = new NotificationType<Conflict>("sidecar/conflict");

/** Announced by `agentState`: an agent's process. */
export const agentState = new NotificationType<{
  agent: string;
  state: "starting" | "running" | "stopped" | "failed";
  name?: string;
  version?: string;
  /** failed: why, and what to do. */
  message?: string;
  /** failed: the open sessions that lost their conversation with it. */
  sessions: string[];
}>("sidecar/agentState");

export interface ElicitationParams {
  requestId: string;
  agent: string;
  /** Absent: it belongs to no session (a login). */
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
/** Announced by `elicitation`; withdrawn by its cancellation token. */
export const elicitation = new RequestType<ElicitationParams, ElicitationAnswer, void>("sidecar/elicitation");
/** Announced by `elicitation`: what happened at an elicitation's URL has ended. */
export const elicitationComplete = new NotificationType<{ agent: string; elicitationId: string }>(
  "sidecar/elicitationComplete",
);

export interface Activity {
  sessionId: string;
  turn: number;
  kind: "read" | "write";
  uri: string;
  /** From 0: the first line that was read or changed, where that is known. */
  line?: number;
  /** `ok`, or the `errorKind` that the agent was told. */
  outcome: string;
  toolCallId?: string;
}
/** Announced by `activity`: one read or write of an agent's, after it was answered. */
export const activity = new NotificationType<Activity>("sidecar/activity");

// Methods: client → server

/** A file that is open where text sync does not reach: notebooks, custom editors. */
export const opaque = new NotificationType<{ uri: string; dirty: boolean }>("sidecar/opaque");
