/**
 * Tells the changes of a document that belong together as the one that they make. Text that the workbench takes from a document by mistake, and that
 * is put back, was never gone: told step by step, its authors would be forgotten, and what the file says would seem to be taken out by the user.
 * Nothing here knows the editor.
 */

/** Of a document's changes, those from this version on are told as the one that they make of `text`, what it said before them. */
export interface Since {
  readonly version: number;
  readonly text: string;
}

/** Lets the changes go that have waited. Without `since`, each is told as it was. */
export type LetGo = (since?: Since) => void;

/** What is told in the place of a change: what the document says now made of the text `before`; without that nothing, because every version is told. */
export type Instead<C> = (change: C, before?: string) => C;

interface Waiting<C> {
  readonly change: C;
  readonly version: number;
}

interface Held<C> {
  readonly waiting: Waiting<C>[];
  readonly over: Promise<(waiting: Waiting<C>) => C>;
}

export class AtOnce<C> {
  private readonly held = new Map<string, Held<C>>();

  /** From now on the document's changes wait, until they are let go. Where they wait already, nothing begins. */
  begin(uri: string, instead: Instead<C>): LetGo {
    if (this.held.has(uri)) {
      return () => undefined;
    }
    const waiting: Waiting<C>[] = [];
    let end: (as: (waiting: Waiting<C>) => C) => void;
    this.held.set(uri, { waiting, over: new Promise((resolve) => (end = resolve)) });
    return (since) => {
      if (this.held.get(uri)?.waiting !== waiting) {
        return; // they were let go before
      }
      this.held.delete(uri);
      const newest = waiting.at(-1);
      const last = since && newest && instead(newest.change, since.text);
      end((one) => (since === undefined || one.version < since.version ? one.change : one === newest ? last! : instead(one.change)));
    };
  }

  /** The document was changed, and has this version now. `tell` tells that change, or another in its place. */
  async changed(uri: string, version: number, change: C, tell: (change: C) => Promise<void>): Promise<void> {
    const held = this.held.get(uri);
    if (held === undefined) {
      return tell(change);
    }
    const one = { change, version };
    held.waiting.push(one);
    return tell((await held.over)(one));
  }
}
