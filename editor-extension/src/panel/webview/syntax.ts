/**
 * What agents write beyond CommonMark: display math (`$$`, `\[`), inline math (`$x$`, `\(x\)`), task lists, and the
 * direction of each block's text. Math is shown as code, so that no character of it is lost or taken for emphasis.
 */

import type { MarkdownIt, StateBlock, StateCore, StateInline } from "markdown-it";

const CLOSES: Readonly<Record<string, string>> = { $$: "$$", "\\[": "\\]" };
/** Characters of inline math at most; more is text with two dollar signs in it. */
const INLINE_LIMIT = 500;

/** Blocks that begin with `$$` or `\[` on a line of its own and end with its counterpart; like a fence, unclosed ones go to the end. */
export function displayMath(md: MarkdownIt): void {
  md.block.ruler.before("fence", "math", block, { alt: ["paragraph", "blockquote", "list"] });
}

function block(state: StateBlock, begin: number, end: number, silent: boolean): boolean {
  if (state.sCount[begin]! - state.blkIndent >= 4) return false;
  const line = lineOf(state, begin);
  const opener = line.slice(0, 2);
  const closer = CLOSES[opener];
  if (closer === undefined) return false;
  const alone = line === opener;
  if (!alone && !(line.length > 4 && line.indexOf(closer, 2) === line.length - 2)) return false;
  if (silent) return true;
  let last = begin;
  if (alone) {
    last += 1;
    while (last < end && lineOf(state, last) !== closer) last += 1;
  }
  const token = state.push("math_block", "pre", 0);
  token.block = true;
  token.map = [begin, Math.min(last + 1, end)];
  token.content = alone ? state.getLines(begin + 1, last, state.blkIndent, false) : line.slice(2, -2).trim();
  state.line = Math.min(last + 1, end);
  return true;
}

function lineOf(state: StateBlock, line: number): string {
  return state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]).trim();
}

export function inlineMath(md: MarkdownIt): void {
  md.inline.ruler.before("escape", "math", (state, silent) => inline(state, silent));
}

/** As in Pandoc: no space inside the dollars, and no letter or digit after them. So prices stay text. */
function inline(state: StateInline, silent: boolean): boolean {
  const rest = state.src.slice(state.pos, Math.min(state.posMax, state.pos + INLINE_LIMIT));
  const found = /^\$(?![\s$])((?:\\.|[^$\\\n])*[^\s$\\])\$(?![\w$])/.exec(rest) ?? /^\\\(([^\n]+?)\\\)/.exec(rest);
  if (!found) return false;
  if (!silent) {
    const token = state.push("math_inline", "code", 0);
    token.content = found[1]!.trim();
  }
  state.pos += found[0].length;
  return true;
}

/** `- [ ] a` and `- [x] a`: the brackets become a token of their own, and the item gets the class "task". */
export function taskLists(md: MarkdownIt): void {
  md.core.ruler.after("inline", "tasks", (state: StateCore) => {
    const { tokens } = state;
    for (const [at, token] of tokens.entries()) {
      if (token.type !== "list_item_open" || tokens[at + 1]?.type !== "paragraph_open") continue;
      const first = tokens[at + 2]?.children?.[0];
      const mark = first?.type === "text" ? /^\[([ xX])\]\s/.exec(first.content) : null;
      if (!first || !mark) continue;
      token.attrJoin("class", "task");
      first.content = first.content.slice(mark[0].length);
      const box = new state.Token("task", "", 0);
      box.content = mark[1] === " " ? "" : "x";
      tokens[at + 2]!.children!.unshift(box);
    }
  });
}

const BLOCKS = new Set(["paragraph_open", "heading_open", "blockquote_open", "bullet_list_open", "ordered_list_open", "table_open"]);

/** Each top-level block is written in the direction of its own first letters. What is inside follows it. */
export function directions(md: MarkdownIt): void {
  md.core.ruler.push("directions", (state: StateCore) => {
    for (const token of state.tokens) if (token.level === 0 && BLOCKS.has(token.type)) token.attrSet("dir", "auto");
  });
}

/** Columns are aligned by an attribute, because styles in the text are not allowed. */
export function alignments(md: MarkdownIt): void {
  md.core.ruler.push("alignments", (state: StateCore) => {
    for (const token of state.tokens) {
      const found = token.attrGet("style");
      if (found === null) continue;
      const side = /^text-align:(left|center|right)$/.exec(String(found))?.[1];
      token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
      if (side) token.attrSet("align", side);
    }
  });
}

/** A place in a file, as `src/a.py:12`, `a.py:12:3` or `src/Makefile:3-9`: what a click opens. Hosts with a port are none. */
export function placeOf(code: string): string | null {
  const found = /^((?:[A-Za-z]:[\\/]|[\\/](?![\\/]))?[^\s:*?"<>|\\/][^\s:*?"<>|]*):(\d{1,9})(?:[:-]\d{1,9})?$/.exec(code);
  if (!found) return null;
  const path = found[1]!;
  const file = /[^\\/]+$/.exec(path)?.[0] ?? "";
  if (!/\.[A-Za-z]\w*$/.test(file) && !(/[\\/]/.test(path) && /^[A-Za-z][\w.-]*$/.test(file))) return null;
  const plain = code.replaceAll("%", "%25"); // links are decoded before they are opened
  return /[\\/]/.test(path) ? plain : `./${plain}`; // "a.py:" by itself would be the scheme of an address
}

