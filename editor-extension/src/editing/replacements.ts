/** Replaces as little text as a common start and end allow, so that cursors and folds elsewhere stay. Pure. */

/** A range of a text, in UTF-16 units from 0, and its new content. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The single replacement that turns `before` into `after`. It never splits a surrogate pair or \r\n. */
export function replacement(before: string, after: string): Replacement {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) {
    start++;
  }
  while (start > 0 && (isInside(before, start) || isInside(after, start))) {
    start--;
  }
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) {
    tail++;
  }
  while (tail > 0 && (isInside(before, before.length - tail) || isInside(after, after.length - tail))) {
    tail--;
  }
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}

/** Whether a surrogate pair or \r\n would be split there. */
export function isInside(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const behind = text.charCodeAt(at);
  return (
    (before >= 0xd800 && before < 0xdc00 && behind >= 0xdc00 && behind < 0xe000) || (before === 13 && behind === 10)
  );
}

/** The text after the replacement. */
export function replaced(text: string, { start, end, text: by }: Replacement): string {
  return text.slice(0, start) + by + text.slice(end);
}

/** The text after replacements that do not overlap, all with their places in this text. */
export function replacedAll(text: string, all: readonly Replacement[]): string {
  return [...all].sort((a, b) => b.start - a.start || b.end - a.end).reduce(replaced, text);
}

/** Whether both say the same but for their line ends, which the workbench makes the file's when it reloads that. */
export function haveSameLines(one: string, other: string): boolean {
  return one === other || one.replace(LINE_END, "\n") === other.replace(LINE_END, "\n");
}

const LINE_END = /\r\n|\r/g;

/** The offset of a line and a column, both from 0, columns in UTF-16 units. A column past the line's end is its end. */
export function offsetAt(text: string, line: number, character: number): number {
  let start = 0;
  for (let left = line; left > 0; left--) {
    const end = text.indexOf("\n", start);
    if (end < 0) {
      return text.length;
    }
    start = end + 1;
  }
  const [rest = ""] = text.slice(start).split(/\r?\n/, 1);
  return start + Math.min(character, rest.length);
}

/** The line and column of an offset; the other way round as `offsetAt`. */
export function placeAt(text: string, offset: number): { line: number; character: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
}

/** The place of a replacement after another one was made. If they overlap, it comes after the other's text. */
export function moved(one: Replacement, made: Replacement): Replacement {
  const shift = made.text.length - (made.end - made.start);
  const place = (at: number): number => {
    if (at <= made.start) {
      return at;
    }
    return at >= made.end ? at + shift : made.start + made.text.length;
  };
  return { start: place(one.start), end: Math.max(place(one.start), place(one.end)), text: one.text };
}
