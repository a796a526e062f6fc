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
  /** What the sub-agent of this tool call did and said, and those that it started. */
  below: readonly Entry[];
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
    const { above, below } = nested(store.entries);
    for (const entry of grouped(above, below)) {
      if (Array.isArray(entry)) {
        const row = this.runRow(entry);
        runs.set(row.entry.id, row);
        rows.push(row);
        continue;
      }
      const known = this.cache.get(entry.id);
      const under = below.get(entry.id) ?? NOTHING;
      const same = known?.entry === entry && isSame(known.rows[0]?.below ?? NOTHING, under);
      const cached = same ? known : { entry, rows: this.make(store, entry, known?.rows ?? [], under) };
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
    if (known?.run && isSame(known.run, run)) return known;
    return { key: first.id, entry: first, block: null, run, below: NOTHING, guess: GUESSES.tool };
  }

  private make(store: Store, entry: Entry, before: Row[], below: readonly Entry[]): Row[] {
    if (entry.kind !== "agent") return [{ key: entry.id, entry, block: null, run: null, below, guess: GUESSES[entry.kind] }];
    const blocks = store.blocksOf(entry.id)?.all() ?? [];
    return blocks.map((block, at) => {
      const known = before[at];
      if (known?.block === block) return known;
      return { key: `${entry.id}.${block.key}`, entry, block, run: null, below: NOTHING, guess: guess(block) };
    });
  }
}

const NOTHING: readonly never[] = [];

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

/** `below`: by tool call of the agent itself, all that sub-agents did and said because of it; `above`: all the rest. */
function nested(entries: readonly Entry[]): { above: Entry[]; below: Map<string, Entry[]> } {
  const above: Entry[] = [];
  const below = new Map<string, Entry[]>();
  /** The agent's own tool call, by tool call of a sub-agent. */
  const tops = new Map<string, string>();
  for (const entry of entries) {
    const parent = parentOf(entry);
    if (parent === undefined) {
      above.push(entry);
      continue;
    }
    const top = tops.get(parent) ?? parent;
    tops.set(entry.id, top);
    const others = below.get(top);
    if (others) others.push(entry);
    else below.set(top, [entry]);
  }
  return { above, below };
}

export function parentOf(entry: Entry): string | undefined {
  return "parent" in entry ? entry.parent : undefined;
}

const LOOKS = new Set(["read", "search"]);

/** The entries in order, with each run of at least two reads and searches as one list. What has something below it is in no run. */
export function grouped(entries: readonly Entry[], below: { has: (id: string) => boolean }): (Entry | EntryOf<"tool">[])[] {
  const all: (Entry | EntryOf<"tool">[])[] = [];
  let run: EntryOf<"tool">[] = [];
  const close = (): void => {
    if (run.length > 1) all.push(run);
    else all.push(...run);
    run = [];
  };
  for (const entry of entries) {
    if (entry.kind === "tool" && LOOKS.has(entry.toolKind) && entry.diffs.length === 0 && !below.has(entry.id)) run.push(entry);
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
  compaction: 34,
  end: 40,
};

function guess(block: Block): number {
  const lines = block.text.split("\n").length;
  return block.kind === "code" ? lines * 18 + (block.first ? 30 : 0) : lines * 22 + 8;
}
