/**
 * Where conversations are shown: in the view in the side bar, and in editor tabs. Each is shown in one place at most, so that there
 * is one box to write in.
 */

import * as vscode from "vscode";
import type { Live } from "./live";
import type { Page } from "./outbox";
import { type Around, Pane } from "./pane";
import { Tabs } from "./tabs";

export const VIEW = "acpSidecar.panel";

export interface Watch {
  /** A pane is about to show another conversation, or none. */
  leaving(pane: Pane): void;
  /** The user closed a tab. Its conversation goes on. */
  closed(pane: Pane): void;
  /** What the side bar shows is another conversation now, or none. */
  shown(): void;
  /** The user may see something that they did not see before. */
  seen(): void;
  /** The keyboard's focus came to a page, or left it. */
  focused(): void;
  /** Tabs came back after a reload: their conversations are to be opened. */
  restore(): void;
}

export class Places implements vscode.WebviewViewProvider, vscode.Disposable {
  /** The view in the side bar. */
  readonly side: Pane;
  readonly tabs: Tabs;
  private view: vscode.WebviewView | undefined;
  /** The pane that the user turned to last. What they add from elsewhere goes there. */
  private last: Pane;
  private readonly registered: vscode.Disposable;

  constructor(
    around: Omit<Around, "turned">,
    private readonly watch: Watch,
  ) {
    const all: Around = {
      ...around,
      turned: () => {
        watch.focused();
        watch.seen();
      },
    };
    this.side = this.last = new Pane("side", all);
    this.tabs = new Tabs(
      all,
      (pane) => {
        if (this.last === pane) this.last = this.side;
        watch.closed(pane);
      },
      () => watch.restore(),
    );
    this.registered = vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: false } });
  }

  dispose(): void {
    this.registered.dispose();
    this.tabs.dispose();
    this.side.detached();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.side.attach(view.webview);
    view.onDidChangeVisibility(() => {
      if (view.visible) this.watch.seen();
      else this.side.hidden();
    });
    view.onDidDispose(() => {
      this.side.detached();
      this.view = undefined;
    });
  }

  /** On the icon of the view. */
  set badge(badge: vscode.ViewBadge | undefined) {
    if (this.view) this.view.badge = badge;
  }

  all(): Pane[] {
    return [this.side, ...this.tabs.all];
  }

  of(live: Live): Pane | undefined {
    return this.side.current === live ? this.side : this.tabs.of(live);
  }

  isVisible(pane: Pane): boolean {
    return pane === this.side ? this.view?.visible === true : this.tabs.isVisible(pane);
  }

  /** The pages say themselves which has the focus: VS Code's own `focusedView` is not set when the focus came by way of the page. */
  focused(pane: Pane, on: boolean): void {
    pane.isFocused = on;
    if (on) this.last = pane;
    this.watch.focused();
  }

  /** The tab that the user is in, or else the side bar. */
  here(): Pane {
    return this.tabs.active() ?? this.side;
  }

  /** The pane that the user turned to last, though it may not be in sight. */
  recent(): Pane {
    return this.last;
  }

  /** Where the user writes: the tab that they are in or were in last, while it can be seen and has a box to write in; else the side bar. */
  target(): Pane {
    const pane = this.tabs.active() ?? this.last;
    return pane !== this.side && pane.current !== null && this.tabs.isVisible(pane) ? pane : this.side;
  }

  /** Brings it to the front, with the keyboard's focus. */
  async turnTo(pane: Pane): Promise<void> {
    this.last = pane;
    if (pane === this.side) await vscode.commands.executeCommand(`${VIEW}.focus`);
    else this.tabs.reveal(pane);
  }

  /**
   * Shows it in the pane, or turns to the tab that shows it already. `page`: null if the user did not ask for it, so that
   * an open list stays open, and no tab comes to the front.
   */
  show(live: Live | null, pane: Pane, page: Page | null = "conversation"): void {
    const elsewhere = live ? this.of(live) : undefined;
    if (elsewhere && elsewhere !== pane) {
      if (page !== null) void this.turnTo(elsewhere);
      return;
    }
    if (live && elsewhere) {
      if (page !== null) pane.tell({ type: "show", what: page });
      return this.watch.seen();
    }
    if (live !== pane.current) this.watch.leaving(pane);
    pane.show(live, page ?? undefined);
    if (live) this.tabs.titled(live);
    this.watch.shown();
    this.watch.seen();
  }

  /** Moves a conversation into an editor tab, or turns to the one that it has. */
  inEditor(live: Live): void {
    const tab = this.tabs.of(live);
    if (tab) return void this.turnTo(tab);
    if (this.side.current === live) this.show(null, this.side);
    this.last = this.tabs.open(live);
    this.watch.seen();
  }

  /** A tab for a new conversation, at the front. */
  newTab(): Pane {
    return (this.last = this.tabs.open(null));
  }

  /** Moves a tab's conversation back into the side bar. */
  async inSideBar(tab: Pane): Promise<void> {
    const live = tab.current;
    if (tab === this.side || !live) return;
    tab.current = null; // it is free to be shown elsewhere
    this.tabs.close(tab);
    this.show(live, this.side);
    await this.turnTo(this.side);
  }

  /** Shows it nowhere any more. */
  forget(live: Live): void {
    if (this.side.current === live) this.show(null, this.side, "sessions");
    const tab = this.tabs.of(live);
    if (tab) this.tabs.close(tab);
  }
}
