/**
 * What happens to a document while the workbench reloads it. The user may type at any time: before the reload (it replaces that text),
 * while the file is read (then the workbench does not reload), and after it.
 *
 * The workbench reports the changed text first, and then, as an event without changes, whether the document has unsaved text. The reload is
 * therefore the change before the first such event that says "nothing unsaved".
 *
 * An edit of ours may bring in the disk's text first (`leads`), so that the reload has nothing to change and leaves no undo step of its own.
 */

import { followed, pushed } from "./caret";
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
  /** The document's version with that text. */
  readonly version: number;
  /** The document's text right before, the user's changes that led there, and the cursor's place in it. */
  readonly replaced: string;
  readonly typed: readonly Replacement[];
  readonly caret: number;
  /** Where the cursor is in the text on disk. */
  readonly landed: number;
  /** Later changes, each with its places in the text that the one before left. */
  readonly since: readonly Replacement[];
  /** Changes after our edit that the reload has thrown away, as `since`, and where the cursor was before them. */
  readonly lost: readonly Replacement[];
  readonly led: number;
  /** False: our edit brought in the disk's text, and the workbench did not reload it. */
  readonly isReloaded: boolean;
}

type At = Omit<Taken, "since" | "lost" | "led" | "isReloaded">;
type Found = At & { landed: number; since: Replacement[]; lost: Replacement[]; led: number; isReloaded: boolean };

export class Taking {
  private found: Found | undefined;
  /** What an edit of ours is about to make of the document. */
  private ahead: { readonly text: string; readonly caret: number } | undefined;
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

  tell({ edits, isDirty, version, text }: Told): void {
    this.standing = edits.reduce(followed, this.standing);
    if (this.ahead !== undefined && this.found === undefined && edits.length > 0 && text === this.ahead.text) {
      this.find({ ...this.asItIs(version), text, landed: this.ahead.caret }, false);
      this.caret = this.ahead.caret;
      return;
    }
    if (this.found !== undefined && !this.found.isReloaded) {
      this.untilReloaded(this.found, edits, isDirty, text);
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
    this.pending = isDirty || this.found !== undefined ? undefined : { ...this.asItIs(version), text, landed: edits.reduce(pushed, this.caret) };
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

  /** After the workbench's answer. Undefined if it did not reload, because the user typed or another editor was active. */
  end(version: number): Taken | undefined {
    if (!this.wasDirty && (this.pending !== undefined || !this.hasTyped)) {
      this.find(this.pending ?? this.asItIs(version));
    }
    return this.found;
  }

  private untilReloaded(found: Found, edits: readonly Replacement[], isDirty: boolean, text: string): void {
    if (edits.length === 0) {
      found.isReloaded = !isDirty;
    } else if (text === found.text) {
      found.lost.push(...found.since.splice(0));
      found.landed = edits.reduce(pushed, this.caret);
    } else {
      found.since.push(...edits);
      this.caret = edits.reduce(followed, this.caret);
    }
  }

  private asItIs(version: number): At {
    const { text, caret } = this;
    return { text, version, replaced: text, typed: [...this.typed], caret, landed: caret };
  }

  private find(at: At, isReloaded = true): void {
    this.found ??= { ...at, since: [], lost: [], led: at.landed, isReloaded };
  }
}
