/**
 * What happens to a document while the workbench reloads it. The user may type at any time: before the reload (it replaces that text),
 * while the file is read (then the workbench does not reload), and after it.
 *
 * The workbench reports the changed text first, and then, as an event without changes, whether the document has unsaved text. The reload is
 * therefore the change before the first such event that says "nothing unsaved".
 *
 * The cursor goes behind what the reload puts in its place, also where that begins right at it.
 *
 * An edit of ours may bring in the disk's text first (`leads`), so that the reload has nothing to change and leaves no undo step of its own.
 */

import { followed, typedOn, undone, type Place } from "./caret";
import type { Replacement } from "./replacements";

/** One event. `text` and `version` are those after it. */
export interface Told {
  readonly edits: readonly Replacement[];
  readonly isDirty: boolean;
  readonly version: number;
  readonly text: string;
}

/** The document was reloaded. */
export interface Taken {
  /** The text on disk. */
  readonly text: string;
  /** The document's version with that text, or with the one that our edit brought in. */
  readonly version: number;
  /** The document's version with that text. */
  readonly read: number;
  /** The document's text right before, the user's changes that led there, and the cursor's place in it. */
  readonly replaced: string;
  readonly typed: readonly Replacement[];
  readonly caret: number;
  /** Where the cursor is in the text on disk. */
  readonly landed: number;
  /** Later changes, each with its places in the text that the one before left. */
  readonly since: readonly Replacement[];
  /** Changes after our edit that the reload has thrown away, as `since`, and the text they were made in, with the cursor before them. */
  readonly lost: readonly Replacement[];
  readonly led: Place;
  /** False: our edit brought in the disk's text, and the workbench did not reload it. */
  readonly isReloaded: boolean;
}

type At = Omit<Taken, "since" | "lost" | "led" | "isReloaded">;
type Found = At & { since: Replacement[]; lost: Replacement[]; led: Place; isReloaded: boolean };

export class Taking {
  private found: Found | undefined;
  /** After an edit of ours, a change before which nothing seemed unsaved, and where the cursor was before: a reload begins with that. */
  private newest: readonly Replacement[] = [];
  private from = 0;
  /** What an edit of ours is about to make of the document. */
  private ahead: Place | undefined;
  /** What an edit of ours is about to make of the document once it was reloaded. */
  private made: string | undefined;
  /** Where we are about to put the cursor, and after how many of the later changes it was there. */
  private putting: { caret: number; done: () => void } | undefined;
  private back: { at: number; caret: number } | undefined;
  /** A change after which nothing seemed unsaved: the reload, or a key whose event came before the workbench noticed. The next event tells. */
  private pending: At | undefined;
  private hasTyped = false;
  /** Where the cursor was told to be, or the changes since have taken it. */
  private standing: number;
  private isMoved = false;
  private readonly typed: Replacement[] = [];

  /** `text`: the document's, before the workbench is asked to reload it. `caret`: where the cursor is in it, in UTF-16 units from 0. */
  constructor(
    private text: string,
    private readonly wasDirty: boolean,
    private caret: number,
  ) {
    this.standing = caret;
  }

  /** Where the cursor is now: the user moved it (`isUsers`), what they typed did, or the workbench. */
  place(caret: number, isUsers: boolean): void {
    if (this.putting?.caret === caret) {
      this.back = { at: this.found?.since.length ?? 0, caret };
      this.putting.done();
      this.putting = undefined;
      this.standing = caret;
      return;
    }
    if (this.found === undefined && this.pending === undefined) {
      this.caret = caret;
    } else if (isUsers && caret !== this.standing) {
      this.isMoved = true;
    }
    this.standing = caret;
  }

  /** The user has put the cursor somewhere since the disk's text is there, where it then stays. */
  get isPlaced(): boolean {
    return this.isMoved;
  }

  /** An edit of ours is about to make the document say what the disk does, with the cursor there. */
  leads(text: string, caret: number): void {
    this.ahead = { text, caret };
  }

  /** We are about to put the cursor there; resolved when it is. Keys may come before that, where it still is. */
  puts(caret: number): Promise<void> {
    return new Promise((done) => {
      this.putting = { caret, done };
    });
  }

  /**
   * What is there, and what should be, where the user went on after the reload or our last edit. That left `landed`, where `meant` was meant. Who
   * undid the reload has what was there before it: that stays.
   */
  goneOn(meant: Place, landed: Place): { here: Place; wanted: Place } {
    const all = this.found?.since ?? [];
    const { isBefore, rest: since } = undone(this.found?.replaced ?? landed.text, landed.text, all);
    if (isBefore) {
      const there = { text: typedOn(landed, landed, all).text, caret: this.standing };
      return { here: there, wanted: there };
    }
    const back = since.length < all.length ? undefined : this.back;
    const first = back === undefined ? since : since.slice(0, back.at);
    const here = typedOn(landed, landed, first);
    const wanted = typedOn(meant, landed, first);
    if (back === undefined) {
      return { here, wanted };
    }
    // what was typed where the cursor was thrown to belongs in front of what is typed since it is back
    const put = { text: here.text, caret: back.caret };
    const rest = since.slice(back.at);
    return { here: typedOn(put, put, rest), wanted: typedOn(wanted, put, rest) };
  }

  /** An edit of ours is about to make the document say this. Later changes then begin with what comes after it. */
  makes(text: string): void {
    this.made = text;
  }

  tell(told: Told): void {
    const { edits, isDirty, version, text } = told;
    this.standing = edits.reduce(followed, this.standing);
    if (this.found !== undefined && edits.length > 0 && text === this.made) {
      this.made = this.back = undefined;
      this.found.since = [];
      this.text = text;
      return;
    }
    if (this.ahead !== undefined && this.found === undefined && edits.length > 0 && text === this.ahead.text) {
      this.find({ ...this.asItIs(version), text, landed: this.ahead.caret }, false);
      ({ text: this.text, caret: this.caret } = this.ahead);
      return;
    }
    if (this.found !== undefined && !this.found.isReloaded) {
      this.untilReloaded(this.found, told);
      return;
    }
    if (edits.length === 0) {
      if (isDirty) {
        this.hasTyped = true;
      } else {
        // without such a change, disk and document had the same text
        this.find(this.pending ?? this.asItIs(version));
      }
      this.pending = undefined;
      return;
    }
    if (this.pending !== undefined && !this.wasDirty) {
      this.find(this.pending); // a key would have been followed by an event that says "unsaved"
    }
    this.pending = isDirty || this.found !== undefined ? undefined : { ...this.asItIs(version), text, landed: edits.reduce(followed, this.caret) };
    if (this.found === undefined) {
      this.typed.push(...edits);
      this.caret = edits.reduce(followed, this.caret);
    } else {
      this.found.since.push(...edits);
    }
    this.text = text;
  }

  /** An edit of ours has brought in the disk's text, and a key kept the workbench from reloading it. */
  get isLedOnly(): boolean {
    return this.found?.isReloaded === false;
  }

  /** Nothing is unsaved any more, and nothing was taken for that. */
  get isSaved(): boolean {
    return this.found?.isReloaded === true && this.found.replaced === this.found.text;
  }

  /** After the workbench's answer. Undefined if it did not reload, because the user typed or another editor was active. */
  end(version: number): Taken | undefined {
    if (!this.wasDirty && (this.pending !== undefined || !this.hasTyped)) {
      this.find(this.pending ?? this.asItIs(version));
    }
    return this.found;
  }

  /** The reload is told as it is without an edit of ours, also where the file says something else by now. A save, too, leaves nothing unsaved. */
  private untilReloaded(found: Found, { edits, isDirty, text, version }: Told): void {
    if (edits.length > 0) {
      this.from = this.caret;
      this.newest = isDirty ? [] : edits;
      found.since.push(...edits);
      this.caret = edits.reduce(followed, this.caret);
    } else if (isDirty) {
      this.newest = []; // a key, pressed while the file was read
    } else if (this.newest.length === 0) {
      found.isReloaded = true;
    } else {
      const lost = found.since.slice(0, -this.newest.length);
      const landed = this.newest.reduce(followed, this.from);
      this.found = { ...found, text, read: version, landed, lost, since: [], isReloaded: true };
    }
  }

  private asItIs(version: number): At {
    const { text, caret } = this;
    return { text, version, read: version, replaced: text, typed: [...this.typed], caret, landed: caret };
  }

  private find(at: At, isReloaded = true): void {
    this.found ??= { ...at, since: [], lost: [], led: { text: at.text, caret: at.landed }, isReloaded };
  }
}
