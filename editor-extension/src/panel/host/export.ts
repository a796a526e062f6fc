/** A conversation as markdown. */

import type { Entry } from "../model";

export function exported(title: string, agent: string, entries: readonly Entry[]): string {
  const parts = [`# ${title}`, `*${agent}*`];
  for (const entry of entries) {
    if ((entry.kind === "agent" || entry.kind === "thought") && entry.parent !== undefined) continue; // a sub-agent's, whose tool call says what came of it
    switch (entry.kind) {
      case "user":
        parts.push("## You", entry.text, ...entry.attachments.map((one) => `- ${one.label}`));
        break;
      case "agent":
        parts.push("## Agent", entry.text);
        break;
      case "thought":
        parts.push(`<details><summary>Thought</summary>\n\n${entry.text}\n\n</details>`);
        break;
      case "tool":
        parts.push(
          `${entry.parent === undefined ? "" : "  "}- **${entry.title || "Tool call"}** (${entry.status})${entry.diffs.map((one) => `\n  - ${one.path} +${one.added} −${one.removed}`).join("")}`,
        );
        break;
      case "plan":
        parts.push(entry.items.map((one) => `- [${one.state === "completed" ? "x" : " "}] ${one.text}`).join("\n"));
        break;
      case "question":
        parts.push(`> ${entry.question.text.replaceAll("\n", "\n> ")}\n>\n> **${entry.answer ?? entry.state}**`);
        break;
      case "notice":
        parts.push(`> ${[entry.text, entry.detail].filter(Boolean).join("\n").replaceAll("\n", "\n> ")}`);
        break;
      case "compaction":
        parts.push(`*The conversation was compacted (${entry.status})*`, ...(entry.summary ? [entry.summary] : []));
        break;
      case "end":
        if (entry.reason !== "end_turn") parts.push(`*${entry.error ?? entry.reason}*`);
        if (entry.changes.length > 0) parts.push(entry.changes.map((one) => `- ${one.label} +${one.added} −${one.removed}`).join("\n"));
        break;
      case "image":
      case "form":
        break;
    }
  }
  return `${parts.join("\n\n")}\n`;
}
