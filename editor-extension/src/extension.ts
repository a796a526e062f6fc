/** Composes the extension from its parts. */

import * as vscode from "vscode";
import * as commands from "./commands";
import * as editing from "./editing";
import type { ClientFlags } from "./lsp_ext";
import * as panel from "./panel";
import * as review from "./review";
import { supervise } from "./server";
import { Client } from "./server/client";
import { ProtocolLog } from "./server/protocol_log";
import * as settings from "./server/settings";
import type { Part, Session } from "./session";

const parts: readonly Part[] = [commands, editing, review, panel];

let stop: (() => Promise<void>) | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("ACP Sidecar", { log: true });
  const protocolLog = new ProtocolLog("ACP Sidecar: Protocol");
  const current = (): settings.Settings => {
    const section = vscode.workspace.getConfiguration("acpSidecar");
    return settings.read((name) => section.get(name));
  };
  const flags = Object.assign({}, ...parts.map((part) => part.flags)) as Partial<ClientFlags>;
  const client = new Client({
    log,
    trace: protocolLog.channel,
    initializationOptions: () => settings.initializationOptions(current(), flags),
  });
  const session: Session = { context, log, protocolLog, client, settings: current };
  context.subscriptions.push(log, protocolLog, client, ...parts.map((part) => part.register(session)));
  const { supervisor, disposable } = supervise(session);
  context.subscriptions.push(disposable);
  stop = () => supervisor.stop();
  // Not awaited: an extension that is still looking for a Python counts as activated, and its commands work.
  void supervisor.start();
}

/** The editor waits for this (about 4 s) before it ends the extension host, so that the server can stop its agents. */
export async function deactivate(): Promise<void> {
  await stop?.();
}
