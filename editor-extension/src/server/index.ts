/** Finding, starting, watching and restarting the server. */

import * as vscode from "vscode";
import type { Session } from "../session";
import { onDidChooseAnother } from "./python/extension_api";
import { offerPython } from "./python/get";
import { statusBar } from "./status";
import { Supervisor } from "./supervisor";

/** Starts the server; it is supervised until the returned object is disposed of. Stopping is the client's and its own affair. */
export function supervise(session: Session): { supervisor: Supervisor; disposable: vscode.Disposable } {
  const supervisor = new Supervisor(session);
  const disposable = vscode.Disposable.from(
    supervisor,
    statusBar(supervisor),
    vscode.commands.registerCommand("acpSidecar.restart", () => supervisor.restart()),
    vscode.commands.registerCommand("acpSidecar.getPython", () => offerPython(session, () => supervisor.restart())),
    onDidChooseAnother(() => {
      // A server that runs goes on: which Python it runs on makes no difference to it
      if (supervisor.phase.kind === "failed") {
        void supervisor.restart();
      }
    }),
  );
  return { supervisor, disposable };
}
