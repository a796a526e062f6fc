/** Finding, starting, watching and restarting the server. */

import * as vscode from "vscode";
import type { Session } from "../session";
import { onDidChooseAnother } from "./python/extension_api";
import { offerPython } from "./python/get";
import { statusBar } from "./status";
import { Supervisor } from "./supervisor";

/** Starts the server and supervises it until the returned object is disposed of. The client stops it. */
export function supervise(session: Session): { supervisor: Supervisor; disposable: vscode.Disposable } {
  const supervisor = new Supervisor(session);
  const disposable = vscode.Disposable.from(
    supervisor,
    statusBar(supervisor),
    vscode.commands.registerCommand("acpSidecar.restart", () => supervisor.restart()),
    vscode.commands.registerCommand("acpSidecar.getPython", () => offerPython(session, () => supervisor.restart())),
    onDidChooseAnother(() => {
      // a running server continues, because it does not matter which Python it runs on
      if (supervisor.phase.kind === "failed") {
        void supervisor.restart();
      }
    }),
  );
  return { supervisor, disposable };
}
