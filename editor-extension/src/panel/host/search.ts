/** Finds words in conversations: what was asked and answered. Imports no VS Code. */

import type { TranscriptResult } from "../../lsp_ext";
import type { Found } from "../protocol";
import { promptWords } from "./acp";
import { object, textOf } from "./conversation";
import type { Live } from "./live";
import type { Server } from "./ports";

/** The most conversations that are read for one search: the most recently used. */
const LOOKED_AT = 200;
/** The most characters that are shown before and after what was found. */
const AROUND = 40;

export class Search {
  /** The words of recorded conversations, by session, with the time of their last change. */
  private readonly read = new Map<string, { used: number | undefined; words: string }>();

  constructor(private readonly server: Pick<Server, "transcript">) {}

  /** `wanted` becomes false when the user has typed on. A conversation that cannot be read has no words. */
  async find(query: string, sessions: readonly { sessionId: string; used?: number | undefined }[], open: ReadonlyMap<string, Live>, wanted: () => boolean): Promise<Found[]> {
    const found: Found[] = [];
    for (const { sessionId, used } of sessions.slice(0, LOOKED_AT)) {
      if (!wanted()) return [];
      const live = open.get(sessionId);
      const said = live && live.conversation.entries.length > 0 ? shownWords(live) : await this.recorded(sessionId, used);
      const excerpt = excerptOf(said, query);
      if (excerpt !== undefined) found.push({ sessionId, excerpt });
    }
    return found;
  }

  private async recorded(sessionId: string, used: number | undefined): Promise<string> {
    const known = this.read.get(sessionId);
    if (known && known.used === used) return known.words;
    const words = await this.server.transcript(sessionId).then(recordedWords, () => "");
    this.read.set(sessionId, { used, words });
    return words;
  }
}

function shownWords(live: Live): string {
  return live.conversation.entries.flatMap((one) => (one.kind === "user" || one.kind === "agent" ? [one.text] : [])).join("\n");
}

/** Pieces of one answer are joined as they are: a word may be in two of them. */
function recordedWords(record: TranscriptResult): string {
  let words = "";
  for (const entry of record.entries) {
    if (entry.type === "prompt") words += `\n${promptWords(entry.prompt).text}\n`;
    else if (entry.type === "update" && entry.update?.["sessionUpdate"] === "agent_message_chunk") words += textOf(object(entry.update["content"]));
    else words += "\n";
  }
  return words;
}

/** The first place with these words, ignoring case and line ends; undefined if there is none. */
export function excerptOf(said: string, query: string): string | undefined {
  const text = said.replace(/\s+/g, " ");
  const wanted = query.trim().replace(/\s+/g, " ").toLowerCase();
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted);
  if (at < 0) return undefined;
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + wanted.length + AROUND);
  return `${from > 0 ? "…" : ""}${text.slice(from, to).trim()}${to < text.length ? "…" : ""}`;
}
