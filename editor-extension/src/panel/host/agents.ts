/** Agents as the user sees them: what is missing with a button to fix it, adding an agent, signing in. */

import { accessSync, constants } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import * as lsp from "../../lsp_ext";
import type { AgentCommand } from "../../server/settings";
import type { Session } from "../../session";
import type { Agent } from "../model";
import { wordsOf } from "../shell";
import { commandOf, registry, shown, type RegistryAgent } from "./registry";
import { nameOf } from "./sessions";

export function agentRows(agents: readonly lsp.AgentInfo[]): Agent[] {
  return agents.map((one): Agent => {
    const { id, source, installed, version, needs } = one;
    const row: Agent = { id, name: nameOf(one), source, installed, ...(version ? { version } : {}), ...(needs ? { needs } : {}) };
    if (source === "demo") row.description = vscode.l10n.t("Reads a file and makes one small edit. Use it to try the extension.");
    if (installed) return row;
    if (/\b(node|npx|npm)\b/i.test(needs ?? "")) return { ...row, needs: vscode.l10n.t("Node.js was not found on this machine."), remedy: { id: "node", label: vscode.l10n.t("Get Node.js") } };
    if (/\buvx?\b/i.test(needs ?? "")) return { ...row, needs: vscode.l10n.t("uv was not found on this machine."), remedy: { id: "uv", label: vscode.l10n.t("Get uv") } };
    return { ...row, needs: needs ?? vscode.l10n.t("Not found on this machine."), remedy: { id: "settings", label: vscode.l10n.t("Open settings") } };
  });
}

/** What the button in an agent's row does. */
export async function remedy(id: string): Promise<void> {
  if (id === "node") await vscode.env.openExternal(vscode.Uri.parse("https://nodejs.org/en/download"));
  else if (id === "uv") await vscode.env.openExternal(vscode.Uri.parse("https://docs.astral.sh/uv/getting-started/installation/"));
  else await vscode.commands.executeCommand("acpSidecar.openSettings", "acpSidecar.agents");
}

interface Choice extends vscode.QuickPickItem {
  agent?: RegistryAgent;
}

/** Shows the exact command and asks before writing it to the settings. Downloads nothing. */
export async function addAgent(session: Session, done: () => Promise<void>): Promise<void> {
  const known = session.settings().agents;
  const choices: Choice[] = registry
    .filter((one) => !(one.id in known) && commandOf(one))
    .map((agent) => ({ label: agent.name, description: agent.version, detail: `${agent.description} ${shown(commandOf(agent)!)}`, agent }));
  const other: Choice = { label: vscode.l10n.t("Another command…"), detail: vscode.l10n.t("Any program that speaks the Agent Client Protocol on its standard input and output"), alwaysShow: true };
  const chosen = await vscode.window.showQuickPick([...choices, other], {
    title: vscode.l10n.t("Add an agent"),
    placeHolder: vscode.l10n.t("Nothing is downloaded now"),
    matchOnDetail: true,
  });
  if (!chosen) return;
  const added = chosen.agent ? { name: chosen.agent.id, command: commandOf(chosen.agent)! } : await typed(known);
  if (!added) return;
  const { name, command } = added;
  const add = vscode.l10n.t("Add");
  const runner = command.command === "npx" || command.command === "uvx";
  const detail = [
    vscode.l10n.t("It is started with:"),
    shown(command),
    runner
      ? vscode.l10n.t("Nothing is downloaded now. {0} downloads this version of the package when the agent starts for the first time.", command.command)
      : vscode.l10n.t("It is started when you begin a conversation with it."),
    vscode.l10n.t("It runs with your rights."),
  ].join("\n\n");
  const sure = await vscode.window.showInformationMessage(vscode.l10n.t("Add {0}?", chosen.agent?.name ?? name), { modal: true, detail }, add);
  if (sure !== add) return;
  await vscode.workspace.getConfiguration("acpSidecar").update("agents", { ...known, [name]: command }, vscode.ConfigurationTarget.Global);
  await done();
  if (runner && !onPath(command.command)) await missing(command.command, chosen.agent?.name ?? name);
}

async function typed(known: Readonly<Record<string, unknown>>): Promise<{ name: string; command: AgentCommand } | undefined> {
  const line = await vscode.window.showInputBox({
    title: vscode.l10n.t("Add an agent"),
    prompt: vscode.l10n.t("The program and its arguments. It is started without a shell."),
    validateInput: (text) => (wordsOf(text).length === 0 ? vscode.l10n.t("Type a command") : undefined),
  });
  const [command, ...args] = wordsOf(line ?? "");
  if (command === undefined) return undefined;
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t("Add an agent"),
    prompt: vscode.l10n.t("A name for it"),
    value: path.basename(command).replace(/\.(exe|cmd|js|py)$/i, ""),
    validateInput: (text) => (!text.trim() ? vscode.l10n.t("Type a name") : text.trim() in known || text.trim() === "demo" ? vscode.l10n.t("An agent with this name exists") : undefined),
  });
  return name === undefined ? undefined : { name: name.trim(), command: { command, args } };
}

async function missing(runner: string, name: string): Promise<void> {
  const node = runner === "npx";
  const get = node ? vscode.l10n.t("Get Node.js") : vscode.l10n.t("Get uv");
  const words = vscode.l10n.t("{0} is started with {1}, which was not found on this machine.", name, runner);
  if ((await vscode.window.showWarningMessage(words, get)) === get) {
    await vscode.env.openExternal(vscode.Uri.parse(node ? "https://nodejs.org/en/download" : "https://docs.astral.sh/uv/getting-started/installation/"));
  }
}

function onPath(command: string): boolean {
  const names = process.platform === "win32" ? [`${command}.cmd`, `${command}.exe`] : [command];
  return (process.env["PATH"] ?? "").split(path.delimiter).some((folder) =>
    names.some((name) => {
      try {
        accessSync(path.join(folder, name), constants.X_OK);
        return folder !== "";
      } catch {
        return false;
      }
    }),
  );
}

/** Signs in the way the agent requires: by itself, in a visible terminal, or through variables in the settings. */
export async function signIn({ client }: Session, agent: string, name: string): Promise<boolean> {
  let answer = await client.command(lsp.authenticate, { agent });
  if (answer.state === "choose") {
    const items = (answer.methods ?? []).map((one) => ({ label: one.name, id: one.id, ...(one.description ? { detail: one.description } : {}) }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Sign in to {0}", name) });
    if (!chosen) return false;
    answer = await client.command(lsp.authenticate, { agent, methodId: chosen.id });
  }
  if (answer.state === "terminal" && answer.terminal) {
    if ((await inTerminal(answer.terminal, vscode.l10n.t("Sign in to {0}", name))) !== 0) {
      void vscode.window.showWarningMessage(vscode.l10n.t("The sign-in to {0} did not finish.", name));
      return false;
    }
    answer = await client.command(lsp.authenticate, { agent, finished: true });
  }
  if (answer.state === "env") {
    const settings = vscode.l10n.t("Open settings");
    const chosen = await vscode.window.showInformationMessage(answer.message ?? vscode.l10n.t("{0} needs environment variables in its settings.", name), settings);
    if (chosen === settings) await vscode.commands.executeCommand("acpSidecar.openSettings", "acpSidecar.agents");
    return false;
  }
  if (answer.state === "done") void vscode.window.showInformationMessage(vscode.l10n.t("Signed in to {0}.", name));
  return answer.state === "done";
}

/** The exit code; undefined if the user closed the terminal. */
function inTerminal({ command, args, env, cwd }: NonNullable<lsp.AuthenticateResult["terminal"]>, name: string): Promise<number | undefined> {
  const terminal = vscode.window.createTerminal({ name, shellPath: command, shellArgs: args, env, ...(cwd ? { cwd } : {}), isTransient: true });
  terminal.show();
  return new Promise((resolve) => {
    const listener = vscode.window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      listener.dispose();
      resolve(closed.exitStatus?.code);
    });
  });
}
