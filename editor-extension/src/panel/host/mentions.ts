/** The candidates for `@`, and the attachments that the menus "Add to Agent" make from an editor, a file or a problem. */

import * as vscode from "vscode";
import type { Attachment } from "../model";
import type { Candidate } from "../protocol";
import type { Output } from "./last_output";
import { fileAttachment, label } from "./links";
import { changes, foldersOf, offered, openFiles, problems, terminal, type Changed, type Offer } from "./offers";

const FILES = 30;
const FOLDERS = 8;
/** The most files that are looked at for the folders that they are in. */
const INSIDE = 200;
const SYMBOLS = 10;
/** How long file candidates wait for symbols, and how long symbols are waited for at all. A language server that is still starting answers much later, or never. */
const SYMBOLS_MS = 500;
const LATE_SYMBOLS_MS = 30_000;
/** The most characters of a selection that are sent along. */
const SELECTION_LIMIT = 200_000;

/** The source of our own hints, which describe the agent's changes, not the code. */
const OURS = /sidecar/i;

/** What the panel knows and the editor does not. */
export interface Around {
  output: Output | undefined;
  changed: Changed[];
}

/** What is found, once more if symbols come late. `token`: cancelled when the user typed more and these candidates are no longer needed. */
export async function* candidates(query: string, around: Around, token: vscode.CancellationToken): AsyncGenerator<Candidate[]> {
  const found = offered(offers(around), query);
  const searched = query.length >= 2 ? symbolsLike(query).catch(() => []) : Promise.resolve([]);
  const [files, inside, symbols] = await Promise.all([
    filesLike(query, token),
    query === "" ? [] : vscode.workspace.findFiles(`**/*${globOf(query.replace(/\/$/, ""))}*/**`, undefined, INSIDE, token),
    within(searched, SYMBOLS_MS),
  ]);
  for (const uri of files) {
    const attachment = fileAttachment(uri);
    const saved = uri.scheme === "file";
    found.push({
      label: name(attachment.label),
      detail: saved ? attachment.label : vscode.l10n.t("not saved to a file yet"),
      icon: !saved ? "new-file" : uri.path.endsWith(".ipynb") ? "notebook" : "file",
      insert: `@${name(attachment.label)} `,
      attachments: [attachment],
    });
  }
  found.push(...folders([...files, ...inside], query));
  yield [...found, ...(symbols ?? [])];
  const late = symbols ? [] : await within(searched, LATE_SYMBOLS_MS);
  if (late && late.length > 0) yield [...found, ...late];
}

/** What is not found by a search: the selection, the open files, problems, output, changes. */
function offers({ output, changed }: Around): (Offer | undefined)[] {
  const editor = vscode.window.activeTextEditor;
  const selected = editor && !editor.selection.isEmpty ? selection(editor) : undefined;
  const open = openUris().map((uri) => fileAttachment(uri));
  const found = vscode.languages.getDiagnostics().flatMap(([uri, all]) =>
    all
      .filter((one) => one.severity <= vscode.DiagnosticSeverity.Warning && !OURS.test(one.source ?? "") && uri.scheme === "file")
      .map((one) => ({ where: label(uri), line: one.range.start.line + 1, message: one.message, source: one.source, error: one.severity === vscode.DiagnosticSeverity.Error })),
  );
  const one = (count: number, single: string, many: string): string => (count === 1 ? single : many);
  return [
    selected && { words: "selection", label: vscode.l10n.t("Selection"), detail: selected.label, icon: "selection", insert: `@${name(selected.label)} `, attachments: [selected] },
    openFiles(vscode.l10n.t("Open files"), one(open.length, vscode.l10n.t("1 file"), vscode.l10n.t("{0} files", open.length)), open),
    problems(vscode.l10n.t("Problems"), one(found.length, vscode.l10n.t("1 problem"), vscode.l10n.t("{0} problems", found.length)), found),
    terminal(vscode.l10n.t("Terminal output"), output),
    changes(vscode.l10n.t("Changes under review"), one(changed.length, vscode.l10n.t("1 change"), vscode.l10n.t("{0} changes", changed.length)), changed),
  ];
}

/** The folders of these files that the query names. */
function folders(files: readonly vscode.Uri[], query: string): Candidate[] {
  const at = new Map<string, vscode.Uri>();
  for (const uri of files) {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    if (folder) at.set(vscode.workspace.asRelativePath(uri, true), folder.uri);
  }
  return foldersOf([...at.keys()], query, FOLDERS).flatMap((path) => {
    const root = [...at].find(([file]) => file.startsWith(`${path}/`))?.[1];
    const below = path.split("/").slice(1).join("/");
    if (!root) return [];
    const attachment = fileAttachment(below === "" ? root : vscode.Uri.joinPath(root, below), true);
    return [{ label: `${name(path)}/`, detail: below === "" ? path : below, icon: "folder", insert: `@${name(path)}/ `, attachments: [attachment] }];
  });
}

/** What is open in tabs: files, notebooks, documents that are not saved to a file yet. */
function openUris(): vscode.Uri[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook ? [input.uri] : []))
    .filter((uri) => uri.scheme === "file" || uri.scheme === "untitled")
    .filter((uri, at, all) => all.findIndex((other) => other.toString() === uri.toString()) === at);
}

/** What was found within so many milliseconds; undefined: the search takes longer. */
function within(symbols: Promise<Candidate[]>, milliseconds: number): Promise<Candidate[] | undefined> {
  const late = new Promise<undefined>((done) => setTimeout(() => done(undefined), milliseconds));
  return Promise.race([symbols, late]);
}

/** Open files first, then other files of the workspace. Matches any part of the path, ignoring case. */
async function filesLike(query: string, token: vscode.CancellationToken): Promise<vscode.Uri[]> {
  const wanted = query.toLowerCase();
  const open = openUris().filter((uri) => label(uri).toLowerCase().includes(wanted));
  const glob = globOf(query);
  const patterns = glob.includes("/") ? [`**/${glob}*`] : [`**/*${glob}*`];
  const rest = await Promise.all(patterns.map((one) => vscode.workspace.findFiles(one, undefined, FILES, token)));
  const all = new Map([...open, ...rest.flat()].map((uri) => [uri.toString(), uri]));
  return [...all.values()].slice(0, FILES);
}

/** Matches the text in any case. */
function globOf(text: string): string {
  return Array.from(text, (one) => (/[a-z]/i.test(one) ? `[${one.toLowerCase()}${one.toUpperCase()}]` : /[[\]{}*?!\\]/.test(one) ? "?" : one)).join("");
}

async function symbolsLike(query: string): Promise<Candidate[]> {
  const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
  return (symbols ?? []).slice(0, SYMBOLS).map(({ name: symbol, location }) => {
    const range = { start: location.range.start.line + 1, end: location.range.end.line + 1 };
    const uri = location.uri.toString();
    const where = `${label(location.uri)}:${range.start}`;
    return {
      label: symbol,
      detail: where,
      icon: "symbol-method",
      insert: `@${symbol} `,
      attachments: [{ id: `${symbol}@${uri}`.slice(-256), kind: "symbol", label: `${symbol} (${where})`.slice(0, 400), uri: `${uri}#L${range.start}`, range }],
    };
  });
}

/** The selected lines with their current text, which may be unsaved. */
export function selection(editor: vscode.TextEditor): Attachment {
  const { document, selection: selected } = editor;
  const start = selected.start.line + 1;
  const end = selected.end.character === 0 && selected.end.line > selected.start.line ? selected.end.line : selected.end.line + 1;
  const where = `${label(document.uri)}:${start === end ? start : `${start}-${end}`}`;
  return {
    id: `${where}#${document.version}`.slice(-256),
    kind: "selection",
    label: where,
    uri: `${document.uri.toString()}#L${start}`,
    range: { start, end },
    text: document.getText(selected).slice(0, SELECTION_LIMIT),
  };
}

export function problem(uri: vscode.Uri, diagnostic: vscode.Diagnostic): Attachment {
  const line = diagnostic.range.start.line + 1;
  const where = `${label(uri)}:${line}`;
  const from = diagnostic.source ? `${diagnostic.source}: ` : "";
  return {
    id: `${where} ${diagnostic.message}`.slice(-256),
    kind: "problem",
    label: where,
    uri: `${uri.toString()}#L${line}`,
    range: { start: line, end: diagnostic.range.end.line + 1 },
    text: `${from}${diagnostic.message}`.slice(0, 4000),
  };
}

function name(path: string): string {
  return path.split("/").at(-1) ?? path;
}

/** "Fix with Agent" and "Add to Agent" on every diagnostic, in the editor and in the Problems view, which has no menu for extensions. */
export class Fixes implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix];

  provideCodeActions(document: vscode.TextDocument, _range: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    // our own hints describe the agent's changes, not the code
    const found = context.diagnostics.filter((one) => !OURS.test(one.source ?? ""));
    if (found.length === 0) return [];
    const action = (title: string, fix: boolean): vscode.CodeAction => {
      const made = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
      made.diagnostics = [...found];
      made.command = { command: "acpSidecar.panel.fix", title, arguments: [document.uri, found, fix] };
      return made;
    };
    return [action(vscode.l10n.t("Fix with Agent"), true), action(vscode.l10n.t("Add to Agent"), false)];
  }
}
