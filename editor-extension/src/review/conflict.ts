/** Conflicts from the server, by document, and the whole text of each side for display. Nothing here knows the editor. */

import type { Conflict } from "../lsp_ext";

export type Side = "base" | "agent";

export class Conflicts {
  private readonly open = new Map<string, Conflict>();
  private readonly listeners = new Set<(uris: readonly string[]) => void>();

  /** Called with the documents whose conflicts changed. */
  onDidChange(listener: (uris: readonly string[]) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  get all(): readonly Conflict[] {
    return [...this.open.values()].sort((a, b) => (a.uri < b.uri ? -1 : a.uri > b.uri ? 1 : 0));
  }

  get uris(): readonly string[] {
    return [...new Set(this.all.map((conflict) => conflict.uri))];
  }

  of(uri: string): readonly Conflict[] {
    return this.all.filter((conflict) => conflict.uri === uri);
  }

  get(conflictId: string): Conflict | undefined {
    return this.open.get(conflictId);
  }

  /** Handles `sidecar/conflict`. Returns whether the conflict is new. */
  told(conflict: Conflict): boolean {
    const known = this.open.get(conflict.conflictId);
    if (conflict.state === "closed") {
      this.open.delete(conflict.conflictId);
    } else {
      this.open.set(conflict.conflictId, conflict);
    }
    this.tell([...new Set([conflict.uri, known?.uri ?? conflict.uri])]);
    return known === undefined && conflict.state === "open";
  }

  /** Replaces the open conflicts of one document, or of all. */
  reset(conflicts: readonly Conflict[], uri?: string): void {
    const moved = new Set(conflicts.map((conflict) => conflict.uri));
    for (const known of this.all) {
      if (uri === undefined || known.uri === uri) {
        moved.add(known.uri);
        this.open.delete(known.conflictId);
      }
    }
    for (const conflict of conflicts) {
      this.open.set(conflict.conflictId, conflict);
    }
    if (moved.size > 0) {
      this.tell([...moved]);
    }
  }

  private tell(uris: readonly string[]): void {
    for (const listener of [...this.listeners]) {
      listener(uris);
    }
  }
}

/** `text` (the document at the conflict's version) with the other side's lines where both changed the same lines. */
export function sideOf(text: string, conflict: Conflict, side: Side): string {
  const ends = lineStarts(text);
  const offset = (line: number, character: number): number => Math.min(text.length, (ends[line] ?? text.length) + character);
  let result = text;
  for (const hunk of [...conflict.hunks].sort((a, b) => b.range.start.line - a.range.start.line)) {
    const { start, end } = hunk.range;
    result =
      result.slice(0, offset(start.line, start.character)) + hunk[side] + result.slice(offset(end.line, end.character));
  }
  return result;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const end of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(end.index + end[0].length);
  }
  return starts;
}
