/** The menu of the status bar item. */

import * as vscode from "vscode";
import type { Session } from "../session";

export async function showMenu({ client, context }: Session): Promise<void> {
  const running = client.state === "running";
  const commands = [...(running ? ["prompt", "newSession", "stop"] : []), "restart", "showLog", "toggleProtocolLog", "openSettings"];
  const titles = new Map(
    (context.extension.packageJSON as { contributes: { commands: { command: string; title: string }[] } }).contributes.commands.map(
      ({ command, title }) => [command, title],
    ),
  );
  const panel = { label: vscode.l10n.t("Open Panel"), command: "acpSidecar.panel.focus" };
  const items = commands.map((name) => ({ label: titles.get(`acpSidecar.${name}`) ?? name, command: `acpSidecar.${name}` }));
  const picked = await vscode.window.showQuickPick([panel, ...items], { title: "ACP Sidecar" });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
}
