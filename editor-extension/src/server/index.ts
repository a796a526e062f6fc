/** Finding, starting, watching and restarting the server. */

import * as vscode from "vscode";
import type { Session } from "../session";

/** Starts the server; what it returns ends it. */
export async function run(session: Session): Promise<void> {
  const { serverPath, env } = session.settings();
  const command = serverPath === "" ? "acp-sidecar" : serverPath;
  const cwd = session.context.globalStorageUri.fsPath;
  await vscode.workspace.fs.createDirectory(session.context.globalStorageUri);
  await session.client.start({ command, args: ["lsp"], options: { cwd, env } });
}
