/**
 * What is under review, by document, and the way from one change to the next. The server decides; this remembers its
 * last answer, so that lenses, keys and the view can be drawn without a request. Nothing here knows the editor.
 */

import type { Change } from "../lsp_ext";
import { type Block, blocks, byPlace, isOn } from "./block";

/** Everything from one turn of a session that is still to be reviewed, by file. */
export interface Turn {
  readonly sessionId: string;
  readonly turn: number;
  /** The agent's name; "" if the server no longer knows it. */
  readonly agent: string;
  /** The first words of its prompt; "" if the server does not know it. */
  readonly title: string;
  readonly files: readonly TurnFile[];
  readonly added: number;
  readonly removed: number;
}

export interface TurnFile {
  readonly uri: string;
  readonly blocks: readonly Block[];
  readonly added: number;
  readonly removed: number;
  /** The agent created the file, so without this work it would not exist. */
  readonly created: boolean;
}

export interface Place {
  readonly uri: string;
  readonly line: number;
}

export class Model {
  private readonly documents = new Map<string, readonly Change[]>();
  /** In the order in which they first appeared. */
  private readonly sessions = new Set<string>();
  private readonly listeners = new Set<(uris: readonly string[]) => void>();

  /** Called with the documents whose changes changed. */
  onDidChange(listener: (uris: readonly string[]) => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  /** The documents with changes, ordered by name. */
  get uris(): readonly string[] {
    return [...this.documents.keys()].sort();
  }

  get isEmpty(): boolean {
    return this.documents.size === 0;
  }

  of(uri: string): readonly Change[] {
    return this.documents.get(uri) ?? [];
  }

  blocks(uri: string): Block[] {
    return blocks(this.of(uri));
  }

  /** The number of blocks in all documents. */
  get size(): number {
    return this.uris.reduce((sum, uri) => sum + this.blocks(uri).length, 0);
  }

  /** Replaces the changes of one document. */
  set(uri: string, changes: readonly Change[]): void {
    if (this.put(uri, changes)) {
      this.tell([uri]);
    }
  }

  /** Replaces the changes of all documents. `changes` have URIs in the editor's form. */
  reset(changes: readonly Change[]): void {
    const now = new Map<string, Change[]>();
    for (const change of changes) {
      now.set(change.uri, [...(now.get(change.uri) ?? []), change]);
    }
    const moved = [...new Set([...this.documents.keys(), ...now.keys()])].filter((uri) => this.put(uri, now.get(uri) ?? []));
    if (moved.length > 0) {
      this.tell(moved);
    }
  }

  at(uri: string, line: number): Block | undefined {
    return this.blocks(uri).find((block) => isOn(block, line));
  }

  /** The first block after `from`, in this document or the next one. After the last block comes the first. */
  next(from?: Place): Block | undefined {
    return this.from(from, (block, place) => block.line > place.line, 1);
  }

  previous(from?: Place): Block | undefined {
    return this.from(from, (block, place) => Math.max(block.line, block.end - 1) < place.line, -1);
  }

  /** The latest turn first, and the session first that appeared last. A change by several turns is in each of them. */
  turns(): Turn[] {
    const found = new Map<string, { whose: Whose; changes: Change[] }>();
    for (const uri of this.uris) {
      for (const change of this.of(uri)) {
        for (const { sessionId, turn, agent, title = "" } of [change, ...(change.earlier ?? [])]) {
          const key = JSON.stringify([sessionId, turn]);
          const known = found.get(key) ?? { whose: { sessionId, turn, agent, title }, changes: [] };
          known.changes.push(change);
          found.set(key, known);
        }
      }
    }
    const sessions = [...this.sessions];
    return [...found.values()].map(({ whose, changes }) => asTurn(whose, changes)).sort((a, b) => sessions.indexOf(b.sessionId) - sessions.indexOf(a.sessionId) || b.turn - a.turn);
  }

  private from(from: Place | undefined, isPast: (block: Block, place: Place) => boolean, step: 1 | -1): Block | undefined {
    const uris = step === 1 ? this.uris : [...this.uris].reverse();
    const ordered = (uri: string): Block[] => (step === 1 ? this.blocks(uri) : this.blocks(uri).reverse());
    if (from !== undefined && this.documents.has(from.uri)) {
      const here = ordered(from.uri).find((block) => isPast(block, from));
      if (here !== undefined) {
        return here;
      }
    }
    const after = from === undefined ? undefined : uris.find((uri) => (step === 1 ? uri > from.uri : uri < from.uri));
    const target = after ?? uris[0];
    return target === undefined ? undefined : ordered(target)[0];
  }

  private put(uri: string, changes: readonly Change[]): boolean {
    if (JSON.stringify(this.of(uri)) === JSON.stringify(changes)) {
      return false;
    }
    for (const change of changes) {
      (change.earlier ?? []).forEach(({ sessionId }) => this.sessions.add(sessionId));
      this.sessions.add(change.sessionId);
    }
    if (changes.length === 0) {
      this.documents.delete(uri);
    } else {
      this.documents.set(uri, [...changes].sort(byPlace));
    }
    return true;
  }

  private tell(uris: readonly string[]): void {
    for (const listener of [...this.listeners]) {
      listener(uris);
    }
  }
}

type Whose = Pick<Turn, "sessionId" | "turn" | "agent" | "title">;

function asTurn(whose: Whose, changes: readonly Change[]): Turn {
  const uris = [...new Set(changes.map((change) => change.uri))];
  const files = uris.map((uri) => asFile(uri, changes.filter((change) => change.uri === uri)));
  return { ...whose, files, ...sum(files) };
}

function asFile(uri: string, changes: readonly Change[]): TurnFile {
  const found = blocks(changes);
  return { uri, blocks: found, ...sum(found), created: changes.some((change) => change.created === true) };
}

function sum(parts: readonly { added: number; removed: number }[]): { added: number; removed: number } {
  return {
    added: parts.reduce((all, part) => all + part.added, 0),
    removed: parts.reduce((all, part) => all + part.removed, 0),
  };
}
