/** The conversation as rows of the list: one per entry, and for an agent's message one per block. */

import type { Entry } from "../model";
import type { Block } from "./blocks";
import type { Store } from "./store";

export interface Row {
  key: string;
  entry: Entry;
  block: Block | null;
  /** The assumed height in pixels until the row is measured. */
  guess: number;
}

interface Cached {
  entry: Entry;
  rows: Row[];
}

/** Rows of unchanged entries are the same objects as before, so that they are not rendered again. */
export class Rows {
  private cache = new Map<string, Cached>();

  of(store: Store): Row[] {
    const rows: Row[] = [];
    const next = new Map<string, Cached>();
    for (const entry of store.entries) {
      const known = this.cache.get(entry.id);
      const cached = known?.entry === entry ? known : { entry, rows: this.make(store, entry, known?.rows ?? []) };
      next.set(entry.id, cached);
      for (const row of cached.rows) rows.push(row);
    }
    this.cache = next;
    return rows;
  }

  private make(store: Store, entry: Entry, before: Row[]): Row[] {
    if (entry.kind !== "agent") return [{ key: entry.id, entry, block: null, guess: GUESSES[entry.kind] }];
    const blocks = store.blocksOf(entry.id)?.all() ?? [];
    return blocks.map((block, at) => {
      const known = before[at];
      if (known?.block === block) return known;
      return { key: `${entry.id}.${block.key}`, entry, block, guess: guess(block) };
    });
  }
}

const GUESSES: Readonly<Record<Exclude<Entry["kind"], "agent">, number>> = {
  user: 64,
  thought: 28,
  image: 240,
  tool: 34,
  plan: 120,
  question: 180,
  form: 200,
  notice: 40,
  end: 40,
};

function guess(block: Block): number {
  const lines = block.text.split("\n").length;
  return block.kind === "code" ? lines * 18 + (block.first ? 30 : 0) : lines * 22 + 8;
}
