/** The chat panel. */

import type { Disposable } from "vscode";
import type { ClientFlags } from "../lsp_ext";
import type { Session } from "../session";
import { Panel } from "./host/panel";

export const flags: Partial<ClientFlags> = {
  sessionUpdates: true,
  permissions: true,
  agentState: true,
  elicitation: true,
  terminalLogin: true,
  activity: true,
};

export function register(session: Session): Disposable {
  return new Panel(session);
}
