/** The page of settings on which the extension's own are. */

import * as vscode from "vscode";

/**
 * `name` is a setting's; without one all of the extension's are shown. Settings of the machine are on the page "Remote" of a remote
 * window and nowhere else: the page that opens by itself there says that there are none.
 */
export async function openSettings(extension: string, name?: string): Promise<void> {
  const page = vscode.env.remoteName === undefined ? "workbench.action.openSettings" : "workbench.action.openRemoteSettings";
  await vscode.commands.executeCommand(page, { query: name ?? `@ext:${extension}` });
}
