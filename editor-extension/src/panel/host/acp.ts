/** Converts ACP's shapes to what the panel shows: pickers, commands, forms, prompts. Pure. */

import type { Attachment, Choice, Field, Picker, Slash } from "../model";
import { list, object } from "./conversation";

type Json = Record<string, unknown>;

/** The id of the picker for a session's mode. An agent's options have ids of their own. */
export const MODE = "$mode";

/** How many characters of an earlier conversation are sent along: the last ones. */
const EARLIER_LIMIT = 100_000;

const words = (value: unknown): string => (typeof value === "string" ? value : "");

/** Modes, then models, then the rest. In newer agents, an option of category `mode` is the mode. */
export function pickers(modes: unknown, configOptions: unknown, modeLabel: string): Picker[] {
  const found = list(configOptions).flatMap((raw) => option(object(raw)));
  const { currentModeId, availableModes } = object(modes);
  if (typeof currentModeId === "string" && !found.some((one) => one.category === "mode")) {
    const choices = list(availableModes).flatMap((raw) => choice(object(raw), "id"));
    if (choices.length > 0) {
      found.push({ id: MODE, label: modeLabel, category: "mode", current: currentModeId, choices });
    }
  }
  const order = ["mode", "model", "thought_level", "other"];
  return found.sort((a, b) => order.indexOf(a.category) - order.indexOf(b.category));
}

function option(raw: Json): Picker[] {
  const id = words(raw["id"]);
  if (!id) return [];
  const known = words(raw["category"]);
  const category = known === "mode" || known === "model" || known === "thought_level" ? known : "other";
  const base = { id, label: words(raw["name"]) || id, category } as const;
  const current = raw["currentValue"];
  if (raw["type"] === "boolean" || typeof current === "boolean") {
    return [{ ...base, current: String(current === true), choices: [], toggle: true }];
  }
  const choices = list(raw["options"]).flatMap((one) => {
    const row = object(one);
    return Array.isArray(row["options"]) ? row["options"].flatMap((inner) => choice(object(inner), "value")) : choice(row, "value");
  });
  return choices.length > 0 ? [{ ...base, current: words(current), choices }] : [];
}

function choice(raw: Json, key: "id" | "value"): Choice[] {
  const id = words(raw[key]);
  if (!id) return [];
  const description = words(raw["description"]);
  return [{ id, name: words(raw["name"]) || id, ...(description ? { description } : {}) }];
}

export function slashes(update: Json): Slash[] {
  return list(update["availableCommands"]).flatMap((raw) => {
    const row = object(raw);
    const name = words(row["name"]).replace(/^\/+/, "");
    if (!name || /\s/.test(name)) return [];
    const hint = words(object(row["input"])["hint"]);
    return [{ name, description: words(row["description"]), ...(hint ? { hint } : {}) }];
  });
}

export function usage(update: Json): { used: number; size: number; cost?: string } | undefined {
  const { used, size, cost } = update;
  if (typeof used !== "number" || typeof size !== "number") return undefined;
  const { amount, currency } = object(cost);
  const spent = typeof amount === "number" ? { cost: `${amount.toFixed(2)} ${words(currency)}`.trim() } : {};
  return { used, size, ...spent };
}

/** The fields of a form in ACP's restricted JSON Schema. Anything outside it is left out. */
export function fields(schema: unknown): Field[] {
  const { properties, required } = object(schema);
  const needed = new Set(list(required));
  return Object.entries(object(properties)).flatMap(([name, raw]): Field[] => {
    const row = object(raw);
    const base = {
      name,
      label: words(row["title"]) || name,
      required: needed.has(name),
      ...(words(row["description"]) ? { hint: words(row["description"]) } : {}),
    };
    const initial = row["default"];
    const told = typeof initial === "string" || typeof initial === "number" || typeof initial === "boolean" ? { initial } : {};
    switch (row["type"]) {
      case "boolean":
        return [{ ...base, ...told, type: "boolean" as const }];
      case "number":
      case "integer":
        return [
          {
            ...base,
            ...told,
            type: row["type"],
            ...(typeof row["minimum"] === "number" ? { minimum: row["minimum"] } : {}),
            ...(typeof row["maximum"] === "number" ? { maximum: row["maximum"] } : {}),
          },
        ];
      case "array": {
        const items = object(row["items"]);
        const first = Array.isArray(initial) ? { initial: initial.filter((one) => typeof one === "string") } : {};
        return [{ ...base, ...first, type: "choices" as const, choices: values(items) }];
      }
      default: {
        const choices = values(row);
        if (choices.length > 0) return [{ ...base, ...told, type: "choice" as const, choices }];
        const long = typeof row["maxLength"] === "number" && row["maxLength"] > 500;
        return [{ ...base, ...told, type: long ? ("multiline" as const) : ("text" as const) }];
      }
    }
  });
}

function values(row: Json): { value: string; label: string }[] {
  const titled = [...list(row["oneOf"]), ...list(row["anyOf"])].flatMap((raw) => {
    const { const: value, title } = object(raw);
    return typeof value === "string" ? [{ value, label: words(title) || value }] : [];
  });
  if (titled.length > 0) return titled;
  const names = list(row["enumNames"]);
  return list(row["enum"]).flatMap((value, at) =>
    typeof value === "string" ? [{ value, label: words(names[at]) || value }] : [],
  );
}

/** Introduces a conversation that the agent does not remember, in the prompt that contains it. Written for agents, so not translated. */
const EARLIER = "This is the earlier conversation between the user and you, or another agent. You may not remember it:";

/** The conversation so far, in the form in which it is sent with a prompt. */
export function earlier(label: string, text: string): Attachment {
  const kept = text.length > EARLIER_LIMIT ? `…${text.slice(-EARLIER_LIMIT)}` : text;
  return { id: "earlier", kind: "conversation", label, uri: "", text: kept };
}

/** What is sent without an address, in words for agents, so not translated. A recorded prompt is told apart by them. */
const NAMED: Partial<Record<Attachment["kind"], string>> = {
  problem: "Problems in the editor, ",
  terminal: "Last output of the user's terminal, ",
  changes: "Changes by agents that the user has not reviewed, ",
};

/** The blocks to send: the text, then the attachments. Selections are sent as text, which every agent accepts. */
export function promptOf(text: string, attachments: readonly Attachment[]): Json[] {
  const blocks: Json[] = [{ type: "text", text }];
  for (const one of attachments) {
    if (one.kind === "image") blocks.push({ type: "image", mimeType: one.mimeType, data: one.text ?? "" });
    else if (one.kind === "conversation") blocks.push({ type: "text", text: `${EARLIER}\n${fenced(one.text ?? "")}` });
    else {
      if (one.uri) blocks.push({ type: "resource_link", uri: one.uri, name: one.label });
      if (one.text !== undefined) blocks.push({ type: "text", text: quoted(one) });
    }
  }
  return blocks;
}

function quoted(one: Attachment): string {
  const text = one.text ?? "";
  const name = NAMED[one.kind];
  if (name && !one.uri) return `${name}${one.label}:\n${fenced(text)}`;
  if (one.kind === "problem") return `${one.label}:\n${text}`;
  const where = one.range ? `, lines ${one.range.start}–${one.range.end}` : "";
  return `${one.uri}${where}:\n${fenced(text)}`;
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** The text of a recorded prompt, and the names of its attachments. */
export function promptWords(blocks: unknown, earlierLabel = ""): { text: string; attachments: Attachment[] } {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  let linked = false;
  for (const raw of list(blocks)) {
    const block = object(raw);
    if (block["type"] === "text") {
      const text = words(block["text"]);
      if (text.startsWith(EARLIER)) attachments.push({ id: "earlier", kind: "conversation", label: earlierLabel, uri: "" });
      else if (named(text, attachments)) continue;
      else if (!linked) texts.push(text); // a text after a link is the quoted content of the link
    } else if (block["type"] === "resource_link") {
      linked = true;
      const uri = words(block["uri"]);
      attachments.push({ id: `${attachments.length}-${uri}`.slice(0, 256), kind: "file", label: words(block["name"]).slice(0, 400), uri });
    } else if (block["type"] === "image") {
      attachments.push({ id: `${attachments.length}-image`, kind: "image", label: words(block["mimeType"]).slice(0, 100), uri: "" });
    }
  }
  return { text: texts.join("\n\n"), attachments };
}

/** Whether the text is one of `NAMED`, which is then added to the attachments. */
function named(text: string, attachments: Attachment[]): boolean {
  for (const [kind, name] of Object.entries(NAMED)) {
    if (!text.startsWith(name)) continue;
    const label = text.slice(name.length, text.indexOf("\n")).replace(/:$/, "");
    attachments.push({ id: kind, kind: kind as Attachment["kind"], label: label.slice(0, 400), uri: "" });
    return true;
  }
  return false;
}

/** What to do with an address in an agent's text: open a page, open a file, or nothing. */
export function linkKind(href: string): "web" | "file" | "refused" {
  if (/^(https?|mailto):/i.test(href)) return "web";
  if (/^file:/i.test(href)) return "file";
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) && !/^[a-z]:[\\/]/i.test(href)) return "refused";
  return href && !href.startsWith("#") && !href.startsWith("//") ? "file" : "refused";
}
