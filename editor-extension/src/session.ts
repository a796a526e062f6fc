/**
 * What a part of the extension gets, and what it is. A session here lasts from activation to deactivation and outlives
 * restarts of the server: parts register once.
 */

import type * as vscode from "vscode";
import type { ClientFlags } from "./lsp_ext";
import type { Client } from "./server/client";
import type { ProtocolLog } from "./server/protocol_log";
import type { Settings } from "./server/settings";

export interface Session {
  readonly context: vscode.ExtensionContext;
  /** The output channel "ACP Sidecar"; everything a person may need to understand goes there. */
  readonly log: vscode.LogOutputChannel;
  readonly protocolLog: ProtocolLog;
  readonly client: Client;
  /** As they are now; machine scope, so a workspace cannot change them. */
  readonly settings: () => Settings;
}

/** A folder of `src/` exports these from its `index.ts`. */
export interface Part {
  /** The custom methods that this part handles. */
  readonly flags: Partial<ClientFlags>;
  /** Called once, before the server is started for the first time; what it returns is disposed of at deactivation. */
  register(session: Session): vscode.Disposable;
}
