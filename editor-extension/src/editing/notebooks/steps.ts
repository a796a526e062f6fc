/**
 * What a change of a notebook's JSON (nbformat 4) asks of its cells: as few steps as it takes, so that cells that did not change keep
 * their outputs, their editors and the cursor. Pure.
 */

export interface Cell {
  readonly cell_type: string;
  readonly source: string | readonly string[];
  readonly id?: string;
  readonly metadata?: unknown;
  readonly attachments?: unknown;
  readonly execution_count?: unknown;
  readonly outputs?: readonly unknown[];
}

export interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata?: unknown;
  readonly nbformat?: unknown;
  readonly nbformat_minor?: unknown;
}

/** A cell to put in. `outputsOf`: the number of the old cell whose outputs it has; undefined if it has none. */
export interface NewCell {
  readonly cell: Cell;
  readonly outputsOf?: number;
}

/** Numbers are those of the old cells, from 0. */
export type Step =
  | { readonly kind: "source"; readonly index: number; readonly cell: Cell }
  | { readonly kind: "metadata"; readonly index: number; readonly cell: Cell }
  | { readonly kind: "replace"; readonly start: number; readonly end: number; readonly cells: readonly NewCell[] }
  | { readonly kind: "document"; readonly metadata: unknown };

/** The change cannot be made in a notebook's cells. The message is for the agent. */
export class NotInCells extends Error {}

/** Throws NotInCells. */
export function parsed(text: string): Notebook {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new NotInCells("the new text is not JSON");
  }
  const cells = (found as Partial<Notebook> | null)?.cells;
  if (!Array.isArray(cells) || !cells.every(isCell)) {
    throw new NotInCells("the new text is not a notebook");
  }
  return found as Notebook;
}

/**
 * The steps from `before` to `after`, in ascending order of their cells. Throws NotInCells. The text of a cell and the notebook have
 * histories of their own: steps are all changes of texts, or all changes of the notebook, so that one undo takes them back.
 */
export function steps(before: Notebook, after: Notebook): Step[] {
  const found = apart(before, after);
  if (found.every(({ kind }) => kind === "source")) {
    return found;
  }
  const texts = new Set(found.flatMap((step) => (step.kind === "source" ? [step.index] : [])));
  return found.flatMap((step): Step[] => {
    if (step.kind === "source") {
      const { index, cell } = step;
      const cells = [(cell.outputs ?? []).length === 0 ? { cell } : { cell, outputsOf: index }];
      return [{ kind: "replace", start: index, end: index + 1, cells }];
    }
    return step.kind === "metadata" && texts.has(step.index) ? [] : [step];
  });
}

function apart(before: Notebook, after: Notebook): Step[] {
  if (before.nbformat !== after.nbformat || before.nbformat_minor !== after.nbformat_minor) {
    throw new NotInCells("the format of a notebook that is open cannot be changed");
  }
  const found: Step[] = same(before.metadata, after.metadata) ? [] : [{ kind: "document", metadata: after.metadata }];
  let [old, now] = [0, 0];
  const upTo = (oldEnd: number, nowEnd: number): void => {
    found.push(...between(before.cells, old, oldEnd, after.cells.slice(now, nowEnd)));
  };
  for (const [oldAt, nowAt] of pairs(before.cells.map(nameOf), after.cells.map(nameOf))) {
    upTo(oldAt, nowAt);
    found.push(...between(before.cells, oldAt, oldAt + 1, [after.cells[nowAt]!]));
    [old, now] = [oldAt + 1, nowAt + 1];
  }
  upTo(before.cells.length, after.cells.length);
  return found;
}

export function sourceOf({ source }: Cell): string {
  return typeof source === "string" ? source : source.join("");
}

function isCell(value: unknown): value is Cell {
  const cell = value as Partial<Cell> | null;
  const isText = (one: unknown): boolean => typeof one === "string";
  return isText(cell?.cell_type) && (isText(cell?.source) || (Array.isArray(cell?.source) && cell.source.every(isText)));
}

/** From the cells from `start` to before `end` to these. As many of each go on from one another where their kinds and outputs allow it. */
function between(old: readonly Cell[], start: number, end: number, now: readonly Cell[]): Step[] {
  if (end - start === now.length && now.every((cell, at) => goesOn(old[start + at]!, cell))) {
    return now.flatMap((cell, at) => inPlace(start + at, old[start + at]!, cell));
  }
  return [{ kind: "replace", start, end, cells: now.map((cell) => fresh(old, cell)) }];
}

function goesOn(old: Cell, now: Cell): boolean {
  return old.cell_type === now.cell_type && same(old.outputs ?? [], now.outputs ?? []);
}

function inPlace(index: number, old: Cell, now: Cell): Step[] {
  const rest = ({ id, metadata, attachments, execution_count }: Cell): unknown => [id, metadata ?? {}, attachments, execution_count];
  return [
    ...(same(rest(old), rest(now)) ? [] : [{ kind: "metadata", index, cell: now } as const]),
    ...(sourceOf(old) === sourceOf(now) ? [] : [{ kind: "source", index, cell: now } as const]),
  ];
}

/** Outputs are the kernel's: a cell has those of a cell that is there, or none. */
function fresh(old: readonly Cell[], cell: Cell): NewCell {
  if ((cell.outputs ?? []).length === 0) {
    return { cell };
  }
  const outputsOf = old.findIndex(({ outputs }) => same(outputs, cell.outputs));
  if (outputsOf < 0) {
    throw new NotInCells("outputs of cells come from running them and cannot be written; leave them as they are, or empty them");
  }
  return { cell, outputsOf };
}

/** What a cell is found again by: its id, or where the format has none, all of it. */
function nameOf(cell: Cell): string {
  return cell.id ?? JSON.stringify(cell);
}

/** The longest common subsequence of the two, as pairs of places. */
function pairs(old: readonly string[], now: readonly string[]): [number, number][] {
  let first = 0;
  while (first < Math.min(old.length, now.length) && old[first] === now[first]) {
    first++;
  }
  const found = Array.from({ length: first }, (_, at): [number, number] => [at, at]);
  const width = now.length - first + 1;
  const longest = new Uint32Array((old.length - first + 1) * width);
  for (let i = old.length - 1; i >= first; i--) {
    for (let j = now.length - 1; j >= first; j--) {
      const [here, below, right] = [(i - first) * width + j - first, (i - first + 1) * width + j - first, (i - first) * width + j - first + 1];
      longest[here] = old[i] === now[j] ? longest[below + 1]! + 1 : Math.max(longest[below]!, longest[right]!);
    }
  }
  for (let [i, j] = [first, first]; i < old.length && j < now.length;) {
    const here = (i - first) * width + j - first;
    if (old[i] === now[j]) {
      found.push([i++, j++]);
    } else if (longest[here + width]! >= longest[here + 1]!) {
      i++;
    } else {
      j++;
    }
  }
  return found;
}

/** Whether two values are the same JSON; the order of names in objects does not matter. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, sorted) === JSON.stringify(b, sorted);
}

function sorted(_: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}
