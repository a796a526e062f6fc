/**
 * Cuts a growing markdown text into blocks that are rendered and kept one by one. Only the last block is parsed again
 * when a chunk arrives. Each block is a row of the list, so an answer of 5,000 lines costs only what is in sight. Long
 * code, lists and tables are cut too.
 *
 * Each block is valid markdown by itself. Cutting breaks only link definitions that another block uses.
 */

import MarkdownIt from "markdown-it";
import { displayMath } from "./syntax";

export interface Block {
  /** Does not change during the life of a message. */
  key: string;
  kind: "markdown" | "code";
  /** markdown: its source · code: the lines without the fence. */
  text: string;
  /** code: the fence's language. */
  language: string;
  /** code: the position of this piece in the whole; a short one is both first and last. */
  first: boolean;
  last: boolean;
  /** code: the number of the fence within the message. All its pieces share it. */
  fence: number;
}

/** Lines of code in one block. */
export const CODE_LINES = 100;
/** The most lines of anything else in one block. */
export const TEXT_LINES = 60;

/** A block ends after this many characters at the latest, so that an endless table or line is not parsed again for ever. */
const REST_LIMIT = 64 << 10;

const parser = new MarkdownIt({ html: false, linkify: false }).use(displayMath);

interface Fence {
  /** "```" or longer, or of tildes. */
  marker: string;
  language: string;
  number: number;
}

export class Blocks {
  /** The complete blocks. */
  private readonly done: Block[] = [];
  private rest = "";
  private fence: Fence | null = null;
  private pieces = 0;
  private fences = 0;
  private tail: Block[] = [];

  append(text: string): void {
    this.rest += text;
    this.cut();
  }

  /** In order. The objects of complete blocks never change. */
  all(): Block[] {
    return this.tail.length ? [...this.done, ...this.tail] : this.done.slice();
  }

  /** The whole text of a fence, for copying. */
  code(fence: number): string {
    return this.all().filter((one) => one.kind === "code" && one.fence === fence).map((one) => one.text).join("\n");
  }

  private cut(): void {
    while (this.fence ? this.cutFence(this.fence) : this.cutMarkdown()) {
      // until nothing more is complete
    }
  }

  /** Inside an open fence: takes whole pieces, and the end of the fence. True if the fence ended. */
  private cutFence(fence: Fence): boolean {
    const lines = this.rest.split("\n");
    const end = lines.findIndex((line, index) => index < lines.length - 1 && closes(line, fence.marker));
    const inside = end < 0 ? lines.length - 1 : end;
    let at = 0;
    while (inside - at > CODE_LINES) {
      this.push(fence, lines.slice(at, at + CODE_LINES), false);
      at += CODE_LINES;
    }
    if (end < 0) {
      this.rest = lines.slice(at).join("\n");
      const shown = lines.slice(at);
      // the last line may be the start of the closing fence
      if (/^\s*(`+|~+)\s*$/.test(shown.at(-1) ?? "") || shown.at(-1) === "") shown.pop();
      this.tail = [this.piece(fence, shown, true)];
      return false;
    }
    this.push(fence, lines.slice(at, end), true);
    this.rest = lines.slice(end + 1).join("\n");
    this.fence = null;
    this.pieces = 0;
    return true;
  }

  private push(fence: Fence, lines: string[], last: boolean): void {
    this.done.push(this.piece(fence, lines, last));
    this.pieces += 1;
  }

  private piece(fence: Fence, lines: string[], last: boolean): Block {
    return {
      key: `b${this.done.length}`,
      kind: "code",
      text: lines.join("\n"),
      language: fence.language,
      first: this.pieces === 0,
      last,
      fence: fence.number,
    };
  }

  /** Outside a fence: every top-level block except the last is complete. True if a fence opened. */
  private cutMarkdown(): boolean {
    const lines = this.rest.split("\n");
    // an incomplete line may still become anything, so it ends no block
    const starts = boundaries(lines.slice(0, -1).join("\n"));
    const opening = starts.find((one) => one.fence !== null);
    const upTo = opening ? opening.line : (starts.at(-1)?.line ?? 0);
    let from = 0;
    for (const { line } of starts) {
      if (line > upTo) break;
      if (line > from) {
        this.text(lines.slice(from, line));
        from = line;
      }
    }
    if (opening?.fence) {
      this.fence = { ...opening.fence, number: this.fences };
      this.fences += 1;
      this.rest = lines.slice(opening.line + 1).join("\n");
      this.tail = [];
      return true;
    }
    this.rest = lines.slice(from).join("\n");
    if (this.rest.length > REST_LIMIT) {
      const at = this.rest.lastIndexOf(this.rest.includes("\n") ? "\n" : " ") + 1 || this.rest.length;
      this.text([this.rest.slice(0, at)]);
      this.rest = this.rest.slice(at);
    }
    this.tail = this.rest.trim() ? [this.markdown(this.rest)] : [];
    return false;
  }

  private text(lines: string[]): void {
    const source = lines.join("\n");
    if (source.trim()) this.done.push(this.markdown(source));
  }

  private markdown(text: string): Block {
    return { key: `b${this.done.length}`, kind: "markdown", text, language: "", first: true, last: true, fence: -1 };
  }
}

interface Start {
  line: number;
  fence: Omit<Fence, "number"> | null;
}

/** The lines where a block may start, ascending. List items count, and every TEXT_LINES-th line of a long paragraph. */
function boundaries(source: string): Start[] {
  const starts: Start[] = [];
  for (const token of parser.parse(source, {})) {
    if (token.map === null || token.nesting < 0) continue;
    const [begin, end] = token.map;
    const item = token.type === "list_item_open" && token.level === 1;
    if (token.level !== 0 && !item) continue;
    if (token.type === "bullet_list_open" || token.type === "ordered_list_open") continue;
    const fence = token.type === "fence" ? fenceOf(token.markup, token.info) : null;
    starts.push({ line: begin, fence });
    if (token.type === "paragraph_open") {
      for (let line = begin + TEXT_LINES; line < end; line += TEXT_LINES) starts.push({ line, fence: null });
    }
  }
  return starts;
}

function fenceOf(marker: string, info: string): Omit<Fence, "number"> {
  return { marker, language: info.trim().split(/\s+/)[0] ?? "" };
}

/** CommonMark: at most three spaces, the same character, at least as many, nothing else. */
function closes(line: string, marker: string): boolean {
  const match = /^ {0,3}(`{3,}|~{3,})[ \t]*\r?$/.exec(line);
  return match !== null && match[1]![0] === marker[0] && match[1]!.length >= marker.length;
}
