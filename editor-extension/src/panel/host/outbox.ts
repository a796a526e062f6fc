/** Messages to the page, collected for a moment: many updates of an agent are one message, and one drawing. */

import type { ToWebview } from "../protocol";
import type { Live } from "./live";

/** Milliseconds that messages wait: two frames. */
const WAIT = 32;

export interface Out {
  post(message: ToWebview): void;
  overview(): ToWebview;
}

export class Outbox {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The session whose conversation the page has, and goes on getting the operations of. */
  private shown: Live | null = null;
  private shownId: string | null = null;
  private stale = true;
  private open = false;

  constructor(private readonly out: Out) {}

  /** The page is there, or there anew: it knows nothing. */
  opened(): void {
    this.open = true;
    this.show(this.shown);
  }

  closed(): void {
    this.open = false;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  show(live: Live | null): void {
    this.shown = live;
    this.stale = true;
    this.soon();
  }

  changed(live: Live | null): void {
    if (live && live === this.shown && live.id !== this.shownId) this.stale = true; // it got its id
    this.soon();
  }

  /** At once, before what is posted next. */
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
  }

  private soon(): void {
    if (this.open) this.timer ??= setTimeout(() => this.flush(), WAIT);
  }
}
