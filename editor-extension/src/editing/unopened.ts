/**
 * `sidecar/open` and `sidecar/close`: documents that are edited and saved in the background. VS Code opens a tab for a
 * document that stays unsaved for a moment. Such a tab is closed again once it is clean, unless somebody looked at it.
 * The user's own tabs are never touched. Where the editor area is empty, a tab that the user opens in that moment looks the same, and is
 * closed only if nobody has touched it for a while: keys would go nowhere. Who rejects a file while its tab is on screen has looked at it.
 */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { isText, openDocument, tabsOf } from "./documents";
import { Emptied } from "./emptied";

type Handle = NonNullable<NonNullable<Middleware["workspace"]>["handleApplyEdit"]>;
const NEVER = new vscode.CancellationTokenSource().token;

/** A tab that appears for a document within this many milliseconds after the last work on it was opened by VS Code itself. */
const LATE = 10_000;

/**
 * VS Code opens no tab for a document that was unsaved for fewer milliseconds; it waits for 800. Where it is busy, the tab comes only
 * when the document is saved, and within `SAVED` milliseconds from then.
 */
const UNSAVED = 500;
const SAVED = 1_000;

/** How long a tab that is shown stays, in milliseconds, until it is clear that nobody works in it. */
const SHOWN = 4_000;

export class Unopened implements vscode.Disposable {
  /** Tabs that nobody asked for and nobody has looked at. */
  private readonly unseen = new Map<vscode.Tab, { readonly opened: number; wasActive: boolean }>();
  /** Documents that the server is working on, by URI. */
  private readonly worked = new Map<string, NodeJS.Timeout>();
  /** Of these, the ones that were unsaved: from when until when. */
  private readonly unsaved = new Map<string, { since: number; until?: number }>();
  private readonly emptied = new Emptied();
  private readonly disposable: vscode.Disposable;
  /** The tabs that are being closed, and of these the ones that somebody has come to look at since. */
  private closing: readonly vscode.Tab[] = [];
  private closesActive = false;
  private readonly wanted = new Set<vscode.Tab>();
  private later: NodeJS.Timeout | undefined;

  constructor() {
    this.disposable = vscode.Disposable.from(
      this.emptied,
      vscode.window.tabGroups.onDidChangeTabs(({ opened, closed, changed }) => {
        closed.forEach((tab) => this.unseen.delete(tab));
        for (const tab of opened) {
          const others = isText(tab.input) ? tabsOf(tab.input.uri).filter((other) => other !== tab) : [];
          others.forEach((other) => this.unseen.delete(other)); // only somebody who looks at it opens it again
          if (others.length === 0 && this.isItsOwn(tab)) {
            this.unseen.set(tab, { opened: Date.now(), wasActive: tab.isActive });
          }
        }
        const seen = changed.filter((tab) => tab.isPinned || this.isLookedAt(tab));
        seen.filter((tab) => this.closing.includes(tab)).forEach((tab) => this.wanted.add(tab));
        seen.forEach((tab) => this.unseen.delete(tab));
        if (closed.some((tab) => !this.closing.includes(tab))) {
          this.wanted.clear(); // the user closed another, and its neighbour may have become active by itself
        }
        void this.closeUnseen();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.noteUnsaved(document)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        if (kind !== undefined) {
          this.lookedAt(textEditor.document.uri);
        }
      }),
    );
  }

  dispose(): void {
    this.worked.forEach((timer) => clearTimeout(timer));
    clearTimeout(this.later);
    this.disposable.dispose();
  }

  async open(uri: string): Promise<{ version: number }> {
    this.works(uri);
    const document = openDocument(uri) ?? (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)));
    return { version: document.version };
  }

  async close(uri: string): Promise<null> {
    this.works(uri);
    await this.closeUnseen();
    return null;
  }

  /** Applies the server's edits, except the deletion of a file that is in a tab: its text can be had back there until that is closed. */
  readonly handleApplyEdit: Handle = async (params, next) => {
    const deleted = (params.edit.documentChanges ?? []).flatMap((one) => ("kind" in one && one.kind === "delete" ? [vscode.Uri.parse(one.uri)] : []));
    if (deleted.some((uri) => this.isShown(uri))) {
      for (const uri of deleted) {
        this.lookedAt(uri);
        this.emptied.add(uri);
      }
      return { applied: false, failureReason: vscode.l10n.t("the file is open") };
    }
    return next(params, NEVER);
  };

  /** The server is doing something with the document. */
  works(uri: string): void {
    const name = vscode.Uri.parse(uri).toString();
    clearTimeout(this.worked.get(name));
    this.worked.set(
      name,
      setTimeout(() => {
        this.worked.delete(name);
        this.unsaved.delete(name);
      }, LATE),
    );
  }

  private noteUnsaved(document: vscode.TextDocument): void {
    const name = document.uri.toString();
    const known = this.unsaved.get(name);
    if (document.isDirty && this.worked.has(name) && (!known || known.until !== undefined)) {
      this.unsaved.set(name, { since: Date.now() });
    } else if (!document.isDirty && known) {
      known.until ??= Date.now();
    }
  }

  /** Whether a tab is one that VS Code opens by itself. One that somebody opens is clean, a preview, or active. But a tab in an empty group is
   * always active. */
  private isItsOwn(tab: vscode.Tab): boolean {
    return (tab.isDirty || this.wasUnsaved(tab)) && !tab.isPreview && (!tab.isActive || isAlone(tab));
  }

  /** Whether VS Code may have meant to open it when it was unsaved. */
  private wasUnsaved(tab: vscode.Tab): boolean {
    const known = isText(tab.input) ? this.unsaved.get(tab.input.uri.toString()) : undefined;
    return known?.until !== undefined && known.until - known.since >= UNSAVED && Date.now() - known.until <= SAVED;
  }

  /** Notes whether an unseen tab is active, and says whether it has just become so. A tab changes when it is saved, too. */
  private becameActive(tab: vscode.Tab): boolean {
    const known = this.unseen.get(tab);
    if (!known) {
      return false;
    }
    const before = known.wasActive;
    known.wasActive = tab.isActive;
    return tab.isActive && !before;
  }

  /** Whether somebody has just come to look at an unseen tab. When an active tab closes, its neighbour becomes active by itself. */
  private isLookedAt(tab: vscode.Tab): boolean {
    return this.becameActive(tab) && !this.closesActive && !isAlone(tab);
  }

  private isShown(uri: vscode.Uri): boolean {
    return tabsOf(uri).some((tab) => tab.isActive || !this.unseen.has(tab));
  }

  private isWorkedOn(tab: vscode.Tab): boolean {
    return isText(tab.input) && this.worked.has(tab.input.uri.toString());
  }

  private lookedAt(uri: vscode.Uri): void {
    tabsOf(uri).forEach((tab) => this.unseen.delete(tab));
  }

  private async closeUnseen(): Promise<void> {
    const left = [...this.unseen.keys()].filter((tab) => !tab.isDirty && this.isWorkedOn(tab));
    const clean = left.filter((tab) => this.shownFor(tab) === 0);
    this.closeLater(left.map((tab) => this.shownFor(tab)));
    if (clean.length === 0 || this.closing.length > 0) {
      return;
    }
    this.closing = clean;
    this.closesActive = clean.some((tab) => tab.isActive);
    try {
      await vscode.window.tabGroups.close(clean, true);
    } finally {
      this.closing = [];
      this.closesActive = false;
    }
    await this.openWanted();
    if ([...this.unseen.keys()].some((tab) => !tab.isDirty && this.isWorkedOn(tab) && this.shownFor(tab) === 0 && !clean.includes(tab))) {
      await this.closeUnseen();
    }
  }

  /** VS Code closes a tab also if somebody clicks on it in that moment. */
  private async openWanted(): Promise<void> {
    const wanted = [...this.wanted];
    this.wanted.clear();
    for (const { input, group } of wanted) {
      if (isText(input) && tabsOf(input.uri).length === 0) {
        await vscode.window.showTextDocument(input.uri, { viewColumn: group.viewColumn, preview: false }).then(undefined, gone);
      }
    }
  }

  /** How long it is to be shown yet, in milliseconds. */
  private shownFor(tab: vscode.Tab): number {
    return tab.isActive ? Math.max(0, (this.unseen.get(tab)?.opened ?? 0) + SHOWN - Date.now()) : 0;
  }

  private closeLater(times: readonly number[]): void {
    const soonest = Math.min(...times.filter((time) => time > 0));
    clearTimeout(this.later);
    if (Number.isFinite(soonest)) {
      this.later = setTimeout(() => void this.closeUnseen(), soonest);
    }
  }
}

function gone(): void {
  // Its file was removed meanwhile
}

function isAlone(tab: vscode.Tab): boolean {
  return tab.group.tabs.length === 1;
}
