/**
 * Keeps the model equal to what the server says: everything when a server starts, and the documents that it names when their
 * hunks came, went or were reviewed. The server does not tell of hunks that only move along with typing: while the user types
 * in a document with changes, it is asked again a moment later. Nothing here knows the editor.
 */

import type { Change } from "../lsp_ext";
import type { Model } from "./model";

/** From this many documents on, everything is asked for at once. */
const MANY = 4;
/** Milliseconds after the last keystroke; decorations move along by themselves meanwhile. */
export const AFTER_TYPING = 120;

export interface Source {
  /** The changes of one document, or of all; fails in words when there is no server. */
  list(uri?: string): Promise<readonly Change[]>;
  /** The version that a document is at; undefined when it is not open. */
  version(uri: string): number | undefined;
  /** The form of a URI by which the editor's documents are known. */
  canonical(uri: string): string;
  /** Calls `run` after so many milliseconds; what it returns calls that off. */
  later(run: () => void, milliseconds: number): () => void;
  failed(error: unknown): void;
}

export class Feed {
  /** Of the newest question; an older one's answer is of no use any more. */
  private asked = 0;
  private readonly askedOf = new Map<string, number>();
  private readonly waiting = new Map<string, () => void>();

  constructor(
    private readonly model: Model,
    private readonly source: Source,
  ) {}

  /** A new server runs, or nothing is known for certain. */
  async all(): Promise<void> {
    const mine = ++this.asked;
    this.askedOf.clear();
    try {
      const rows = await this.source.list();
      if (mine === this.asked) {
        this.model.reset(rows.map((row) => this.canonical(row)));
      }
    } catch (error) {
      this.source.failed(error);
    }
  }

  /** There is no server: nothing can be kept or rejected. */
  none(): void {
    this.asked++;
    this.askedOf.clear();
    this.model.reset([]);
  }

  /** `sidecar/changes`. */
  async moved(uris: readonly string[]): Promise<void> {
    if (uris.length >= MANY) {
      return this.all();
    }
    await Promise.all(uris.map((uri) => this.one(this.source.canonical(uri))));
  }

  /** The user typed in a document. */
  typed(uri: string): void {
    if (this.model.of(uri).length > 0) {
      this.soon(uri);
    }
  }

  private soon(uri: string): void {
    this.waiting.get(uri)?.();
    this.waiting.set(
      uri,
      this.source.later(() => {
        this.waiting.delete(uri);
        void this.one(uri);
      }, AFTER_TYPING),
    );
  }

  dispose(): void {
    for (const callOff of this.waiting.values()) {
      callOff();
    }
    this.waiting.clear();
  }

  private async one(uri: string): Promise<void> {
    const all = this.asked;
    const mine = (this.askedOf.get(uri) ?? 0) + 1;
    this.askedOf.set(uri, mine);
    try {
      const rows = await this.source.list(uri);
      if (all !== this.asked || mine !== this.askedOf.get(uri)) {
        return;
      }
      const version = this.source.version(uri);
      if (rows.some((row) => row.version !== undefined && version !== undefined && row.version < version)) {
        return this.soon(uri); // the user went on typing: these places are not where the hunks are now
      }
      this.model.set(uri, rows.map((row) => this.canonical(row)));
    } catch (error) {
      this.source.failed(error);
    }
  }

  private canonical(row: Change): Change {
    return { ...row, uri: this.source.canonical(row.uri) };
  }
}
