/**
 * Keeps the cursor where the user types while the text around it is replaced. Pure.
 *
 * A reload throws the cursor out of the text that it replaces, and the keys pressed before the user's own text is back go to where it landed.
 * So they are taken along: what was typed at the cursor belongs to where the cursor was.
 */

import { isInside, moved, replaced, replacement, type Replacement } from "./replacements";

/** A text, and the cursor's place in it in UTF-16 units from 0. */
export interface Place {
  readonly text: string;
  readonly caret: number;
}

/** The cursor after a change that is not the user's. */
export function pushed(caret: number, made: Replacement): number {
  return moved({ start: caret, end: caret, text: "" }, made).start;
}

/** The cursor after the user's own change: behind it if it was made at the cursor. */
export function followed(caret: number, made: Replacement): number {
  return touches(made, caret) ? made.start + made.text.length : pushed(caret, made);
}

/**
 * What should be there instead of `landed`, where the user went on with the changes `since`, each with its places in the text that the one
 * before left. `meant`: what should have been there when they began.
 */
export function typedOn(meant: Place, landed: Place, since: readonly Replacement[]): Place {
  let { text, caret } = meant;
  let now = landed;
  for (const made of since) {
    const shift = caret - now.caret;
    const atCaret = touches(made, now.caret) && made.start + shift >= 0 && made.end + shift <= text.length;
    const here = atCaret ? { start: made.start + shift, end: made.end + shift, text: made.text } : moved(made, replacement(now.text, text));
    text = replaced(text, here);
    caret = atCaret ? here.start + here.text.length : pushed(caret, here);
    now = { text: replaced(now.text, made), caret: followed(now.caret, made) };
  }
  return { text, caret };
}

/**
 * The user's changes `since` may undo and redo what led from `before` to `landed`. Of these two texts, which one the document said last, and the
 * changes after that. Where it is `before`, nothing is put on top: it has all that was meant to come back, which would be there twice.
 */
export function undone(before: string, landed: string, since: readonly Replacement[]): { isBefore: boolean; rest: readonly Replacement[] } {
  let text = landed;
  let last = { isBefore: false, rest: since };
  for (const [i, made] of since.entries()) {
    text = replaced(text, made);
    if (text === landed || text === before) {
      last = { isBefore: text !== landed, rest: since.slice(i + 1) };
    }
  }
  return last;
}

function touches({ start, end }: Replacement, caret: number): boolean {
  return start <= caret && caret <= end;
}

/**
 * The edits that turn one into the other and take the cursor along: it stays at the end of a range that is replaced up to it, and at the
 * start of one that begins there. An insertion right at the cursor always pushes it, so at the end of the text it ends up behind everything:
 * whoever makes these edits then puts it back.
 */
export function carried(from: Place, to: Place): Replacement[] {
  const before = replacement(from.text.slice(0, from.caret), to.text.slice(0, to.caret));
  const rest = replacement(from.text.slice(from.caret), to.text.slice(to.caret));
  const after = { start: rest.start + from.caret, end: rest.end + from.caret, text: rest.text };
  const isAtEnd = from.caret === from.text.length;
  if (isAtEnd && before.end === from.caret) {
    return [{ ...before, text: before.text + after.text }].filter(isChange);
  }
  if (after.start === from.caret && after.end === after.start && !isAtEnd) {
    const end = isInside(from.text, after.end + 1) ? after.end + 2 : after.end + 1;
    return [before, { ...after, end, text: after.text + from.text.slice(after.end, end) }].filter(isChange);
  }
  return [before, after].filter(isChange);
}

function isChange({ start, end, text }: Replacement): boolean {
  return end > start || text !== "";
}
