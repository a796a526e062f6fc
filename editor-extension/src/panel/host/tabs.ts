/** Conversations in editor tabs, each in one of its own. A tab comes back after a reload of the window; closing it ends nothing. */

import * as vscode from "vscode";
import type { Overview } from "../model";
import { object } from "./conversation";
import type { Live } from "./live";
import { type Around, Pane } from "./pane";

export const TAB = "acpSidecar.conversation";

export class Tabs implements vscode.Disposable {
  private readonly panels = new Map<Pane, vscode.WebviewPanel>();
  /** Tabs of before a reload whose conversation is not opened yet, by its id. */
  private readonly wanted = new Map<Pane, string>();
  /** Tabs for a new conversation, until it has begun. */
  private readonly fresh = new Set<Pane>();
  private restoring = false;
  private readonly serializer: vscode.Disposable;

  constructor(
    private readonly around: Around,
    /** The user closed it, or moved what it shows. */
    private readonly closed: (pane: Pane) => void,
    /** Opens the conversations of tabs that came back. */
    private readonly restore: () => void,
  ) {
    this.serializer = vscode.window.registerWebviewPanelSerializer(TAB, {
      deserializeWebviewPanel: (panel, state: unknown) => {
        const { sessionId } = object(state);
        const pane = this.adopt(panel);
        if (typeof sessionId === "string") this.wanted.set(pane, sessionId);
        else this.fresh.add(pane);
        this.restore();
        return Promise.resolve();
      },
    });
  }

  /** The tabs stay: the window may be reloading, and then they come back. */
  dispose(): void {
    this.serializer.dispose();
  }

  get all(): Pane[] {
    return [...this.panels.keys()];
  }

  of(live: Live): Pane | undefined {
    return this.all.find((one) => one.current === live);
  }

  /** A tab of the active group, with the conversation, or for a new one. */
  open(live: Live | null): Pane {
    const panel = vscode.window.createWebviewPanel(TAB, titleOf(live), vscode.ViewColumn.Active, { retainContextWhenHidden: false });
    const pane = this.adopt(panel);
    if (live) pane.show(live);
    else this.fresh.add(pane);
    return pane;
  }

  reveal(pane: Pane): void {
    this.panels.get(pane)?.reveal();
  }

  close(pane: Pane): void {
    this.panels.get(pane)?.dispose();
  }

  isVisible(pane: Pane): boolean {
    return this.panels.get(pane)?.visible === true;
  }

  active(): Pane | undefined {
    return [...this.panels].find(([, panel]) => panel.active)?.[0];
  }

  /** The conversation has another title. */
  titled(live: Live): void {
    const pane = this.of(live);
    const panel = pane && this.panels.get(pane);
    const title = titleOf(live);
    if (panel && panel.title !== title) panel.title = title;
  }

  /** Why a tab shows no conversation; undefined if it shows one, and for the side bar. */
  vacant(pane: Pane): Overview["vacant"] {
    if (pane.current !== null || !this.panels.has(pane)) return undefined;
    return this.wanted.has(pane) ? "opening" : this.fresh.has(pane) ? "choosing" : "gone";
  }

  /** Opens the conversations of tabs that came back, now that the server knows which there are. */
  async restored(open: (sessionId: string) => Promise<Live | undefined>): Promise<void> {
    if (this.restoring) return;
    this.restoring = true;
    try {
      for (const [pane, sessionId] of this.wanted) {
        const live = await open(sessionId);
        this.wanted.delete(pane);
        if (!this.panels.has(pane)) continue; // closed meanwhile
        if (live && !this.of(live)) pane.show(live);
        if (live) this.titled(live);
        pane.changed(null);
      }
    } finally {
      this.restoring = false;
    }
  }

  private adopt(panel: vscode.WebviewPanel): Pane {
    const pane = new Pane("tab", this.around);
    this.panels.set(pane, panel);
    const media = vscode.Uri.joinPath(this.around.extensionUri, "media");
    panel.iconPath = { light: vscode.Uri.joinPath(media, "tab-light.svg"), dark: vscode.Uri.joinPath(media, "tab-dark.svg") };
    pane.attach(panel.webview);
    panel.onDidChangeViewState(() => {
      if (panel.visible) this.around.turned(pane);
      else pane.hidden();
    });
    panel.onDidDispose(() => {
      this.panels.delete(pane);
      this.wanted.delete(pane);
      this.fresh.delete(pane);
      pane.detached();
      this.closed(pane);
    });
    return pane;
  }
}

function titleOf(live: Live | null): string {
  return live?.title || vscode.l10n.t("New conversation");
}
