/** From a change that was kept or rejected on to the next one. Nothing here knows the editor. */

import type { Block } from "./block";
import type { Model, Place } from "./model";

/** Milliseconds to wait until a change has left the review. */
const PATIENCE = 5_000;

/** Where the first of these changes is, and what has to leave the review before there is a next one. */
export interface Left {
  readonly from: Place;
  readonly ids: readonly string[];
}

export function leaving(model: Model, ids: readonly string[]): Left | undefined {
  for (const uri of model.uris) {
    const block = model.blocks(uri).find((one) => one.ids.some((id) => ids.includes(id)));
    if (block !== undefined) {
      return { from: { uri, line: block.line - 1 }, ids };
    }
  }
  return undefined;
}

/** The next change once these are gone; undefined if there is none, or if they stay. */
export function nextAfter(model: Model, { from, ids }: Left, patience = PATIENCE): Promise<Block | undefined> {
  const areGone = (): boolean => !model.of(from.uri).some((change) => ids.includes(change.changeId));
  if (areGone()) {
    return Promise.resolve(model.next(from));
  }
  return new Promise((resolve) => {
    const end = (block: Block | undefined): void => {
      clearTimeout(timer);
      listener.dispose();
      resolve(block);
    };
    const timer = setTimeout(() => end(undefined), patience);
    const listener = model.onDidChange(() => {
      if (areGone()) {
        end(model.next(from));
      }
    });
  });
}
