/** Command lines as text. They are shown to people and typed by them; nothing is ever run by a shell from them. */

/** The words of a command, each with clear boundaries and as a POSIX shell would take it. `wordsOf` gives exactly them again. */
export function lineOf(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!word.includes("'")) return `'${word}'`;
  // in double quotes, four characters would mean something to a shell
  return /["$`\\]/.test(word) ? `'${word.replaceAll("'", String.raw`'\''`)}'` : `"${word}"`;
}

/** A part of a word: in single quotes, in double quotes, a quote behind a backslash, or one character. */
const PART = /'([^']*)'|"((?:\\"|[^"])*)"|\\(["'])|\S/g;

/**
 * Splits a typed command line into words. Quotes keep blanks and may stand within a word; a backslash before a quote keeps
 * the quote, except in single quotes. Nothing else is special: `$HOME` stays, and so do the backslashes of Windows' paths.
 */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let end = -1;
  for (const match of line.matchAll(PART)) {
    const [whole, single, double, mark] = match;
    const part = single ?? double?.replaceAll('\\"', '"') ?? mark ?? whole;
    words.push(match.index === end ? `${words.pop() ?? ""}${part}` : part);
    end = match.index + whole.length;
  }
  return words;
}
