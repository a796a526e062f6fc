/**
 * A block: hunks of one document on the same or neighbouring lines. Users see a block as one change and keep or reject
 * it as one. Lines are counted from 0. Nothing here knows the editor.
 */

import type { Change } from "../lsp_ext";

export interface Block {
  readonly uri: string;
  /** In the order of their places; never empty. */
  readonly changes: readonly Change[];
  readonly ids: readonly string[];
  /** The first line that an agent wrote, or the line before which it removed lines. */
  readonly line: number;
  /** One past the last line that the agent wrote; equal to `line` if it only removed lines. */
  readonly end: number;
  /** Lines that the agent wrote, and the lines that they replaced. */
  readonly added: number;
  readonly removed: number;
}

/** The whole lines that one hunk changed. */
interface Extent {
  line: number;
  end: number;
  added: number;
  removed: number;
}

/** Groups one document's hunks into blocks. */
export function blocks(changes: readonly Change[]): Block[] {
  const sorted = [...changes].sort(byPlace);
  const found: Block[] = [];
  for (const change of sorted) {
    const extent = extentOf(change);
    const last = found.at(-1);
    if (last !== undefined && extent.line <= last.end && goTogether(last.changes[0]!, change)) {
      found[found.length - 1] = joined(last, change, extent);
    } else {
      found.push({ uri: change.uri, changes: [change], ids: [change.changeId], ...extent });
    }
  }
  return found;
}

/** A change of the whole file is a block of its own, and what nobody is known to have done never goes with an agent's change. */
function goTogether(one: Change, other: Change): boolean {
  return one.file === undefined && other.file === undefined && (one.unknown ?? false) === (other.unknown ?? false);
}

/** Whether the block is on this line. A block that only removed lines is on the line after them. */
export function isOn(block: Block, line: number): boolean {
  return line === block.line || (block.line <= line && line < block.end);
}

/** `+3 −1`, in lines. */
export function counts(of: { readonly added: number; readonly removed: number }): string {
  const parts = [of.added > 0 ? `+${of.added}` : "", of.removed > 0 ? `−${of.removed}` : ""];
  return parts.filter((part) => part !== "").join(" ") || "±0";
}

export function byPlace(a: Change, b: Change): number {
  const [one, other] = [a.range.start, b.range.start];
  return one.line - other.line || one.character - other.character;
}

function joined(block: Block, change: Change, extent: Extent): Block {
  const shared = sharedLines(block, extent);
  return {
    uri: block.uri,
    changes: [...block.changes, change],
    ids: [...block.ids, change.changeId],
    line: block.line,
    end: Math.max(block.end, extent.end),
    added: block.added + extent.added - shared,
    removed: block.removed + extent.removed - shared,
  };
}

/** Lines that both hunks count: two words changed in one line are one changed line. */
function sharedLines(block: Block, extent: Extent): number {
  return Math.max(0, Math.min(block.end, extent.end) - extent.line);
}

/**
 * The server makes hunks as small as it can: whole lines with their ends where lines were added or removed, words where
 * a line was modified. A hunk of whole lines may also start with a line end, at the end of a text whose last line has
 * none.
 */
function extentOf(change: Change): Extent {
  if (change.file !== undefined) {
    return { line: 0, end: 0, added: 0, removed: lineEnds(change.oldText) };
  }
  const { start, end } = change.range;
  const written = lineEnds(change.newText);
  const replaced = lineEnds(change.oldText);
  const atLineEnd = startsWithLineEnd(change.newText) || startsWithLineEnd(change.oldText);
  const whole =
    (start.character === 0 && isWholeLines(change.newText) && isWholeLines(change.oldText)) ||
    (atLineEnd && startsOrEmpty(change.newText) && startsOrEmpty(change.oldText));
  if (whole) {
    const line = atLineEnd && start.character > 0 ? start.line + 1 : start.line;
    return { line, end: line + written, added: written, removed: replaced };
  }
  const endsALine = endsWithLineEnd(change.newText) && endsWithLineEnd(change.oldText);
  const touched = end.line - start.line + (endsALine ? 0 : 1);
  const wasNothing = change.created === true && change.oldText === "";
  const removed = wasNothing ? 0 : Math.max(0, touched + replaced - written);
  return { line: start.line, end: start.line + touched, added: touched, removed };
}

function lineEnds(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
}

function isWholeLines(text: string): boolean {
  return text === "" || endsWithLineEnd(text);
}

function endsWithLineEnd(text: string): boolean {
  return /[\r\n]$/.test(text);
}

function startsWithLineEnd(text: string): boolean {
  return /^[\r\n]/.test(text);
}

function startsOrEmpty(text: string): boolean {
  return text === "" || startsWithLineEnd(text);
}

/**
 * The text of a block's lines before the change, for display. `lineAt` returns a line of the document without its end;
 * it is never called for lines past the last.
 */
export function oldLines(block: Block, lineAt: (line: number) => string, lineCount: number): string[] {
  const starts: number[] = [];
  let text = "";
  for (let line = block.line; line < Math.min(block.end, lineCount); line++) {
    starts.push(text.length);
    text += `${lineAt(line)}\n`;
  }
  const offset = (line: number, character: number): number =>
    line < block.line ? 0 : Math.min(text.length, (starts[line - block.line] ?? text.length) + character);
  for (const { range, oldText } of [...block.changes].reverse()) {
    const [from, to] = [offset(range.start.line, range.start.character), offset(range.end.line, range.end.character)];
    text = text.slice(0, from) + oldText.replace(/\r\n|\r/g, "\n") + text.slice(to);
  }
  const first = block.changes[0]!;
  const before = first.range.start.line < block.line ? text.replace(/^\n/, "") : text;
  return before === "" ? [] : before.replace(/\n$/, "").split("\n");
}
