/**
 * What happens to a document while the workbench reloads it. The user may type at any time: before the reload (it replaces that text),
 * while the file is read (then the workbench does not reload), and after it.
 *
 * The workbench reports the changed text first, and then, as an event without changes, whether the document has unsaved text. The reload is
 * therefore the change before the first such event that says "nothing unsaved".
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
}

type At = Omit<Taken, "since">;

export class Taking {
  private found: (At & { since: Replacement[] }) | undefined;
  /** A change after which nothing seemed unsaved: the reload, or a key whose event came before the workbench noticed. The next event tells. */
  private pending: At | undefined;
  private hasTyped = false;
  private readonly typed: Replacement[] = [];

  /** `text`: the document's, before the workbench is asked to reload it. `caret`: where the cursor is in it, in UTF-16 units from 0. */
  constructor(
    private text: string,
    private readonly wasDirty: boolean,
    private caret: number,
  ) {}

  /** The user moved the cursor, or it was moved by what they typed. */
  place(caret: number): void {
    if (this.found === undefined && this.pending === undefined) {
      this.caret = caret;
    }
  }

  tell({ edits, isDirty, version, text }: Told): void {
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

  /** After the workbench's answer. Undefined if it did not reload, because the user typed or another editor was active. */
  end(version: number): Taken | undefined {
    if (!this.wasDirty && (this.pending !== undefined || !this.hasTyped)) {
      this.find(this.pending ?? this.asItIs(version));
    }
    return this.found;
  }

  private asItIs(version: number): At {
    const { text, caret } = this;
    return { text, version, replaced: text, typed: [...this.typed], caret, landed: caret };
  }

  private find(at: At): void {
    this.found ??= { ...at, since: [] };
  }
}
