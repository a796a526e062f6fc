/** What a pane's page needs from the panel, and what the panel heard of it. */

import { Uri } from "vscode";
import type { Around } from "../../src/panel/host/pane";
import { Live } from "../../src/panel/host/live";
import type { Overview } from "../../src/panel/model";
import type { FakeWebview } from "../support/vscode";

export interface Heard {
  received: string[];
  failed: unknown[];
  turned: number;
  logged: string[];
  /** What the panel answers to a message; null: nothing. */
  refuse: Error | null;
}

export function around(): { heard: Heard; around: Around } {
  const heard: Heard = { received: [], failed: [], turned: 0, logged: [], refuse: null };
  return {
    heard,
    around: {
      extensionUri: Uri.parse("ext:"),
      overview: (pane) => ({ place: pane.place, draftKey: pane.current?.key ?? "" }) as Overview,
      received: async (_, message) => {
        heard.received.push(message.type);
        if (heard.refuse) throw heard.refuse;
      },
      failed: (_, error) => heard.failed.push(error),
      turned: () => (heard.turned += 1),
      log: (words) => heard.logged.push(words),
    },
  };
}

/** A conversation in which the agent has said this. */
export function said(words: string, title = words): Live {
  const live = new Live(words, "a", "Agent A");
  live.title = title;
  live.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: words } }, false);
  return live;
}

export function types(page: FakeWebview): string[] {
  return page.posted.map((one) => String(one["type"]));
}
