/** Commands to start a session, send a prompt, stop a turn, and manage the server. */

import * as vscode from "vscode";
import type { ClientFlags } from "../lsp_ext";
import type { Session } from "../session";
import { showMenu } from "./menu";
import { newSession, prompt, stop } from "./prompts";
import { openSettings } from "./settings_page";
import { withWords } from "./words";

export const flags: Partial<ClientFlags> = { messageButtons: true };

export function register(session: Session): vscode.Disposable {
  const command = (name: string, run: (argument?: unknown) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`acpSidecar.${name}`, (argument?: unknown) => withWords(session.log, () => run(argument)));
  return vscode.Disposable.from(
    command("newSession", () => newSession(session)),
    command("prompt", (text) => prompt(session, typeof text === "string" ? text : undefined)),
    command("stop", () => stop(session)),
    command("menu", () => showMenu(session)),
    command("openSettings", (name) => openSettings(session.context.extension.id, typeof name === "string" ? name : undefined)),
    command("showLog", () => session.log.show()),
    command("toggleProtocolLog", () => toggleProtocolLog(session)),
  );
}

function toggleProtocolLog({ protocolLog }: Session): void {
  protocolLog.toggle();
  void vscode.window.showInformationMessage(
    protocolLog.on
      ? vscode.l10n.t("The output “ACP Sidecar: Protocol” now shows every message between the editor and acp-sidecar.")
      : vscode.l10n.t("The protocol log is off."),
  );
}
