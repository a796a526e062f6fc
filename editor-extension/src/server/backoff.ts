/** How long to wait before a server that ended is started again, and when to ask the user instead. Times in milliseconds. */

const DELAYS = [500, 2_000, 8_000] as const;

/** A server that ran this long had a successful start. */
const SETTLED = 120_000;

export class Backoff {
  private crashes = 0;

  /** The wait until the next start. Undefined: it ended too often; ask the user. `lived`: how long the server ran. */
  next(lived: number): number | undefined {
    if (lived >= SETTLED) {
      this.crashes = 0;
    }
    return DELAYS[this.crashes++];
  }

  /** How often it ended in a row. */
  get count(): number {
    return this.crashes;
  }

  /** The user asked for a start. */
  reset(): void {
    this.crashes = 0;
  }
}
