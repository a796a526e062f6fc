/** Rows as the server sends them, for tests. */

import type { Change } from "../../src/lsp_ext";

/** `place` is `line:character-line:character`, from 0. */
export function change(place: string, oldText = "", newText = "x\n", more: Partial<Change> = {}): Change {
  const [line, character, endLine, endCharacter] = place.split(/[:-]/).map(Number) as [number, number, number, number];
  return {
    changeId: place,
    uri: "file:///a.txt",
    range: { start: { line, character }, end: { line: endLine, character: endCharacter } },
    oldText,
    newText,
    sessionId: "s",
    turn: 1,
    agent: "fast-agent",
    state: "unreviewed",
    ...more,
  };
}

/** One added line. */
export function added(uri: string, line: number, more: Partial<Change> = {}): Change {
  return change(`${line}:0-${line + 1}:0`, "", "x\n", { uri, changeId: `${line}@${uri}`, ...more });
}
