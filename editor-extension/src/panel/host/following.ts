/**
 * Follows an agent: where the view goes and when, and when the user has taken it over. Knows no editor.
 *
 * Editors do not say who scrolled. What moves until the place is in sight, and a moment after, counts as ours, unless it takes it out of
 * sight again; so does what comes with a new text, and a nudge: lines of code lenses come late.
 */

import { list, object } from "./conversation";

/** A place in a file: its URI, and the line from 0 if it is known. */
export interface Place {
  readonly uri: string;
  readonly line?: number;
}

/** What one editor shows: the first and the last visible line, from 0, of this version of the document. */
export interface Sight {
  /** The editor. */
  readonly key: string;
  readonly uri: string;
  readonly version: number;
  readonly top: number;
  readonly bottom: number;
}

export interface View {
  /** What the editor of this place showed when it was told to go there; undefined if the place cannot be shown. */
  reveal(place: Place): Promise<Sight | undefined>;
  changed(): void;
}

/** Milliseconds between two moves. Of the places between them only the last counts. */
export const PACE = 400;
/** Milliseconds in which an editor may go on scrolling when the place is in sight. */
export const SETTLING = 500;
/** The part of an editor's height that it may move by without having been scrolled. */
const NUDGE = 0.25;
/** Milliseconds until an editor has scrolled to the place, at the most. */
const PATIENCE = 5000;

export class Following {
  on = false;
  /** Where the agent was last. */
  private last: Place | undefined;
  private wanted: Place | undefined;
  /** It could not be shown, perhaps because the agent is only about to make it. */
  private missed: Place | undefined;
  private shown: Place | undefined;
  private isInSight = false;
  private isMoving = false;
  /** Until then, in milliseconds since 1970, what moves may be ours. */
  private quiet = 0;
  private pause: ReturnType<typeof setTimeout> | undefined;
  /** What each editor showed when it came to rest. */
  private readonly rests = new Map<string, Sight>();

  constructor(private readonly view: View) {}

  begin(): void {
    if (this.on) return;
    this.on = true;
    this.view.changed();
    this.wanted = this.last;
    this.move();
  }

  end(): void {
    if (!this.on) return;
    this.on = false;
    clearTimeout(this.pause);
    this.pause = undefined;
    this.wanted = this.shown = undefined;
    this.rests.clear();
    this.view.changed();
  }

  /** The agent read or wrote here. */
  went(place: Place): void {
    this.last = place;
    if (!this.on) return;
    this.wanted = place;
    this.move();
  }

  /** The agent has finished something, and does not say where. */
  finished(): void {
    const place = this.wanted ?? (this.isMoving ? this.shown : this.missed);
    if (place) this.went(place);
  }

  /** Another agent is to be followed. */
  forget(): void {
    this.last = this.wanted = this.missed = undefined;
  }

  /** The user turned to another document. */
  turned(uri: string): void {
    if (!this.isSettling() && uri !== this.shown?.uri) this.end();
  }

  /** What an editor shows has changed. */
  saw(sight: Sight): void {
    if (!this.on) return;
    const { key, uri, version, top, bottom } = sight;
    const before = this.rests.get(key);
    const isNew = before?.version !== version;
    const isOurs = this.isSettling();
    const wasInSight = this.isInSight;
    if (uri === this.shown?.uri) this.arrived(shows(sight, this.shown));
    const hasLeft = wasInSight && !this.isInSight;
    const isFar = Math.abs(top - (before?.top ?? top)) > (bottom - top) * NUDGE;
    if (isNew || isOurs) this.rests.set(key, sight);
    if (!isNew && (hasLeft || (isFar && !isOurs))) this.end();
  }

  private arrived(isInSight: boolean): void {
    if (isInSight && !this.isInSight) this.quiet = Date.now() + SETTLING;
    this.isInSight = isInSight;
  }

  private isSettling(): boolean {
    return this.isMoving || Date.now() < this.quiet;
  }

  private move(): void {
    if (this.isMoving || this.pause !== undefined || !this.wanted) return;
    const place = this.wanted;
    const before = this.shown;
    this.wanted = undefined;
    this.shown = place;
    this.isInSight = false;
    this.isMoving = true;
    void this.view.reveal(place).then((sight) => {
      this.isMoving = false;
      this.missed = sight ? undefined : place;
      if (!this.on) return;
      if (!sight) this.shown = before;
      else {
        this.rests.set(sight.key, sight);
        this.quiet = Date.now() + PATIENCE;
        this.isInSight = false;
        this.arrived(shows(sight, place));
      }
      this.pause = setTimeout(() => {
        this.pause = undefined;
        this.move();
      }, PACE);
    });
  }
}

function shows({ top, bottom }: Sight, { line }: Place): boolean {
  return line === undefined || (top <= line && line <= bottom);
}

/** The last place that a tool call names, with the path as the agent gave it; undefined if it names none. */
export function placeIn(update: Record<string, unknown>): { path: string; line?: number } | undefined {
  const located = pathIn(update["locations"]);
  const { path, line } = located ?? pathIn(update["content"]) ?? {};
  if (path === undefined) return undefined;
  return typeof line === "number" && Number.isInteger(line) && line > 0 ? { path, line: line - 1 } : { path };
}

function pathIn(rows: unknown): { path: string; line?: unknown } | undefined {
  return list(rows).map(object).findLast((one): one is { path: string } => typeof one["path"] === "string");
}
