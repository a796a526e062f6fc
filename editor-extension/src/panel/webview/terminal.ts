/**
 * A command's output as a terminal would show it: colours, and lines that the command draws again (progress). The
 * result is plain data. No markup is made, and every sequence that is not understood is dropped, links (OSC 8) too.
 */

/* eslint-disable no-control-regex -- control characters are what this file reads */

import Anser from "anser";

export interface Run {
  text: string;
  /** CSS values, most of them variables of the theme. */
  style: Readonly<Record<string, string>>;
}

type Style = Run["style"];
type Line = { char: string; style: Style }[];

const PLAIN: Style = {};
const FOREGROUND = "var(--vscode-terminal-foreground, var(--vscode-editor-foreground))";
const BACKGROUND = "var(--vscode-terminal-background, var(--vscode-editor-background))";
/** Longest line that a command can draw over, in characters. What follows is a line of its own. */
const LINE_LIMIT = 4000;
/** Control characters that no command needs carry the movements past Anser, which drops them. */
const ERASE_REST = "\v";
const ERASE_LINE = "\x0e";
const UP = "\f";
const UP_LIMIT = 200;

/** The lines of an output, each as runs of one style. */
export function terminalLines(output: string): Run[][] {
  const lines: Line[] = [[]];
  let row = 0;
  let column = 0;
  for (const part of Anser.ansiToJson(prepared(output), { json: true, use_classes: true })) {
    const style = styleOf(part);
    for (const char of part.content) {
      const line = lines[row]!;
      if (char === "\n" || column >= LINE_LIMIT) {
        row += 1;
        column = 0;
        if (row === lines.length) lines.push([]);
        if (char === "\n") continue;
      }
      if (char === "\r") column = 0;
      else if (char === "\b") column = Math.max(0, column - 1);
      else if (char === UP) row = Math.max(0, row - 1);
      else if (char === ERASE_REST) line.length = Math.min(line.length, column);
      else if (char === ERASE_LINE) line.length = 0;
      else put(lines[row]!, column++, char, style);
    }
  }
  return lines.map(runs);
}

function put(line: Line, column: number, char: string, style: Style): void {
  while (line.length < column) line.push({ char: " ", style: PLAIN });
  line[column] = { char, style };
}

function runs(line: Line): Run[] {
  const found: Run[] = [];
  for (const { char, style } of line) {
    const last = found.at(-1);
    if (last && same(last.style, style)) last.text += char;
    else found.push({ text: char, style });
  }
  return found;
}

function same(one: Style, other: Style): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Only text, colours and our own marks are left. */
function prepared(output: string): string {
  return output
    .replace(/\x1b[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)/g, "")
    .replace(/[\v\f\x0e]/g, "")
    .replace(/\r+\n/g, "\n")
    .replace(/\x1b\[([\d;:<-?]*)[ -/]*([@-~])/g, (_, numbers: string, letter: string) => movement(numbers, letter))
    .replace(/\x1b(?!\[[\d;]*m)(?:\[[\d;:<-?]*|[ -/]*[0-~])?/g, "")
    .replace(/[\x00-\x07\x0f-\x1a\x1c-\x1f\x7f-\x9f]/g, "");
}

function movement(numbers: string, letter: string): string {
  const count = Number.parseInt(numbers, 10);
  switch (letter) {
    case "m":
      return /[<-?]/.test(numbers) ? "" : `\x1b[${semicolons(numbers)}m`;
    case "K":
      return count === 2 ? ERASE_LINE : count === 1 ? "" : ERASE_REST;
    case "A":
      return UP.repeat(Math.min(count || 1, UP_LIMIT));
    case "F":
      return `\r${UP.repeat(Math.min(count || 1, UP_LIMIT))}`;
    case "G":
      return count > 1 ? "" : "\r";
    default:
      return "";
  }
}

/** Some programs write colours and kinds of underlines with colons, which Anser does not know. */
function semicolons(numbers: string): string {
  return numbers
    .split(";")
    .map((one) => (/^[34]8:/.test(one) ? one.replace(/^(\d+:2):\d*:(\d+:\d+:\d+)/, "$1:$2").replaceAll(":", ";") : one.split(":")[0]))
    .join(";");
}

function styleOf(part: Anser.AnserJsonEntry): Style {
  const has = new Set<string>(part.decorations);
  const color = colour(part.fg, part.fg_truecolor);
  const background = has.has("reverse") ? color || FOREGROUND : colour(part.bg, part.bg_truecolor);
  const style: Record<string, string> = {};
  if (background) style["backgroundColor"] = `color-mix(in srgb, ${background} 25%, ${BACKGROUND})`;
  else if (color) style["color"] = readable(color);
  if (has.has("bold")) style["fontWeight"] = "bold";
  if (has.has("italic")) style["fontStyle"] = "italic";
  if (has.has("dim") && !color && !background) style["color"] = "var(--muted)";
  const drawn = [has.has("underline") && "underline", has.has("strikethrough") && "line-through"].filter(Boolean);
  if (drawn.length) style["textDecoration"] = drawn.join(" ");
  return Object.keys(style).length ? style : PLAIN;
}

/**
 * A command does not know the theme, so its colours go some way to the text's own colour, and a background is a tint
 * behind text in the usual colour: every pair can be read. Black and grey are as muted text.
 */
function readable(color: string): string {
  return /ansi(?:Bright)?Black/.test(color) ? "var(--muted)" : `color-mix(in srgb, ${color} 45%, ${FOREGROUND})`;
}

/** "ansi-bright-red", "ansi-palette-200" or "ansi-truecolor", as Anser names them. */
function colour(name: string | null, exact: string | null): string {
  if (!name) return "";
  if (name === "ansi-truecolor") return exact ? `rgb(${exact})` : "";
  const [, index] = /^ansi-palette-(\d+)$/.exec(name) ?? [];
  if (index !== undefined) return palette(Number(index));
  const words = name.split("-").slice(1);
  return `var(--vscode-terminal-ansi${words.map((one) => one[0]!.toUpperCase() + one.slice(1)).join("")})`;
}

/** xterm's 256 colours from 16 on: a cube of 6 × 6 × 6, then 24 greys. */
function palette(index: number): string {
  if (index >= 232) return `rgb(${Array(3).fill(8 + (index - 232) * 10).join(", ")})`;
  const at = index - 16;
  const levels = [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((one) => (one ? 55 + one * 40 : 0));
  return `rgb(${levels.join(", ")})`;
}
