/** Messages to the page, collected for a moment: many updates of an agent are one message, and one drawing. */

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
  /** The session whose conversation the page has, and goes on getting the operations of. */
  private shown: Live | null = null;
  private shownId: string | null = null;
  private stale = true;
  private turnTo: Page | undefined;
  private open = false;

  constructor(private readonly out: Out) {}

  /** The page is there, or there anew: it knows nothing. */
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

  /** `page`: what the user turned to. Without it a list that is open stays open, and the conversation is there when it is closed. */
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
    if (this.turnTo) this.out.post({ type: "show", what: this.turnTo });
    this.turnTo = undefined;
  }

  private soon(): void {
    if (this.open) this.timer ??= setTimeout(() => this.flush(), WAIT);
  }
}
