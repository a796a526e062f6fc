/** Whose a draft is that a page has sent. */

import type { Live } from "./live";
import type { Draft, Memory } from "./memory";

/**
 * Stores it for the conversation in which it was written, though the page's pane may show another one by now. `current`: what it shows.
 * What was written on the start page may have gone along to a new conversation: it is stored only while the start page is shown.
 */
export function keepDraft(memory: Memory, all: Iterable<Live>, current: Live | null, { key, text, attachments }: Draft & { key: string }): void {
  const written = [current, ...all].find((one) => one?.key === key);
  if (written || (key === "" && current === null)) memory.keepDraft(written?.id ?? null, { text, attachments });
}
