/**
 * What a part of the extension is, and what it gets. A session lasts from activation to deactivation and outlives
 * restarts of the server, so parts register once.
 */

import type * as vscode from "vscode";
import type { ClientFlags } from "./lsp_ext";
import type { Client } from "./server/client";
import type { ProtocolLog } from "./server/protocol_log";
import type { Settings } from "./server/settings";

export interface Session {
  readonly context: vscode.ExtensionContext;
  /** The output channel "ACP Sidecar", for everything that a user may need to understand. */
  readonly log: vscode.LogOutputChannel;
  readonly protocolLog: ProtocolLog;
  readonly client: Client;
  /** The current settings. They have machine scope, so a workspace cannot change them. */
  readonly settings: () => Settings;
}

/** The command that sends a prompt (`Told`) through the panel, which shows it, and queues it while a turn is running. */
export const TELL_AGENT = "acpSidecar.panel.tell";

/** A folder of `src/` exports these from its `index.ts`. */
export interface Part {
  /** The custom methods that this part handles. */
  readonly flags: Partial<ClientFlags>;
  /** Called once, before the server starts for the first time. The result is disposed of at deactivation. */
  register(session: Session): vscode.Disposable;
}
