/** A tool call's diff as it appears in the conversation: counts and the first lines. The editor's own diff shows the rest. */

import { structuredPatch } from "diff";
import type { DiffLine, FileDiff } from "../model";
import type { DiffTexts } from "./conversation";

const LINES = 60;
const LINE_LENGTH = 400;
/** Milliseconds after which two texts count as entirely different. */
const PATIENCE = 40;

export function preview(texts: DiffTexts, index: number): FileDiff {
  const { path, oldText, newText } = texts;
  const before = oldText ?? "";
  const patch = structuredPatch("", "", before, newText, "", "", { context: 2, timeout: PATIENCE });
  const lines: DiffLine[] = [];
  let added = 0;
  let removed = 0;
  if (!patch) {
    added = countLines(newText);
    removed = countLines(before);
    for (const text of newText.split("\n", LINES)) lines.push({ mark: "+", text: text.slice(0, LINE_LENGTH) });
    return { index, path, added, removed, created: oldText === null, lines, more: Math.max(0, added - lines.length) };
  }
  for (const [at, hunk] of patch.hunks.entries()) {
    if (at > 0) lines.push({ mark: "@", text: "" });
    for (const line of hunk.lines) {
      const mark = line[0];
      if (mark === "+") added += 1;
      else if (mark === "-") removed += 1;
      if (mark === "+" || mark === "-" || mark === " ") lines.push({ mark, text: line.slice(1, LINE_LENGTH + 1) });
    }
  }
  const more = Math.max(0, lines.length - LINES);
  return { index, path, added, removed, created: oldText === null, lines: lines.slice(0, LINES), more };
}

/** Lines as people count them: text after the last line end is a line unless it is empty. */
export function countLines(text: string): number {
  if (!text) return 0;
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
