/** The change that is open in the editor's quick diff peek, as the commands in its title get it. Nothing here knows the editor. */

import type { Block } from "./block";

/** VS Code's own shape of a change. Lines count from 1; an end of 0 means that there are no lines on that side. */
export interface LineChange {
  readonly originalStartLineNumber: number;
  readonly originalEndLineNumber: number;
  readonly modifiedStartLineNumber: number;
  readonly modifiedEndLineNumber: number;
}

/** The change that is shown, from the arguments of a command in the peek's title; undefined for other arguments. */
export function shownChange(args: readonly unknown[]): LineChange | undefined {
  const [, changes, index] = args;
  return Array.isArray(changes) && typeof index === "number" ? (changes[index] as LineChange | undefined) : undefined;
}

/** The agents' changes in the lines of `shown`. The editor's diff may join blocks, or cut one in two. */
export function idsIn(blocks: readonly Block[], shown: LineChange): string[] {
  const removed = shown.modifiedEndLineNumber === 0;
  const first = removed ? shown.modifiedStartLineNumber : shown.modifiedStartLineNumber - 1;
  const end = removed ? first : shown.modifiedEndLineNumber;
  return blocks.filter((block) => touches(block, first, end)).flatMap((block) => block.ids);
}

/** Lines count from 0, ends are exclusive. Lines that were only removed lie between two lines, and touch both. */
function touches(block: Block, first: number, end: number): boolean {
  const between = block.line === block.end || first === end;
  return between ? block.line <= end && first <= block.end : block.line < end && first < block.end;
}
