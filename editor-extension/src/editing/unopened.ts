/**
 * `sidecar/open` and `sidecar/close`: documents that are edited and saved without anybody looking at them. VS Code opens a tab by
 * itself for a document that stays unsaved for a moment; such a tab is closed again once it is clean, unless it was ever
 * looked at. Tabs of the user's own are never touched.
 */

import * as vscode from "vscode";
import { openDocument } from "./documents";

/** Milliseconds after `sidecar/close` within which a tab that appears is still VS Code's own doing. */
const LATE = 3_000;

export class Unopened implements vscode.Disposable {
  /** Tabs that appeared in the background and that nobody looked at since. */
  private readonly unseen = new Set<vscode.Tab>();
  /** Documents that were closed for the server just now. */
  private readonly closing = new Set<string>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly disposable: vscode.Disposable;

  constructor() {
    this.disposable = vscode.window.tabGroups.onDidChangeTabs(({ opened, closed, changed }) => {
      for (const tab of closed) {
        this.unseen.delete(tab);
      }
      for (const tab of opened) {
        if (!tab.isActive) {
          this.unseen.add(tab);
        }
      }
      for (const tab of changed) {
        if (tab.isActive || tab.isPinned) {
          this.unseen.delete(tab);
        }
      }
      void this.closeUnseen([...opened, ...changed]);
    });
  }

  dispose(): void {
    this.timers.forEach((timer) => clearTimeout(timer));
    this.disposable.dispose();
  }

  async open(uri: string): Promise<{ version: number }> {
    this.closing.delete(vscode.Uri.parse(uri).toString());
    const document = openDocument(uri) ?? (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)));
    return { version: document.version };
  }

  async close(uri: string): Promise<null> {
    const name = vscode.Uri.parse(uri).toString();
    this.closing.add(name);
    const timer = setTimeout(() => {
      this.closing.delete(name);
      this.timers.delete(timer);
    }, LATE);
    this.timers.add(timer);
    await this.closeUnseen(vscode.window.tabGroups.all.flatMap((group) => group.tabs));
    return null;
  }

  private async closeUnseen(tabs: readonly vscode.Tab[]): Promise<void> {
    const ours = tabs.filter(
      (tab) =>
        this.unseen.has(tab) &&
        !tab.isDirty &&
        !tab.isActive &&
        tab.input instanceof vscode.TabInputText &&
        this.closing.has(tab.input.uri.toString()),
    );
    if (ours.length > 0) {
      await vscode.window.tabGroups.close(ours, true);
    }
  }
}
