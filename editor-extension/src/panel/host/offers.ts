/**
 * What `@` offers besides files and symbols: the selection, the open files, the problems, the terminal's last output, the
 * changes under review. Pure; mentions.ts asks the editor.
 */

import type { Attachment } from "../model";
import type { Candidate } from "../protocol";
import type { Output } from "./last_output";

/** The most problems in one attachment. */
const PROBLEMS = 200;
/** The most characters of all changes together. */
const CHANGES_LIMIT = 100_000;
/** What the user may type for the changes under review. */
export const CHANGES = ["changes", "diff", "review"];

export interface Offer extends Candidate {
  /** What the user may type for it, besides its label. */
  words: string;
}

export interface Problem {
  /** The file as people name it. */
  where: string;
  /** From 1. */
  line: number;
  message: string;
  source: string | undefined;
  error: boolean;
}

export interface Changed {
  where: string;
  /** From 1, where the change is now. */
  line: number;
  oldText: string;
  newText: string;
}

/** Those that begin with what was typed; all of them if nothing was. */
export function offered(all: readonly (Offer | undefined)[], query: string): Candidate[] {
  const wanted = query.toLowerCase();
  return all.flatMap((one) => {
    if (!one || !one.words.split(" ").some((word) => word.startsWith(wanted))) return [];
    const { words: _, ...candidate } = one;
    return [candidate];
  });
}

export function openFiles(label: string, detail: string, attachments: Attachment[]): Offer | undefined {
  if (attachments.length === 0) return undefined;
  return { words: "open files", label, detail, icon: "files", insert: "@open ", attachments };
}

/** Errors first. */
export function problems(label: string, detail: string, found: readonly Problem[]): Offer | undefined {
  if (found.length === 0) return undefined;
  const sorted = [...found].sort((a, b) => Number(b.error) - Number(a.error));
  const lines = sorted.slice(0, PROBLEMS).map(({ where, line, message, source, error }) => `${where}:${line}: ${error ? "error" : "warning"}: ${source ? `${source}: ` : ""}${message}`);
  if (found.length > PROBLEMS) lines.push(`… ${found.length - PROBLEMS} more`);
  return { words: "problems errors", label, detail, icon: "warning", insert: "@problems ", attachments: [{ id: "problems", kind: "problem", label: detail, uri: "", text: lines.join("\n") }] };
}

export function terminal(label: string, last: Output | undefined): Offer | undefined {
  if (!last) return undefined;
  const { command, text } = last;
  const name = (command || last.terminal).replace(/\s+/g, " ").slice(0, 80);
  return { words: "terminal output", label, detail: name, icon: "terminal", insert: "@terminal ", attachments: [{ id: "terminal", kind: "terminal", label: name, uri: "", text: `$ ${command}\n${text}` }] };
}

/** As a diff that a model reads easily; what does not fit is left out and counted. */
export function changes(label: string, detail: string, all: readonly Changed[]): Offer | undefined {
  if (all.length === 0) return undefined;
  let text = "";
  let last = "";
  let left = all.length;
  for (const { where, line, oldText, newText } of all) {
    const head = where === last ? "" : `--- ${where}\n`;
    const block = `${head}@@ line ${line}\n${marked("-", oldText)}${marked("+", newText)}`;
    if (text.length + block.length > CHANGES_LIMIT) break;
    text += block;
    last = where;
    left -= 1;
  }
  if (left > 0) text += `… ${left} more\n`;
  return { words: CHANGES.join(" "), label, detail, icon: "diff-multiple", insert: "@changes ", attachments: [{ id: "changes", kind: "changes", label: detail, uri: "", text }] };
}

function marked(mark: string, text: string): string {
  if (text === "") return "";
  return `${text.replace(/\r?\n$/, "").split(/\r?\n/).map((line) => `${mark}${line}`).join("\n")}\n`;
}

/** The folders of these files, as `/`-separated paths below the workspace, whose name contains the query. Shortest first. */
export function foldersOf(files: readonly string[], query: string, most: number): string[] {
  const wanted = query.toLowerCase().replace(/\/$/, "");
  const found = new Set<string>();
  for (const file of files) {
    const parts = file.split("/");
    for (let at = 1; at < parts.length; at += 1) {
      const folder = parts.slice(0, at).join("/");
      const hay = wanted.includes("/") ? folder : parts[at - 1]!;
      if (hay.toLowerCase().includes(wanted)) found.add(folder);
    }
  }
  return [...found].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, most);
}
