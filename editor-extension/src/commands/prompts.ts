/** Sessions and prompts without the panel: quick picks and an input box. */

import * as vscode from "vscode";
import * as ext from "../lsp_ext";
import type { Session } from "../session";

/** Asks for an agent and, if there are several folders, for a folder. Undefined if the user dismissed it. */
export async function newSession(session: Session): Promise<ext.NewSessionResult | undefined> {
  const cwd = await folder();
  if (cwd === undefined) {
    return undefined;
  }
  const agent = await pickAgent(session);
  if (agent === undefined) {
    return undefined;
  }
  const made = await session.client.command(ext.newSession, { agent, cwd });
  session.log.info(`session ${made.sessionId} with ${made.agent} in ${cwd}`);
  vscode.window.setStatusBarMessage(vscode.l10n.t("New session with {0}", made.agent), 5_000);
  return made;
}

/** Sends a prompt to the session used last. Without one, starts a session with the default agent or asks for an agent. */
export async function prompt(session: Session, text: string | undefined): Promise<ext.PromptResult | undefined> {
  if ((await folder(false)) === undefined) {
    return undefined;
  }
  const asked =
    text ??
    (await vscode.window.showInputBox({
      title: vscode.l10n.t("Prompt"),
      placeHolder: vscode.l10n.t("What should the agent do?"),
      ignoreFocusOut: true,
    }));
  if (asked === undefined || asked.trim() === "") {
    return undefined;
  }
  if (session.settings().defaultAgent === "" && !(await hasSession(session)) && (await newSession(session)) === undefined) {
    return undefined;
  }
  return session.client.command(ext.prompt, { prompt: asked });
}

export async function stop(session: Session): Promise<void> {
  await session.client.command(ext.cancel, {});
}

async function hasSession({ client }: Session): Promise<boolean> {
  const { sessions } = await client.command(ext.status, {});
  return Array.isArray(sessions) && sessions.some((each: { alive?: unknown; guest?: unknown }) => each.alive !== false && each.guest !== true);
}

/** The folder that a session works in, as an absolute path. Agents work on folders on disk, so an empty window has none to offer. */
async function folder(ask = true): Promise<string | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  if (folders.length === 0) {
    const open = vscode.l10n.t("Open Folder…");
    const sentence = vscode.l10n.t("An agent works in a folder. Open a folder first.");
    if ((await vscode.window.showInformationMessage(sentence, open)) === open) {
      await vscode.commands.executeCommand("vscode.openFolder");
    }
    return undefined;
  }
  if (folders.length === 1 || !ask) {
    return folders[0]?.uri.fsPath;
  }
  const items = folders.map(({ name, uri }) => ({ label: name, description: uri.fsPath }));
  const placeHolder = vscode.l10n.t("The folder that the agent starts in. It may use the other folders too.");
  return (await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true }))?.description;
}

async function pickAgent(session: Session): Promise<string | undefined> {
  const agents = await session.client.command(ext.listAgents, {});
  const preferred = session.settings().defaultAgent;
  const items = agents
    .map((agent) => ({
      label: agent.name,
      description: [agent.version, agent.source === "demo" ? vscode.l10n.t("no AI") : undefined].filter(Boolean).join(" · "),
      detail: agent.installed ? "" : (agent.needs ?? vscode.l10n.t("not installed")),
      id: agent.id,
    }))
    .sort((one, other) => Number(other.id === preferred) - Number(one.id === preferred));
  const picked = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("New session with which agent?") });
  return picked?.id;
}
