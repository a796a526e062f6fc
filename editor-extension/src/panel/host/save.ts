/** Saves a conversation as markdown to a file of the user's choice, and shows it. */

import * as vscode from "vscode";
import { exported } from "./export";
import type { Live } from "./live";

export async function save(live: Live): Promise<void> {
  const title = live.title || vscode.l10n.t("Conversation");
  const name = title.replace(/[^\p{L}\p{N} _-]+/gu, "").trim().slice(0, 60) || "conversation";
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    filters: { Markdown: ["md"] },
    ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, `${name}.md`) } : {}),
  });
  if (!target) return;
  await vscode.workspace.fs.writeFile(target, Buffer.from(exported(title, live.agentName, live.conversation.entries)));
  await vscode.window.showTextDocument(target);
}
