/** Composition: which parts there are, and what they share. */

import * as vscode from "vscode";
import * as commands from "./commands";
import * as editing from "./editing";
import type { ClientFlags } from "./lsp_ext";
import * as panel from "./panel";
import * as review from "./review";
import * as server from "./server";
import { Client } from "./server/client";
import * as settings from "./server/settings";
import type { Part, Session } from "./session";

const parts: readonly Part[] = [commands, editing, review, panel];

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("ACP Sidecar", { log: true });
  const trace = vscode.window.createOutputChannel("ACP Sidecar: Protocol", { log: true });
  const current = (): settings.Settings => {
    const section = vscode.workspace.getConfiguration("acpSidecar");
    return settings.read((name) => section.get(name));
  };
  const flags: Partial<ClientFlags> = Object.assign({}, ...parts.map((part) => part.flags));
  client = new Client({
    log,
    trace,
    initializationOptions: () => settings.initializationOptions(current(), flags),
  });
  const session: Session = { context, log, client, settings: current };
  context.subscriptions.push(log, trace, client, ...parts.map((part) => part.register(session)));
  await server.run(session);
}

/** The editor waits for this (about 4 s) before it ends the extension host: the server gets to stop its agents. */
export async function deactivate(): Promise<void> {
  await client?.stop();
}
