/**
 * The words of the page. English is the key; the extension sends a table for the editor's language
 * (`vscode.l10n.bundle`). `{0}` is replaced by the first argument, and so on.
 */

let bundle: Readonly<Record<string, string>> = {};

export function setBundle(next: Readonly<Record<string, string>>): void {
  bundle = next;
}

export function t(words: string, ...values: (string | number)[]): string {
  const found = bundle[words];
  const text = found ?? (PSEUDO in bundle ? pseudo(words) : words);
  return text.replace(/\{(\d)\}/g, (whole, at: string) => String(values[Number(at)] ?? whole));
}

/** If the bundle has this key, every text becomes long and accented, to show what a translation would break. */
export const PSEUDO = "[pseudo]";

const ACCENTED: Readonly<Record<string, string>> = { a: "á", e: "é", i: "í", o: "ó", u: "ú", A: "Á", E: "É", I: "Í", O: "Ó", U: "Ú", n: "ñ", c: "ç" };

function pseudo(words: string): string {
  const accented = words.replace(/[aeiouAEIOUnc]/g, (one) => ACCENTED[one] ?? one);
  return `⟦${accented}${"~".repeat(Math.ceil(words.length * 0.3))}⟧`;
}
