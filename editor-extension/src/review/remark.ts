/** What the user says about an agent's change, as it goes to the agent. Nothing here knows the editor. */

import type { Attachment, Told } from "../panel/model";
import type { FileChange } from "../lsp_ext";
import { type Block, oldLines } from "./block";

/** An agent's change with both its texts, as it was when the user began to write about it. */
export interface Subject {
  readonly uri: string;
  readonly ids: readonly string[];
  /** The session that made the change last. */
  readonly sessionId: string;
  readonly agent: string;
  /** Line numbers from 1, both inclusive. Where lines were only removed, the line that follows them. None for a change of the whole file. */
  readonly lines?: { readonly start: number; readonly end: number };
  /** What happened to the whole file: `deleted`, `mode` and so on. */
  readonly file?: FileChange["kind"];
  /** Without the last line's end; "" where there were no lines. */
  readonly before: string;
  readonly after: string;
}

/** A change of a file as a whole, which may be gone, or may not be text. */
export function wholeFile({ uri, ids, changes }: Block, file: FileChange): Subject {
  const last = changes.at(-1)!;
  return { uri, ids, sessionId: last.sessionId, agent: last.agent, file: file.kind, before: last.oldText.replace(/\r?\n$/, ""), after: "" };
}

/** `lineAt` returns a line of the document, counted from 0, without its end. */
export function subjectOf(block: Block, lineAt: (line: number) => string, lineCount: number): Subject & Required<Pick<Subject, "lines">> {
  const last = block.changes.at(-1)!;
  const now: string[] = [];
  for (let line = block.line; line < Math.min(block.end, lineCount); line++) {
    now.push(lineAt(line));
  }
  return {
    uri: block.uri,
    ids: block.ids,
    sessionId: last.sessionId,
    agent: last.agent,
    lines: { start: block.line + 1, end: Math.max(block.line + 1, Math.min(block.end, lineCount)) },
    before: oldLines(block, lineAt, lineCount).join("\n"),
    after: now.join("\n"),
  };
}

/** Both texts, for the agent; like everything that is meant for agents it is not translated. */
export function texts({ before, after, file }: Subject): string {
  const part = (title: string, text: string): string => (text === "" ? `${title} (no lines)` : `${title}\n${text}`);
  if (file !== undefined) return `your change of the whole file: ${file}${before === "" ? "" : `\n${part("--- before your change", before)}`}`;
  return `${part("--- before your change", before)}\n${part("+++ after your change", after)}`;
}

/** What a comment does besides reaching the agent: nothing, or it takes the change out first. */
export type Verdict = "ask" | "reject";

export interface Ways {
  /** Rejects these changes. `impossible`: why some of them could not be rejected, in words; `told`: the agent waited for it and has the reason. */
  reject(ids: readonly string[], reason: string): Promise<{ impossible: readonly string[]; told: boolean }>;
  tell(told: Told): Promise<void>;
  /** The file as users of this workspace name it. */
  readonly path: string;
  /** What the agent is told of a rejection, before the user's own words. */
  readonly rejected: string;
}

/** Sends the user's words about a change to its agent. Rejects with words for the user; then the agent was told nothing. */
export async function deliver(subject: Subject, words: string, verdict: Verdict, ways: Ways): Promise<void> {
  if (verdict === "reject") {
    const {
      impossible: [why],
      told,
    } = await ways.reject(subject.ids, words);
    if (why !== undefined) {
      throw new Error(why);
    }
    if (told) {
      return;
    }
  }
  const text = verdict === "reject" ? `${ways.rejected} ${words}` : words;
  await ways.tell({ sessionId: subject.sessionId, text, attachments: [attachment(subject, ways.path)] });
}

function attachment({ lines, ...subject }: Subject, path: string): Attachment {
  const where = lines === undefined ? "" : `:${lines.start === lines.end ? lines.start : `${lines.start}-${lines.end}`}`;
  return {
    id: `change-${subject.ids[0]}`.slice(0, 256),
    kind: "selection",
    label: `${path}${where}`.slice(0, 400),
    uri: subject.uri,
    ...(lines === undefined ? {} : { range: lines }),
    text: texts(subject),
  };
}
