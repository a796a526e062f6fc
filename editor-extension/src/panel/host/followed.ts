/** The pane whose agent is followed: that of whatever conversation it shows. */

import type * as vscode from "vscode";
import type { Session } from "../../session";
import { Follow } from "./follow";
import type { Pane } from "./pane";

export class Followed implements vscode.Disposable {
  private pane: Pane | undefined;
  private readonly follow: Follow;

  constructor(session: Session) {
    this.follow = new Follow(session, { followed: () => this.pane?.current?.id, changed: () => this.pane?.changed(null) });
  }

  dispose(): void {
    this.follow.dispose();
  }

  get on(): boolean {
    return this.follow.on;
  }

  is(pane: Pane): boolean {
    return this.follow.on && this.pane === pane;
  }

  set(pane: Pane, on: boolean): void {
    const before = this.pane;
    if (before !== pane) this.follow.forget();
    this.pane = pane;
    this.follow.set(on);
    before?.changed(null);
    pane.changed(null);
  }

  /** The pane is about to show another conversation. */
  leaving(pane: Pane): void {
    if (this.pane === pane) this.follow.forget();
  }

  closed(pane: Pane): void {
    if (this.pane === pane) this.follow.set(false);
  }

  /** While the side bar has the focus, no key goes to an editor. A tab is an editor: a file that takes its place would hide it. */
  set isPageFocused(on: boolean) {
    this.follow.isPageFocused = on;
  }
}
