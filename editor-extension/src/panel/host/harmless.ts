/**
 * What a command says, on its way into one of VS Code's terminals: words, colours and movements of the cursor. A terminal
 * also does as it is told (sets its title, the clipboard, the shell's marks, answers questions about itself); none of that is let through.
 */

/* eslint-disable no-control-regex -- control characters are what this file reads */

/** Characters of a sequence that has not ended; a longer one is dropped. */
const LONGEST = 4096;
const STRING = /\x1b[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*?(?:\x07|\x1b\\)/g;
const CONTROL = /\x1b\[([\d;:<-?]*)[ -/]*([@-~])/g;
const OTHER = /\x1b(?!\[[\d;:]*[A-HJKm])(?:\[[\d;:<-?]*[ -/]*|[ -/]*[0-~])?/g;
const BEGUN = /\x1b(?:\[[\d;:<-?]*[ -/]*|[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*|[ -/]*)$/;
const ALLOWED = "ABCDEFGHJKm";

export class Harmless {
  /** The beginning of a sequence whose end has not come yet. */
  private rest = "";

  add(text: string): string {
    const data = this.rest + text;
    const cut = data.search(BEGUN);
    this.rest = cut < 0 || data.length - cut > LONGEST ? "" : data.slice(cut);
    return (cut < 0 ? data : data.slice(0, cut))
      .replace(STRING, "")
      .replace(CONTROL, (whole, numbers: string, letter: string) => (ALLOWED.includes(letter) && !/[<-?]/.test(numbers) ? whole : ""))
      .replace(OTHER, "")
      .replace(/[\x00-\x07\v\f\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g, "")
      .replace(/\r*\n/g, "\r\n");
  }
}
