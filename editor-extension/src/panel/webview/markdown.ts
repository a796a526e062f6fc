/**
 * Converts agents' markdown to safe HTML: no raw HTML (markdown-it `html: false`), then DOMPurify with a list of
 * allowed tags, then links and images are made harmless.
 *
 * An image would be fetched from any address in the text, and the agent could put anything into that address. So no
 * image is loaded; its address appears as a link. Links have no href, so nothing opens without our click handler.
 */

import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/common";
import MarkdownIt from "markdown-it";
import { t } from "./strings";
import { alignments, directions, displayMath, inlineMath, placeOf, taskLists } from "./syntax";

const TAGS =
  "a b blockquote br code del div em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong sub sup table tbody td th thead tr ul span".split(" ");
const ATTRIBUTES = ["start", "align", "data-href", "dir", "title", "class", "tabindex", "role"];
/** Code longer than this (in characters) is shown without colours. */
const HIGHLIGHT_LIMIT = 20_000;

/** The target of the link that is being rendered; rendering is synchronous. */
let target = "";

const md = new MarkdownIt({ html: false, linkify: true, breaks: false });
for (const plugin of [displayMath, inlineMath, taskLists, directions, alignments]) md.use(plugin);
md.linkify.set({ fuzzyLink: false }); // "weather.py" is a file, not a host in Paraguay
md.validateLink = () => true; // nothing is linked; the extension decides what a click may open
md.renderer.rules.link_open = (tokens, index) => {
  const href = String(tokens[index]!.attrGet("href") ?? "");
  const children = tokens.slice(index + 1);
  const text = children
    .slice(0, children.findIndex((one) => one.type === "link_close"))
    .map((one) => one.content)
    .join("");
  target = elsewhere(href, text);
  return `<a role="link" tabindex="0" data-href="${md.utils.escapeHtml(href)}" title="${md.utils.escapeHtml(readable(href))}">`;
};
md.renderer.rules.link_close = () => {
  const after = target;
  target = "";
  return after ? `</a> <span class="target">(${md.utils.escapeHtml(after)})</span>` : "</a>";
};
md.renderer.rules.image = (tokens, index) => {
  const token = tokens[index]!;
  const href = String(token.attrGet("src") ?? "");
  const shown = md.utils.escapeHtml(readable(href));
  const words = md.utils.escapeHtml(t("Image not loaded: {0}", token.content || href));
  return `<a role="link" tabindex="0" class="image" data-href="${md.utils.escapeHtml(href)}" title="${shown}">${words}</a> <span class="target">(${shown})</span>`;
};
md.renderer.rules.code_inline = (tokens, index) => {
  const { content } = tokens[index]!;
  const code = `<code dir="ltr">${md.utils.escapeHtml(content)}</code>`;
  // inside a link, a click belongs to the link
  const place = tokens.slice(0, index).findLast((one) => one.type === "link_open" || one.type === "link_close")?.type === "link_open" ? null : placeOf(content);
  return place === null
    ? code
    : `<a role="link" tabindex="0" class="place" data-href="${md.utils.escapeHtml(place)}" title="${md.utils.escapeHtml(readable(content))}">${code}</a>`;
};
md.renderer.rules["math_inline"] = (tokens, index) => `<code class="math" dir="ltr">${md.utils.escapeHtml(tokens[index]!.content)}</code>`;
md.renderer.rules["math_block"] = (tokens, index) =>
  `<div class="code first last" dir="ltr"><div class="code-head"><span class="language">${md.utils.escapeHtml(t("math"))}</span></div><pre tabindex="0"><code>${md.utils.escapeHtml(tokens[index]!.content)}</code></pre></div>`;
md.renderer.rules["task"] = (tokens, index) => {
  const done = tokens[index]!.content !== "";
  const words = md.utils.escapeHtml(done ? t("done") : t("to do"));
  return `<span class="box${done ? " done codicon codicon-check" : ""}" title="${words}"></span><span class="sr">${words}</span> `;
};
md.renderer.rules["table_open"] = (tokens, index, options, _env, self) => `<div class="table" tabindex="0">${self.renderToken(tokens, index, options)}`;
md.renderer.rules["table_close"] = () => "</table></div>";

export function render(source: string): string {
  return purify(md.render(source));
}

export function renderCode(text: string, language: string): string {
  const known = language && hljs.getLanguage(language);
  if (!known || text.length > HIGHLIGHT_LIMIT) return md.utils.escapeHtml(text);
  return purify(hljs.highlight(text, { language, ignoreIllegals: true }).value);
}

function purify(html: string): string {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /.*/s, // data-href is plain text; the browser does not treat it as an address
  });
}

/** The target of a link if its text does not show it; otherwise "". */
export function elsewhere(href: string, text: string): string {
  const shown = readable(href);
  let host = "";
  try {
    host = new URL(href).host;
  } catch {
    // a path
  }
  const said = text.replace(/\s/g, "");
  if (said && (said === href || said === shown)) return "";
  return host || shown;
}

/** Makes control, bidi and invisible characters visible, so that users see what is really there. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu,
    (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`,
  );
}

/** The same, but shows only head and tail of a long text. */
export function readable(text: string, length = 160): string {
  const plain = visible(text);
  const head = Math.ceil(length * 0.65);
  return plain.length > length ? `${plain.slice(0, head)}…${plain.slice(head - length)}` : plain;
}
