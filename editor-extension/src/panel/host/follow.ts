/** *Follow the agent* in the editor: moves the view, never a cursor or the keyboard's focus. */

import * as vscode from "vscode";
import * as lsp from "../../lsp_ext";
import type { Session } from "../../session";
import { Following, placeIn, type Place, type Sight } from "./following";
import { uriOf } from "./links";

/** Files that are larger, in bytes, are not opened only to be looked at: 5 MiB. */
const SIZE_LIMIT = 5 << 20;

export class Follow implements vscode.Disposable {
  /** The panel's page has the focus, so no key that is pressed now goes to an editor. */
  isPageFocused = false;
  private readonly following: Following;
  private readonly disposable: vscode.Disposable;

  constructor(
    { client }: Session,
    private readonly panel: { followed(): string | undefined; changed(): void },
  ) {
    this.following = new Following({ reveal: (place) => reveal(place, this.isPageFocused), changed: () => this.panel.changed() });
    this.disposable = vscode.Disposable.from(
      client.onNotification(lsp.activity, ({ sessionId, uri, line, outcome }) => {
        if (sessionId === this.panel.followed() && outcome === "ok") this.following.went({ uri, ...(line === undefined ? {} : { line }) });
      }),
      client.onNotification(lsp.sessionUpdate, ({ sessionId, update, replay }) => {
        if (sessionId === this.panel.followed() && replay !== true) this.told(update);
      }),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => this.saw(textEditor)),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        // an edit of an agent's, or of an extension's, moves cursors too, but comes without such a kind
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard || kind === vscode.TextEditorSelectionChangeKind.Mouse) this.following.end();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor) this.following.turned(editor.document.uri.toString());
      }),
    );
  }

  dispose(): void {
    this.following.end();
    this.disposable.dispose();
  }

  get on(): boolean {
    return this.following.on;
  }

  set(on: boolean): void {
    if (!on) return this.following.end();
    this.following.begin();
    for (const editor of vscode.window.visibleTextEditors) this.saw(editor);
  }

  /** Another conversation is shown. */
  forget(): void {
    this.following.forget();
  }

  private told(update: Record<string, unknown>): void {
    if (update["sessionUpdate"] !== "tool_call" && update["sessionUpdate"] !== "tool_call_update") return;
    const { path, ...line } = placeIn(update) ?? {};
    const uri = path === undefined ? undefined : uriOf(path);
    if (uri) this.following.went({ uri: vscode.Uri.joinPath(uri, ".").toString(), ...line });
    else if (update["status"] === "completed") this.following.finished();
  }

  private saw(editor: vscode.TextEditor): void {
    if (editor.document.uri.scheme !== "output") this.following.saw(sightOf(editor)); // a log scrolls by itself
  }
}

function sightOf({ document, viewColumn, visibleRanges }: vscode.TextEditor): Sight {
  const uri = document.uri.toString();
  const [top, bottom] = [visibleRanges[0]?.start.line ?? 0, visibleRanges.at(-1)?.end.line ?? 0];
  return { key: `${viewColumn} ${uri}`, uri, version: document.version, top, bottom };
}

async function reveal({ uri, line }: Place, isPageFocused: boolean): Promise<Sight | undefined> {
  const at = vscode.Uri.parse(uri);
  try {
    const editor = visible(at) ?? (await shown(at, isPageFocused));
    if (!editor) return undefined;
    const sight = sightOf(editor);
    if (line !== undefined) {
      const range = editor.document.validateRange(new vscode.Range(line, 0, line, 0));
      editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
    return sight;
  } catch {
    return undefined; // it is gone again, or not text
  }
}

function visible(uri: vscode.Uri): vscode.TextEditor | undefined {
  return vscode.window.visibleTextEditors.find((one) => one.viewColumn !== undefined && one.document.uri.toString() === uri.toString());
}

/**
 * Where an editor may have the focus, its keys would go to the document that takes its place: then the file is shown beside it. A file that
 * an agent merely names is opened only inside the workspace.
 */
async function shown(uri: vscode.Uri, isPageFocused: boolean): Promise<vscode.TextEditor | undefined> {
  if (!vscode.workspace.getWorkspaceFolder(uri) || uri.path.endsWith(".ipynb")) return undefined;
  const { type, size } = await vscode.workspace.fs.stat(uri);
  if ((type & vscode.FileType.File) === 0 || size > SIZE_LIMIT) return undefined;
  const viewColumn = isPageFocused ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
  return vscode.window.showTextDocument(uri, { viewColumn, preserveFocus: true, preview: true });
}
