/** The conversation as rows of the list: one per entry or run of reads and searches, and for an agent's message one per block. */

import type { Entry, EntryOf } from "../model";
import type { Block } from "./blocks";
import type { Store } from "./store";

export interface Row {
  key: string;
  entry: Entry;
  block: Block | null;
  /** A run of reads and searches, of which `entry` is the first. */
  run: readonly EntryOf<"tool">[] | null;
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
  private runs = new Map<string, Row>();

  of(store: Store): Row[] {
    const rows: Row[] = [];
    const next = new Map<string, Cached>();
    const runs = new Map<string, Row>();
    for (const entry of grouped(store.entries)) {
      if (Array.isArray(entry)) {
        const row = this.runRow(entry);
        runs.set(row.entry.id, row);
        rows.push(row);
        continue;
      }
      const known = this.cache.get(entry.id);
      const cached = known?.entry === entry ? known : { entry, rows: this.make(store, entry, known?.rows ?? []) };
      next.set(entry.id, cached);
      for (const row of cached.rows) rows.push(row);
    }
    this.cache = next;
    this.runs = runs;
    return rows;
  }

  private runRow(run: EntryOf<"tool">[]): Row {
    const first = run[0]!;
    const known = this.runs.get(first.id);
    if (known?.run?.length === run.length && known.run.every((one, at) => one === run[at])) return known;
    return { key: first.id, entry: first, block: null, run, guess: GUESSES.tool };
  }

  private make(store: Store, entry: Entry, before: Row[]): Row[] {
    if (entry.kind !== "agent") return [{ key: entry.id, entry, block: null, run: null, guess: GUESSES[entry.kind] }];
    const blocks = store.blocksOf(entry.id)?.all() ?? [];
    return blocks.map((block, at) => {
      const known = before[at];
      if (known?.block === block) return known;
      return { key: `${entry.id}.${block.key}`, entry, block, run: null, guess: guess(block) };
    });
  }
}

const LOOKS = new Set(["read", "search"]);

/** The entries in order, with each run of at least two reads and searches as one list. */
function grouped(entries: readonly Entry[]): (Entry | EntryOf<"tool">[])[] {
  const all: (Entry | EntryOf<"tool">[])[] = [];
  let run: EntryOf<"tool">[] = [];
  const close = (): void => {
    if (run.length > 1) all.push(run);
    else all.push(...run);
    run = [];
  };
  for (const entry of entries) {
    if (entry.kind === "tool" && LOOKS.has(entry.toolKind) && entry.diffs.length === 0) run.push(entry);
    else {
      close();
      all.push(entry);
    }
  }
  close();
  return all;
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
