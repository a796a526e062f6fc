/** Opens what a conversation refers to: places in files, diffs, pages. Always in response to a click. */

import * as path from "node:path";
import * as vscode from "vscode";
import type { Attachment } from "../model";
import { linkKind } from "./acp";
import type { DiffTexts } from "./conversation";

export const SCHEME = "acp-sidecar-told";

/** Resolves an agent's path, absolute or relative to a workspace folder, or the name of an open document without a file. */
export function uriOf(given: string): vscode.Uri | undefined {
  if (given.startsWith("untitled:")) {
    // one that is not open would be made
    return vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === given)?.uri;
  }
  if (/^file:/i.test(given)) {
    const uri = vscode.Uri.parse(given);
    return uri.authority === "" ? uri : undefined; // opening a file on another machine would send the user's name there
  }
  if (/^[\\/]{2}/.test(given)) return undefined;
  if (path.isAbsolute(given)) return vscode.Uri.file(given);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return folder ? vscode.Uri.joinPath(folder, given) : undefined;
}

export async function openLocation(given: string, line: number | undefined): Promise<void> {
  const uri = uriOf(given);
  if (!uri) return;
  const at = Math.max(0, (line ?? 1) - 1);
  const selection = line === undefined ? {} : { selection: new vscode.Range(at, 0, at, 0) };
  try {
    await vscode.window.showTextDocument(uri, { preview: true, ...selection });
  } catch {
    void vscode.window.showWarningMessage(vscode.l10n.t("{0} cannot be opened: it does not exist or is not text.", given));
  }
}

export async function openLink(href: string): Promise<void> {
  switch (linkKind(href)) {
    case "web":
      await vscode.env.openExternal(vscode.Uri.parse(href)); // VS Code shows the address and asks
      return;
    case "file": {
      const [, file = href, line] = /^(.*?)(?:#L|:)(\d+)(?:[-:].*)?$/.exec(decoded(href)) ?? [];
      await openLocation(line === undefined ? decoded(href) : file, line === undefined ? undefined : Number(line));
      return;
    }
    case "refused":
      void vscode.window.showWarningMessage(vscode.l10n.t("Links in answers open only web pages and files. This link is neither: {0}", href.slice(0, 200)));
  }
}

function decoded(href: string): string {
  try {
    return /^file:/i.test(href) ? href : decodeURIComponent(href);
  } catch {
    return href;
  }
}

/** Shows the two texts of a change that an agent reported, in VS Code's own diff. */
export class Told implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private serial = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  async open({ path: file, oldText, newText }: DiffTexts): Promise<void> {
    this.serial += 1;
    const name = file.split(/[\\/]/).at(-1) ?? file;
    const side = (which: string, text: string): vscode.Uri => {
      const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${which}/${this.serial}/${name}` });
      this.texts.set(uri.toString(), text);
      return uri;
    };
    const title = vscode.l10n.t("{0}: as the agent reported", name);
    await vscode.commands.executeCommand("vscode.diff", side("before", oldText ?? ""), side("after", newText), title, { preview: true });
  }

  dispose(): void {
    this.registered.dispose();
    this.texts.clear();
  }
}

/** Inserts at the cursor of the last used editor, as one undo step. */
export async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (!editor) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open a file first: the code is inserted at its cursor."));
    return;
  }
  await editor.edit((edit) => editor.selections.forEach((selection) => edit.replace(selection, text)));
  await vscode.window.showTextDocument(editor.document, { viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active });
}

export function fileAttachment(uri: vscode.Uri, folder = false): Attachment {
  return { id: uri.toString().slice(-256), kind: folder ? "folder" : "file", label: label(uri), uri: uri.toString() };
}

/**
 * What the user chose, as an attachment: a file or folder on this machine, or a document without a file. Undefined for anything else,
 * and for what is not there.
 */
export async function attachmentOf(uri: vscode.Uri): Promise<Attachment | undefined> {
  if (uri.scheme === "untitled") return fileAttachment(uri);
  if (uri.scheme !== "file") return undefined;
  const stat = await Promise.resolve(vscode.workspace.fs.stat(uri)).catch(() => undefined);
  return stat && fileAttachment(uri, (stat.type & vscode.FileType.Directory) !== 0);
}

/** The file as people name it: inside the workspace its path there, elsewhere the name and the folder. */
export function label(uri: vscode.Uri): string {
  const relative = vscode.workspace.asRelativePath(uri);
  const short = path.isAbsolute(relative) ? relative.split(/[\\/]/).slice(-2).join("/") : relative;
  return short.slice(-400);
}
