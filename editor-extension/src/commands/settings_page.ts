/** Opens the settings page of this extension. */

import * as vscode from "vscode";

/**
 * Shows the setting `name`, or all of the extension's settings. In a remote window, machine settings appear only on the
 * page "Remote"; the page that opens by default would say that there are none.
 */
export async function openSettings(extension: string, name?: string): Promise<void> {
  const page = vscode.env.remoteName === undefined ? "workbench.action.openSettings" : "workbench.action.openRemoteSettings";
  await vscode.commands.executeCommand(page, { query: name ?? `@ext:${extension}` });
}
