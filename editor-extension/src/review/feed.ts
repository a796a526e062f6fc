/**
 * Keeps the model in step with the server: loads everything when a server starts, then the documents that the server
 * names when hunks appear, disappear or are reviewed. The server does not report hunks that only move along with
 * typing. So while the user types in a document with changes, it is asked again a moment later. Nothing here knows the
 * editor.
 */

import type { Change } from "../lsp_ext";
import type { Model } from "./model";

/** From this many documents on, one request asks for everything. */
const MANY = 4;
/** Milliseconds after the last keystroke. Decorations move by themselves meanwhile. */
export const AFTER_TYPING = 120;

export interface Source {
  /** The changes of one document, or of all. Rejects with a message in words if there is no server. */
  list(uri?: string): Promise<readonly Change[]>;
  /** The current version of a document; undefined if it is not open. */
  version(uri: string): number | undefined;
  /** Converts a URI to the form that the editor uses for its documents. */
  canonical(uri: string): string;
  /** Calls `run` after this many milliseconds. The returned function cancels it. */
  later(run: () => void, milliseconds: number): () => void;
  failed(error: unknown): void;
}

export class Feed {
  /** The number of the newest question. Answers to older ones are ignored. */
  private asked = 0;
  private readonly askedOf = new Map<string, number>();
  private readonly waiting = new Map<string, () => void>();

  constructor(
    private readonly model: Model,
    private readonly source: Source,
  ) {}

  /** A new server is running, or nothing is known for certain. */
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

  /** There is no server, so nothing can be kept or rejected. */
  none(): void {
    this.asked++;
    this.askedOf.clear();
    this.model.reset([]);
  }

  /** Handles `sidecar/changes`. */
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
        return this.soon(uri); // the user typed meanwhile, so these places are out of date
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
