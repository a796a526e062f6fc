/**
 * What happens to a document while the workbench reloads it. The user may type at any time: before the reload (it replaces that text),
 * while the file is read (then the workbench does not reload), and after it.
 *
 * The workbench reports the changed text first, and then, as an event without changes, whether the document has unsaved text. The reload is
 * therefore the change before the first such event that says "nothing unsaved".
 */

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
  /** The document's text right before. */
  readonly replaced: string;
  /** Later changes, each with its places in the text that the one before left. */
  readonly since: readonly Replacement[];
}

type At = Omit<Taken, "since">;

export class Taking {
  private found: (At & { since: Replacement[] }) | undefined;
  /** A change after which nothing seemed unsaved: the reload, or a key whose event came before the workbench noticed. The next event tells. */
  private pending: At | undefined;
  private hasTyped = false;

  /** `text`: the document's, before the workbench is asked to reload it. */
  constructor(
    private text: string,
    private readonly wasDirty: boolean,
  ) {}

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
    this.pending = isDirty || this.found !== undefined ? undefined : { text, version, replaced: this.text };
    this.found?.since.push(...edits);
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
    return { text: this.text, version, replaced: this.text };
  }

  private find(at: At): void {
    this.found ??= { ...at, since: [] };
  }
}
