/** Shows failures of commands to the user. Messages from the server are written for people; anything else goes to the log in full. */

import * as vscode from "vscode";

/** Runs a command. An error becomes a message with a button that opens the log. Never rejects. */
export async function withWords(log: vscode.LogOutputChannel, run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof vscode.CancellationError) {
      return undefined;
    }
    log.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    const show = vscode.l10n.t("Show Log");
    void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error), show).then((answer) => {
      if (answer === show) {
        log.show();
      }
    });
    return undefined;
  }
}
