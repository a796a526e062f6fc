/** Messages to the page. They are collected for a moment, so that many updates by an agent become one message and one repaint. */

import type { ToWebview } from "../protocol";
import type { Live } from "./live";

/** Milliseconds that messages wait: two frames. */
const WAIT = 32;

export type Page = "conversation" | "sessions";

export interface Out {
  post(message: ToWebview): void;
  overview(): ToWebview;
}

export class Outbox {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The session whose conversation the page shows. The page keeps receiving its operations. */
  private shown: Live | null = null;
  private shownId: string | null = null;
  private stale = true;
  private turnTo: Page | undefined;
  private open = false;

  constructor(private readonly out: Out) {}

  /** The page has loaded, or reloaded, and knows nothing. */
  opened(): void {
    this.open = true;
    this.stale = true;
    this.soon();
  }

  closed(): void {
    this.open = false;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /**
   * `page`: the page that the user navigated to. Without it an open list stays open, and the conversation appears when
   * the list is closed.
   */
  show(live: Live | null, page?: Page): void {
    this.shown = live;
    this.stale = true;
    this.turnTo = page;
    this.soon();
  }

  changed(live: Live | null): void {
    if (live && live === this.shown && live.id !== this.shownId) this.stale = true; // it got its id
    this.soon();
  }

  /** Sends what is waiting at once, before the next message. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.open) return;
    const live = this.shown;
    if (this.stale) {
      live?.conversation.take();
      this.shownId = live?.id ?? null;
      this.out.post({ type: "conversation", sessionId: this.shownId, entries: live ? [...live.conversation.entries] : [] });
      this.stale = false;
    } else if (live) {
      const ops = live.conversation.take();
      if (ops.length > 0) this.out.post({ type: "ops", sessionId: live.id, ops });
    }
    this.out.post(this.out.overview());
    if (this.turnTo) this.out.post({ type: "show", what: this.turnTo });
    this.turnTo = undefined;
  }

  private soon(): void {
    if (this.open) this.timer ??= setTimeout(() => this.flush(), WAIT);
  }
}
